package mail

import (
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/account"
)

func TestComposeNoticeGoesToWhomTheJobNames(t *testing.T) {
	address := func(s string) *string { return &s }
	for name, c := range map[string]struct {
		notice Notice
		want   string
	}{
		"the channel":      {Notice{To: []string{"ops@example.org", "root"}, MailTo: address("ann"), Env: []string{"MAILTO=x"}}, "ops@example.org,root"},
		"mailto":           {Notice{MailTo: address("ann"), Env: []string{"MAILTO=x"}}, "ann"},
		"MAILTO":           {Notice{Env: []string{"MAILTO=x"}}, "x"},
		"the account":      {Notice{}, "bob"},
		"MAILTO of nobody": {Notice{Env: []string{"MAILTO="}}, "bob"},
		"mailto of nobody": {Notice{MailTo: address("")}, "bob"},
		"an unsafe mailto": {Notice{MailTo: address("-oQ/tmp"), Env: []string{"MAILTO=x"}}, "bob"},
	} {
		for _, config := range []Config{debian, rhel} {
			c.notice.Account, c.notice.Subject, c.notice.Text = account.Account{Name: "bob", Home: "/home/bob"}, "backup: fail\nBcc: all", "It failed.\n"
			l, err := ComposeNotice(config, c.notice)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			text := whole(t, l)
			head, body, _ := strings.Cut(text, "\n\n")
			if !strings.Contains(head, "\nTo: "+c.want+"\n") || !strings.Contains(head, "\nSubject: Cron <bob@lab> backup: fail^JBcc: all\n") || body != "It failed.\n" {
				t.Errorf("%s: got\n%s\nwant it to %s", name, text, c.want)
			}
			if l.User != "bob" || slices.ContainsFunc(l.Env, func(v string) bool { return strings.HasPrefix(v, "MAILTO=") }) {
				t.Errorf("%s: as %s with %q", name, l.User, l.Env)
			}
		}
	}
}

func TestComposeNoticeSaysWhyThereIsNone(t *testing.T) {
	off := debian
	off.Command = "off"
	n := Notice{Account: account.Account{Name: "bob"}}
	if _, err := ComposeNotice(off, n); err != errOff {
		t.Errorf("without mail: %v", err)
	}
	n.To = []string{"a b"}
	if _, err := ComposeNotice(debian, n); err != errUnsafe {
		t.Errorf("with an unsafe address: %v", err)
	}
}

func TestNoticeThatNobodyAskedForIsSilenced(t *testing.T) {
	nobody, off := "", debian
	off.Command = "off"
	for name, c := range map[string]struct {
		config Config
		notice Notice
		want   string
	}{
		"the account":      {debian, Notice{}, "bob"},
		"MAILTO":           {debian, Notice{Env: []string{"MAILTO=x"}}, "x"},
		"MAILTO of nobody": {debian, Notice{Env: []string{"MAILTO="}}, ""},
		"mailto of nobody": {debian, Notice{MailTo: &nobody}, ""},
		"no mail":          {off, Notice{}, ""},
	} {
		c.notice.Account, c.notice.Unasked = account.Account{Name: "bob"}, true
		if got := c.notice.Recipient(c.config); got != c.want {
			t.Errorf("%s: to %q, want %q", name, got, c.want)
		}
	}
}
