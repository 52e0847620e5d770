package shell

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/screen/screentest"
)

// click clicks on the first place of a text on the screen.
func click(t *testing.T, s *Shell, text string) []Order {
	t.Helper()
	for y, line := range strings.Split(shown(s, 80, 24), "\n") {
		if before, _, found := strings.Cut(line, text); found {
			return s.Click(s.now, len([]rune(before)), y)
		}
	}
	t.Fatalf("no %q on the screen:\n%s", text, shown(s, 80, 24))
	return nil
}

func TestClickOnAHintIsItsKey(t *testing.T) {
	s, _ := newTestShell(t)
	d := &screentest.Daemon{}
	click(t, s, "r run")
	if _, ok := s.over.(*question); !ok {
		t.Fatalf("r run: got %T, want the question", s.over)
	}
	click(t, s, "2 Runs") // an overlay lies over it
	if carry(t, s, d, click(t, s, "y run   w")); s.over != nil || strings.Join(d.Asked, ",") != "run etl-orders" {
		t.Errorf("y run: %T is open and the daemon did %v", s.over, d.Asked)
	}
	if click(t, s, "2 Runs"); s.front() != s.roots[keys.ShowRuns] {
		t.Error("a click on the name of a screen does not open it")
	}
}

func TestClickInOverlays(t *testing.T) {
	s, _ := newTestShell(t)
	typeKeys(s, "p")
	if click(t, s, "2h"); s.over == nil || !strings.Contains(shown(s, 80, 24), "Reason:") {
		t.Errorf("2h: want the question for the reason:\n%s", shown(s, 80, 24))
	}
	if click(t, s, "esc cancel"); s.over != nil {
		t.Errorf("esc cancel: %T is still open", s.over)
	}
	typeKeys(s, "y")
	if orders := click(t, s, "name"); len(orders) != 1 || orders[0].Effect.(screen.Clip).Text != "etl-orders" {
		t.Errorf("copy the name: got %+v", orders)
	}
}

// The wheel scrolls what lies over the screen, and the screen otherwise.
func TestWheelScrollsWhatIsInFront(t *testing.T) {
	s, front := newTestShell(t)
	typeKeys(s, "?")
	shown(s, 80, 24)
	s.Wheel(s.now, true, 10, 10)
	if h := s.over.(*help); h.top != 3 {
		t.Errorf("help is at line %d, want 3", h.top)
	}
	typeKeys(s, "esc")
	front.acted = nil
	shown(s, 80, 24)
	if s.Wheel(s.now, false, 10, 10); len(front.acted) != 3 || front.acted[0] != keys.Up {
		t.Errorf("the screen got %v, want three times up", front.acted)
	}
}
