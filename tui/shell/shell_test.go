package shell

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/finder"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/preferences"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

// plainScreen is a screen that shows its name, for tests of the shell.
type plainScreen struct {
	name    string
	about   screen.Subject
	refuse  map[keys.Action]string
	acted   []keys.Action
	opened  int
	answers []screen.Answer
	on      map[keys.Action][]screen.Effect // what it answers to keys
	typing  bool
	text    string
}

func (p *plainScreen) Scope() keys.Scope { return keys.Jobs }

func (p *plainScreen) Open(*screen.World) []screen.Effect {
	p.opened++
	return nil
}

func (p *plainScreen) Act(_ *screen.World, a keys.Action) ([]screen.Effect, bool) {
	p.acted = append(p.acted, a)
	effects, ok := p.on[a]
	return effects, ok
}

func (p *plainScreen) Take(_ *screen.World, a screen.Answer) []screen.Effect {
	p.answers = append(p.answers, a)
	return nil
}

func (p *plainScreen) Refresh(*screen.World) []screen.Effect         { return nil }
func (p *plainScreen) Subject(*screen.World) screen.Subject          { return p.about }
func (p *plainScreen) Refuses(_ *screen.World, a keys.Action) string { return p.refuse[a] }
func (p *plainScreen) Typing() bool                                  { return p.typing }
func (p *plainScreen) Draw(v canvas.View, _ *screen.World)           { v.Put(0, 0, p.name, canvas.Style{}) }
func (p *plainScreen) Type(_ *screen.World, k screen.Key) (e []screen.Effect, ok bool) {
	p.text += k.Text
	return nil, k.Text != ""
}

// newTestShell is a shell with the jobs of the fixture and one plain screen for
// each root.
func newTestShell(t *testing.T) (*Shell, *plainScreen) {
	t.Helper()
	return shellOn(screentest.NewWorld(t))
}

func shellOn(w *screen.World) (*Shell, *plainScreen) {
	screens := Screens{
		Roots:   []Root{{keys.ShowJobs, "Jobs", nil}, {keys.ShowRuns, "Runs", nil}, {keys.ShowTimeline, "Timeline", nil}, {keys.ShowRing, "Ring", nil}, {keys.ShowFiles, "Files", nil}},
		Opened:  map[keys.Action]func(*screen.World, screen.Subject) screen.Screen{},
		Command: func(words []string) screen.Screen { return &plainScreen{name: strings.Join(words, "|")} },
		Process: func(line string, _ func(context.Context) *exec.Cmd) screen.Screen { return &plainScreen{name: line} },
	}
	for _, a := range []keys.Action{keys.Open, keys.Explain, keys.ShowOutput, keys.ShowRuns, keys.ShowGroups, keys.PageOutput, keys.Edit, keys.Add, keys.ShowDST, keys.ShowStats, keys.ShowUpcoming, keys.ShowHosts, keys.ShowOptions} {
		screens.Opened[a] = func(_ *screen.World, about screen.Subject) screen.Screen {
			return &plainScreen{name: string(a), about: about}
		}
	}
	s := &Shell{w: w, now: screentest.Now, screens: screens, roots: map[keys.Action]screen.Screen{}, waiting: map[string]waiting{}, commands: map[screen.Screen]*entry{}, prefs: preferences.New(w, false)}
	for _, r := range screens.Roots {
		s.roots[r.Action] = &plainScreen{name: r.Name}
	}
	front := &plainScreen{name: "jobs", about: screen.Subject{Jobs: []job.ID{"etl-orders"}}}
	s.roots[keys.ShowJobs] = front
	s.stack = []screen.Screen{front}
	return s, front
}

// nothing does nothing, well.
func nothing(context.Context, screen.Daemon) (string, error) { return "", nil }

// typeKeys sends keys to a shell, and executes its effects.
func typeKeys(s *Shell, names ...string) []Order {
	var all []Order
	for _, name := range names {
		k := screen.Key{Name: name}
		if len(name) == 1 {
			k.Text = name
		}
		all = append(all, s.Key(s.now.Add(time.Millisecond), k)...)
	}
	return all
}

// carry carries out what the shell asked for itself.
func carry(t *testing.T, s *Shell, d screen.Daemon, orders []Order) {
	t.Helper()
	for _, o := range orders {
		if ask, ok := o.Effect.(screen.Ask); ok {
			value, err := ask.Call(t.Context(), d)
			carry(t, s, d, s.Take(s.now, o.Owner, screen.Answer{Slot: ask.Slot, Value: value, Err: err, Done: true}))
		}
	}
}

func shown(s *Shell, width, height int) string {
	c := canvas.New(width, height)
	s.Draw(c.View())
	return c.Text()
}

func TestConfirmLadderNeedsItsOwnKey(t *testing.T) {
	for _, tc := range []struct {
		name string
		job  job.ID
		keys string
		want []string // what reached the daemon
	}{
		{"run, then y", "etl-orders", "r y", []string{"run etl-orders"}},
		{"run, the same key again", "etl-orders", "r r", nil},
		{"run, enter", "etl-orders", "r enter", nil},
		{"run, space", "etl-orders", "r space", nil},
		{"run, then no", "etl-orders", "r n y", nil},
		{"run, then esc", "etl-orders", "r esc y", nil},
		{"stop, the same key again", "zfs-scrub", "x x enter", nil},
		{"stop, then y", "zfs-scrub", "x y", []string{"stop zfs-scrub"}},
		{"stop what does not run", "certbot-renew", "x y", nil},
		{"pause until resumed", "etl-orders", "p enter enter", []string{"pause etl-orders"}},
		{"pause, then undo", "etl-orders", "p enter enter z", []string{"pause etl-orders", "resume etl-orders"}},
		{"resume what is paused", "report-daily", "p", []string{"resume report-daily"}},
		{"acknowledge, then undo", "etl-orders", "a z", []string{"ack etl-orders", "ack etl-orders"}},
		{"protected: y is not enough", "pg-backup", "r y", nil},
		{"protected: its name", "pg-backup", "r p g - b a c k u p", []string{"run pg-backup"}},
		{"protected: pause wants it, too", "pg-backup", "p y", nil},
		{"reload", "etl-orders", "R", []string{"reload"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, front := newTestShell(t)
			front.about = screen.Subject{Jobs: []job.ID{tc.job}}
			d := &screentest.Daemon{}
			for _, key := range strings.Fields(tc.keys) {
				carry(t, s, d, typeKeys(s, key))
			}
			if !slices.Equal(d.Asked, tc.want) {
				t.Errorf("got %q, want %q", d.Asked, tc.want)
			}
		})
	}
}

func TestConfirmBulkWantsTheCount(t *testing.T) {
	s, front := newTestShell(t)
	front.about = screen.Subject{Jobs: []job.ID{"etl-orders", "sitemap", "ntp-check"}, Marked: true}
	d := &screentest.Daemon{}
	carry(t, s, d, typeKeys(s, "r", "y", "2", "enter"))
	if len(d.Asked) != 0 {
		t.Fatalf("got %q before the count was typed, want nothing", d.Asked)
	}
	carry(t, s, d, typeKeys(s, "backspace", "backspace", "3"))
	if want := []string{"run etl-orders sitemap ntp-check"}; !slices.Equal(d.Asked, want) {
		t.Errorf("got %q, want %q", d.Asked, want)
	}
}

func TestConfirmKeyIsNotTheTrigger(t *testing.T) {
	s, front := newTestShell(t)
	front.on = map[keys.Action][]screen.Effect{keys.Open: {screen.Do{Class: screen.Effects, Question: "Sure?", Command: []string{"cronring", "run"},
		Call: func(context.Context, screen.Daemon) (string, error) { return "", errors.New("it was done") }}}}
	s.trigger = "y"
	s.perform(front, front.on[keys.Open])
	if orders := typeKeys(s, "y"); len(orders) != 0 {
		t.Errorf("the key that asked also confirmed: got %v, want nothing", orders)
	}
	if orders := typeKeys(s, "Y"); len(orders) != 1 {
		t.Errorf("got %d orders for Y, want 1", len(orders))
	}
}

func TestPauseAsksHowLongAndWhy(t *testing.T) {
	for keys, want := range map[string]string{
		"p enter enter":         "cronring pause etl-orders",
		"p 2 d b enter":         "cronring pause etl-orders --until 2026-11-20T19:02:11Z --reason db",
		"p t enter":             "cronring pause etl-orders --until 2026-11-21T07:00:00Z",
		"p o 9 0 m enter enter": "cronring pause etl-orders --until 2026-11-20T18:32:11Z",
		"p esc":                 "",
		"p x":                   "",
		"p 1 esc":               "",
		"p o 9 x enter":         "",
	} {
		s, _ := newTestShell(t)
		carry(t, s, &screentest.Daemon{}, typeKeys(s, strings.Fields(keys)...))
		got := ""
		if len(s.log) > 0 {
			got = s.log[len(s.log)-1].command
		}
		if got != want {
			t.Errorf("%s: %q, want %q", keys, got, want)
		}
	}
}

func TestReadOnlyRefusesWithItsReason(t *testing.T) {
	s, _ := newTestShell(t)
	s.w.ReadOnly = "nothing is changed: --read-only"
	for _, key := range []string{"r", "x", "p", "a", "D", "b", "R", "e", "A"} {
		if orders := typeKeys(s, key); len(orders) != 0 {
			t.Errorf("%s, read-only: got %v, want nothing", key, orders)
		}
		if got := shown(s, 80, 24); !strings.Contains(got, "--read-only") {
			t.Errorf("%s, read-only: the reason is not shown:\n%s", key, got)
		}
	}
}

func TestRefusedKeySaysWhy(t *testing.T) {
	s, front := newTestShell(t)
	front.about = screen.Subject{Jobs: []job.ID{"certbot-renew"}}
	typeKeys(s, "x")
	if got, want := s.toast.text, "stop: not running"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	front.about.Jobs = []job.ID{"removed"}
	typeKeys(s, "r")
	if got, want := s.toast.text, "run: the job no longer exists"; got != want || s.over != nil {
		t.Errorf("a removed job: got %q and a question %v, want %q", got, s.over, want)
	}
	s, _ = newTestShell(t)
	s.Lost(s.now, errors.New("connection refused"), time.Second)
	typeKeys(s, "r")
	if got, want := s.toast.text, "run: the daemon does not answer"; got != want {
		t.Errorf("offline: got %q, want %q", got, want)
	}
}

func TestStackGoesBackTheWayItCame(t *testing.T) {
	s, front := newTestShell(t)
	deeper := &plainScreen{name: "deeper"}
	s.perform(front, []screen.Effect{screen.Goto{Screen: deeper}})
	if s.front() != deeper || deeper.opened != 1 {
		t.Fatal("a screen that was gone to is not in front")
	}
	typeKeys(s, "2")
	if got := s.front().(*plainScreen).name; got != "Runs" {
		t.Errorf("after 2: got %s in front, want Runs", got)
	}
	typeKeys(s, "-")
	if s.front() != deeper {
		t.Errorf("after -: got %s in front, want deeper", s.front().(*plainScreen).name)
	}
	orders := typeKeys(s, "esc")
	if s.front() != front || front.opened != 1 {
		t.Errorf("after esc: got %s in front, opened %d times; want jobs, once", s.front().(*plainScreen).name, front.opened)
	}
	if !slices.Contains(orders, Order{deeper, screen.Drop{}}) {
		t.Errorf("got %v, want what deeper waits for dropped", orders)
	}
	if orders := typeKeys(s, "esc"); len(orders) != 0 {
		t.Errorf("esc at the top: got %v, want nothing", orders)
	}
	if orders := typeKeys(s, "q"); !slices.Contains(orders, Order{nil, screen.Quit{}}) {
		t.Errorf("q at the top: got %v, want the end", orders)
	}
}

func TestDeepStackIsBounded(t *testing.T) {
	s, front := newTestShell(t)
	for range 3 * maxDepth {
		s.perform(s.front(), []screen.Effect{screen.Goto{Screen: &plainScreen{}}})
	}
	if len(s.stack) != maxDepth || s.stack[0] != front {
		t.Errorf("got %d screens, want %d on the first", len(s.stack), maxDepth)
	}
}

// While text is typed, the foot shows which keys would be typed instead of doing something.
func TestFootDimsWhatIsTyped(t *testing.T) {
	s, front := newTestShell(t)
	off := func(a keys.Action) bool {
		all := s.hints([]keys.Action{a})
		return len(all) == 1 && all[0].off
	}
	for _, front.typing = range []bool{false, true} {
		for a, want := range map[keys.Action]bool{keys.Filter: front.typing, keys.Open: front.typing, keys.Mark: front.typing, keys.Back: false} {
			if got := off(a); got != want {
				t.Errorf("typing %t: %s is dim: %t, want %t", front.typing, a, got, want)
			}
		}
	}
}

func TestTypingKeepsLetters(t *testing.T) {
	s, front := newTestShell(t)
	front.typing = true
	if orders := typeKeys(s, "r", "q", "2", "y"); len(orders) != 0 || front.text != "rq2y" {
		t.Errorf("got %v and text %q, want nothing and rq2y", orders, front.text)
	}
	if orders := typeKeys(s, "ctrl+c"); !slices.Contains(orders, Order{nil, screen.Quit{}}) {
		t.Errorf("ctrl+c: got %v, want the end", orders)
	}
}

func TestPasteIsNoCommand(t *testing.T) {
	s, front := newTestShell(t)
	if orders := s.Paste(s.now, "rqy"); len(orders) != 0 || len(front.acted) != 0 {
		t.Errorf("got %v, want nothing done", orders)
	}
	typeKeys(s, "r")
	if orders := s.Paste(s.now, "y"); len(orders) != 0 {
		t.Errorf("a paste confirmed: got %v, want nothing", orders)
	}
}

func TestOfflineFreezesTheTime(t *testing.T) {
	s, _ := newTestShell(t)
	s.Update(screentest.Now, api.BoardUpdate{Now: screentest.Now})
	s.Tick(screentest.Now.Add(3 * time.Second))
	s.Lost(screentest.Now.Add(4*time.Second), errors.New("connection refused"), time.Second)
	s.Tick(screentest.Now.Add(18 * time.Second))
	if got, want := s.w.Now, screentest.Now.Add(3*time.Second); !got.Equal(want) {
		t.Errorf("offline: got %s, want %s", got, want)
	}
	got := shown(s, 80, 24)
	for _, want := range []string{"OFFLINE 00:14", "connection refused", "frozen", "Start it: systemctl start cronring", "quit and"} {
		if !strings.Contains(got, want) {
			t.Errorf("offline: %q is not shown:\n%s", want, got)
		}
	}
	s.Update(screentest.Now.Add(20*time.Second), api.BoardUpdate{Now: screentest.Now.Add(25 * time.Second)})
	if got, want := s.w.Now, screentest.Now.Add(25*time.Second); !got.Equal(want) {
		t.Errorf("back: got %s, want %s", got, want)
	}
	if got := shown(s, 80, 24); !strings.Contains(got, "connected again") || strings.Contains(got, "OFFLINE") {
		t.Errorf("back: the screen does not say so:\n%s", got)
	}
}

func TestBusyEndsAfterAMove(t *testing.T) {
	s, front := newTestShell(t)
	front.on = map[keys.Action][]screen.Effect{keys.Down: nil}
	typeKeys(s, "j")
	if !s.w.Busy {
		t.Error("after a move: not busy")
	}
	s.Tick(s.now.Add(stillTime))
	if s.w.Busy {
		t.Errorf("%s after a move: still busy", stillTime)
	}
}

// If no change of this session can be undone, z offers the previous version of the selected job's
// file, regardless of its author.
func TestUndoOffersTheVersionBefore(t *testing.T) {
	d := &screentest.Daemon{
		OnCrontabText: func(file, _ string) (api.CrontabText, error) {
			return api.CrontabText{CrontabFile: api.CrontabFile{File: file, By: "bob", Changed: screentest.Now.Add(-time.Hour)}, Text: []byte("a\nb\n")}, nil
		},
		OnRevisions: func(q api.RevisionQuery) ([]api.Revision, error) {
			return []api.Revision{{ID: 32, File: q.File}, {ID: 31, File: q.File}, {ID: 30, File: q.File}}, nil
		},
		OnRevision: func(id int64) (api.Revision, error) {
			return api.Revision{ID: id, Text: []byte(map[int64]string{32: "a\nb\n", 31: "a\nc\n", 30: "\n"}[id])}, nil
		},
	}
	s, front := newTestShell(t)
	carry(t, s, d, typeKeys(s, "p", "enter", "enter")) // what was changed here comes first
	carry(t, s, d, typeKeys(s, "z"))
	if s.over != nil || len(s.undo) != 0 {
		t.Fatalf("z asks %v, want the pause taken back at once", s.over)
	}
	d.Asked = nil
	late := typeKeys(s, "z")
	carry(t, s, d, late)
	if got := shown(s, 80, 24); !strings.Contains(got, "Put revision 31 of /etc/cron.d/etl back?") || !strings.Contains(got, "+1 -1 lines") || !strings.Contains(got, "Last changed by bob, Fri 20 Nov 17:02:11 CET.") {
		t.Errorf("z does not offer revision 31:\n%s", got)
	}
	carry(t, s, d, typeKeys(s, "y"))
	if want := []string{"undo"}; !slices.Equal(d.Asked, want) || s.log[len(s.log)-1].command != "cronring undo 31" {
		t.Errorf("asked %q, logged %q, want %q and cronring undo 31", d.Asked, s.log[len(s.log)-1].command, want)
	}
	late = typeKeys(s, "z")
	typeKeys(s, "j")
	if carry(t, s, d, late); s.over != nil {
		t.Error("an answer that comes after another key asks all the same")
	}
	front.about = screen.Subject{}
	typeKeys(s, "z")
	if got := shown(s, 80, 24); !strings.Contains(got, "no file is selected") {
		t.Errorf("without a file z does not say why it does nothing:\n%s", got)
	}
	front.about = screen.Subject{File: "/etc/cron.d/etl"}
	d.OnRevisions = func(api.RevisionQuery) ([]api.Revision, error) { return nil, nil }
	carry(t, s, d, typeKeys(s, "z"))
	if got := shown(s, 80, 24); !strings.Contains(got, "no other version of /etc/cron.d/etl is kept") {
		t.Errorf("without a version z does not say so:\n%s", got)
	}
}

// The confirmation of a stop names the process when the daemon has reported it.
// failingDaemon answers requests to resume jobs with an error.
type failingDaemon struct {
	*screentest.Daemon
	err error
}

func (d failingDaemon) Resume(context.Context, api.ResumeRequest) ([]job.ID, error) {
	return nil, d.err
}

// An undo that fails can be repeated, and never becomes the undo of an earlier change. If the daemon
// refuses it, the earlier change is next.
func TestUndoThatFailedIsRepeated(t *testing.T) {
	for name, tc := range map[string]struct {
		err  error
		left int
	}{
		"unreachable": {&api.Error{Kind: api.Unreachable, What: "no daemon answers"}, 2},
		"disk full":   {&api.Error{Kind: api.Internal, What: "no space left on device"}, 2},
		"refused":     {&api.Error{Kind: api.Conflict, What: "it is not paused"}, 1},
	} {
		s, _ := newTestShell(t)
		d := &screentest.Daemon{}
		for range 2 {
			carry(t, s, d, typeKeys(s, "p", "enter", "enter"))
		}
		newest := s.undo[1]
		late := typeKeys(s, "z")
		if typeKeys(s, "z"); !strings.Contains(s.toast.text, "the last undo is not finished") {
			t.Errorf("%s: a second z before the answer: %q", name, s.toast.text)
		}
		carry(t, s, failingDaemon{d, tc.err}, late)
		if len(s.undo) != tc.left || tc.left == 2 && s.undo[1] != newest {
			t.Errorf("%s: %d changes can be undone, want %d", name, len(s.undo), tc.left)
		}
		carry(t, s, d, typeKeys(s, "z"))
		if len(s.undo) != tc.left-1 {
			t.Errorf("%s: %d changes can be undone after a second z, want %d", name, len(s.undo), tc.left-1)
		}
	}
}

func TestClockShowsItsZoneAtAnyWidth(t *testing.T) {
	for _, width := range []int{40, 59, 60, 79, 80, 200} {
		s, _ := newTestShell(t)
		if head, _, _ := strings.Cut(shown(s, width, 24), "\n"); !strings.HasSuffix(head, " 18:02:11 CET ") {
			t.Errorf("width %d: got %q, want the time with its zone", width, head)
		}
	}
}

func TestStopNamesTheProcess(t *testing.T) {
	d := &screentest.Daemon{
		OnHistory: func(f api.Filter) (api.Runs, error) {
			if !f.Live || !slices.Equal(f.Refs, []string{"zfs-scrub"}) {
				return api.Runs{}, screentest.ErrNotFaked
			}
			return api.Runs{Runs: []job.Run{
				{ID: 8, Job: "zfs-scrub", State: job.RunQueued}, {ID: 7, Job: "zfs-scrub", State: job.RunRunning, PID: 90533, User: "root"},
			}}, nil
		},
		OnOneRun: func(string) (job.Run, error) { return job.Run{ID: 7, Job: "zfs-scrub", PID: 90534}, nil },
	}
	s, front := newTestShell(t)
	for _, tc := range []struct {
		about screen.Subject
		want  []string
	}{
		{screen.Subject{Jobs: []job.ID{"zfs-scrub"}}, []string{"Stop zfs-scrub?", "pid 90533: run 7 of zfs-scrub as root", "run 8 of zfs-scrub: no process yet, it is queued"}},
		{screen.Subject{Jobs: []job.ID{"zfs-scrub"}, Run: 7}, []string{"Stop run 7?", "pid 90534: run 7 of zfs-scrub"}},
	} {
		front.about = tc.about
		orders := typeKeys(s, "x")
		if got := shown(s, 80, 24); !strings.Contains(got, tc.want[0]) || strings.Contains(got, "pid") {
			t.Errorf("before the daemon has answered:\n%s", got)
		}
		carry(t, s, d, orders)
		for _, want := range tc.want {
			if got := shown(s, 80, 24); !strings.Contains(got, want) {
				t.Errorf("want %q in the question:\n%s", want, got)
			}
		}
		typeKeys(s, "esc")
	}
}

// A copied or logged command contains the socket or host of the dashboard, even if it was set by a
// flag.
func TestCommandsGoWhereTheDashboardLooks(t *testing.T) {
	s, _ := newTestShell(t)
	line := func() string { return s.note(screen.Do{Command: []string{"cronring", "stop", "a b"}}).command }
	if got, want := line(), "cronring stop 'a b'"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	s.w.Reach = []string{"-H", "ann@far", "--socket", "/a b"}
	if got, want := line(), "cronring -H ann@far --socket '/a b' stop 'a b'"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := s.w.InShell("${EDITOR:-vi} +1 x"), "${EDITOR:-vi} +1 x"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestEveryActionIsLogged(t *testing.T) {
	s, _ := newTestShell(t)
	d := &screentest.Daemon{}
	carry(t, s, d, typeKeys(s, "r"))
	carry(t, s, d, typeKeys(s, "y"))
	carry(t, s, d, typeKeys(s, "p", "enter", "enter"))
	typeKeys(s, "@")
	got := shown(s, 80, 24)
	for _, want := range []string{"cronring run etl-orders", "cronring pause etl-orders", "started run 4231"} {
		if !strings.Contains(got, want) {
			t.Errorf("the command log does not show %q:\n%s", want, got)
		}
	}
}

// A job is run again as its newest failed occurrence, a run as its own.
func TestRetryAsksForTheSameOccurrence(t *testing.T) {
	for _, tc := range []struct {
		about                   screen.Subject
		question, asked, logged string
	}{
		{screen.Subject{Jobs: []job.ID{"etl-orders"}}, "Run the last failure of etl-orders again", "retry etl-orders", "cronring retry etl-orders"},
		{screen.Subject{Jobs: []job.ID{"etl-orders"}, Run: 4213}, "Run run 4213 again", "retry 4213", "cronring retry 4213"},
	} {
		s, front := newTestShell(t)
		front.about = tc.about
		d := &screentest.Daemon{}
		carry(t, s, d, typeKeys(s, "ctrl+r"))
		if got := shown(s, 80, 24); !strings.Contains(got, tc.question) {
			t.Errorf("the question is not %q:\n%s", tc.question, got)
		}
		carry(t, s, d, typeKeys(s, "y"))
		if !slices.Equal(d.Asked, []string{tc.asked}) || s.log[len(s.log)-1].command != tc.logged {
			t.Errorf("asked %q, logged %q, want %q and %q", d.Asked, s.log[len(s.log)-1].command, tc.asked, tc.logged)
		}
	}
}

// "Run and watch" shows the run that the daemon started, which is not the newest that the
// dashboard knows, and shows nothing before the daemon has answered.
func TestWatchShowsTheRunThatWasStarted(t *testing.T) {
	for key, want := range map[string]job.RunID{"r": 4231, "ctrl+r": 4232} {
		s, front := newTestShell(t)
		carry(t, s, &screentest.Daemon{}, typeKeys(s, key))
		orders := typeKeys(s, "w")
		if s.front() != front {
			t.Errorf("%s w: another screen is shown before the daemon has answered", key)
		}
		carry(t, s, &screentest.Daemon{}, orders)
		if p := s.front().(*plainScreen); p.name != string(keys.ShowOutput) || p.about.Run != want {
			t.Errorf("%s w: it shows %s of run %d, want %s of run %d", key, p.name, p.about.Run, keys.ShowOutput, want)
		}
	}
}

func TestHelpShowsEveryKeyThatCounts(t *testing.T) {
	s, front := newTestShell(t)
	front.about = screen.Subject{Jobs: []job.ID{"certbot-renew"}}
	typeKeys(s, "?")
	got := shown(s, 160, 120)
	for _, b := range s.w.Keys.Of(keys.Jobs, keys.Subject, keys.List, keys.Everywhere) {
		if !strings.Contains(got, strings.Join(b.Keys, " ")) || !strings.Contains(got, b.Long) {
			t.Errorf("help does not show %v: %s", b.Keys, b.Long)
		}
	}
	if !strings.Contains(got, "not running") {
		t.Error("help does not say why stop does nothing")
	}
}

func TestPaletteFindsVerbsAndJobs(t *testing.T) {
	for _, tc := range []struct {
		typed string
		want  string // the first that is offered
	}{
		{"", "run etl-orders"}, {"time", "timeline"}, {"run pg", "run pg-backup"}, {"why ", "why etl-orders"},
		{"pause NTP", "pause ntp-check"}, {"qu", "quit"},
	} {
		s, _ := newTestShell(t)
		typeText(s, ":"+tc.typed)
		p := s.over.(*palette)
		if len(p.found) == 0 || p.found[0].Text() != tc.want {
			t.Errorf("%q: got %v, want %s first", tc.typed, p.found, tc.want)
		}
	}
}

// typeText types letters and blanks.
func typeText(s *Shell, text string) {
	for _, r := range text {
		if r == ' ' {
			s.Key(s.now, screen.Key{Name: "space", Text: " "})
			continue
		}
		typeKeys(s, string(r))
	}
}

// If no job is selected, the palette has a field for a job's name, or for a pattern for several
// jobs.
func TestPaletteNamesJobsAnywhere(t *testing.T) {
	for _, tc := range []struct {
		typed string
		first string   // what is offered first
		asked []string // of the daemon, once it is chosen
		says  string   // on the screen then
	}{
		{typed: "pause", first: "pause", says: "pause apt-daily"},
		{typed: "pause [ez]*", first: "pause [ez]*", asked: []string{"pause etl-orders zfs-scrub"}, says: "paused 2 jobs"},
		{typed: "pause etl-orders log", first: "pause etl-orders logrotate", asked: []string{"pause etl-orders logrotate"}, says: "paused 2 jobs"},
		{typed: "pause etl-orders etl-orders ", first: "pause etl-orders etl-orders", asked: []string{"pause etl-orders"}, says: "paused etl-orders"},
		{typed: "run zfs* etl-orders", first: "run zfs* etl-orders", says: "Type 2 to confirm"},
		{typed: "why *s*", first: "why *s*", says: "why: one job at a time"},
		{typed: "pause nobody ", first: "pause nobody", says: "pause: no job is called nobody"},
		{typed: "pause x*y", first: "pause x*y", says: "pause: no job is called x*y"},
		{typed: "pause [", first: "pause [", says: "pause: no job is called ["},
		{typed: "stop log", first: "stop logrotate", says: "stop: not running"},
	} {
		s, front := newTestShell(t)
		front.about = screen.Subject{}
		d := &screentest.Daemon{}
		typeText(s, ":"+tc.typed)
		if p := s.over.(*palette); len(p.found) == 0 || p.found[0].Text() != tc.first {
			t.Errorf("%q: got %v, want %s first", tc.typed, p.found, tc.first)
		}
		carry(t, s, d, typeKeys(s, "enter"))
		if _, pauses := s.over.(*pauseMenu); pauses {
			carry(t, s, d, typeKeys(s, "enter", "enter"))
		}
		if !slices.Equal(d.Asked, tc.asked) {
			t.Errorf("%q: asked %q, want %q", tc.typed, d.Asked, tc.asked)
		}
		if got := shown(s, 120, 40); !strings.Contains(got, tc.says) {
			t.Errorf("%q: want %q on the screen:\n%s", tc.typed, tc.says, got)
		}
	}
	// A pattern means the same as on the command line: a name, or OWNER/NAME.
	for pattern, want := range map[string][]job.ID{
		"b*": {"alice/backup", "backup"}, "alice/*": {"alice/backup"}, "root/b*": {"backup"}, "a*": {"apt-daily"},
	} {
		w := screentest.NewWorld(t)
		w.Board.Apply(api.BoardUpdate{Now: screentest.Now, Complete: true, Rows: []api.Row{{Job: "backup"}, {Job: "alice/backup"}, {Job: "apt-daily"}}})
		s, _ := shellOn(w)
		typeText(s, ":pause "+pattern+" ")
		if p := s.over.(*palette); len(p.found) == 0 || !slices.Equal(p.found[0].Jobs, want) {
			t.Errorf("%s: got %v, want %v", pattern, p.found, want)
		}
	}
	s, front := newTestShell(t)
	front.about = screen.Subject{}
	typeText(s, ":dst zfs")
	typeKeys(s, "enter")
	if dst := s.front().(*plainScreen); dst.name != string(keys.ShowDST) || dst.about.Jobs[0] != "zfs-scrub" {
		t.Errorf("got %T in front, want what the clocks do to zfs-scrub", s.front())
	}
}

// TestPaletteRunsCommands: what is no verb of the dashboard, or has a flag, is a command of the
// command line.
func TestPaletteRunsCommands(t *testing.T) {
	for _, tc := range []struct{ typed, first, asks, opens string }{
		{"run --force etl-orders", "run --force etl-orders", "Run this command?  cronring run --force etl-orders", "run|--force|etl-orders"},
		{"run --force pg-backup", "run --force pg-backup", "pg-backup is protected", "run|--force|pg-backup"},
		{"report st", "report stats", "", "report|stats"},
		{"rstats", "report stats", "", "report|stats"},
		{"reprot stats --by user", "reprot stats --by user", "", ""},
		{"report stats --by user", "report stats --by user", "", "report|stats|--by|user"},
		{"report events", "report events", "", "report|events"},
		{"resume etl", "resume etl-orders", "Run this command?", "resume|etl-orders"},
		{"resume etlodrers", "resume etlodrers", "Run this command?", "resume|etlodrers"},
		{"run @failed", "run @failed", "Run this command?", "run|@failed"},
		{`run --env 'A=b c' "it's"`, `run --env 'A=b c' 'it'\''s'`, "Run this command?", "run|--env|A=b c|it's"},
	} {
		s, front := newTestShell(t)
		typeText(s, ":"+tc.typed)
		p := s.over.(*palette)
		if tc.opens == "" {
			if len(p.found) > 0 {
				t.Errorf("%q: got %v, want nothing", tc.typed, p.found)
			}
			continue
		}
		if len(p.found) == 0 || p.found[0].Text() != tc.first {
			t.Errorf("%q: got %v, want %s first", tc.typed, p.found, tc.first)
			continue
		}
		typeKeys(s, "enter")
		if tc.asks != "" {
			if got := shown(s, 120, 40); s.front() != front || !strings.Contains(got, tc.asks) {
				t.Errorf("%q: want %q on the screen:\n%s", tc.typed, tc.asks, got)
			}
			typeText(s, map[bool]string{true: "pg-backup", false: "y"}[strings.Contains(tc.asks, "protected")])
			if len(s.log) != 1 || s.log[0].ended {
				t.Errorf("%q: got %v in the log, want the command", tc.typed, s.log)
			}
		}
		if got := s.front().(*plainScreen).name; got != tc.opens {
			t.Errorf("%q: opened %q, want %q", tc.typed, got, tc.opens)
		}
		if len(s.recent) != 1 || s.recent[0] != tc.first {
			t.Errorf("%q: got %q as recent commands", tc.typed, s.recent)
		}
	}
	for _, typed := range []string{"run --force 'etl", `run --force etl\`} {
		s, _ := newTestShell(t)
		typeText(s, ":"+typed)
		if p := s.over.(*palette); slices.ContainsFunc(p.found, func(c finder.Candidate) bool { return c.Kind == finder.KindCommand }) {
			t.Errorf("%q: got %v, want no command", typed, p.found)
		}
	}
}

// The end of a command that changes something is in the log, also if its screen is left before.
func TestCommandEndsInTheLog(t *testing.T) {
	s, _ := newTestShell(t)
	s.command([]string{"run", "--force", "etl-orders"})
	typeKeys(s, "y")
	s.perform(s.front(), []screen.Effect{screen.Ended{Message: "started run 7"}})
	s.trigger = "enter"
	s.command([]string{"run", "--wait", "etl-orders"})
	typeKeys(s, "y", "esc", "@")
	if got := shown(s, 120, 40); !strings.Contains(got, "started run 7") || !strings.Contains(got, "ended with its screen") {
		t.Errorf("want how both commands ended:\n%s", got)
	}
}

// The finder leads to everything that has a name.
func TestPaletteLeadsTo(t *testing.T) {
	for _, tc := range []struct{ typed, kind, front string }{
		{"zfsscrub", "job", "open"}, {"zsf-scrub", "job", "open"}, {"jobs", "screen", "jobs"}, {"runs", "screen", "Runs"},
		{"crond/etl", "file", "edit"}, {"edit /etc/cron.d/etl", "verb", "edit"}, {"edit --user ann", "verb", "edit"},
		{"broken", "view", "jobs"}, {"list broken", "recent", "list broken"},
	} {
		s, _ := newTestShell(t)
		d := screentest.NewDaemon()
		s.views = []screen.View{{Name: "broken"}}
		s.recent = []string{"list broken"}
		d.OnCrontabFiles = func() ([]api.CrontabFile, error) {
			return []api.CrontabFile{{File: "/etc/cron.d/etl"}, {File: "/var/spool/cron/crontabs/ann", User: "ann"}}, nil
		}
		carry(t, s, d, typeKeys(s, ":"))
		typeText(s, tc.typed)
		p := s.over.(*palette)
		if len(p.found) == 0 || string(p.found[0].Kind) != tc.kind {
			t.Errorf("%q: got %+v, want a %s", tc.typed, p.found, tc.kind)
			continue
		}
		typeKeys(s, "enter")
		if tc.kind == "recent" { // there is no command list here: it can be changed
			if got := p.line.Text(); got != tc.front {
				t.Errorf("%q: got %q in the line", tc.typed, got)
			}
			continue
		}
		if got := s.front().(*plainScreen); got.name != tc.front {
			t.Errorf("%q: got the screen %q, want %q", tc.typed, got.name, tc.front)
		} else if tc.typed == "edit --user ann" && got.about.File != "/var/spool/cron/crontabs/ann" {
			t.Errorf("got %+v, want the crontab of ann", got.about)
		}
	}
}

// Without text the finder begins with the newest commands, and does one again.
func TestPaletteRepeats(t *testing.T) {
	s, _ := newTestShell(t)
	s.recent = []string{"pause etl-orders", "zfs-scrub"}
	typeKeys(s, ":", "down", "enter")
	if got := s.front().(*plainScreen); got.name != string(keys.Open) || got.about.Jobs[0] != "zfs-scrub" {
		t.Errorf("got %q, want the job again", got.name)
	}
	if want := []string{"zfs-scrub", "pause etl-orders"}; !slices.Equal(s.recent, want) {
		t.Errorf("got %q, want %q", s.recent, want)
	}
}

// What the daemon will not let the account do is dim beforehand, with its reason.
func TestDeniedKeysSayWhy(t *testing.T) {
	denied := api.Denied{Reload: "only root may; you are ann", Entries: "its entry is not in your own crontab; you are ann"}
	for _, tc := range []struct {
		key, job string
		crontab  string // why ann may have none
		want     string
	}{
		{"R", "etl-orders", "", "reload: only root may; you are ann"},
		{"e", "etl-orders", "", "edit: its entry is not in your own crontab; you are ann"},
		{"D", "etl-orders", "", "delete: its entry is not in your own crontab; you are ann"},
		{"e", "logrotate", "it is in cron.deny", "edit: it is in cron.deny"},
		{"A", "logrotate", "it is in cron.deny", "add: it is in cron.deny"},
		{"D", "logrotate", "", "Delete 1 entry from 1 file?"},
		{"r", "etl-orders", "it is in cron.deny", "Run etl-orders now"},
	} {
		s, front := newTestShell(t)
		fixed := screentest.Rows()[0]
		fixed.Fixed = true
		s.w.Board.Apply(api.BoardUpdate{Rows: []api.Row{fixed}})
		s.w.Status.Denied = denied
		s.w.Status.Denied.Crontab = tc.crontab
		front.about = screen.Subject{Jobs: []job.ID{job.ID(tc.job)}}
		a, _ := s.w.Keys.Find(tc.key, s.scopes()...)
		if dim := s.refuses(a) != ""; dim != strings.Contains(tc.want, ": ") {
			t.Errorf("%s of %s: dim is %t", tc.key, tc.job, dim)
		}
		typeKeys(s, tc.key)
		if got := shown(s, 80, 24); !strings.Contains(got, tc.want) {
			t.Errorf("%s of %s: want %q on the screen:\n%s", tc.key, tc.job, tc.want, got)
		}
	}
}

func TestPaletteAsksBeforeItActs(t *testing.T) {
	s, _ := newTestShell(t)
	d := &screentest.Daemon{}
	carry(t, s, d, typeKeys(s, ":", "r", "u", "n", "enter", "enter"))
	if len(d.Asked) != 0 {
		t.Fatalf("got %q without a yes, want nothing", d.Asked)
	}
	carry(t, s, d, typeKeys(s, "y"))
	if want := []string{"run etl-orders"}; !slices.Equal(d.Asked, want) {
		t.Errorf("got %q, want %q", d.Asked, want)
	}
}

func TestDrawAtAnySize(t *testing.T) {
	for _, over := range []string{"", "?", ":", "@", "r", "y"} {
		for width := range 60 {
			for _, height := range []int{1, 2, 9, 10, 11, 15} {
				s, _ := newTestShell(t)
				if over != "" {
					typeKeys(s, over)
				}
				screentest.CheckWidths(t, fmt.Sprintf("%q at %dx%d", over, width+1, height), shown(s, width+1, height), width+1)
			}
		}
	}
}

func TestBackfillAsksByItsSize(t *testing.T) {
	for _, tc := range []struct {
		occurrences int
		keys        string
		want        []string
	}{
		{3, "enter enter y", []string{"backfill etl-orders 2026-11-20..2026-11-20"}},
		{3, "enter n", nil},
		{12, "enter y", nil},
		{12, "enter 1 2", []string{"backfill etl-orders 2026-11-20..2026-11-20"}},
		{0, "enter y", nil},
		{3, "esc y", nil},
	} {
		s, _ := newTestShell(t)
		d := &screentest.Daemon{Planned: tc.occurrences}
		for _, key := range append([]string{"b"}, strings.Fields(tc.keys)...) {
			carry(t, s, d, typeKeys(s, key))
		}
		if !slices.Equal(d.Asked, tc.want) {
			t.Errorf("%d occurrences, b %s: got %q, want %q", tc.occurrences, tc.keys, d.Asked, tc.want)
		}
	}
}

func TestBackfillPlanThatComesLateAsksNothing(t *testing.T) {
	s, _ := newTestShell(t)
	d := &screentest.Daemon{Planned: 2}
	orders := typeKeys(s, "b", "enter", "esc")
	carry(t, s, d, orders)
	if s.over != nil {
		t.Errorf("got %T over the screen, want nothing", s.over)
	}
}

func TestUnboundKeySaysSo(t *testing.T) {
	s, _ := newTestShell(t)
	typeKeys(s, "=")
	if want := "= does nothing here; ? shows the keys"; s.toast.text != want || !s.toast.bad {
		t.Errorf("got %q, want %q", s.toast.text, want)
	}
}

func TestTabOfTheScreenIsShown(t *testing.T) {
	for _, key := range []string{"1", "2", "3", "4", "5"} {
		s, _ := newTestShell(t)
		s.w.Status.Host = "a-host-with-a-long-name"
		typeKeys(s, key)
		for width := screen.FullWidth; width < 100; width++ {
			if head, _, _ := strings.Cut(shown(s, width, 24), "\n"); !strings.Contains(head, "["+key+" ") || strings.Count(head, "]") != 1 {
				t.Errorf("%d columns: the screen of key %s is not named in %q", width, key, head)
			}
		}
	}
}

// TestTabsAreShownWhole: a name for which the first line has no room is left out.
func TestTabsAreShownWhole(t *testing.T) {
	s, _ := newTestShell(t)
	for width := screen.FullWidth; width < 100; width++ {
		c := canvas.New(width, 24)
		s.Draw(c.View())
		head, _, _ := strings.Cut(c.Text(), "\n")
		names := strings.Fields(strings.NewReplacer("[1 Jobs]", "", "2 Runs", "", "3 Timeline", "", "4 Ring", "", "5 Files", "").Replace(head))
		if cut := slices.IndexFunc(names, func(word string) bool { return strings.ContainsAny(word[:1], "12345") && len(word) == 1 }); cut >= 0 {
			t.Errorf("%d columns: a name is cut in %q", width, head)
		}
	}
}
