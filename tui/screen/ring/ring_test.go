package ring

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

func TestRingScreens(t *testing.T) {
	cron := screentest.CronHost(t)
	for name, change := range map[string]func(w *screen.World){
		"ring": func(*screen.World) {},
		"ring-offline": func(w *screen.World) {
			w.Link.Live = false
		},
		"ring-of-cron": func(w *screen.World) {
			screentest.Visit(t, w, cron)
		},
		"ring-unknown": func(w *screen.World) {
			w.Link, w.Status, w.Board = screen.Link{}, api.Status{}, board.New()
		},
		"ring-hostile": func(w *screen.World) {
			w.Status.Host, w.Status.Version = "\x1b[2J\u202e"+strings.Repeat("host", 90), "\x1b]0;v\x07"
			w.Status.Started = w.Now.Add(time.Hour)
		},
	} {
		screentest.Check(t, name, func(v canvas.View, w *screen.World) {
			change(w)
			screentest.Show(t, New(), screentest.Inside(v), w, screentest.NewDaemon())
		})
	}
}

func TestMembersAreSorted(t *testing.T) {
	w, s, c := screentest.NewWorld(t), New(), canvas.New(160, 22)
	d := &screentest.Daemon{OnRing: func() api.Ring {
		r := recorded(t, "three")
		first, second, third := &r.Members[0], &r.Members[1], &r.Members[2]
		first.Addr = third.Addr + "0"
		second.Runs, second.Lacks, second.RTT = 1, 3, third.RTT+1
		third.Since, third.Labels = third.Since.Add(time.Hour), nil
		return r
	}}
	screentest.Show(t, s, c.View(), w, d)
	for _, want := range []string{
		"NODE db-01", "STATE db-03", "OWNS db-01", "RUN db-02", "CLOCK db-03", "JOBS db-02", "SINCE db-03", "RTT db-02", "VER db-03", "ADDRESS db-02", "LABELS db-03", "NODE db-01",
	} {
		if got := s.Sorted + " " + s.members.Row(0).Name; got != want {
			t.Errorf("got %s first, want %s", got, want)
		}
		screentest.Act(t, s, w, d, keys.Sort)
	}
	screentest.ClickOn(t, s, w, c, "OWNS")
	screentest.ClickOn(t, s, w, c, "OWNS")
	w.Now = w.Now.Add(ringPeriod)
	screentest.Settle(t, s, w, d, s.Refresh(w))
	if got := s.members.Row(0).Name; got != "db-03" {
		t.Errorf("by OWNS, the smallest first: got %s first, want db-03 after the next answer too", got)
	}
}

// recorded returns an answer of a member: see TestAnswersAreRecorded in package member.
func recorded(t *testing.T, name string) api.Ring {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(screentest.Root(t), "daemon", "member", "testdata", "ring.json"))
	if err != nil {
		t.Fatal(err)
	}
	var answers map[string]api.Ring
	if err := json.Unmarshal(text, &answers); err != nil || answers[name].Name == "" {
		t.Fatalf("answer %q: %v", name, err)
	}
	return answers[name]
}

func TestRingOfMembersScreens(t *testing.T) {
	for name, tc := range map[string]struct {
		answer string
		change func(r *api.Ring)
	}{
		"ring-of-three": {"three", func(*api.Ring) {}},
		"ring-joining":  {"joining", func(*api.Ring) {}},
		"ring-down":     {"down", func(r *api.Ring) { r.Doubled = 3 }},
		"ring-foreign": {"three", func(r *api.Ring) {
			r.Name = "\x1b[31mred"
			r.Members[1].Name, r.Members[1].Version = strings.Repeat("x\u202e", 70), "\x07"
			r.Members[1].Labels = map[string]string{"a\nb": "\x1b]2;t\x07"}
			r.Problems[0].What = "\x1b[2J" + strings.Repeat("p", 300)
		}},
		"ring-large": {"three", func(r *api.Ring) {
			for len(r.Members) < 300 {
				m := r.Members[1]
				m.ID = strings.Repeat("i", len(r.Members))
				r.Members = append(r.Members, m)
			}
		}},
	} {
		check := screentest.Check
		if name == "ring-of-three" {
			check = screentest.CheckLayouts
		}
		check(t, name, func(v canvas.View, w *screen.World) {
			r := recorded(t, tc.answer)
			tc.change(&r)
			screentest.Show(t, New(), screentest.Inside(v), w, &screentest.Daemon{OnRing: func() api.Ring { return r }})
		})
	}
}
