package shell

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

const welcomeTitle = "Hints for the first start"

func TestWelcomeEndsWithTheFirstKey(t *testing.T) {
	s, front := newTestShell(t)
	s.welcome, s.greeting = true, "something is wrong with the settings"
	orders := s.Init(screentest.Now)
	if _, ok := orders[0].Effect.(screen.Welcomed); !ok {
		t.Errorf("got %v, want that it is remembered", orders)
	}
	got := shown(s, 80, 24)
	for _, want := range []string{welcomeTitle, "w  on a job", ":  finds", "/  lists", "z  undoes", "?  lists", s.greeting, "? help"} {
		if !strings.Contains(got, want) {
			t.Errorf("want %q:\n%s", want, got)
		}
	}
	typeKeys(s, "j")
	if got := shown(s, 80, 24); strings.Contains(got, welcomeTitle) || len(front.acted) != 1 {
		t.Errorf("after j, which did %q:\n%s", front.acted, got)
	}
}

// The hints name the keys that the user has, and leave the upper half of the screen free.
func TestWelcomeFits(t *testing.T) {
	s, _ := newTestShell(t)
	s.w.Keys, _ = keys.Rebind(map[keys.Action]string{keys.Undo: "", keys.Explain: "ctrl+e"})
	s.welcome = true
	if got := shown(s, 80, 24); !strings.Contains(got, "ctrl+e  on a job") || strings.Contains(got, "undoes") {
		t.Errorf("with other keys:\n%s", got)
	}
	for _, height := range []int{10, 12, 15} {
		lines := strings.Split(shown(s, 40, height), "\n")
		if at := strings.Index(strings.Join(lines[:height/2], "\n"), welcomeTitle); at >= 0 {
			t.Errorf("the hints begin in the upper half of %d lines:\n%s", height, strings.Join(lines, "\n"))
		}
	}
}

func TestWelcomeIsNotOverTheEditor(t *testing.T) {
	root := Root{keys.ShowJobs, "Jobs", func() screen.Screen { return &plainScreen{} }}
	start := Start{World: *screentest.NewWorld(t), Welcome: true}
	if s := New(start, Screens{Roots: []Root{root}}); !s.welcome {
		t.Error("no hints at the first start")
	}
	start.Over = &plainScreen{}
	if s := New(start, Screens{Roots: []Root{root}}); s.welcome {
		t.Error("hints over another screen")
	}
}
