package main

import (
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/when"
)

// addSocket adds the flag of all commands that ask the daemon.
func (a *app) addSocket(cmd *cobra.Command) {
	cmd.Flags().StringVar(&a.socket, "socket", "", "`PATH` of the daemon's socket (default: $CRONRING_SOCKET, else where it usually is)")
}

// dial gives a client of the daemon that the flags and the environment name.
func (a *app) dial() *api.Client {
	if a.socket != "" {
		return api.Dial(a.socket)
	}
	return api.Dial(api.FindSocket(os.Getenv))
}

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

// sign chooses between a sign and its ASCII form by the locale.
func sign(full, ascii string) string {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := os.Getenv(name); value != "" {
			value = strings.ToUpper(value)
			if strings.Contains(value, "UTF-8") || strings.Contains(value, "UTF8") {
				return full
			}
			return ascii
		}
	}
	return ascii
}

// took is how long a run took or has been going, or "" before its start.
func (a *app) took(r *job.Run) string {
	switch {
	case r == nil || r.Started.IsZero():
		return ""
	case r.Ended.IsZero():
		return when.Brief(a.now().Sub(r.Started).Truncate(time.Second))
	}
	return when.Brief(r.Ended.Sub(r.Started))
}

// stamp writes an instant for programs: "" for none.
func stamp(t time.Time, loc *time.Location) string {
	if t.IsZero() {
		return ""
	}
	return t.In(loc).Format(stampPlain)
}

// until says how far off an instant is: "in 2m49s", "2m11s ago".
func (a *app) until(t time.Time) string {
	d := t.Sub(a.now())
	if d < 0 {
		return when.Brief(-d.Round(time.Second)) + " ago"
	}
	return "in " + when.Brief(d.Round(time.Second))
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.Itoa(n) + " " + noun + "s"
}
