package sendmail

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/mail"
	"github.com/cronring/cronring/daemon/outbox"
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

// FuzzEnvelope reads any file of the queue.
func FuzzEnvelope(f *testing.F) {
	first, err := json.Marshal(envelope{
		User: "ann", Dir: "/home/ann", Argv: []string{"/usr/sbin/sendmail", "-i", "-t"}, Env: []string{"HOME=/home/ann"}, Output: 5, Born: time.Unix(1_700_000_000, 0).UTC(),
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(append(first, "\nTo: ann\n\nmuch\n"...))
	f.Add(first)
	f.Add([]byte("{\"user\":\"ann\",\"argv\":[]}\n"))
	f.Add([]byte("{\"born\":\"\\u001b[31m\"}\n"))
	f.Add([]byte("{\"output\":1e400}\n\x1b"))
	f.Add([]byte("{\"born\":\"\x7f\"}\n")) // the error of package time quotes it
	f.Fuzz(func(t *testing.T, text []byte) {
		e, length, err := readEnvelope(bytes.NewReader(text))
		if err != nil {
			if _, damaged := errors.AsType[*outbox.DamagedError](err); !damaged || strings.ContainsFunc(err.Error(), unicode.IsControl) || len(err.Error()) > 1000 {
				t.Errorf("%q: the error %q, %T", text, err, err)
			}
			return
		}
		if length > int64(len(text)) || bytes.IndexByte(text, '\n') != int(length-1) || e.User == "" || len(e.Argv) == 0 {
			t.Fatalf("%q is read as %+v of %d bytes", text, e, length)
		}
		if other, n, err := readEnvelope(bytes.NewReader(append(text[:length:length], "another\nmessage"...))); err != nil || n != length || !reflect.DeepEqual(other, e) {
			t.Errorf("%q: with another message it is %+v, %v", text, other, err)
		}
		first, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if again, _, err := readEnvelope(bytes.NewReader(append(first, '\n'))); err != nil || !reflect.DeepEqual(again, e) {
			t.Errorf("read %+v, written and read again %+v, %v", e, again, err)
		}
	})
}
