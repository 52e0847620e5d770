package crontab1

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// FirstLines is the initial text for a user without a crontab.
const FirstLines = `# One line for each task: when, and what.
#
# m h dom mon dow  command
#
# minute (0-59), hour (0-23), day of month (1-31), month (1-12), day of week
# (0-7, 0 and 7 are Sunday); * is any. At 5:00 every Monday:
#
# 0 5 * * 1  tar -czf /var/backups/home.tgz /home
#
# What a task prints is mailed to you. See crontab(5); for one task's next runs:
# cronring next '0 5 * * 1'
#
`

// edit lets the user change a crontab with an editor. It ignores the signals of the terminal until
// the edit ends, because the changes would be lost.
func (c *Program) edit(ctx context.Context) error {
	t, err := c.crontabs(ctx)
	if err != nil {
		return err
	}
	file, err := t.UserCrontab(ctx, c.args.user, api.LogEdit)
	if err != nil {
		return err
	}
	defer t.EndEdit(ctx, c.args.user)
	start := file.Text
	if file.Missing {
		c.printf("no crontab for %s - using an empty one", display.Text(file.User))
		start = nil
		if c.debian() {
			start = []byte(FirstLines)
		}
	}
	d, err := c.NewDraft(start)
	if err != nil {
		return err
	}
	defer d.Close()
	return c.editDraft(ctx, t, d, file.Sum)
}

func (c *Program) editDraft(ctx context.Context, t crontabs, d *Draft, base string) error {
	for {
		if err := c.RunEditor(d); err != nil {
			return c.leave(d, err)
		}
		text, err := d.Read()
		if err != nil {
			return c.leave(d, err)
		}
		if bytes.Equal(text, d.Start) {
			if c.debian() {
				c.printf("No modification made")
			} else {
				c.printf("crontab: no changes made to crontab")
			}
			return nil
		}
		c.printf("crontab: installing new crontab")
		if err := c.check(d.Path, string(text)); err != nil {
			c.printf("%s", err)
			const retry = "Do you want to retry the same edit? (y/n) "
			if c.confirmedOr(retry, func() { c.printf("Enter Y or N"); fmt.Fprint(c.out, retry) }) {
				continue
			}
			return c.leave(d, messageError{})
		}
		return c.leave(d, c.installDraft(ctx, t, text, d.Path, base))
	}
}

// installDraft installs the text over the version that the edit began with. If that has
// changed, it asks.
func (c *Program) installDraft(ctx context.Context, t crontabs, text []byte, path, base string) error {
	for {
		done, err := t.InstallCrontabFile(ctx, api.CrontabFileRequest{User: c.args.user, Text: text, Base: base, Source: path, Strict: true})
		if err == nil {
			c.notice(done)
			return nil
		}
		if api.KindOf(err) != api.Conflict {
			return err
		}
		now, e := t.UserCrontab(ctx, c.args.user, api.LogEdit)
		if e != nil || now.Sum == base {
			return err
		}
		if !c.confirmed("crontab: " + display.Text(now.User) + "'s crontab was changed while you edited it. Install yours over it? (y/n) ") {
			return messageError{}
		}
		base = now.Sum
	}
}

// leave ends an edit. After an error it keeps the draft, which may be an hour's work, and prints its
// path.
func (c *Program) leave(d *Draft, err error) error {
	if err == nil {
		return nil
	}
	text, e := d.Read()
	if e == nil && bytes.Equal(text, d.Start) || errors.Is(e, fs.ErrNotExist) {
		return err
	}
	d.Keep = true
	if message, ok := err.(messageError); !ok || message.text != "" {
		c.report(err)
	}
	return messageError{"crontab: edits left in " + display.Text(d.Path)}
}

// unreadableDraft is the error, in cron's words, for a draft that cannot be read after the edit.
type unreadableDraft struct{ err error }

func (e unreadableDraft) Error() string {
	return "Can't open tempfile after edit: " + errnoText(e.err) + "\nError while editing crontab"
}

func (e unreadableDraft) Unwrap() error { return e.err }

// Draft is a crontab that is being edited: a file in a directory that only the caller can enter.
type Draft struct {
	dir   *os.File
	Path  string
	Start []byte
	Keep  bool
}

// NewDraft creates a draft with the text start. The caller must close it.
func (c *Program) NewDraft(start []byte) (*Draft, error) {
	dir, err := os.MkdirTemp(c.tempDir(), "crontab.")
	if err != nil {
		return nil, messageError{display.Text(c.tempDir()) + ": " + errnoText(err)}
	}
	f, err := os.OpenFile(dir, os.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, messageError{display.Text(dir) + ": " + errnoText(err)}
	}
	d := &Draft{dir: f, Path: filepath.Join(dir, "crontab"), Start: start}
	if err := os.WriteFile(d.Path, start, 0o600); err != nil {
		d.Close()
		return nil, messageError{display.Text(d.Path) + ": " + errnoText(err)}
	}
	return d, nil
}

// Close removes the draft with all files that the editor left in its directory, unless Keep is set.
func (d *Draft) Close() {
	d.dir.Close()
	if !d.Keep {
		os.RemoveAll(filepath.Dir(d.Path))
	}
}

// Read returns the text that the editor saved. It reads only in the directory that NewDraft made, and
// only if the file still belongs to the caller.
func (d *Draft) Read() ([]byte, error) {
	fd, err := unix.Openat(int(d.dir.Fd()), "crontab", unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, unreadableDraft{err}
	}
	f := os.NewFile(uintptr(fd), d.Path)
	defer f.Close()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, messageError{display.Text(d.Path) + ": " + errnoText(err)}
	}
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return nil, messageError{display.Text(d.Path) + ": Not a regular file."}
	case st.Uid != uint32(os.Geteuid()):
		return nil, messageError{"crontab: " + display.Text(d.Path) + " belongs to another user now"}
	}
	return io.ReadAll(io.LimitReader(f, crontab.MaxText+1))
}

const defaultTemp = "/tmp"

// tempDir returns TMPDIR, unless users other than the caller and root could replace files
// in it: an editor opens files by name, and would write to what another user put there.
func (c *Program) tempDir() string {
	dir := c.Env("TMPDIR")
	if dir == "" || !filepath.IsAbs(dir) {
		return defaultTemp
	}
	for at := filepath.Clean(dir); ; at = filepath.Dir(at) {
		var st unix.Stat_t
		if err := unix.Lstat(at, &st); err != nil {
			return defaultTemp
		}
		shared := st.Mode&0o022 != 0 && st.Mode&unix.S_ISVTX == 0
		if st.Mode&unix.S_IFMT != unix.S_IFDIR || shared || st.Uid != 0 && st.Uid != c.uid {
			c.printf("crontab: TMPDIR is not used, as others can change %s", display.Text(at))
			return defaultTemp
		}
		if at == "/" {
			return dir
		}
	}
}

// editor returns the user's editor, or the default of the distribution, or an installed one.
func (c *Program) editor() string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if editor := c.Env(name); editor != "" {
			return editor
		}
	}
	choices := []string{"/usr/bin/vi", "/usr/bin/editor"}
	if c.debian() {
		choices = []string{"/usr/bin/sensible-editor", "/usr/bin/editor", "/usr/bin/vi"}
	}
	for _, path := range choices {
		if _, err := os.Stat(path); err == nil || !errors.Is(err, fs.ErrNotExist) {
			return path
		}
	}
	return choices[0]
}

// RunEditor runs the editor through a shell, with the draft's name as a single argument.
func (c *Program) RunEditor(d *Draft) error {
	editor := c.editor()
	cmd := exec.Command("/bin/sh", "-c", editor+` "$1"`, "sh", d.Path)
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = c.in, c.out, c.err, defaultTemp
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGINT, syscall.SIGQUIT, syscall.SIGHUP)
	defer signal.Stop(caught)
	err := cmd.Run()
	exited, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		return err
	}
	status := exited.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		core := "no core dumped"
		if status.CoreDump() {
			core = "core dumped"
		}
		return messageError{fmt.Sprintf("crontab: \"%s\" killed; signal %d (%s)", display.Text(editor), status.Signal(), core)}
	}
	return messageError{fmt.Sprintf("crontab: \"%s\" exited with status %d", display.Text(strings.TrimSpace(editor)), status.ExitStatus())}
}
