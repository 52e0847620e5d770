package ring

import (
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/board"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

func TestRingScreens(t *testing.T) {
	for name, change := range map[string]func(w *screen.World){
		"ring": func(*screen.World) {},
		"ring-offline": func(w *screen.World) {
			w.Link.Live = false
		},
		"ring-of-cron": func(w *screen.World) {
			w.Status.NoDaemon = "no daemon: from the crontabs; cron runs them"
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

// ringOf is a ring of three members. One has a slow clock and lacks jobs.
func ringOf() api.Ring {
	member := func(id, name string, owns, runs int, state api.MemberState) api.Member {
		return api.Member{
			ID: id, Name: name, Addr: "10.0.0." + id + ":7946", State: state, Since: screentest.Now.Add(-50 * time.Hour),
			Labels: map[string]string{"zone": "z" + id, "role": "db"}, Weight: 1, Version: "1.4.2", RTT: 1200 * time.Microsecond,
			Clock: -300 * time.Microsecond, Owns: owns, Runs: runs,
		}
	}
	r := api.Ring{
		Name: "prod", Mode: api.RingStrict, Self: "1", Joined: true, Jobs: 142, Quorum: 2, SafeLoss: 1,
		Members:   []api.Member{member("1", "db-01", 61, 2, api.MemberUp), member("2", "db-02", 44, 0, api.MemberUp), member("3", "db-03", 37, 0, api.MemberDraining)},
		Problems:  []api.Problem{{What: "the clock of db-03 is 251 ms ahead", Why: "more than 250 ms", Fix: "chronyc makestep"}},
		Handovers: []api.Move{{At: screentest.Now.Add(-400 * time.Hour), What: "db-02 left as planned: 44 jobs moved", Jobs: 44}},
	}
	r.Members[2].Clock, r.Members[2].Lacks, r.Members[2].Version = 251*time.Millisecond, 2, "1.4.1"
	return r
}

func TestRingOfMembersScreens(t *testing.T) {
	for name, change := range map[string]func(r *api.Ring){
		"ring-of-three": func(*api.Ring) {},
		"ring-down": func(r *api.Ring) {
			r.Members[0].Owns, r.Members[1].Owns, r.Members[2].Owns = 142, 0, 0
			r.Members[1].State, r.Members[2].State = api.MemberDown, api.MemberLeft
			r.Doubled = 3
			r.SafeLoss, r.Held, r.Joined = 0, "its clock is 7 s off", false
		},
		"ring-foreign": func(r *api.Ring) {
			r.Name = "\x1b[31mred"
			r.Members[1].Name, r.Members[1].Version = strings.Repeat("x\u202e", 70), "\x07"
			r.Members[1].Labels = map[string]string{"a\nb": "\x1b]2;t\x07"}
			r.Problems[0].What = "\x1b[2J" + strings.Repeat("p", 300)
		},
		"ring-large": func(r *api.Ring) {
			for len(r.Members) < 300 {
				m := r.Members[0]
				m.ID = strings.Repeat("i", len(r.Members))
				r.Members = append(r.Members, m)
			}
		},
	} {
		check := screentest.Check
		if name == "ring-of-three" {
			check = screentest.CheckLayouts
		}
		check(t, name, func(v canvas.View, w *screen.World) {
			r := ringOf()
			change(&r)
			screentest.Show(t, New(), screentest.Inside(v), w, &screentest.Daemon{OnRing: func() api.Ring { return r }})
		})
	}
}
