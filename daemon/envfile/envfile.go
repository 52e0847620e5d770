// Package envfile owns the files of variables that entries name with env-file=. They are
// read by a process of the run's user, never by the daemon.
package envfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/option"
)

// MaxSize is the size in bytes of the largest file that is read.
const MaxSize = 64 << 10

// patience is how long a file may take. A network file system may never answer.
const patience = 30 * time.Second

// Apply returns env with the variables of a file. The file does not change variables that
// the daemon reserves, nor those in kept, which are set with more precedence.
func Apply(env []string, path string, kept []string) ([]string, error) {
	own, err := read(path)
	if err != nil {
		return nil, fmt.Errorf("read env-file=%s: %w", path, err)
	}
	for _, entry := range own {
		name, _, _ := strings.Cut(entry, "=")
		if option.Reserved(name) || slices.Contains(kept, name) {
			continue
		}
		if i := slices.IndexFunc(env, func(old string) bool { return strings.HasPrefix(old, name+"=") }); i >= 0 {
			env[i] = entry
			continue
		}
		env = append(env, entry)
	}
	return env, nil
}

// read returns the variables of a file as NAME=value.
func read(path string) ([]string, error) {
	type answer struct {
		text string
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := readText(path)
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

// readText reads a regular file that only its user and root can change. It does not wait for
// a pipe, and reads nothing of a device.
func readText(path string) (string, error) {
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	file := os.NewFile(uintptr(fd), path)
	defer file.Close()
	var st syscall.Stat_t
	if err := syscall.Fstat(fd, &st); err != nil {
		return "", err
	}
	switch {
	case st.Mode&syscall.S_IFMT != syscall.S_IFREG:
		return "", errors.New("it is not a regular file")
	case st.Uid != 0 && st.Uid != uint32(os.Geteuid()):
		return "", fmt.Errorf("it belongs to the user with number %d, who could set variables of this job", st.Uid)
	case st.Mode&0o022 != 0:
		return "", fmt.Errorf("other users can change it (mode %04o); remove that with chmod go-w", st.Mode&0o7777)
	}
	text, err := io.ReadAll(io.LimitReader(file, MaxSize+1))
	switch {
	case err != nil:
		return "", err
	case len(text) > MaxSize:
		return "", fmt.Errorf("it has more than %d bytes", MaxSize)
	}
	return string(text), nil
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
