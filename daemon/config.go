package daemon

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/BurntSushi/toml"
)

// Config is what the administrator decides for the host: cronring.toml, and
// over it the files of conf.d beside it, in the order of their names.
type Config struct {
	Session string `toml:"session"` // "none", or "pam": jobs run in a session that PAM opened
	Mail    struct {
		Command string `toml:"command"` // gets the message on its standard input, instead of sendmail
		Off     bool   `toml:"off"`
	} `toml:"mail"`
	Log struct {
		CronLines *bool  `toml:"cron-lines"` // the lines that log watchers know; nil: yes
		To        string `toml:"to"`         // see Options.Log
	} `toml:"log"`
	Permissive bool `toml:"permissive"` // with cronie's -p: tables may be anybody's
}

// ReadConfig reads cronring.toml in dir and dir/conf.d/*.toml; what is missing
// is no error. The errors name file and line; what is right counts all the
// same, so that one slip does not stop a host's jobs.
func ReadConfig(dir string) (Config, error) {
	c := Config{Session: "none"}
	files, err := filepath.Glob(filepath.Join(dir, "conf.d", "*.toml"))
	errs := []error{err}
	for _, file := range append([]string{filepath.Join(dir, "cronring.toml")}, files...) {
		errs = append(errs, c.read(file))
	}
	if c.Session != "none" && c.Session != "pam" {
		errs = append(errs, fmt.Errorf("read configuration: session is %q, want \"none\" or \"pam\"", c.Session))
		c.Session = "none"
	}
	if _, ok := logModes[c.Log.To]; !ok {
		errs = append(errs, fmt.Errorf("read configuration: log.to is %q, want auto, journal, syslog, text or json", c.Log.To))
		c.Log.To = ""
	}
	return c, errors.Join(errs...)
}

// logModes is what may be said of where the daemon writes.
var logModes = map[string]bool{"": true, "auto": true, "journal": true, "syslog": true, "text": true, "json": true}

func (c *Config) read(file string) error {
	text, err := readTrusted(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	told, err := toml.Decode(text, c)
	var bad toml.ParseError
	switch {
	case errors.As(err, &bad):
		return fmt.Errorf("read configuration: %s:%d: %s", file, bad.Position.Line, bad.Message)
	case err != nil:
		return fmt.Errorf("read configuration: %s: %w", file, err)
	}
	var errs []error
	for _, key := range told.Undecoded() {
		errs = append(errs, fmt.Errorf("read configuration: %s:%d: unknown key %s", file, lineOf(text, key), key))
	}
	return errors.Join(errs...)
}

// readTrusted reads a file that only root, or whoever the daemon runs as, may
// have written.
func readTrusted(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	uid := info.Sys().(*syscall.Stat_t).Uid
	switch {
	case !info.Mode().IsRegular():
		return "", fmt.Errorf("%s is not a regular file", path)
	case uid != 0 && int(uid) != os.Geteuid():
		return "", fmt.Errorf("%s belongs to uid %d: only root's configuration counts; chown root %s", path, uid, path)
	case info.Mode().Perm()&0o022 != 0:
		return "", fmt.Errorf("%s may be written by others: chmod go-w %s", path, path)
	}
	const most = 1 << 20
	if info.Size() > most {
		return "", fmt.Errorf("%s is larger than 1 MiB", path)
	}
	text := make([]byte, info.Size())
	n, err := f.ReadAt(text, 0)
	if n == len(text) {
		err = nil
	}
	return string(text[:n]), err
}

// lineOf finds the line that names a key, which the decoder does not tell.
func lineOf(text string, key toml.Key) int {
	last := key[len(key)-1]
	for i, line := range strings.Split(text, "\n") {
		if name, _, _ := strings.Cut(line, "="); strings.Trim(name, " \t[]\"'") == last || strings.HasSuffix(strings.Trim(name, " \t[]"), "."+last) {
			return i + 1
		}
	}
	return 1
}
