package mail

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"net/mail"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/job"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew")

func report(command, output string, env ...string) Report {
	return Report{
		Job:     &job.Job{ID: "j", User: "bob", Command: command, Env: env},
		Run:     &job.Run{ID: 7, Outcome: job.Outcome{Kind: job.Exited}},
		Account: account.Account{Name: "bob", Home: "/home/bob"},
		Path:    "/usr/bin:/bin",
		Output:  strings.NewReader(output), Size: int64(len(output)),
	}
}

var (
	debian = Config{Family: crontab.Debian, Host: "lab.example.org", Charset: "UTF-8"}
	rhel   = Config{Family: crontab.RHEL, Host: "lab.example.org", Charset: "UTF-8", Getenv: func(name string) string {
		return map[string]string{"OPS": "ops@example.org", "DOMAIN": "example.org"}[name]
	}}
)

func whole(t *testing.T, l *Message) string {
	t.Helper()
	return string(l.Text())
}

// The messages for Debian are those that its cron 3.0pl1-162 and its anacron 2.3-36 passed to a
// recording sendmail for the same lines; ours have Auto-Submitted as well. With -L 4 it marks
// failures in the Subject.
func TestComposeGolden(t *testing.T) {
	withFailure := func(r Report) Report { r.Run.Outcome.Code = 3; return r }
	anacron := func(r Report) Report {
		r.Anacron, r.Account = "cron.daily", account.Account{Name: "root", Home: "/root"}
		return r
	}
	env := []string{"SHELL=/bin/sh", "MAILTO=ops@example.org,root", "MAILFROM=cron@example.org", "FOO=bar baz"}
	full := debian
	full.FullHost, full.Charset = true, ""
	marked := debian
	marked.MarkFailed = true
	command := debian
	command.Family, command.Command = crontab.RHEL, "/usr/local/bin/mailer  -x\ty"
	var got bytes.Buffer
	for _, c := range []struct {
		name   string
		config Config
		report Report
	}{
		{"debian", debian, report(`echo "50% ü	tab"; echo err >&2`, "50% ü\ttab\nerr\n", env...)},
		{"debian failed", debian, withFailure(report("echo fail; exit 3", "fail\n", env...))},
		{"debian -L 4 failed", marked, withFailure(report("echo fail; exit 3", "fail\n", env...))},
		{"debian -L 4", marked, report("echo fine", "fine\n", env...)},
		{"debian plain, CR, no LF", debian, report(`printf 'x\r\ny'`, "x\r\ny")},
		{"debian full host, C locale", full, report("true", "x\n", "CONTENT_TYPE=text/html; charset=x", "CONTENT_TRANSFER_ENCODING=base64")},
		{"rhel", rhel, report("echo plain", "x\r\ny\n")},
		{"rhel expansion", rhel, withFailure(report("echo plain", "x\n", "MAILTO=${OPS},bob@$DOMAIN", "MAILFROM=x@${DOMAIN}"))},
		{"rhel -m", command, report("echo plain", "x\n")},
		{"anacron debian", debian, anacron(report("run-parts", "x\n", "MAILTO=ops", "MAILFROM=x"))},
		{"anacron rhel", rhel, withFailure(anacron(report("run-parts", "x\n", "MAILFROM=x")))},
	} {
		l, lines := Compose(c.config, c.report)
		if l == nil || len(lines) > 0 {
			t.Errorf("%s: %v, %q", c.name, l, lines)
			continue
		}
		fmt.Fprintf(&got, "== %s\nargv %q\nuser %s dir %s\nenv %q\n%s\n", c.name, l.Argv, l.User, l.Dir, l.Env, whole(t, l))
	}
	const golden = "testdata/letters.golden"
	if *update {
		os.MkdirAll("testdata", 0o755)
		filetest.Write(t, golden, got.String(), 0o644)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), want) {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
}

func TestComposeWhen(t *testing.T) {
	failing := func(r Report) Report { r.Run.Outcome.Code = 1; return r }
	onFailure := func(r Report) Report { r.MailOnFailure = true; return r }
	anacron := func(r Report) Report { r.Anacron = "x"; return r }
	with := func(c Config, f func(*Config)) Config { f(&c); return c }
	for name, c := range map[string]struct {
		config Config
		report Report
		want   bool
		lines  []Line
	}{
		"silent":              {config: debian, report: report("x", "")},
		"silent failure":      {config: debian, report: failing(report("x", ""))},
		"one byte":            {config: debian, report: report("x", "\n"), want: true},
		"MAILTO empty":        {config: debian, report: report("x", "x", "MAILTO=")},
		"MAILTO empty, C":     {config: rhel, report: report("x", "x", "MAILTO=")},
		"-n, success":         {config: debian, report: onFailure(report("x", "x"))},
		"-n, failure":         {config: debian, report: onFailure(failing(report("x", "x"))), want: true},
		"-m off":              {config: with(rhel, func(c *Config) { c.Command = "off" }), report: report("x", "x")},
		"-s":                  {config: with(rhel, func(c *Config) { c.Syslog = true }), report: report("x", "x")},
		"option as address":   {config: debian, report: report("x", "x", "MAILTO=-C/tmp/evil"), lines: []Line{{"bob", "UNSAFE MAIL", "MAILTO"}}},
		"blank in address":    {config: debian, report: report("x", "x", "MAILTO=a b"), lines: []Line{{"bob", "UNSAFE MAIL", "MAILTO"}}},
		"slash, D":            {config: debian, report: report("x", "x", "MAILTO=a/b=c"), want: true},
		"slash, C":            {config: rhel, report: report("x", "x", "MAILTO=a/b"), lines: []Line{{"bob", "UNSAFE", "MAILTO"}}},
		"not expanded, D":     {config: debian, report: report("x", "x", "MAILTO=${OPS}"), lines: []Line{{"bob", "UNSAFE MAIL", "MAILTO"}}},
		"expands to nothing":  {config: rhel, report: report("x", "x", "MAILTO=${NOTHING}")},
		"sender unsafe":       {config: debian, report: report("x", "x", "MAILFROM=a b"), want: true, lines: []Line{{"bob", "UNSAFE MAIL", "MAILFROM"}}},
		"long address":        {config: debian, report: report("x", "x", "MAILTO=a"+strings.Repeat("a", 900)), lines: []Line{{"bob", "UNSAFE MAIL", "MAILTO"}}},
		"NO_MAIL_OUTPUT, C":   {config: rhel, report: anacron(report("x", "x", "NO_MAIL_OUTPUT=1"))},
		"NO_MAIL_OUTPUT, D":   {config: debian, report: anacron(report("x", "x", "NO_MAIL_OUTPUT=1")), want: true},
		"not anacron's":       {config: rhel, report: report("x", "x", "NO_MAIL_OUTPUT=1"), want: true},
		"anacron, no address": {config: debian, report: anacron(report("x", "x", "MAILTO="))},
	} {
		l, lines := Compose(c.config, c.report)
		if (l != nil) != c.want || !slices.Equal(lines, c.lines) {
			t.Errorf("%s: letter %v, lines %q; want letter %t, lines %q", name, l, lines, c.want, c.lines)
		}
	}
}

// evil is text that tries to become a header of its own.
var evil = []string{
	"x\nBcc: victim@example.org", "x\r\nBcc: victim@example.org", "x\rBcc: victim@example.org", "\n\nbody", "x\x00Bcc: y", "x\u2028Bcc: y",
	"x\u0085Bcc: y", "x\x0bBcc: y", "x\x0cBcc: y", strings.Repeat("y", 2047) + "Bcc: victim@example.org",
	strings.Repeat("\x80", 3000), strings.Repeat("ü", 3000), "\x1b[2J\x9b2J",
}

func TestComposeHeaderInjection(t *testing.T) {
	for _, c := range []Config{debian, rhel} {
		for _, text := range evil {
			for place, r := range map[string]Report{
				"command":  report(text, "body\n"),
				"type":     report("x", "body\n", "CONTENT_TYPE="+text),
				"encoding": report("x", "body\n", "CONTENT_TRANSFER_ENCODING="+text),
				"variable": report("x", "body\n", "X="+text),
				"name":     report("x", "body\n", text+"=1"),
				"sender":   report("x", "body\n", "MAILFROM=a"+text),
				"host":     report("x", "body\n"),
				"charset":  report("x", "body\n"),
				"stamp":    report("x", "body\n"),
				"account":  report("x", "body\n", "MAILTO=ops"),
			} {
				config := c
				switch place {
				case "host":
					config.Host = text
				case "charset":
					config.Charset = text
				case "stamp":
					r.Anacron = text
				case "account":
					r.Account.Name = text
				}
				l, _ := Compose(config, r)
				if l == nil {
					t.Errorf("%s: no letter", place)
					continue
				}
				checkLetter(t, place, text, l)
			}
			if l, _ := Compose(c, report("x", "body\n", "MAILTO=a"+text)); l != nil {
				checkLetter(t, "MAILTO", text, l)
			}
		}
	}
}

func checkLetter(t *testing.T, place, text string, l *Message) {
	t.Helper()
	for line := range strings.Lines(string(l.Header)) {
		if len(line) > 998 || strings.IndexFunc(strings.TrimSuffix(line, "\n"), control) >= 0 {
			t.Errorf("%s %q: header line %.100q of %d bytes", place, text, line, len(line))
		}
	}
	m, err := mail.ReadMessage(strings.NewReader(whole(t, l)))
	if err != nil {
		t.Errorf("%s %q: %v", place, text, err)
		return
	}
	body, _ := io.ReadAll(m.Body)
	if string(body) != "body\n" {
		t.Errorf("%s %q: body %q", place, text, body)
	}
	for name, values := range m.Header {
		known := []string{"From", "To", "Subject", "Mime-Version", "Content-Type", "Content-Transfer-Encoding", "Auto-Submitted", "Precedence", "X-Cron-Env"}
		if !slices.Contains(known, name) || len(values) > 1 && name != "X-Cron-Env" {
			t.Errorf("%s %q: header %s: %.200q", place, text, name, values)
		}
	}
	for _, arg := range l.Argv[1:] {
		options := []string{"-FCronDaemon", "-FAnacron", "-i", "-B8BITMIME", "-oem", "-odi", "-oi", "-t", "-f"}
		if strings.HasPrefix(arg, "-") && !slices.Contains(options, arg) {
			t.Errorf("%s %q: argument %q", place, text, arg)
		}
	}
}

func FuzzComposeStaysOneHeader(f *testing.F) {
	for _, text := range evil {
		f.Add(text, text, text, text)
	}
	f.Fuzz(func(t *testing.T, command, to, from, kind string) {
		for _, c := range []Config{debian, rhel} {
			if l, _ := Compose(c, report(command, "body\n", "MAILTO="+to, "MAILFROM="+from, "CONTENT_TYPE="+kind)); l != nil {
				checkLetter(t, "fuzz", command, l)
			}
		}
	})
}

func TestCharsetOfLocale(t *testing.T) {
	for _, c := range []struct {
		env    map[string]string
		debian string
		rhel   string
	}{
		{nil, "US-ASCII", "ANSI_X3.4-1968"},
		{map[string]string{"LANG": "C"}, "US-ASCII", "ANSI_X3.4-1968"},
		{map[string]string{"LANG": "C.UTF-8"}, "UTF-8", "UTF-8"},
		{map[string]string{"LANG": "C", "LC_ALL": "de_DE.utf8@euro"}, "UTF-8", "UTF-8"},
		{map[string]string{"LANG": "C.UTF-8", "LC_CTYPE": "de_DE.iso-8859-15"}, "ISO-8859-15", "ISO-8859-15"},
		{map[string]string{"LANG": "de_DE"}, "UTF-8", "UTF-8"},
		{map[string]string{"LANG": "x.y\nBcc: z"}, "UTF-8", "UTF-8"},
	} {
		getenv := func(name string) string { return c.env[name] }
		d, r := charset(Config{Family: crontab.Debian, Getenv: getenv}), charset(Config{Family: crontab.RHEL, Getenv: getenv})
		if d != c.debian || r != c.rhel {
			t.Errorf("%v: %s and %s, want %s and %s", c.env, d, r, c.debian, c.rhel)
		}
	}
}

func TestComposeFoldsManyAddresses(t *testing.T) {
	to := strings.Repeat("someone@example.org,", 500) + "last@example.org"
	l, _ := Compose(rhel, report("x", "x", "MAILTO="+to))
	m, err := mail.ReadMessage(bytes.NewReader(l.Header))
	if err != nil {
		t.Fatal(err)
	}
	list, err := m.Header.AddressList("To")
	if err != nil || len(list) != 501 || list[500].Address != "last@example.org" {
		t.Errorf("%d addresses, %v", len(list), err)
	}
}

func TestBodyIsCapped(t *testing.T) {
	for _, c := range []struct {
		size   int
		end    string
		length int
	}{
		{MaxBody - 1, "xx", MaxBody - 1},
		{MaxBody, "xx", MaxBody},
		{MaxBody + 1, "x\n[cronring: cut here after 10 MiB; see cronring logs 7]\n", MaxBody + 56},
	} {
		r := report("x", "x")
		r.Output = iotest.HalfReader(io.LimitReader(letterX{}, int64(c.size)))
		l, _ := Compose(debian, r)
		got := l.Text()[len(l.Header):]
		if !strings.HasSuffix(string(got), c.end) || len(got) != c.length {
			t.Errorf("%d bytes: %d, ends in %q", c.size, len(got), got[len(got)-60:])
		}
	}
}

type letterX struct{}

func (letterX) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}

func TestOutputOfChunks(t *testing.T) {
	at := time.Time{}
	r, size := Output([]job.Chunk{
		{At: at, Stream: job.Stdout, Data: []byte("one\n")}, {Stream: job.System, Data: []byte("a note\n")},
		{Stream: job.Stderr, Data: []byte("two"), Cut: 5},
	})
	got, _ := io.ReadAll(r)
	if want := "one\n\n[cronring: 5 bytes are left out here]\ntwo"; string(got) != want || size != 12 {
		t.Errorf("got %q of %d, want %q of 12", got, size, want)
	}
	if _, size := Output([]job.Chunk{{Stream: job.System, Data: []byte("a note\n")}}); size != 0 {
		t.Errorf("the daemon's own words count as %d bytes of output", size)
	}
}
