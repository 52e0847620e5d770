package journal

import (
	"bytes"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
)

var update = flag.Bool("update", false, "write testdata/*.golden anew")

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// decode reads fields back from the journal's protocol, as its daemon does.
func decode(b []byte) (fields []field, err error) {
	for len(b) > 0 {
		line, rest, ok := bytes.Cut(b, []byte("\n"))
		if !ok {
			return nil, errors.New("no line feed at the end")
		}
		if name, value, ok := strings.Cut(string(line), "="); ok {
			fields = append(fields, field{name, value})
			b = rest
			continue
		}
		if len(rest) < 8 {
			return nil, errors.New("no length")
		}
		size := binary.LittleEndian.Uint64(rest)
		rest = rest[8:]
		if size >= uint64(len(rest)) || rest[size] != '\n' {
			return nil, errors.New("no line feed after the value")
		}
		fields = append(fields, field{string(line), string(rest[:size])})
		b = rest[size+1:]
	}
	return fields, nil
}

// socket is a log that tests read.
type socket struct {
	path string
	conn *net.UnixConn
}

func listen(t *testing.T, path string) *socket {
	t.Helper()
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	conn.SetReadDeadline(time.Now().Add(hosttest.Patience)) // a test that waits in vain fails
	return &socket{path, conn}
}

// read is the next datagram, or what the descriptor in it holds.
func (s *socket) read(t *testing.T) []byte {
	t.Helper()
	b, oob := make([]byte, 1<<20), make([]byte, 1<<10)
	n, oobn, _, _, err := s.conn.ReadMsgUnix(b, oob)
	if err != nil {
		t.Fatal(err)
	}
	if oobn == 0 {
		return b[:n]
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:oobn])
	if err != nil {
		t.Fatal(err)
	}
	fds, err := syscall.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		t.Fatal(fds, err)
	}
	f := os.NewFile(uintptr(fds[0]), "sent")
	defer f.Close()
	if _, err := f.WriteAt([]byte("x"), 0); err == nil {
		t.Error("the file can still be changed, so that the journal would refuse it")
	}
	info, _ := f.Stat()
	text, err := io.ReadAll(io.NewSectionReader(f, 0, info.Size()))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func (s *socket) readFields(t *testing.T) []field {
	t.Helper()
	fields, err := decode(s.read(t))
	if err != nil {
		t.Fatal(err)
	}
	return fields
}

func value(fields []field, name string) string {
	for _, f := range fields {
		if f.name == name {
			return f.value
		}
	}
	return ""
}

func openScribe(t *testing.T, o Options) *textLog {
	t.Helper()
	o.Zone = func() *time.Location { return time.UTC }
	sink, _, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	s := sink.(*textLog)
	s.pid = 99
	s.now = func() time.Time { return noon }
	s.patience = hosttest.Patience // a busy machine may stop the reader of a test for a second
	t.Cleanup(func() { s.Close() })
	return s
}

// aside does something while the test reads, and ends before the sink closes.
func aside(t *testing.T, do func()) {
	done := make(chan struct{})
	t.Cleanup(func() { <-done })
	go func() {
		defer close(done)
		do()
	}()
}

// life is all that is said of some runs.
func life(s Sink, words Words) {
	outcome := job.Outcome{Kind: job.Exited, Code: 3}
	j := job.Job{ID: "backup", Crontab: "/etc/cron.d/backup", Line: 7, User: "bob", Command: "backup 50% ü\t\x1b[1m"}
	run := job.Run{
		ID: 12, Job: "backup", Due: noon, Attempt: 2, Trigger: job.TriggerRetry, Reason: job.Retried,
		Invocation: job.Invocation("backup", noon, 0, 0),
	}
	tell := func(kind job.RecordKind, words string, r *Run, run job.Run) {
		s.Record(&Record{Record: &job.Record{At: noon, Kind: kind, Job: run.Job, Run: &run}, Words: words, About: r})
	}
	for _, quiet := range []bool{false, true} {
		r := NewRun(&run, &j, quiet)
		s.Record(&Record{Record: &job.Record{At: noon, Kind: job.Decided, Decision: job.DecideRun, Job: "backup", Run: &run}, Words: "starting", About: r})
		r.PID, run.PID = 4711, 4711
		tell(job.Started, "", r, run)
		if !quiet {
			s.Line(&Line{At: noon, Job: "backup", Run: 12, Stream: job.Stdout, Text: []byte("plain \x1b[1m"), About: r})
			s.Line(&Line{At: noon, Job: "backup", Run: 12, Stream: job.Stderr, Text: []byte("error"), About: r})
		}
		ended := run
		ended.Outcome = outcome
		tell(job.Ended, ended.Outcome.String()+" in 1s", r, ended)
		outcome = job.Outcome{Kind: job.Exited}
	}
	ok := run
	ok.Outcome = outcome
	r := NewRun(&run, &j, false)
	tell(job.Ended, "ok in 1s", r, ok)
	r.Anacron, r.Printed = "cron.daily", true
	tell(job.Started, "", r, run)
	tell(job.Ended, "ok in 1s", r, ok)
	s.Record(&Record{
		Record: &job.Record{At: noon, Kind: job.Decided, Decision: job.DecideSkip, Job: "backup", Reason: job.Late, Detail: "2h late", Count: 3, Due: noon},
		Words:  "skipped 3 times",
	})
	s.Record(&Record{
		Record: &job.Record{At: noon, Kind: job.Stepped, Detail: "the clock was set back by 1h0m0s", Was: noon.Add(time.Hour)},
		Words:  "the clock was set back by 1h0m0s, and so on",
	})
	s.Line(&Line{At: noon, Job: "CRON", Run: 13, Stream: job.Stdout, Text: []byte("(root) CMD (forged)")})
	for _, l := range append(words.Up("1.2.3"), words.Down()...) {
		s.Cron(&l)
	}
	for _, first := range []bool{true, false} {
		l := words.Reboot(first)
		s.Cron(&l)
	}
	s.Cron(&CronLine{From: Child, PID: 5, Who: "bob", Word: "MAIL", Text: "mailed\n"})
	s.Log(&Entry{At: noon, Level: slog.LevelWarn, Message: "line left out", Attrs: []Attr{{"at", "a b\n"}, {"code", "B101"}, {IDKey, RefusedID}}})
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		os.MkdirAll("testdata", 0o755)
		filetest.Write(t, path, got, 0o644)
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

// TestGolden holds what is written for both families, with all that Debian's
// -L can ask for, to the journal and to syslog.
func TestGolden(t *testing.T) {
	for name, c := range map[string]struct {
		mode Mode
		o    Options
	}{
		"journal-debian": {ModeJournal, Options{}},
		"journal-rhel":   {ModeJournal, Options{Words: Words{Family: crontab.RHEL}, CMDOUT: func() bool { return true }}},
		"journal-plain":  {ModeJournal, Options{NoCron: true}},
		"syslog-debian":  {ModeSyslog, Options{Words: Words{Level: Starts | Ends | Failures}}},
		"syslog-pids":    {ModeSyslog, Options{Words: Words{Level: Starts | Ends | Failures | PIDs}}},
		"syslog-silent":  {ModeSyslog, Options{Words: Words{Level: Silent}}},
		"syslog-rhel":    {ModeSyslog, Options{Words: Words{Family: crontab.RHEL}}},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := listen(t, filepath.Join(dir, "log"))
			c.o.Mode, c.o.Journal, c.o.Syslog = c.mode, s.path, s.path
			sink := openScribe(t, c.o)
			aside(t, func() {
				life(sink, c.o.Words)
				sink.Log(&Entry{At: noon, Message: "the end"})
			})
			var got strings.Builder
			for {
				b := s.read(t)
				if bytes.Contains(b, []byte("the end")) {
					break
				}
				if c.mode == ModeSyslog {
					fmt.Fprintf(&got, "%q\n", b)
					continue
				}
				fields, err := decode(b)
				if err != nil {
					t.Fatal(err)
				}
				for _, f := range fields {
					fmt.Fprintf(&got, "%s=%q ", f.name, f.value)
				}
				got.WriteByte('\n')
			}
			golden(t, name, got.String())
		})
	}
}

// A member of a ring marks all its entries, so that journals of several hosts can be merged.
func TestEachEntryNamesTheNode(t *testing.T) {
	for node, want := range map[string]string{"": "", "db-01": "db-01"} {
		s := listen(t, filepath.Join(t.TempDir(), "log"))
		sink := openScribe(t, Options{Mode: ModeJournal, Journal: s.path, Node: node})
		run := job.Run{ID: 1, Job: "a"}
		aside(t, func() {
			sink.Line(&Line{Job: "a", Run: 1, Stream: job.Stdout, Text: []byte("hi")})
			sink.Record(&Record{Record: &job.Record{Kind: job.Ended, Job: "a", Run: &run}, Words: "ok"})
			sink.Log(&Entry{Message: "the end"})
		})
		for range 3 {
			if fields := s.readFields(t); value(fields, "CRONRING_NODE") != want {
				t.Errorf("of node %q: got %q, want CRONRING_NODE=%q", node, fields, want)
			}
		}
	}
}

func TestNativeTellsOfTheLimit(t *testing.T) {
	s := listen(t, filepath.Join(t.TempDir(), "log"))
	sink := openScribe(t, Options{Mode: ModeJournal, Journal: s.path})
	run := job.Run{ID: 1, Job: "big", Reason: job.OverMemory, Outcome: job.Outcome{Kind: job.Exited, Code: 137}}
	aside(t, func() {
		sink.Record(&Record{Record: &job.Record{Kind: job.Ended, Job: "big", Run: &run}, Words: "it ended"})
	})
	if got := value(s.readFields(t), "CRONRING_OUTCOME"); got != "memory limit" {
		t.Errorf("CRONRING_OUTCOME=%q, want the limit", got)
	}
}

// No name, output or exit status of a run can add a field to an entry.
func TestNativeForgesNoField(t *testing.T) {
	s := listen(t, filepath.Join(t.TempDir(), "log"))
	sink := openScribe(t, Options{Mode: ModeJournal, Journal: s.path})
	evil := "x\nPRIORITY=0\nSYSLOG_IDENTIFIER=sshd\n_UID=0\n\x00=\nMESSAGE\n\x01\x00\x00\x00\x00\x00\x00\x00x\n"
	j := job.Job{ID: job.ID(evil), Crontab: evil, User: evil, Command: evil}
	run := job.Run{ID: 1, Job: j.ID, Invocation: evil, Trigger: job.Trigger(evil), PID: 4, User: evil, Outcome: job.Outcome{Kind: job.NotStarted, Error: evil}}
	aside(t, func() {
		sink.Line(&Line{Job: j.ID, Run: 1, Stream: job.Stream(evil), Text: []byte(evil), About: NewRun(&run, &j, false)})
		for _, kind := range []job.RecordKind{job.Started, job.Ended} {
			sink.Record(&Record{Record: &job.Record{Kind: kind, Job: j.ID, Detail: job.Text(evil), Reason: job.Reason(evil), Run: &run}, Words: evil, About: NewRun(&run, &j, false)})
		}
		sink.Cron(&CronLine{Who: evil, Word: evil, Text: evil})
		sink.Log(&Entry{Message: evil, Attrs: []Attr{{evil, evil}}})
		sink.Log(&Entry{Message: "the end"})
	})
	known := []string{
		"MESSAGE", "PRIORITY", "SYSLOG_FACILITY", "SYSLOG_IDENTIFIER", "SYSLOG_PID", "MESSAGE_ID", "CRONRING_JOB", "CRONRING_RUN",
		"CRONRING_INVOCATION_ID", "CRONRING_DUE", "CRONRING_ATTEMPT", "CRONRING_TRIGGER", "CRONRING_USER", "CRONRING_TABLE",
		"CRONRING_LINE", "CRONRING_STREAM", "CRONRING_KIND", "CRONRING_OUTCOME", "CRONRING_REASON", "CRONRING_DETAIL", "OBJECT_PID", fieldName(evil),
	}
	for {
		fields := s.readFields(t)
		if value(fields, "MESSAGE") == "the end" {
			break
		}
		seen := map[string]bool{}
		for _, f := range fields {
			if !slices.Contains(known, f.name) || seen[f.name] {
				t.Errorf("field %s=%q in %q", f.name, f.value, fields)
			}
			seen[f.name] = true
		}
		if p := value(fields, "PRIORITY"); p == "0" {
			t.Errorf("priority %s", p)
		}
	}
}

// One datagram is one message: no text begins another.
func TestSyslogForgesNoMessage(t *testing.T) {
	s := listen(t, filepath.Join(t.TempDir(), "log"))
	sink := openScribe(t, Options{Mode: ModeSyslog, Syslog: s.path})
	evil := "x\n<0>Nov 20 12:00:00 sshd[1]: \x00\x1b[2J\u009b\u0085"
	j := job.Job{ID: job.ID(evil), User: evil, Command: evil}
	run := job.Run{ID: 1, Job: j.ID, PID: 4, Outcome: job.Outcome{Kind: job.NotStarted, Error: evil}}
	aside(t, func() {
		sink.Line(&Line{At: noon, Job: j.ID, Run: 1, Text: []byte(evil)})
		sink.Record(&Record{Record: &job.Record{At: noon, Kind: job.Started, Job: j.ID, Run: &run}, About: NewRun(&run, &j, false)})
		sink.Record(&Record{Record: &job.Record{At: noon, Kind: job.Ended, Job: j.ID, Run: &run}, Words: evil})
		sink.Log(&Entry{At: noon, Message: evil, Attrs: []Attr{{evil, evil}}})
		sink.Line(&Line{At: noon, Job: "long", Text: bytes.Repeat([]byte("y"), 2*maxSyslog+1)})
	})
	for i := range 7 {
		got := string(s.read(t))
		if strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }) || strings.Index(got, "<") != 0 {
			t.Errorf("message %d: %q", i, got)
		}
	}
}

// TestNativeLarge sends what no datagram holds.
func TestNativeLarge(t *testing.T) {
	s := listen(t, filepath.Join(t.TempDir(), "log"))
	sink := openScribe(t, Options{Mode: ModeJournal, Journal: s.path})
	command := strings.Repeat("x", 8<<20)
	aside(t, func() { sink.Cron(&CronLine{From: Child, PID: 1, Who: "bob", Word: "CMD", Text: command}) })
	fields := s.readFields(t)
	if got := value(fields, "MESSAGE"); got != "(bob) CMD ("+command+")" {
		t.Errorf("message of %d bytes", len(got))
	}
}

// A journal without a reader delays the daemon once, for a moment. After that entries are dropped,
// and their number is logged later.
func TestFullLog(t *testing.T) {
	for _, mode := range []Mode{ModeJournal, ModeSyslog} {
		s := listen(t, filepath.Join(t.TempDir(), "log"))
		var hints bytes.Buffer
		sink := openScribe(t, Options{Mode: mode, Journal: s.path, Syslog: s.path, Stderr: &hints})
		sink.now = time.Now
		sink.patience = time.Second // also to connect, on a busy machine
		const count = 20_000        // a second for each would end the test
		for i := range count {
			sink.Line(&Line{At: noon, Job: "j", Text: fmt.Appendf(nil, "line %d", i)})
		}
		lost, why := sink.Problem()
		if lost == 0 || !errors.Is(why, os.ErrDeadlineExceeded) {
			t.Errorf("%s: %d lost, because %v", mode, lost, why)
		}
		for range count - int(lost) {
			s.read(t)
		}
		sink.asked = time.Time{}
		sink.Line(&Line{At: noon, Job: "j", Text: []byte("again")})
		if got, want := string(s.read(t)), fmt.Sprintf("%d entries are left out here: the log took nothing", lost); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", mode, got, want)
		}
		if got := string(s.read(t)); !strings.Contains(got, "again") {
			t.Errorf("%s: %q", mode, got)
		}
		if n, why := sink.Problem(); n != lost || why != nil {
			t.Errorf("%s: afterwards %d lost, because %v", mode, n, why)
		}
		if want := "cronringd: the log takes no entries; they are counted: "; !strings.HasPrefix(hints.String(), want) || strings.Count(hints.String(), "\n") != 2 {
			t.Errorf("%s: hints %q", mode, &hints)
		}
	}
}

// A log that does not exist yet, or that restarts, receives all later entries.
func TestAbsentLog(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	sink := openScribe(t, Options{Mode: ModeJournal, Journal: path})
	say := func(text string) {
		sink.asked = time.Time{}
		sink.Log(&Entry{At: noon, Message: text})
	}
	say("one")
	say("two")
	if lost, why := sink.Problem(); lost != 2 || !errors.Is(why, os.ErrNotExist) {
		t.Errorf("%d lost, because %v", lost, why)
	}
	for _, want := range [][]string{{"2 entries are left out here: the log took nothing", "three"}, {"three"}} {
		s := listen(t, path)
		say("three")
		for _, want := range want {
			if got := value(s.readFields(t), "MESSAGE"); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		s.conn.Close()
		os.Remove(path)
	}
}

func TestSyslogOverStream(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	sink := openScribe(t, Options{Mode: ModeSyslog, Syslog: path})
	aside(t, func() {
		sink.Log(&Entry{At: noon, Message: "one"})
		sink.Log(&Entry{At: noon, Message: "two"})
		sink.Close()
	})
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(conn)
	if want := "<78>Nov 20 12:00:00 cronringd[99]: one\x00<78>Nov 20 12:00:00 cronringd[99]: two\x00"; string(got) != want || err != nil {
		t.Errorf("got %q, want %q; %v", got, want, err)
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		asked Mode
		s     logEnvironment
		want  Mode
	}{
		{"", logEnvironment{}, ModeText},
		{ModeAuto, logEnvironment{journal: true, syslog: true}, ModeText},
		{ModeAuto, logEnvironment{stream: true}, ModeText},
		{ModeAuto, logEnvironment{stream: true, journal: true}, ModeJournal},
		{ModeAuto, logEnvironment{host: true}, ModeText},
		{ModeAuto, logEnvironment{host: true, syslog: true}, ModeSyslog},
		{ModeAuto, logEnvironment{host: true, syslog: true, journal: true}, ModeJournal},
		{ModeText, logEnvironment{host: true, stream: true, syslog: true, journal: true}, ModeText},
		{ModeJSON, logEnvironment{stream: true, journal: true}, ModeJSON},
		{ModeSyslog, logEnvironment{stream: true, journal: true}, ModeSyslog},
		{ModeJournal, logEnvironment{}, ModeJournal},
	} {
		if got := choose(c.asked, c.s); got != c.want {
			t.Errorf("%q, %+v: %s, want %s", c.asked, c.s, got, c.want)
		}
	}
}

// JOURNAL_STREAM counts for the file that it names alone.
func TestOpenSeesWhereItPrints(t *testing.T) {
	dir := t.TempDir()
	s := listen(t, filepath.Join(dir, "journal"))
	out, err := os.Create(filepath.Join(dir, "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	info, _ := out.Stat()
	stat := info.Sys().(*syscall.Stat_t)
	for stream, want := range map[string]Mode{
		fmt.Sprintf("%d:%d", stat.Dev, stat.Ino): ModeJournal, fmt.Sprintf("%d:%d", stat.Dev, stat.Ino+1): ModeText, "": ModeText, "x": ModeText,
	} {
		getenv := func(string) string { return stream }
		_, got, err := Open(Options{Stdout: out, Getenv: getenv, Journal: s.path, Syslog: dir})
		if got != want || err != nil {
			t.Errorf("JOURNAL_STREAM=%s: %s, %v, want %s", stream, got, err, want)
		}
	}
	if _, _, err := Open(Options{Mode: "paper"}); err == nil {
		t.Error("an unknown mode is taken")
	}
}

func TestHandler(t *testing.T) {
	var got []Entry
	log := slog.New(NewHandler(func(e *Entry) { got = append(got, *e) }, nil))
	log.Debug("not taken")
	log.Info("ready", "jobs", 3, "took", time.Second)
	log.With("a", "b c").WithGroup("g").With("x", 1).Error("bad", slog.Group("h", "y", 2), "error", errors.New(`no "such"`))
	for i, want := range []string{"ready jobs=3 took=1s", `bad a="b c" g.x=1 g.h.y=2 g.error="no \"such\""`} {
		if got := got[i].text(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if len(got) != 2 || got[1].Level != slog.LevelError || got[0].At.IsZero() {
		t.Errorf("entries %+v", got)
	}
	if name := fieldName("g.x-ü"); name != "CRONRING_G_X__" {
		t.Errorf("field %s", name)
	}
}

func TestCronLinePriority(t *testing.T) {
	for want, lines := range map[int][]CronLine{
		prioErr:    {{Who: "a", Word: "ERROR", Text: "x"}, {Text: "(*system*x) ERROR (bad minute)"}},
		prioInfo:   {{Who: "a", Word: "CMD", Text: ") ERROR ("}, {Text: "(bob) RELOAD (crontabs/bob)"}, {Text: "(bob) RELOAD (a) ERROR (b)"}, {}},
		prioNotice: {{From: Anacron, Text: "x"}},
	} {
		for _, l := range lines {
			if got := l.priority(); got != want {
				t.Errorf("%+v: %d, want %d", l, got, want)
			}
		}
	}
}

func TestAnacronEnded(t *testing.T) {
	for want, c := range map[string]struct {
		family  crontab.Family
		printed bool
		o       job.Outcome
	}{
		"Job `x' terminated":                                    {o: job.Outcome{Kind: job.Exited}},
		"Job `x' terminated (mailing output)":                   {printed: true, o: job.Outcome{Kind: job.Exited}},
		"Job `x' terminated (exit status: 3) (produced output)": {crontab.RHEL, true, job.Outcome{Kind: job.Exited, Code: 3}},
		"Job `x' terminated due to signal 9":                    {o: job.Outcome{Kind: job.Signalled, Signal: 9}},
		"Job `x' terminated abnormally":                         {o: job.Outcome{Kind: job.Lost}},
	} {
		lines := Words{Family: c.family}.Ended(&Run{Anacron: "x", Printed: c.printed}, c.o)
		if len(lines) != 1 || lines[0].Text != want || lines[0].message() != want {
			t.Errorf("%+v, want %q", lines, want)
		}
	}
}

func FuzzEncodeDecodesBack(f *testing.F) {
	f.Add("message", "cron", "a\nb", 3)
	f.Add("a\nPRIORITY=0\n", "\n", "=\n", 0)
	f.Fuzz(func(t *testing.T, message, from, text string, pid int) {
		n := note{priority: 6, from: from, pid: pid, message: []byte(message), fields: []field{{"CRONRING_JOB", text}, {"CRONRING_USER", from}}}
		got, err := decode(encodeNote(nil, &n))
		if err != nil {
			t.Fatal(err)
		}
		want := []field{{"MESSAGE", message}, {"PRIORITY", "6"}, {"SYSLOG_FACILITY", "9"}, {"SYSLOG_IDENTIFIER", from}}
		if pid != 0 {
			want = append(want, field{"SYSLOG_PID", fmt.Sprint(pid)})
		}
		if want = append(want, n.fields...); !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
