package cli

import (
	"github.com/cronring/cronring/daemon/job"
)

// StateLook holds the symbol, word and tone of each state. Each of the three is enough to recognise it.
var StateLook = map[job.State]struct {
	full, ascii, Word string
	Tone              Tone
}{
	job.StateFailing:  {"✗", "x", "FAIL", Bad},
	job.StateLate:     {"!", "!", "LATE", Warn},
	job.StateRunning:  {"►", ">", "run", Active},
	job.StatePaused:   {"‖", "|", "paused", Warn},
	job.StateHeld:     {"‖", "|", "held", Warn},
	job.StateDisabled: {"○", "-", "off", Faint},
	job.StateOK:       {"✓", "+", "ok", Good},
	job.StateNew:      {"·", ".", "new", Normal},
}

// StateSign is a state's sign in what the terminal's character set can show.
func StateSign(s job.State) string { return Sign(StateLook[s].full, StateLook[s].ascii) }
