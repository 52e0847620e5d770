// Package stage owns the program between the starter and a command with env-file=. It runs
// in the run's process, as the user, so that a file that never answers delays only this run.
package stage

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/envfile"
	"github.com/cronring/cronring/daemon/starter"
)

// name is argv[0] of the program.
const name = "cronring-stage"

// Path is the program, for the starter.
const Path = "/proc/self/exe"

// status is the descriptor of the pipe for reports.
const status = 3

// Argv returns the arguments of the program that reads a file and then executes a command.
// kept are the variables that the file does not change. Without a command it writes the
// environment to standard output, each variable with a NUL behind it.
func Argv(file string, kept []string, command ...string) []string {
	return append([]string{name, file, strings.Join(kept, ",")}, command...)
}

// Serve is the whole program, and does nothing in any other one.
func Serve() {
	if len(os.Args) < 3 || os.Args[0] != name {
		return
	}
	env, err := environment()
	command := os.Args[3:]
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
	_, _ = unix.Write(status, starter.Say(err)) // if nobody reads it, nobody asks
	os.Exit(starter.ExitFailed)
}

// environment returns the environment of this process with the variables of the file.
func environment() ([]string, error) {
	if os.Geteuid() != os.Getuid() || os.Getegid() != os.Getgid() {
		return nil, errors.New("refused: the program is set-user-id or set-group-id")
	}
	return envfile.Apply(os.Environ(), os.Args[1], strings.Split(os.Args[2], ","))
}
