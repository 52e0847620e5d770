package mail

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/job"
)

// Whom mail= and mailto= send what to, in both families.
func TestComposeByOptions(t *testing.T) {
	ok := job.Run{ID: 7, Outcome: job.Outcome{Kind: job.Exited}}
	failed := job.Run{ID: 7, Outcome: job.Outcome{Kind: job.Exited, Code: 3}, Verdict: job.VerdictFail}
	retried, lost, skipped, excused := failed, failed, failed, failed
	retried.Verdict = job.VerdictRetry
	lost.Outcome, lost.Verdict = job.Outcome{Kind: job.Lost}, job.VerdictLost
	skipped.Verdict = job.VerdictSkip
	excused.Verdict = job.VerdictOK // ok=0,3
	to := func(s string) *string { return &s }
	for _, c := range []struct {
		name   string
		when   option.MailWhen
		run    job.Run
		output string
		minusN bool
		mailto *string
		env    []string
		want   string // To; "": no letter
	}{
		{name: "output", run: ok, output: "x\n", want: "bob"},
		{name: "output, silent", run: failed},
		{name: "output, each attempt", run: retried, output: "x\n", want: "bob"},
		{name: "-n, ok", run: ok, output: "x\n", minusN: true},
		{name: "-n, failed", run: failed, output: "x\n", minusN: true, want: "bob"},
		{name: "-n, excused by ok=", run: excused, output: "x\n", minusN: true},
		{name: "always, silent", when: option.MailAlways, run: ok, want: "bob"},
		{name: "always, each attempt", when: option.MailAlways, run: retried, want: "bob"},
		{name: "always wins over -n", when: option.MailAlways, run: ok, minusN: true, want: "bob"},
		{name: "failure, ok", when: option.MailFailure, run: ok, output: "x\n"},
		{name: "failure, excused by ok=", when: option.MailFailure, run: excused, output: "x\n"},
		{name: "failure, skipped by skip-code=", when: option.MailFailure, run: skipped, output: "x\n"},
		{name: "failure, silent", when: option.MailFailure, run: failed, want: "bob"},
		{name: "failure, lost", when: option.MailFailure, run: lost, want: "bob"},
		{name: "failure, another attempt follows", when: option.MailFailure, run: retried, output: "x\n"},
		{name: "never", when: option.MailNever, run: failed, output: "x\n"},
		{name: "mailto over MAILTO", run: ok, output: "x\n", mailto: to("ops@example.org"), env: []string{"MAILTO=ann"}, want: "ops@example.org"},
		{name: "mailto over MAILTO of nobody", run: ok, output: "x\n", mailto: to("ops"), env: []string{"MAILTO="}, want: "ops"},
		{name: "MAILTO of nobody silences", when: option.MailAlways, run: failed, output: "x\n", env: []string{"MAILTO="}},
		{name: "mailto of nobody silences", when: option.MailAlways, run: failed, output: "x\n", mailto: to("")},
		{name: "an option is no address", run: ok, output: "x\n", mailto: to("-oQ/tmp")},
		{name: "mailto is not expanded", run: ok, output: "x\n", mailto: to("$OPS")},
	} {
		for _, config := range []Config{debian, rhel} {
			r := report("true", c.output, c.env...)
			r.When, r.To, r.MailOnFailure = c.when, c.mailto, c.minusN
			run := c.run
			r.Run = &run
			l, _ := Compose(config, r)
			if l == nil {
				if c.want != "" {
					t.Errorf("%s: no letter, want one to %s", c.name, c.want)
				}
				continue
			}
			text := whole(t, l)
			if c.want == "" || !strings.Contains(text, "\nTo: "+c.want+"\n") {
				t.Errorf("%s: want To: %q, got\n%s", c.name, c.want, text)
			}
			if config.Family == crontab.Debian && c.want != "" && l.Argv[len(l.Argv)-1] != c.want {
				t.Errorf("%s: argv %q, want %s at the end", c.name, l.Argv, c.want)
			}
			if silent := strings.Contains(text, "[cronring: the run printed nothing; it ended with: "+run.Outcome.String()+"]"); silent != (c.output == "") {
				t.Errorf("%s: says that it printed nothing: %t, output %q", c.name, silent, c.output)
			}
		}
	}
}

// The error about an invalid address contains its position, but not the address.
func TestComposeRefusesUnsafeMailto(t *testing.T) {
	r := report("true", "x\n")
	address := "bob\nBcc: all"
	r.To = &address
	l, lines := Compose(debian, r)
	if want := (Line{"bob", "UNSAFE MAIL", "mailto"}); l != nil || len(lines) != 1 || lines[0] != want {
		t.Errorf("letter %v, said %q; want %q", l, lines, want)
	}
}

// Mail with the output of a lost run reports that the run was lost.
func TestMailSaysThatARunWasLost(t *testing.T) {
	for _, config := range []Config{debian, rhel} {
		run := job.Run{Outcome: job.Outcome{Kind: job.Lost}, Verdict: job.VerdictLost}
		r := Report{Job: &job.Job{Command: "x"}, Run: &run, Account: account.Account{Name: "bob"}, Output: strings.NewReader("begun\n"), Size: 6}
		l, _ := Compose(config, r)
		if text := whole(t, l); !strings.HasSuffix(text, "\n\nbegun\n\n[cronring: how the run ended is not known; it counts as failed]\n") {
			t.Errorf("got\n%s", text)
		}
	}
}
