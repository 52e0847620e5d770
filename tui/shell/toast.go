package shell

import "time"

// toastTime is how long a toast stays.
const toastTime = 6 * time.Second

// toast is what the person is told in passing, on the last line of the body. The
// next key hides it.
type toast struct {
	text  string
	bad   bool
	until time.Time
}

func (t *toast) hide() { *t = toast{} }

func (t *toast) age(now time.Time) {
	if now.After(t.until) {
		t.hide()
	}
}

// say tells something, and warn that something could not be done.
func (s *Shell) say(text string)  { s.toast = toast{text, false, s.now.Add(toastTime)} }
func (s *Shell) warn(text string) { s.toast = toast{text, true, s.now.Add(toastTime)} }
