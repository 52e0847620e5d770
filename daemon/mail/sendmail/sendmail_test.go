package sendmail

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/mail"
	"github.com/cronring/cronring/daemon/outbox"
)

// mta is a mailer for tests: it records its input, and answers.
type mta struct {
	answer func(user string) (int, string, error)
	got    chan string // user: message
}

func newMTA(answer func(user string) (int, string, error)) *mta {
	return &mta{answer, make(chan string, 1000)}
}

func (m *mta) send(_ context.Context, d Delivery) (int, string, error) {
	text, err := io.ReadAll(d.Message)
	if err != nil {
		return 0, "", err
	}
	m.got <- d.User + ": " + string(text)
	return m.answer(d.User)
}

func fine(string) (int, string, error) { return 0, "", nil }

// lines collects cron's log lines.
type lines struct {
	mu  sync.Mutex
	all []mail.Line
}

func (l *lines) say(line mail.Line) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, line)
}

func (l *lines) take() []mail.Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.all
	l.all = nil
	return all
}

func letter(user, text string) *mail.Message {
	return &mail.Message{
		User: user, Dir: "/", Argv: []string{"/bin/sh", "arg"}, Env: []string{"A=b"}, Header: []byte("Subject: x\n\n"),
		Body: strings.NewReader(text), Output: int64(len(text)),
	}
}

// running runs the post until the test ends, or until stop is called.
func running(t *testing.T, p *Queue) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	return func() {
		t.Helper()
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

// file writes letters into the queue, and delivers none.
func file(t *testing.T, p *Queue, letters ...*mail.Message) {
	t.Helper()
	for _, l := range letters {
		p.Enqueue(l)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := p.Run(ended); err != nil {
		t.Fatal(err)
	}
}

// TestPostRunsSendmail hands letters to a real program, as the daemon's spawn
// does.
func TestPostRunsSendmail(t *testing.T) {
	dir := t.TempDir()
	sendmail := filepath.Join(dir, "sendmail")
	script := "#!/bin/sh\n{ printf '<%s>' \"$@\"; echo; env; cat; } > " + dir + "/sent\necho complaint >&2\nexit $STATUS\n"
	filetest.Write(t, sendmail, script, 0o755)
	ended := make(chan struct{}, 10)
	var said lines
	p := Open(Options{Dir: filepath.Join(dir, "queue"), CronLog: said.say, Send: func(ctx context.Context, d Delivery) (int, string, error) {
		cmd := exec.CommandContext(ctx, d.Argv[0], d.Argv[1:]...)
		cmd.Env, cmd.Dir, cmd.Stdin = d.Env, d.Dir, d.Message
		out, err := cmd.CombinedOutput()
		defer func() { ended <- struct{}{} }()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return int(exit.Sys().(syscall.WaitStatus)), string(out), nil
		}
		return 0, string(out), err
	}})
	stop := running(t, p)

	config := mail.Config{Family: crontab.Debian, Host: "lab.example.org", Charset: "UTF-8", Sendmail: sendmail}
	report := func() mail.Report {
		return mail.Report{
			Job: &job.Job{ID: "j", User: "bob", Command: "echo hi"}, Run: &job.Run{ID: 7, Outcome: job.Outcome{Kind: job.Exited}},
			Account: account.Account{Name: "bob", Home: "/home/bob"}, Path: "/usr/bin:/bin",
			Output: strings.NewReader("hi\n"), Size: 3,
		}
	}
	l, _ := mail.Compose(config, report())
	l.Env = append(l.Env, "STATUS=0")
	l.Dir = "/"
	p.Enqueue(l)
	<-ended
	sent, err := os.ReadFile(filepath.Join(dir, "sent"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"<-FCronDaemon><-i><-B8BITMIME><-oem><bob>\n", "LOGNAME=bob\n", "\nSubject: Cron <bob@lab> echo hi\n", "\n\nhi\n"} {
		if !strings.Contains(string(sent), want) {
			t.Errorf("sendmail was given\n%s\nwithout %q", sent, want)
		}
	}

	l, _ = mail.Compose(config, report())
	l.Env = append(l.Env, "STATUS=75")
	l.Dir = "/"
	p.Enqueue(l)
	<-ended
	stop()
	if got, want := p.Problems()[0].Why, "the mailer said: complaint"; got != want || p.Count() != 1 {
		t.Errorf("%d wait, why %q, want 1 and %q", p.Count(), got, want)
	}
	if got, want := said.take(), []mail.Line{{Who: "bob", Word: "MAIL", Text: "mailed 3 bytes of output but got status 0x4b00 from MTA"}}; !slices.Equal(got, want) {
		t.Errorf("said %q, want %q", got, want)
	}
}

func TestPostSurvivesRestart(t *testing.T) {
	dir := t.TempDir()
	down := newMTA(func(string) (int, string, error) { return 75 << 8, "later", nil })
	p := Open(Options{Dir: dir, Send: down.send})
	stop := running(t, p)
	for i := range 3 {
		p.Enqueue(letter("bob", fmt.Sprint("number ", i)))
		<-down.got
	}
	stop()
	p.Enqueue(letter("bob", "given to nobody")) // after the end: not taken
	files, _ := filepath.Glob(dir + "/*")
	for _, file := range files {
		info, _ := os.Stat(file)
		if info.Mode() != 0o600 {
			t.Errorf("%s has mode %v", file, info.Mode())
		}
	}
	// Incomplete files of a daemon that died, and other files, are not messages.
	for name, text := range map[string]string{
		outbox.Name(50) + ".tmp": "half", outbox.Name(51): "no envelope", outbox.Name(52): `{"user":"x"}` + "\n", "README": "not ours",
	} {
		filetest.Write(t, filepath.Join(dir, name), text, 0o600)
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, outbox.Name(53))); err != nil {
		t.Fatal(err)
	}

	up := newMTA(fine)
	var got []Delivery
	p = Open(Options{Dir: dir, Send: func(ctx context.Context, d Delivery) (int, string, error) {
		got = append(got, d)
		return up.send(ctx, d)
	}})
	if n := p.Count(); n != 3 {
		t.Fatalf("%d letters are left, want 3", n)
	}
	stop = running(t, p)
	for i := range 3 {
		if text, want := <-up.got, fmt.Sprintf("bob: Subject: x\n\nnumber %d", i); text != want {
			t.Errorf("got %q, want %q", text, want)
		}
	}
	p.Enqueue(letter("bob", "new"))
	if text := <-up.got; text != "bob: Subject: x\n\nnew" {
		t.Errorf("got %q", text)
	}
	stop()
	if d := got[0]; d.User != "bob" || d.Dir != "/" || !slices.Equal(d.Argv, []string{"/bin/sh", "arg"}) || !slices.Equal(d.Env, []string{"A=b"}) {
		t.Errorf("delivery %+v", d)
	}
	left := []string{}
	files, _ = filepath.Glob(dir + "/*")
	for _, file := range files {
		left = append(left, filepath.Base(file))
	}
	if want := []string{outbox.Name(51) + ".dead", outbox.Name(52) + ".dead", outbox.Name(53), "README"}; !slices.Equal(left, want) {
		t.Errorf("left %q, want %q", left, want)
	}
}

// TestPostRetries sees the waits grow to an hour, the letter given up after
// four days, and what is said of it.
func TestPostRetries(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var said lines
		var waits []time.Duration
		last := time.Now()
		p := Open(Options{Dir: dir, CronLog: said.say, Send: func(context.Context, Delivery) (int, string, error) {
			waits = append(waits, time.Since(last))
			last = time.Now()
			return 75 << 8, "try \x1b[2J\nlater", nil
		}})
		stop := running(t, p)
		p.Enqueue(letter("bob", "x"))
		time.Sleep(time.Second)
		if got, want := p.Problems(), (outbox.Problem{What: "1 mail waits to be sent", Why: "the mailer said: try ^[[2J later", Fix: mailerLog, User: "root"}); len(got) != 1 || got[0] != want {
			t.Errorf("problems %q, want %q", got, want)
		}
		time.Sleep(5 * 24 * time.Hour)
		stop()
		if p.Count() != 0 {
			t.Errorf("%d letters wait after five days", p.Count())
		}
		m := time.Minute
		if want := []time.Duration{0, m, 2 * m, 4 * m, 8 * m, 16 * m, 32 * m, 60 * m, 60 * m}; !slices.Equal(waits[:9], want) || len(waits) < 95 || len(waits) > 105 {
			t.Errorf("%d tries, waits %v, want %v", len(waits), waits[:9], want)
		}
		if got, want := said.take(), []mail.Line{{Who: "bob", Word: "MAIL", Text: "mailed 1 byte of output but got status 0x4b00 from MTA"}}; !slices.Equal(got, want) {
			t.Errorf("said %q, want %q", got, want)
		}
		if got := p.Problems(); len(got) != 1 || got[0].What != "1 mail was given up" || got[0].Why != "bob: try ^[[2J later" {
			t.Errorf("problems %q", got)
		}
	})
	if p := Open(Options{Dir: dir}); p.Count() != 0 || len(p.Problems()) != 1 {
		t.Errorf("after a restart: %d letters, problems %q; want the dead one alone", p.Count(), p.Problems())
	}
}

func TestPostGivesUpWhereTheAnswerIsFinal(t *testing.T) {
	m := newMTA(func(string) (int, string, error) { return 67 << 8, "no such user", nil })
	synctest.Test(t, func(t *testing.T) {
		p := Open(Options{Dir: t.TempDir(), Send: m.send})
		defer running(t, p)()
		p.Enqueue(letter("bob", "x"))
		time.Sleep(10 * time.Hour)
		if p.Count() != 0 || len(m.got) != 1 {
			t.Errorf("%d wait, %d tries; want one try", p.Count(), len(m.got))
		}
	})
}

// A busy account delays the others by a letter at a time.
func TestPostIsFair(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMTA(fine)
		p := Open(Options{Dir: t.TempDir(), Send: func(ctx context.Context, d Delivery) (int, string, error) {
			time.Sleep(time.Second)
			return m.send(ctx, d)
		}})
		for i := range 50 {
			file(t, p, letter("chatty", fmt.Sprint(i)))
		}
		file(t, p, letter("ann", "0"))
		file(t, p, letter("bob", "0"))
		defer running(t, p)()
		time.Sleep(1500 * time.Millisecond)
		var users []string
		for range len(m.got) {
			user, _, _ := strings.Cut(<-m.got, ":")
			users = append(users, user)
		}
		slices.Sort(users)
		if want := []string{"ann", "bob", "chatty"}; !slices.Equal(users, want) {
			t.Errorf("letters of %q were sent in the first second, want one of each of %q", users, want)
		}
	})
}

func TestPostMailerHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMTA(fine)
		p := Open(Options{Dir: t.TempDir(), Send: func(ctx context.Context, d Delivery) (int, string, error) {
			if d.User == "evil" {
				<-ctx.Done()
				return 0, "", ctx.Err()
			}
			return m.send(ctx, d)
		}})
		defer running(t, p)()
		for range 100 {
			p.Enqueue(letter("evil", "x"))
		}
		for range 20 {
			p.Enqueue(letter("ann", "x"))
		}
		begun := outbox.Stamp(time.Now())
		time.Sleep(time.Second)
		if got := len(m.got); got != 20 {
			t.Errorf("%d of ann's 20 letters were sent beside a mailer that hangs", got)
		}
		if got := p.Problems(); len(got) > 0 {
			t.Errorf("problems %q after a second, want none", got)
		}
		time.Sleep(time.Minute)
		want := []outbox.Problem{{What: "100 mails of evil wait", Why: "a mailer was started at " + begun + " and still runs", Fix: mailerLog, User: "evil"}}
		if got := p.Problems(); !slices.Equal(got, want) {
			t.Errorf("problems %q after a minute, want %q", got, want)
		}
		p.Enqueue(letter("ann", "x")) // success of another user hides nothing
		time.Sleep(5 * time.Minute)
		if got := p.Problems(); len(got) != 1 || got[0].What != "100 mails wait to be sent" || !strings.Contains(got[0].Why, "did not end") {
			t.Errorf("problems %q after six minutes, want the mailer that did not end", got)
		}
	})
}

// One account has one mailer at a time, and maxMailers run in all.
func TestPostRunsOneMailerForEachAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		mailers, most := map[string]int{}, 0
		p := Open(Options{Dir: t.TempDir(), Send: func(_ context.Context, d Delivery) (int, string, error) {
			mu.Lock()
			if mailers[d.User]++; mailers[d.User] > 1 {
				t.Errorf("%s has %d mailers", d.User, mailers[d.User])
			}
			most = max(most, len(mailers))
			mu.Unlock()
			time.Sleep(time.Second)
			mu.Lock()
			delete(mailers, d.User)
			mu.Unlock()
			return 0, "", nil
		}})
		for i := range 40 {
			p.Enqueue(letter(fmt.Sprint("user", i%20), "x"))
		}
		stop := running(t, p)
		time.Sleep(20 * time.Second)
		stop()
		if p.Count() != 0 || most != maxMailers {
			t.Errorf("%d letters wait, %d mailers ran at once, want 0 and %d", p.Count(), most, maxMailers)
		}
	})
}

// The agent is looked for at each letter; a change is said once.
func TestPostWithoutMTA(t *testing.T) {
	for family, want := range map[crontab.Family]mail.Line{
		crontab.Debian: {Who: "CRON", Word: "info", Text: "No MTA installed, discarding output"},
		crontab.RHEL:   {Who: "CRON", Word: "INFO", Text: "Syslog will be used instead of sendmail."},
	} {
		dir := t.TempDir()
		sendmail := filepath.Join(dir, "sendmail")
		var said lines
		m := newMTA(fine)
		p := Open(Options{Dir: filepath.Join(dir, "queue"), Family: family, CronLog: said.say, Send: m.send})
		give := func() {
			l := letter("bob", "x")
			l.Argv[0] = sendmail
			file(t, p, l)
		}
		give()
		give()
		if got := said.take(); !slices.Equal(got, []mail.Line{want}) {
			t.Errorf("said %q, want %q", got, want)
		}
		got := p.Problems()
		if len(got) != 1 || got[0].Why != "there is no "+sendmail || !strings.Contains(got[0].What, "2 mails were not sent") || got[0].Fix == "" {
			t.Errorf("problems %q", got)
		}
		if p.Count() != 0 {
			t.Errorf("%d letters wait", p.Count())
		}
		filetest.Write(t, sendmail, "#!/bin/sh\n", 0o755)
		if got := p.Problems(); len(got) > 0 {
			t.Errorf("problems %q though it was installed", got)
		}
		give()
		stop := running(t, p)
		<-m.got
		stop()
		if got := said.take(); len(got) > 0 || p.Count() != 0 {
			t.Errorf("said %q, %d wait", got, p.Count())
		}
		os.Remove(sendmail)
		give()
		if got := said.take(); !slices.Equal(got, []mail.Line{want}) {
			t.Errorf("said %q, want %q again", got, want)
		}
	}
}

// A directory that takes nothing costs the queue, not the mail.
func TestPostDiskTakesNothing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "file")
	filetest.Write(t, dir, "", 0o600)
	m := newMTA(fine)
	p := Open(Options{Dir: dir, Send: func(ctx context.Context, d Delivery) (int, string, error) {
		again, err := os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", d.Message.Fd()), os.O_RDWR, 0)
		if err == nil {
			_, err = again.Write([]byte("x"))
			again.Close()
		}
		if !errors.Is(err, syscall.EPERM) {
			t.Errorf("a mailer could change the message: %v", err)
		}
		return m.send(ctx, d)
	}})
	stop := running(t, p)
	p.Enqueue(letter("bob", "text"))
	if got, want := <-m.got, "bob: Subject: x\n\ntext"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	stop()
	if got := p.Problems(); len(got) != 1 || !strings.HasPrefix(got[0].What, "mails are not kept on disk since ") {
		t.Errorf("problems %q", got)
	}
	large := func(user string) *mail.Message { return letter(user, strings.Repeat("x", 3<<20)) }
	const room = 16 / 3 // letters of half of the memory for them
	for range room + 3 {
		file(t, p, large("bob"))
	}
	if got := p.Problems(); p.Count() != room || !strings.HasPrefix(got[len(got)-1].What, "3 mails were lost") {
		t.Errorf("%d wait, problems %q", p.Count(), got)
	}
	for range 2 { // there is room for others
		file(t, p, large("ann"), large("root"))
	}
	if p.Count() != room+4 {
		t.Errorf("%d letters wait, want %d of bob and 4 of others", p.Count(), room)
	}
	m = newMTA(fine)
	stop = running(t, p)
	for range room + 4 {
		<-m.got
	}
	stop()
	for range room { // the memory is free again
		file(t, p, large("bob"))
	}
	if p.Count() != room {
		t.Errorf("%d of bob's letters wait after all others were sent, want %d", p.Count(), room)
	}
}

func TestPostBounds(t *testing.T) {
	p := Open(Options{Dir: t.TempDir(), Messages: 8, Bytes: 4000})
	refused := func(want int) {
		t.Helper()
		got := p.Problems()
		if text := fmt.Sprintf("%d mails were lost since the daemon started", want); len(got) != 1 || got[0].What != text {
			t.Errorf("problems %q, want %q", got, text)
		}
	}
	for range 5 {
		file(t, p, letter("chatty", "x"))
	}
	for range 2 {
		file(t, p, letter("big", strings.Repeat("x", 700)))
	}
	file(t, p, letter("ann", "x"))
	got := map[string]int{}
	for _, l := range p.Lanes() {
		got[l.Name] = l.Waiting
	}
	if want := map[string]int{"chatty": 2, "big": 1, "ann": 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("queue %v, want %v", got, want)
	}
	refused(4)
	for range 3 {
		for i := range 20 { // together they fill it, but for what is left for the next one
			file(t, p, letter(fmt.Sprint("user", i), "x"))
		}
	}
	filled := p.Count()
	if file(t, p, letter("root", "x")); p.Count() != filled+1 {
		t.Error("a letter of root was refused as those of others fill the queue")
	}
}

// What is given before the end is on the disk after it.
func TestPostFilesAllBeforeItEnds(t *testing.T) {
	dir := t.TempDir()
	p := Open(Options{Dir: dir})
	for range 100 {
		p.Enqueue(letter("bob", "x"))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Run(ctx); err != nil {
		t.Fatal(err)
	}
	if n := Open(Options{Dir: dir}).Count(); n != 100 {
		t.Errorf("%d letters are on the disk, want 100", n)
	}
}

func TestPostSendsWhatItCanRead(t *testing.T) {
	m := newMTA(fine)
	p := Open(Options{Dir: t.TempDir(), Send: m.send})
	defer running(t, p)()
	l := letter("bob", "")
	l.Body = io.MultiReader(strings.NewReader("half"), broken{})
	p.Enqueue(l)
	if got, want := <-m.got, "bob: Subject: x\n\nhalf\n[cronring: the rest of the output cannot be read: gone]\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("gone") }
