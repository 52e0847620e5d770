package hostjobs

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
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	hostwatch "github.com/cronring/cronring/tui/hosts"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
	"github.com/cronring/cronring/tui/shell/shelltest"
)

// others are the daemons of other hosts.
type others map[string]screen.Daemon

func (o others) Named() []string { return []string{"db-02", "db-03", "db-04"} }

func (o others) Daemon(host string) (screen.Daemon, error) {
	if d, ok := o[host]; ok {
		return d, nil
	}
	return nil, errors.New("connection refused")
}

func (others) Flags(host string) []string { return []string{"-H", "ops@" + host} }

func (others) Dashboard(host string, at job.ID) *exec.Cmd {
	return exec.Command("cronring", "top", "--host="+host, "--job="+string(at))
}

// update is what a daemon sends first: all jobs.
func update(rows []api.Row) api.BoardUpdate {
	return api.BoardUpdate{Begin: true, Complete: true, Rows: slices.Clone(rows)}
}

// tell has the screen receive reports.
func tell(t *testing.T, s *HostJobs, w *screen.World, d screen.Daemon, reports ...hostwatch.BoardReport) {
	t.Helper()
	screentest.Settle(t, s, w, d, s.Take(w, screen.Answer{Slot: slotBoards, Value: reports}))
}

// open shows the host of the fixture and three others: one is no longer reached, one never was, and
// one has not answered yet.
func open(t *testing.T, w *screen.World, v canvas.View) (s *HostJobs, here, there *screentest.Daemon) {
	t.Helper()
	here, there = screentest.NewDaemon(), screentest.NewDaemon()
	w.Hosts = others{"db-02": there}
	s = New(nil)
	s.Open(w)
	s.Take(w, screen.Answer{Slot: slotBoards, Value: []string{"", "db-02", "db-03", "db-04"}})
	tell(t, s, w, here, hostwatch.BoardReport{Host: "", Update: update(screentest.Rows()[:10])}, hostwatch.BoardReport{Host: "db-02", Update: update(screentest.Rows()[4:14])})
	s.Draw(v, w)
	screentest.Settle(t, s, w, here, s.Refresh(w))
	w.Now = w.Now.Add(-3 * time.Minute)
	tell(t, s, w, here, hostwatch.BoardReport{Host: "db-02", Err: errors.New("no answer after 15 s")}, hostwatch.BoardReport{Host: "db-03", Err: screentest.NoSSH("db-03")})
	w.Now = w.Now.Add(3 * time.Minute)
	return s, here, there
}

func TestHostJobsScreens(t *testing.T) {
	screentest.CheckLayouts(t, "hostjobs", func(v canvas.View, w *screen.World) {
		s, _, _ := open(t, w, v)
		v.Fill(" ", canvas.Style{})
		shelltest.Draw(s, v, w)
	})
	screentest.Check(t, "hostjobs-none", func(v canvas.View, w *screen.World) {
		s := New([]string{"db-02"})
		s.Open(w)
		s.Take(w, screen.Answer{Slot: slotBoards, Value: []string{"db-02"}})
		shelltest.Draw(s, v, w)
	})
	screentest.Check(t, "hostjobs-error", func(v canvas.View, w *screen.World) {
		s, here, _ := open(t, w, v)
		tell(t, s, w, here, hostwatch.BoardReport{Host: "db-02", Update: update(screentest.Rows()[4:14])}, hostwatch.BoardReport{Host: "db-04", Update: update(nil)})
		tell(t, s, w, here, hostwatch.BoardReport{Host: "db-03", Err: screentest.NoSSH("db-03.example.org")})
		v.Fill(" ", canvas.Style{})
		shelltest.Draw(s, v, w)
	})
	screentest.Check(t, "hostjobs-hostile", func(v canvas.View, w *screen.World) {
		s, here, _ := open(t, w, v)
		var names []string
		for _, r := range screentest.HostileRows(w) {
			names = append(names, r.User)
		}
		s.Take(w, screen.Answer{Slot: slotBoards, Value: names})
		for _, name := range names {
			tell(t, s, w, here, hostwatch.BoardReport{Host: name, Update: update(screentest.HostileRows(w))}, hostwatch.BoardReport{Host: name, Err: errors.New(name)})
		}
		v.Fill(" ", canvas.Style{})
		shelltest.Draw(s, v, w)
	})
}

// Jobs of a host that runs cron and no daemon have the state cron, as in its own list, until a daemon
// runs there.
func TestJobsOfAHostWithCron(t *testing.T) {
	s, w, here, _ := newHostJobs(t)
	fresh := screentest.Rows()[15:]
	c := canvas.New(120, 30)
	shown := func(none string) string {
		with := update(fresh)
		with.Head = &api.Status{Health: api.Health{NoDaemon: none}}
		tell(t, s, w, here, hostwatch.BoardReport{Host: "db-04", Update: with}, hostwatch.BoardReport{Host: "", Update: update(fresh)})
		filter(s, w, "tmp-clean")
		c.Clear()
		s.Draw(c.View(), w)
		return c.Text()
	}
	if got := shown("no daemon"); !strings.Contains(got, "· cron   tmp-clean       db-04") || !strings.Contains(got, "· new    tmp-clean       db-01") {
		t.Errorf("want tmp-clean of db-04 with cron, and that of the other host new:\n%s", got)
	}
	if got := shown(""); strings.Contains(got, "· cron") {
		t.Errorf("a daemon runs there now:\n%s", got)
	}
}

// newHostJobs returns the screen of open.
func newHostJobs(t *testing.T) (s *HostJobs, w *screen.World, here, there *screentest.Daemon) {
	t.Helper()
	w = screentest.NewWorld(t)
	s, here, there = open(t, w, canvas.New(160, 46).View())
	return s, w, here, there
}

// filter narrows the list to what a filter matches.
func filter(s *HostJobs, w *screen.World, text string) {
	s.SetView(w, screen.View{Text: text})
}

func TestFiltersOfHostJobs(t *testing.T) {
	s, w, _, _ := newHostJobs(t)
	for text, want := range map[string]int{"": 20, "host:db-02": 10, "host:db-02 state:running": 2, "cache-warm": 2, "host:db-03": 0} {
		filter(s, w, text)
		s.Act(w, keys.MarkAll)
		if got := s.Subject(w).Jobs; len(got) != want {
			t.Errorf("%q matches %q, want %d jobs", text, got, want)
		}
		s.Act(w, keys.Back)
	}
}

func TestHostJobsCanBeSortedByHost(t *testing.T) {
	s, w, _, _ := newHostJobs(t)
	for range 20 {
		if s.Act(w, keys.Sort); s.View().Order == board.ByHost {
			break
		}
	}
	s.Act(w, keys.First)
	if got := s.Subject(w).Jobs; s.View().Order != board.ByHost || got[0] != "apt-daily@db-01" {
		t.Errorf("by %s, %q is the first", s.View().Order, got)
	}
	s.Act(w, keys.Reverse)
	s.Act(w, keys.First)
	if got := s.Subject(w).Jobs; !strings.HasSuffix(string(got[0]), "@db-02") {
		t.Errorf("by host reversed, %q is the first", got)
	}
}

// A host that leaves the ring takes its jobs with it.
func TestHostJobsForgetHosts(t *testing.T) {
	s, w, _, _ := newHostJobs(t)
	s.Take(w, screen.Answer{Slot: slotBoards, Value: []string{"", "db-03"}})
	if s.board.Len() != 10 || len(s.down()) != 1 {
		t.Errorf("%d jobs and %d hosts that are not reached, want 10 and 1", s.board.Len(), len(s.down()))
	}
}

func TestAHostThatReturnsHasCurrentJobs(t *testing.T) {
	s, w, here, _ := newHostJobs(t)
	if got := s.age(w, "db-02"); got != "3m" {
		t.Errorf("the jobs of a host that is not reached are %q old", got)
	}
	tell(t, s, w, here, hostwatch.BoardReport{Host: "db-02", Update: update(screentest.Rows()[:2])})
	if got := s.age(w, "db-02"); got != "" || s.board.Len() != 12 {
		t.Errorf("after the host is back, its jobs are %q old, and %d are listed, want 12", got, s.board.Len())
	}
	if got := s.Heading(w); got != "Jobs of 4 hosts, 1 host not reached" {
		t.Errorf("heading: %q", got)
	}
}

func TestEnterOpensTheJobOnItsHost(t *testing.T) {
	s, w, _, _ := newHostJobs(t)
	filter(s, w, "host:db-02 cache-warm")
	effects, _ := s.Act(w, keys.Open)
	if got := effects[0].(screen.Execute).Program().Args; !slices.Equal(got, []string{"cronring", "top", "--host=db-02", "--job=cache-warm"}) {
		t.Errorf("enter runs %q", got)
	}
	filter(s, w, "host:db-01 cache-warm")
	effects, _ = s.Act(w, keys.Open)
	if got, ok := effects[0].(screen.Show); !ok || !slices.Equal(got.Subject.Jobs, []job.ID{"cache-warm"}) {
		t.Errorf("on the host that is shown, enter does %+v", effects)
	}
}

// The details of a job come from its host, also when the other host has a job of the same name.
func TestDetailsComeFromTheHostOfTheJob(t *testing.T) {
	s, w, here, there := newHostJobs(t)
	var asked []string
	note := func(host string) func(string) (api.Job, error) {
		return func(ref string) (api.Job, error) {
			asked = append(asked, host+" "+ref)
			return api.Job{}, nil
		}
	}
	here.OnShow, there.OnShow = note("here"), note("there")
	for _, text := range []string{"host:db-02 cache-warm", "host:db-01 cache-warm"} {
		screentest.Settle(t, s, w, here, s.SetView(w, screen.View{Text: text}))
	}
	if want := []string{"there cache-warm", "here cache-warm"}; !slices.Equal(asked, want) {
		t.Errorf("asked: %q, want %q", asked, want)
	}
}

func TestStripsComeFromAllHosts(t *testing.T) {
	s, w, here, _ := newHostJobs(t)
	router := s.router(w)(here)
	past, err := router.Past(t.Context(), []job.ID{"cache-warm@db-02", "cache-warm@db-01", "cache-warm@db-03"}, 3)
	var got []string
	for _, p := range past {
		got = append(got, fmt.Sprint(p.Job, " ", len(p.Cells)))
	}
	slices.Sort(got)
	if want := []string{"cache-warm@db-01 3", "cache-warm@db-02 3"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	if _, err := router.Past(t.Context(), []job.ID{"cache-warm@db-03"}, 3); err == nil || !strings.Contains(err.Error(), "db-03: connection refused") {
		t.Errorf("a host that is not reached: %v", err)
	}
}

// What is done to jobs of several hosts is asked of each, and an error names its host.
func TestChangesGoToTheHostsOfTheJobs(t *testing.T) {
	for verb, ask := range map[string]func(ctx context.Context, d screen.Daemon, refs []string) error{
		"run": func(ctx context.Context, d screen.Daemon, refs []string) error {
			_, err := d.Run(ctx, api.RunRequest{Refs: refs})
			return err
		},
		"stop": func(ctx context.Context, d screen.Daemon, refs []string) error {
			_, err := d.Stop(ctx, api.StopRequest{Refs: refs})
			return err
		},
		"pause": func(ctx context.Context, d screen.Daemon, refs []string) error {
			_, err := d.Pause(ctx, api.PauseRequest{Refs: refs})
			return err
		},
		"resume": func(ctx context.Context, d screen.Daemon, refs []string) error {
			_, err := d.Resume(ctx, api.ResumeRequest{Refs: refs})
			return err
		},
		"ack": func(ctx context.Context, d screen.Daemon, refs []string) error {
			_, err := d.Ack(ctx, api.AckRequest{Refs: refs})
			return err
		},
		"retry": func(ctx context.Context, d screen.Daemon, refs []string) error {
			_, err := d.Retry(ctx, api.RetryRequest{Refs: refs})
			return err
		},
	} {
		s, w, here, there := newHostJobs(t)
		refs := []string{"etl-orders@db-01", "pg-backup@db-02", "cache-warm@db-02"}
		do := screen.Do{Command: append([]string{"cronring", verb}, append(slices.Clone(refs), "--reason", "a b")...)}
		do.Call = func(ctx context.Context, d screen.Daemon) (string, error) { return "", ask(ctx, d, refs) }
		undo := do
		do.Undo, do.Watch = &undo, func() []screen.Effect { return nil }
		do = s.Reroute(w, do)
		if _, err := do.Call(t.Context(), here); err != nil {
			t.Errorf("%s: %v", verb, err)
		}
		if _, err := do.Undo.Call(t.Context(), here); err != nil {
			t.Errorf("undo of %s: %v", verb, err)
		}
		if len(here.Asked) != 2 || !strings.HasSuffix(here.Asked[0], " etl-orders") || len(there.Asked) != 2 || !strings.HasSuffix(there.Asked[1], " pg-backup cache-warm") {
			t.Errorf("%s asked %q here and %q there", verb, here.Asked, there.Asked)
		}
		want := "cronring " + verb + " etl-orders --reason 'a b'; cronring -H ops@db-02 " + verb + " pg-backup cache-warm --reason 'a b'"
		if do.Shell != want || do.Watch != nil {
			t.Errorf("%s is the command %s, want %s", verb, do.Shell, want)
		}
		refs = []string{"etl-orders@db-01", "x@db-03"}
		if _, err := do.Call(t.Context(), here); err == nil || !strings.Contains(err.Error(), "db-03: connection refused") {
			t.Errorf("%s on a host that is not reached: %v", verb, err)
		}
	}
}

func TestKeysOfOneHostAreRefused(t *testing.T) {
	s, w, _, _ := newHostJobs(t)
	for _, a := range oneHost {
		if s.Refuses(w, a) == "" {
			t.Errorf("%s is not refused", a)
		}
	}
	for _, a := range []keys.Action{keys.Run, keys.Stop, keys.Pause, keys.Acknowledge, keys.Retry, keys.Open, keys.Sort} {
		if why := s.Refuses(w, a); why != "" {
			t.Errorf("%s is refused: %s", a, why)
		}
	}
}

// Names that the user gave decide: the host that is shown may have the name of another.
func TestHostsOfTheSameName(t *testing.T) {
	w := screentest.NewWorld(t)
	s := New(nil)
	s.setHosts(w, []string{"", "db-01"})
	if s.hosts[0].name != "db-01 (shown)" || s.byName["db-01"].address != "db-01" {
		t.Errorf("the hosts are called %q and %q", s.hosts[0].name, s.hosts[1].name)
	}
}

// The boards of real daemons are followed, and one that cannot be reached delays no other.
func TestHostJobsFollowDaemons(t *testing.T) {
	w := screentest.NewWorld(t)
	w.Hosts = others{"db-02": screentest.NewDaemon()}
	s := New([]string{"", "db-02", "db-03"})
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var boards screen.Follow
	for _, e := range s.Open(w) {
		if f, ok := e.(screen.Follow); ok && f.Slot == slotBoards {
			boards = f
		}
	}
	all := 2 * len(screentest.Rows())
	for value, err := range boards.Call(ctx, screentest.NewDaemon()) {
		s.Take(w, screen.Answer{Slot: slotBoards, Value: value, Err: err})
		if s.board.Len() == all && s.byName["db-03"].err != nil {
			break
		}
	}
	if _, ok := s.board.Job(board.OnHost("pg-backup", "db-02")); !ok {
		t.Error("a job of another host is not listed")
	}
}

// BenchmarkHostJobs draws the jobs of 100 hosts with 1,000 jobs each after each key.
func BenchmarkHostJobs(b *testing.B) {
	w := screentest.NewWorld(b)
	w.Hosts = others{}
	s := New(nil)
	s.Open(w)
	rows := make([]api.Row, 1000)
	for i := range rows {
		rows[i] = screentest.Rows()[i%16]
		rows[i].Job = job.ID(fmt.Sprintf("tenant-%04d-sync", i))
	}
	names := make([]string, 100)
	for i := range names {
		names[i] = fmt.Sprintf("web-%03d", i)
	}
	s.Take(w, screen.Answer{Slot: slotBoards, Value: names})
	for _, name := range names {
		s.Take(w, screen.Answer{Slot: slotBoards, Value: []hostwatch.BoardReport{{Host: name, Update: update(rows)}}})
	}
	c := canvas.New(160, 48)
	for b.Loop() {
		s.Act(w, keys.PageDown)
		s.Draw(screentest.Inside(c.View()), w)
	}
	if s.board.Len() != 100_000 {
		b.Fatalf("%d jobs are listed", s.board.Len())
	}
}
