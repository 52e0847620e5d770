// Package stage owns the program between the starter and a command with env-file= or sandbox=. It
// runs in the run's process, as the user, so that a file system that does not answer delays only this
// run.
package stage

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/envfile"
	"github.com/cronring/cronring/daemon/sandbox"
	"github.com/cronring/cronring/daemon/starter"
)

// name is argv[0] of the program.
const name = "cronring-stage"

// Path is the program, for the starter.
const Path = "/proc/self/exe"

// status is the descriptor of the pipe for reports.
const status = 3

// Order lists the steps of the program before it executes the command.
type Order struct {
	EnvFile []byte        // file of variables, which need not be valid UTF-8; nil: none
	Kept    []string      // variables that the file does not change
	Sandbox *sandbox.Plan // nil: none
}

// Needed reports whether there is something to do.
func (o *Order) Needed() bool { return len(o.EnvFile) > 0 || o.Sandbox != nil }

// Argv returns the arguments of the program that follows an order and then executes a command.
// Without a command it writes the environment to standard output, each variable with a NUL behind
// it.
func (o *Order) Argv(command ...string) []string {
	text, _ := json.Marshal(o) // it contains only types that JSON can represent
	return append([]string{name, string(text)}, command...)
}

// Serve is the whole program, and does nothing in any other one.
func Serve() {
	if len(os.Args) < 2 || os.Args[0] != name {
		return
	}
	var o Order
	command := os.Args[2:]
	env, err := o.follow()
	switch {
	case len(command) == 0 && err == nil:
		if _, err = os.Stdout.WriteString(strings.Join(env, "\x00") + "\x00"); err == nil {
			os.Exit(0)
		}
		fallthrough
	case len(command) == 0:
		fmt.Fprint(os.Stderr, err)
		os.Exit(starter.ExitFailed)
	case err == nil:
		unix.CloseOnExec(status)
		err = syscall.Exec(command[0], command, env)
	}
	_, _ = unix.Write(status, starter.EncodeFailure(err)) // an error means that the daemon no longer reads the pipe
	os.Exit(starter.ExitFailed)
}

// follow reads the order of this process and follows it. It returns the environment of the command.
func (o *Order) follow() (env []string, err error) {
	if err := starter.RejectSetID(); err != nil {
		return nil, err
	}
	if err := json.Unmarshal([]byte(os.Args[1]), o); err != nil {
		return nil, err
	}
	env = os.Environ()
	if len(o.EnvFile) > 0 {
		if env, err = envfile.Apply(env, string(o.EnvFile), o.Kept); err != nil {
			return nil, err
		}
	}
	if o.Sandbox != nil {
		err = o.Sandbox.Apply()
	}
	return env, err
}
