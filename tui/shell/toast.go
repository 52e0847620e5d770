package shell

import "time"

// toastTime is the time that a message is shown.
const toastTime = 6 * time.Second

// toast is a message on the last lines of the body. The next key hides it.
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

// say shows a message, warn an error.
func (s *Shell) say(text string)  { s.toast = toast{text, false, s.now.Add(toastTime)} }
func (s *Shell) warn(text string) { s.toast = toast{text, true, s.now.Add(toastTime)} }
