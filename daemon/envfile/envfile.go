// Package envfile owns the files of variables that entries name with env-file=. They are
// read by a process of the run's user, never by the daemon.
package envfile

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/daemon/job"
)

// MaxSize is the size in bytes of the largest file that is read.
const MaxSize = 64 << 10

// patience limits the time that reading a file takes. A network file system may never answer.
const patience = 30 * time.Second

// Apply returns env with the variables of a file. The file does not change variables that
// the daemon reserves, nor those in kept, which are set with more precedence.
func Apply(env []string, path string, kept []string) ([]string, error) {
	own, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("read env-file=%s: %w", path, err)
	}
	var all job.Environment
	all.Set(env...)
	for _, entry := range own {
		name, _, _ := strings.Cut(entry, "=")
		if option.Reserved(name) || slices.Contains(kept, name) {
			continue
		}
		all.Set(entry)
	}
	return all.List, nil
}

// read returns the variables of a file as NAME=value.
func read(path string) ([]string, error) {
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := atomicfile.ReadTrusted(path, MaxSize, atomicfile.Changeable)
		answers <- answer{text, err}
	}()
	select {
	case a := <-answers:
		if a.err != nil {
			return nil, a.err
		}
		return parse(a.text)
	case <-time.After(patience):
		return nil, fmt.Errorf("it cannot be read within %v", patience)
	}
}

// parse reads one NAME=value in each line. Empty lines and lines that begin with # are
// comments, and quotes around a value are not part of it. Nothing is expanded.
func parse(text string) (env []string, err error) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(strings.TrimPrefix(line, "export "), "=")
		if !ok || !lex.IsIdentifier(name) || strings.IndexByte(value, 0) >= 0 {
			return nil, fmt.Errorf("line %d is not NAME=value", number)
		}
		env = append(env, name+"="+unquote(value))
	}
	return env, nil
}

func unquote(value string) string {
	if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
		return value[1 : n-1]
	}
	return value
}
