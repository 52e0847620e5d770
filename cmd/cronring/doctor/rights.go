package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/spool"
)

// Where the daemon of a host keeps what is its own.
const (
	stateDirectory   = "/var/lib/cronring"
	runtimeDirectory = "/run/cronring"
	crontabProgram   = "/usr/bin/crontab"
	ownProgram       = "/usr/bin/cronring"
	statOverrides    = "/var/lib/dpkg/statoverride"
)

// checkRights looks at what only root may change, and what all may reach.
func checkRights(_ context.Context, e *examination) []finding {
	var found []finding
	for _, own := range []struct {
		path string
		mode fs.FileMode
		why  string
	}{
		{stateDirectory, 0o700, "it holds the output of everybody's jobs"},
		{stateDirectory + "/cronring.db", 0o600, "it holds the history of everybody's jobs"},
		{runtimeDirectory, 0o755, "a user who can write there can impersonate the daemon"},
		{runtimeDirectory + "/runs", 0o700, "it holds the output of jobs that run"},
	} {
		found = append(found, e.own(own.path, own.mode, own.why)...)
	}
	found = append(found, e.socketRights()...)
	found = append(found, e.spoolRights()...)
	if found != nil {
		return found
	}
	return []finding{{Grade: gradeOK, What: "state, socket and spool have the right owners"}}
}

// own checks a file of the daemon. A missing one will be created with the right mode.
func (e *examination) own(path string, mode fs.FileMode, why string) []finding {
	info, err := os.Lstat(e.Path(path))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return []finding{{Grade: gradeUnseen, What: path + " cannot be looked at", Why: spool.Reason(err)}}
	case info.Mode()&fs.ModeSymlink != 0:
		return nil // an administrator moved it: the mode is that of the new place
	}
	stat := info.Sys().(*syscall.Stat_t)
	var fix []remedy
	what := path
	if stat.Uid != e.owner {
		what += fmt.Sprintf(" belongs to uid %d, not to root", stat.Uid)
		fix = append(fix, harmless("chown", "root:root", e.Path(path)))
	}
	if more := info.Mode().Perm() &^ mode; more != 0 {
		what += fmt.Sprintf(" has mode %04o instead of %04o", info.Mode().Perm(), mode)
		fix = append(fix, harmless("chmod", fmt.Sprintf("%04o", mode), e.Path(path)))
	}
	if fix == nil {
		return nil
	}
	return []finding{{Grade: gradeProblem, What: what, Why: why, Fix: fix}}
}

// socketRights checks that all users can reach the daemon: the kernel identifies them, and
// the daemon decides what they may do.
func (e *examination) socketRights() []finding {
	if e.socket != api.SystemSocket {
		return nil
	}
	info, err := os.Lstat(e.Path(e.socket))
	switch {
	case err != nil:
		return nil // whether the daemon answers is another check's
	case info.Mode()&fs.ModeSocket == 0:
		return []finding{{Grade: gradeProblem, What: e.socket + " is not a socket", Fix: advice("rm " + e.socket + " && systemctl restart cronring")}}
	case info.Mode().Perm()&0o666 != 0o666:
		return []finding{{Grade: gradeWarning, What: fmt.Sprintf("%s has mode %04o instead of 0666", e.socket, info.Mode().Perm()),
			Why: "users other than root can neither see their jobs nor use crontab(1)", Fix: advice("chmod 0666 " + e.socket)}}
	}
	return nil
}

// spoolRights checks the directory of user crontabs by the rules of the family, so that
// another cron can be installed again.
func (e *examination) spoolRights() []finding {
	p := e.Paths()
	path := e.HostPath(p.Users)
	info, err := os.Stat(p.Users)
	if errors.Is(err, fs.ErrNotExist) {
		return []finding{{Grade: gradeWarning, What: "there is no " + path + ": users have no crontabs", Fix: e.makeSpool(path)}}
	}
	if err != nil {
		return []finding{{Grade: gradeUnseen, What: path + " cannot be looked at", Why: spool.Reason(err)}}
	}
	stat := info.Sys().(*syscall.Stat_t)
	mode := stat.Mode & 0o7777
	switch want := e.spoolMode(); {
	case stat.Uid != e.owner:
		return []finding{{Grade: gradeProblem, What: fmt.Sprintf("%s belongs to uid %d", path, stat.Uid),
			Why: "that user can delete and replace all crontabs", Fix: advice("chown root " + path)}}
	case mode&0o002 != 0, mode&0o020 != 0 && !(p.Group != "" && e.groupNamed(stat.Gid, p.Group)):
		return []finding{{Grade: gradeProblem, What: fmt.Sprintf("%s has mode %04o: others may make files there", path, mode),
			Why: "a user can create a file with the name of another user, and so replace that user's crontab", Fix: e.makeSpool(path)}}
	case mode != want:
		return []finding{{Grade: gradeWarning, What: fmt.Sprintf("%s has mode %04o instead of %04o", path, mode, want),
			Why: "cronring does without, but the host's own crontab(1) would not work after going back", Fix: e.makeSpool(path)}}
	}
	return nil
}

func (e *examination) spoolMode() uint32 {
	if e.Host.Family == crontab.RHEL {
		return 0o700
	}
	return 0o1730
}

func (e *examination) makeSpool(path string) []remedy {
	return advice(fmt.Sprintf("install -d -o root -g %s -m %04o %s", cmp.Or(e.Paths().Group, "root"), e.spoolMode(), path))
}

// groupNamed reports whether a group's number has a name in /etc/group.
func (e *examination) groupNamed(gid uint32, name string) bool {
	text, _ := e.Read("/etc/group")
	for line := range strings.Lines(text) {
		fields := strings.Split(line, ":")
		if len(fields) > 2 && fields[0] == name && fields[2] == strconv.FormatUint(uint64(gid), 10) {
			return true
		}
	}
	return false
}

// checkCrontab checks crontab(1), which uses the daemon and therefore needs no privileges.
// dpkg's override for the old cron's crontab outlives that package, and would make ours
// set-gid.
func checkCrontab(_ context.Context, e *examination) []finding {
	info, err := os.Stat(e.Path(crontabProgram))
	if err != nil {
		return []finding{{Grade: gradeWarning, What: "there is no " + crontabProgram + ": users cannot edit their crontabs",
			Fix: advice("ln -s cronring " + crontabProgram)}}
	}
	if !e.ownCrontab(info) {
		return []finding{{Grade: gradeWarning, What: crontabProgram + " is another program's",
			Why: "crontabs that it writes are read all the same, but no version of them is kept for undo"}}
	}
	var found []finding
	if info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0 {
		found = append(found, finding{Grade: gradeProblem, What: crontabProgram + " is set-id",
			Why: "it uses the daemon, which gets the caller's identity from the kernel: the bit is only attack surface",
			Fix: []remedy{harmless("chmod", "u-s,g-s", e.Path(crontabProgram))}})
	}
	if overrides, _ := e.Read(statOverrides); overridden(overrides) {
		found = append(found, finding{Grade: gradeWarning, What: "dpkg has an override for " + crontabProgram + " that the old cron left",
			Why: "the next upgrade makes it set-gid", Fix: advice("dpkg-statoverride --remove " + crontabProgram)})
	}
	if len(found) == 0 {
		found = []finding{{Grade: gradeOK, What: crontabProgram + " is cronring's and has no set-id bit"}}
	}
	return found
}

func (e *examination) ownCrontab(info fs.FileInfo) bool {
	if target, err := os.Readlink(e.Path(crontabProgram)); err == nil && filepath.Base(target) == "cronring" {
		return true
	}
	own, err := os.Stat(e.Path(ownProgram))
	return err == nil && os.SameFile(own, info)
}

func overridden(overrides string) bool {
	for line := range strings.Lines(overrides) {
		words := strings.Fields(line)
		if len(words) == 4 && words[3] == crontabProgram {
			return true
		}
	}
	return false
}
