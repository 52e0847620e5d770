package sendmail

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/mail"
)

// closing is output in a file that must be removed with its message.
type closing struct {
	io.Reader
	closed chan struct{}
}

func (c *closing) Close() error {
	close(c.closed)
	return nil
}

// Output without a message uses the host's memory until it is removed.
func TestOutputIsLetGoWithoutMailer(t *testing.T) {
	for _, family := range []crontab.Family{crontab.Debian, crontab.RHEL} {
		output := &closing{strings.NewReader("much\n"), make(chan struct{})}
		letter, _ := mail.Compose(mail.Config{Family: family, Host: "h", Sendmail: "/nowhere/sendmail"}, mail.Report{
			Job: &job.Job{Command: "c"}, Run: &job.Run{ID: 1}, Account: account.Account{Name: "ann", Home: "/"},
			Output: output, Size: 5,
		})
		if letter == nil {
			t.Fatalf("%v: no letter was composed", family)
		}
		p := Open(Options{Dir: t.TempDir(), Family: family})
		p.Enqueue(letter)
		ctx, stop := context.WithCancel(t.Context())
		stop() // what was given until then is dealt with all the same
		if err := p.Run(ctx); err != nil {
			t.Fatal(err)
		}
		select {
		case <-output.closed:
		default:
			t.Errorf("%v: the output was not let go although no letter came of it", family)
		}
	}
}
