package output

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/change"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
	"github.com/cronring/cronring/tui/shell/shelltest"
)

// printed holds the events of a run that wrote some lines and failed.
func printed(r job.Run) []api.Event {
	at := func(ms int) time.Time { return r.Started.Add(time.Duration(ms) * time.Millisecond) }
	chunk := func(ms int, s job.Stream, text string) api.Event {
		return api.Event{Chunk: &job.Chunk{Run: r.ID, Job: r.Job, Stream: s, At: at(ms), Data: []byte(text)}}
	}
	return []api.Event{
		chunk(4, job.Stdout, "etl orders: window 17:55..18:00\n"),
		chunk(911, job.Stdout, "connect pg-1 \x1b[32mok\x1b[0m (31 ms)\n"),
		chunk(2112, job.Stdout, "connect pg-2 ...\n"),
		chunk(12398, job.Stderr, "psql: error: connection to server at\n\"pg-2\" (10.0.0.7), port 5432 failed:\ntimeout expired\n"),
		{Record: &job.Record{Kind: job.Ended, Run: &r}},
	}
}

func failedRun() job.Run {
	started := time.Date(2026, 11, 20, 17, 0, 0, 0, time.UTC)
	return job.Run{
		ID: 4213, Job: "etl-orders", Due: started, Attempt: 1, Trigger: job.TriggerClock, State: job.RunEnded, Decided: started,
		Started: started, Ended: started.Add(12402 * time.Millisecond), User: "etl",
		Outcome: job.Outcome{Kind: job.Exited, Code: 1}, Verdict: job.VerdictRetry,
		Usage: job.Usage{CPU: 900 * time.Millisecond, Memory: 41 << 20, Read: 2200 << 10},
	}
}

// outputDaemon has three runs of one job: 4210 went well, and the two after it
// failed.
func outputDaemon() *screentest.Daemon {
	run := func(ref string) job.Run {
		r := failedRun()
		switch ref {
		case "4210":
			r.ID, r.Outcome, r.Verdict = 4210, job.Outcome{Kind: job.Exited}, job.VerdictOK
		case "4212":
			r.ID = 4212
		}
		return r
	}
	return &screentest.Daemon{
		OnOneRun: func(ref string) (job.Run, error) { return run(ref), nil },
		OnOutput: func(ref string) []api.Event {
			if ref == "4210" {
				return []api.Event{{Chunk: &job.Chunk{Stream: job.Stdout, Data: []byte(
					"etl orders: window 17:45..17:50\nconnect pg-1 ok (31 ms)\nconnect pg-2 ...\nconnect pg-2 ok (2 ms)\n1841 orders\n")}}}
			}
			return printed(run(ref))
		},
		OnHistory: func(f api.Filter) (api.Runs, error) {
			var runs []job.Run
			for _, ref := range []string{"4213", "4212", "4210"} {
				if r := run(ref); f.Before == 0 || r.ID < f.Before {
					runs = append(runs, r)
				}
			}
			return api.Runs{Runs: runs}, nil
		},
	}
}

func openOutput(t *testing.T, w *screen.World, d screen.Daemon, s screen.Subject) *Output {
	t.Helper()
	o := New(s)
	screentest.Settle(t, o, w, d, o.Open(w))
	return o
}

func TestOutputScreens(t *testing.T) {
	orders := screen.Subject{Jobs: []job.ID{"etl-orders"}}
	screentest.CheckLayouts(t, "output", func(v canvas.View, w *screen.World) {
		shelltest.Draw(openOutput(t, w, screentest.NewDaemon(), orders), v, w)
	})
	screentest.Check(t, "output-search", func(v canvas.View, w *screen.World) {
		o := openOutput(t, w, screentest.NewDaemon(), orders)
		o.Act(w, keys.Search)
		for _, r := range "PG-" {
			o.Type(w, screen.Key{Name: string(r), Text: string(r)})
		}
		shelltest.Draw(o, v, w)
	})
	screentest.CheckLayouts(t, "output-diff", func(v canvas.View, w *screen.World) {
		d := screentest.NewDaemon()
		o := openOutput(t, w, d, orders)
		screentest.Act(t, o, w, d, keys.Diff)
		shelltest.Draw(o, v, w)
	})
	screentest.Check(t, "output-hostile", func(v canvas.View, w *screen.World) {
		d := screentest.NewDaemon()
		d.OnOutput = func(string) []api.Event { return attack(w.Glyphs.Tier) }
		o := openOutput(t, w, d, orders)
		o.log.act(keys.First)
		shelltest.Draw(o, v, w)
	})
	screentest.Check(t, "output-live", func(v canvas.View, w *screen.World) {
		d := screentest.NewDaemon()
		o := New(screen.Subject{Jobs: []job.ID{"cache-warm"}})
		effects := o.Open(w)
		ask := effects[0].(screen.Ask)
		value, _ := ask.Call(t.Context(), d)
		o.Take(w, screen.Answer{Slot: ask.Slot, Value: value, Done: true})
		shelltest.Draw(o, v, w)
	})
	screentest.Check(t, "output-error", func(v canvas.View, w *screen.World) {
		shelltest.Draw(openOutput(t, w, screentest.NewDaemon(), screen.Subject{Jobs: []job.ID{"tmp-clean"}}), v, w)
	})
}

func liveRun() job.Run {
	r := failedRun()
	r.State, r.Ended, r.Outcome, r.Verdict, r.Usage = job.RunRunning, time.Time{}, job.Outcome{}, "", job.Usage{}
	return r
}

// attack is output that would take a terminal over; the golden screens in ASCII
// have none of what becomes other characters.
func attack(tier canvas.Tier) []api.Event {
	bytes := "\x9b2J\x9d0;x\x9cC1 \xff\xfe\xfd not UTF-8"
	if tier == canvas.ASCII {
		bytes = ""
	}
	text := strings.Join([]string{
		"\x1b[2J\x1b[H\x1b[?1049lcleared", "\x1b]0;title\x07\x1b]52;c;cm0gLXJmIC8=\x07clipboard", "\x1bP$q\"p\x1b\\device", bytes,
		"user\u202egpj.exe\u202c", "50 %\r60 %\r100 %", "a\b\b\b\a\vb", "\x1b[31mred \x1b[8mhidden\x1b[0m", strings.Repeat("long", 4000),
	}, "\n")
	return []api.Event{
		{Chunk: &job.Chunk{Stream: job.Stdout, At: screentest.Now, Data: []byte(text)}},
		{Chunk: &job.Chunk{Stream: job.Stderr, At: screentest.Now, Cut: 12345, Data: []byte("\x1b[5n\x1b[c\x1b[6n")}},
		{Gap: &api.Gap{Lost: 3}},
	}
}

func TestOutputGoesThroughRuns(t *testing.T) {
	w, d := screentest.NewWorld(t), outputDaemon()
	o := openOutput(t, w, d, screen.Subject{Jobs: []job.ID{"etl-orders"}})
	for _, tt := range []struct {
		key  keys.Action
		want job.RunID
		says string
	}{
		{keys.NextRun, 4213, "run 4213 is the newest of etl-orders"},
		{keys.PreviousRun, 4212, ""},
		{keys.PreviousRun, 4210, ""},
		{keys.PreviousRun, 4210, "run 4210 is the oldest of etl-orders that is known"},
		{keys.NextRun, 4212, ""},
		{keys.NextRun, 4213, ""},
	} {
		rest := screentest.Act(t, o, w, d, tt.key)
		message := ""
		for _, e := range rest {
			if s, ok := e.(screen.Toast); ok {
				message = s.Text
			}
		}
		if o.run.ID != tt.want || o.Subject(w).Run != tt.want || message != tt.says {
			t.Errorf("%s: shows run %d of %v and says %q, want %d and %q", tt.key, o.run.ID, o.Subject(w), message, tt.want, tt.says)
		}
	}
}

func TestOutputComparesWithTheLastGoodRun(t *testing.T) {
	w, d := screentest.NewWorld(t), outputDaemon()
	o := openOutput(t, w, d, screen.Subject{Run: 4213})
	screentest.Act(t, o, w, d, keys.Diff)
	if o.against == nil || o.against.run.ID != 4210 {
		t.Fatalf("compared with %+v, want run 4210", o.against)
	}
	var got []string
	for _, l := range unified(o.against.lines) {
		got = append(got, l.text)
	}
	want := []string{
		"@@ -1,5 +1,6 @@",
		"  etl orders: window 17:55..18:00",
		"  connect pg-1 ok (31 ms)",
		"  connect pg-2 ...",
		"- connect pg-2 ok (2 ms)",
		"- 1841 orders",
		"+ psql: error: connection to server at",
		`+ "pg-2" (10.0.0.7), port 5432 failed:`,
		"+ timeout expired",
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if o.Refuses(w, keys.Streams) == "" {
		t.Error("a comparison has no streams, and f is not refused")
	}
	screentest.Act(t, o, w, d, keys.Back)
	if o.against != nil {
		t.Error("back leaves the comparison first")
	}
}

func TestOutputWithoutAGoodRunSaysSo(t *testing.T) {
	w, d := screentest.NewWorld(t), outputDaemon()
	o := openOutput(t, w, d, screen.Subject{Run: 4210})
	rest := screentest.Act(t, o, w, d, keys.Diff)
	if say, ok := rest[len(rest)-1].(screen.Toast); !ok || !strings.Contains(say.Text, "cannot compare with an earlier run that went well") {
		t.Errorf("got effects %v", rest)
	}
}

func TestDiffLinesLeavesTimesOut(t *testing.T) {
	before := []string{"2026-11-19 18:00:01 start", "12:00:01.5 done", "same"}
	after := []string{"2026-11-20 18:00:02 start", "13:00:01.7 done", "same"}
	before, after = append(before, "took 31 ms of 1,024.5"), append(after, "took 7 ms of 99")
	if got := diffLines(before, after); len(got) != 0 {
		t.Errorf("lines that differ in their times alone differ: %v", got)
	}
	got := unified(diffLines(before, append(after, "more")))
	if len(got) != 5 || got[1].text != "  13:00:01.7 done" || got[4].text != "+ more" {
		t.Errorf("got %+v", got)
	}
	for _, tt := range [][2][]string{{nil, {"a"}}, {{"a"}, nil}, {nil, nil}, {{"--- x"}, {"+++ y", "@@ z"}}} {
		for _, l := range unified(diffLines(tt[0], tt[1])) {
			if l.text == "" {
				t.Errorf("%q against %q has an empty line", tt[0], tt[1])
			}
		}
	}
}

func TestBesidePutsWhatReplacesBesideWhatWasThere(t *testing.T) {
	lines := beside(diffLines([]string{"same 1", "old", "gone"}, []string{"same 2", "a new line"}), 8, "|")
	var got []string
	for _, l := range lines[1:] { // behind the heading
		got = append(got, l.text)
	}
	want := []string{"  same 1 |   same 2", "- old    | + a new", "         | line", "- gone   |   "}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}

func TestComparisonIsBesideOnAWideScreen(t *testing.T) {
	c := comparison{lines: diffLines([]string{"old"}, []string{"new"})}
	for _, tt := range []struct{ width, want int }{{besideFrom, 2}, {besideFrom - 1, 3}, {besideFrom, 2}} {
		if c.fit(tt.width, "|"); len(c.log.lines) != tt.want {
			t.Errorf("%d columns: %d lines, want %d", tt.width, len(c.log.lines), tt.want)
		}
	}
}

func TestBesideBoundsTheRowsOfALine(t *testing.T) {
	if n := len(beside([]change.Line{{Kind: '+', After: strings.Repeat("x", 1<<16)}}, 70, "|")); n > mostBesideRows+1 {
		t.Errorf("a long line takes %d rows, want at most %d", n, mostBesideRows+1)
	}
}

func BenchmarkBeside(b *testing.B) {
	all := make([]change.Line, mostBeside)
	for i := range all {
		all[i] = change.Line{Kind: '+', After: strings.Repeat("é x", 1000)}
	}
	for b.Loop() {
		beside(all, 77, "|")
	}
}

func TestOutputOfALiveRunFollows(t *testing.T) {
	w, d := screentest.NewWorld(t), outputDaemon()
	d.OnOneRun = func(string) (job.Run, error) { return liveRun(), nil }
	d.OnOutput = func(string) []api.Event { return nil }
	o := New(screen.Subject{Jobs: []job.ID{"etl-orders"}})
	o.Take(w, screen.Answer{Slot: slotRun, Value: liveRun(), Done: true})
	o.Take(w, screen.Answer{Slot: slotOutput, Value: api.Event{Chunk: &job.Chunk{Stream: job.Stdout, Data: []byte("half a li")}}})
	if n := o.log.last(); n != 1 {
		t.Errorf("a line that is not finished shows as %d lines, want 1", n)
	}
	for _, a := range []keys.Action{keys.Follow, keys.Stop} {
		if why := o.Refuses(w, a); why != "" {
			t.Errorf("%s is refused while it runs: %s", a, why)
		}
	}
	for _, e := range printed(failedRun()) {
		o.Take(w, screen.Answer{Slot: slotOutput, Value: e})
	}
	o.Take(w, screen.Answer{Slot: slotOutput, Done: true})
	last := o.log.lines[len(o.log.lines)-1].text
	if !o.done || o.run.Outcome.Code != 1 || last != "another attempt follows" {
		t.Errorf("at the end: done %v, run %+v, last line %q", o.done, o.run, last)
	}
	for _, a := range []keys.Action{keys.Follow, keys.Stop} {
		if o.Refuses(w, a) == "" {
			t.Errorf("it has ended, and %s is not refused", a)
		}
	}
}

func TestOutputComesBackAfterTheDaemon(t *testing.T) {
	w, d := screentest.NewWorld(t), outputDaemon()
	o := New(screen.Subject{Run: 4213})
	o.Take(w, screen.Answer{Slot: slotRun, Value: liveRun(), Done: true})
	o.Take(w, screen.Answer{Slot: slotOutput, Err: &api.Error{Kind: api.Unreachable, What: "gone"}, Done: true})
	w.Link.Live = false
	if effects := o.Refresh(w); len(effects) != 0 {
		t.Errorf("offline it asks %v", effects)
	}
	w.Link.Live = true
	screentest.Settle(t, o, w, d, o.Refresh(w))
	if !o.done || len(o.log.lines) == 0 {
		t.Errorf("after the daemon came back: done %v, %d lines", o.done, len(o.log.lines))
	}
}

func TestPagerGetsAllLinesAndThenLeaves(t *testing.T) {
	t.Setenv("CRONRING_PAGER", "cat -v")
	w, d := screentest.NewWorld(t), outputDaemon()
	o := NewPager(screen.Subject{Run: 4213})
	rest := screentest.Settle(t, o, w, d, o.Open(w))
	run, ok := rest[0].(screen.Execute)
	if !ok {
		t.Fatalf("got %v, want a program", rest)
	}
	cmd := run.Program()
	text, err := cmd.Output()
	if err != nil || !strings.Contains(string(text), "connect pg-1 ^[[32mok^[[0m (31 ms)^[[0m\n") || !strings.HasSuffix(string(text), "follows\n") {
		t.Errorf("the pager got %q, %v", text, err)
	}
	if effects := o.Take(w, screen.Answer{Slot: slotPager, Done: true}); len(effects) != 1 {
		t.Errorf("after the pager: %v, want to go back", effects)
	} else if _, ok := effects[0].(screen.Back); !ok {
		t.Errorf("after the pager: %v, want to go back", effects)
	}
}

// TestOutputOfAFailedRunOpensAtItsFirstError: a run that went well opens at its end.
func TestOutputOfAFailedRunOpensAtItsFirstError(t *testing.T) {
	w, d := screentest.NewWorld(t), outputDaemon()
	d.OnOutput = func(string) []api.Event {
		return []api.Event{
			{Chunk: &job.Chunk{Stream: job.Stdout, At: screentest.Now, Data: []byte(strings.Repeat("copied\n", 300) + "0 errors so far\n")}},
			{Chunk: &job.Chunk{Stream: job.Stderr, At: screentest.Now, Data: []byte("begin\nrsync: connection refused\nrsync: error: again\n")}},
			{Chunk: &job.Chunk{Stream: job.Stdout, At: screentest.Now, Data: []byte(strings.Repeat("cleaned\n", 300))}},
		}
	}
	c := canvas.New(80, 24)
	o := openOutput(t, w, d, screen.Subject{Run: 4213})
	shelltest.Draw(o, c.View(), w)
	if o.log.found != 302 || o.log.follow || o.log.top.line > 302 || o.log.foot < 302 {
		t.Errorf("a failed run: got line %d, view %d to %d, follow %v; want line 302 in view", o.log.found, o.log.top.line, o.log.foot, o.log.follow)
	}
	o = openOutput(t, w, d, screen.Subject{Run: 4210})
	shelltest.Draw(o, c.View(), w)
	if !o.log.follow {
		t.Error("a run that went well: not at its end")
	}
}

// TestOutputOfAFailedRunShowsItsEnd draws the output before the end of the run is known, as a slow
// terminal does.
func TestOutputOfAFailedRunShowsItsEnd(t *testing.T) {
	w := screentest.NewWorld(t)
	c, o := canvas.New(80, 24), New(screen.Subject{Run: 4213})
	o.Take(w, screen.Answer{Slot: slotRun, Value: failedRun(), Done: true})
	text := strings.Repeat("copied\n", 30) + "rsync: error: again\n"
	o.Take(w, screen.Answer{Slot: slotOutput, Value: api.Event{Chunk: &job.Chunk{Stream: job.Stderr, Data: []byte(text)}}})
	shelltest.Draw(o, c.View(), w)
	ended := failedRun()
	o.Take(w, screen.Answer{Slot: slotOutput, Value: api.Event{Record: &job.Record{Run: &ended}}})
	o.Take(w, screen.Answer{Slot: slotOutput, Done: true})
	shelltest.Draw(o, c.View(), w)
	if o.log.found != 30 || o.log.foot != o.log.last()-1 {
		t.Errorf("got line %d and a view to %d, want line 30 and the end %d", o.log.found, o.log.foot, o.log.last()-1)
	}
}

// TestOutputComparesTwoRuns: the older one need not have gone well.
func TestOutputComparesTwoRuns(t *testing.T) {
	w, d := screentest.NewWorld(t), outputDaemon()
	o := openOutput(t, w, d, screen.Subject{Run: 4213, Against: 4212})
	if o.against == nil || o.against.run.ID != 4212 {
		t.Errorf("got %+v, want run 4212", o.against)
	}
}

func TestSearchReadsRegularExpressions(t *testing.T) {
	l := new(logView)
	var text strings.Builder
	for i := range 100 {
		fmt.Fprintf(&text, "line %d [ok]\n", i)
	}
	l.take(job.Chunk{Stream: job.Stdout, At: screentest.Now, Data: []byte(text.String())})
	for _, tt := range []struct {
		needle  string
		hits    int
		literal bool
	}{
		{"LINE", 100, false}, {"line [12]0", 2, false}, {"^line 5", 11, false}, {"[ok", 100, true}, {"(x", 0, true}, {"x*", 100, false},
	} {
		l.look(tt.needle)
		if got := l.count(); got != tt.hits || l.literal() != tt.literal {
			t.Errorf("%s: got %d lines, literal %v, want %d, %v", tt.needle, got, l.literal(), tt.hits, tt.literal)
		}
	}
	l.look("line [25]0 ")
	l.act(keys.Matching)
	l.take(job.Chunk{Stream: job.Stdout, At: screentest.Now, Data: []byte("line 50 again\nx\ny\nz\n")})
	l.mark()
	var got []int
	for n, ok := l.next(0); ok; n, ok = l.next(n + 1) {
		got = append(got, n)
	}
	if want := []int{18, 19, 20, 21, 22, 48, 49, 50, 51, 52, 98, 99, 100, 101, 102}; !slices.Equal(got, want) {
		t.Errorf("only lines that match: got %v, want %v", got, want)
	}
	l.draw(canvas.New(40, 10).View(), &screen.World{Glyphs: canvas.GlyphsOf(canvas.ASCII)}, time.UTC)
	l.look("")
	if n, ok := l.next(0); n != 0 || !ok {
		t.Errorf("without a search: got line %d, want all", n)
	}
}
