package main

import (
	"github.com/cronring/cronring/daemon/job"
)

// stateLook is how a state is shown: a sign, a word and a tone, so that none of
// the three is needed.
var stateLook = map[job.State]struct {
	full, ascii, word string
	tone              tone
}{
	job.StateFailing:  {"✗", "x", "FAIL", bad},
	job.StateLate:     {"!", "!", "LATE", doubt},
	job.StateRunning:  {"►", ">", "run", busy},
	job.StateHeld:     {"‖", "|", "held", doubt},
	job.StateDisabled: {"○", "-", "off", faint},
	job.StateOK:       {"✓", "+", "ok", good},
	job.StateNew:      {"·", ".", "new", calm},
}

// stateSign is a state's sign in what the terminal's character set can show.
func stateSign(s job.State) string { return sign(stateLook[s].full, stateLook[s].ascii) }
