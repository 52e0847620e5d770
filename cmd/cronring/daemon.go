package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/safe"
	"github.com/cronring/cronring/tui/when"
)

// addSocket adds the flags of all commands that ask the daemon: which one, how
// long, and what for.
func (a *app) addSocket(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&a.socket, "socket", "", "`PATH` of the daemon's socket (default: $CRONRING_SOCKET, else where it usually is)")
	flags.StringVarP(&a.host, "host", "H", "", "ask the daemon of `[USER@]HOST`, through ssh (default: $CRONRING_HOST)")
	flags.Var(&a.timeout, "timeout", "give up after `D`, with exit code 7 (default: $CRONRING_TIMEOUT, else never)")
	flags.Lookup("timeout").DefValue = ""
	flags.BoolVar(&a.readOnly, "read-only", false, "refuse to change anything")
	flags.BoolVar(&a.noInput, "no-input", false, "never ask a question (default: $CRONRING_NO_INPUT)")
	cmd.Annotations = map[string]string{asksDaemon: ""}
}

// asksDaemon marks the commands that have the flags of addSocket.
const asksDaemon = "daemon"

// reach takes what the flags and the environment say about the daemon, once the
// flags are known to go together.
func (a *app) reach(cmd *cobra.Command) error {
	if err := flagRules(cmd); err != nil {
		return err
	}
	if _, asks := cmd.Annotations[asksDaemon]; !asks {
		return nil
	}
	if a.host == "" {
		a.host = os.Getenv("CRONRING_HOST")
	}
	a.noInput = a.noInput || os.Getenv("CRONRING_NO_INPUT") != ""
	if text := os.Getenv("CRONRING_TIMEOUT"); text != "" && !cmd.Flags().Changed("timeout") {
		if err := a.timeout.Set(text); err != nil {
			return badUsage("use CRONRING_TIMEOUT", err.Error(), "")
		}
	}
	if d := time.Duration(a.timeout); d > 0 {
		ctx, cancel := context.WithTimeoutCause(cmd.Context(), d, &api.Error{
			Kind: api.TimedOut, What: "cannot wait any longer: the " + when.Brief(d) + " of --timeout are over", Fix: "cronring status",
		})
		context.AfterFunc(ctx, cancel)
		cmd.SetContext(ctx)
	}
	return remoteHost(a.host)
}

// dial gives a client of the daemon that the flags and the environment name.
func (a *app) dial() *api.Client {
	client := a.dialed()
	if a.readOnly {
		client.ReadOnly()
	}
	if debug := os.Getenv("CRONRING_DEBUG"); debug != "" && debug != "0" && !a.drawn {
		client.Trace(a.tell)
	}
	return client
}

// tell says how a request to the daemon went, for CRONRING_DEBUG. It is one
// write, as requests go beside each other.
func (a *app) tell(t api.Trace) {
	line := fmt.Sprintf("cronring: %s %s: ", t.Method, safe.Text(t.Path))
	took := when.Brief(t.Took.Round(10 * time.Microsecond))
	switch {
	case t.Err != nil:
		line += fmt.Sprintf("no answer after %s: %s", took, safe.Text(t.Err.Error()))
	case t.Ended:
		line += fmt.Sprintf("%d bytes, over after %s", t.Bytes, took)
	default:
		line += fmt.Sprintf("%d after %s", t.Status, took)
	}
	fmt.Fprintln(a.err, line)
}

func (a *app) dialed() *api.Client {
	switch {
	case a.host != "":
		return api.Through(a.host+", through ssh", a.overSSH(a.host))
	case a.socket != "":
		return api.Dial(a.socket)
	}
	return api.Dial(api.FindSocket(os.Getenv))
}

// reachFlags are the flags that lead another command to the same daemon.
func (a *app) reachFlags() (flags []string) {
	if a.host != "" {
		flags = append(flags, "-H", a.host)
	}
	if a.socket != "" {
		flags = append(flags, "--socket", a.socket)
	}
	return flags
}

// onThisHost refuses -H for what is about this host.
func (a *app) onThisHost(verb string) error {
	if a.host == "" {
		return nil
	}
	return badUsage(verb+" on "+a.host, "it is about the host that it runs on", "ssh "+a.host+" cronring "+verb)
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

// sign chooses between a sign and its ASCII form, by CRONRING_GLYPHS or else by
// the locale.
func sign(full, ascii string) string {
	switch os.Getenv("CRONRING_GLYPHS") {
	case "ascii":
		return ascii
	case "full", "safe":
		return full
	}
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
