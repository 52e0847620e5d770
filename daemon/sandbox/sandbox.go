// Package sandbox owns the restriction of a run with sandbox= to certain files. The process of the
// run restricts itself before it executes the command. It already belongs to the user then, so this
// package never uses the rights of root on paths that a user controls.
package sandbox

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/landlock-lsm/go-landlock/landlock"
	ll "github.com/landlock-lsm/go-landlock/landlock/syscall"
	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab/option"
)

// Plan is the sandbox of one run.
type Plan struct {
	Level    option.Sandbox
	Home     string   // of the user
	ReadOnly []string // of read-only=
	Write    []string // of write=
	Secrets  string   // directory of the run's credentials, which it can read; "": none
}

// Of returns the sandbox of an entry for a user with this home directory, or nil.
func Of(i *option.Isolation, home string) *Plan {
	if i == nil || i.Sandbox == option.SandboxOff {
		return nil
	}
	return &Plan{Level: i.Sandbox, Home: home, ReadOnly: i.ReadOnly, Write: i.Write}
}

// The directories that each sandbox allows. Missing ones are left out.
var (
	// programs are what a strict sandbox can read and execute: programs with their libraries, their
	// settings, and what the kernel reports. The resolver's files are where /etc/resolv.conf points.
	programs = []string{
		"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu", "/proc", "/sys",
		"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf",
	}
	// devices hold no data. /dev/tty is the terminal of a process itself, and runs have none.
	devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}
	// terminals include the terminals of the user's sessions: a strict sandbox must not read what is
	// typed there.
	terminals = []string{"/dev/ptmx", "/dev/pts"}

	temporary = []string{"/tmp", "/var/tmp", "/dev/shm"}
)

// The rights to files. A process that may make devices as root could write to the disk.
var (
	handled  = landlock.V3
	read     = landlock.AccessFSSet(ll.AccessFSExecute | ll.AccessFSReadFile | ll.AccessFSReadDir)
	readFile = landlock.AccessFSSet(ll.AccessFSExecute | ll.AccessFSReadFile)
	change   = handled.HandledAccessFS &^ (ll.AccessFSMakeChar | ll.AccessFSMakeBlock)
	use      = readFile | ll.AccessFSWriteFile | ll.AccessFSTruncate // of a file
)

// config returns what a sandbox restricts.
func config(level option.Sandbox) landlock.Config {
	c := landlock.Config{HandledAccessFS: handled.HandledAccessFS}
	if level == option.SandboxStrict {
		c.Scoped = landlock.V6.Scoped
	}
	return c
}

// version returns the version of Landlock in this kernel. Tests replace it.
var version = ll.LandlockGetABIVersion

// Missing returns why this kernel cannot enforce a sandbox, or "".
func Missing(level option.Sandbox) string {
	needs, release := 3, "6.2"
	if level == option.SandboxStrict {
		needs, release = 6, "6.12"
	}
	switch abi, err := version(); {
	case err != nil:
		return fmt.Sprintf("sandbox=%s requires Landlock, which this kernel does not have or does not use (%v)", level, err)
	case abi < needs:
		return fmt.Sprintf("sandbox=%s requires Landlock as in Linux %s; this kernel is older", level, release)
	}
	return ""
}

// Apply restricts the calling process and all programs that it executes. They also cannot gain
// privileges: set-user-id and set-group-id programs run with the privileges of the caller.
func (p *Plan) Apply() error {
	if err := p.apply(); err != nil {
		return fmt.Errorf("sandbox=%s: %w", p.Level, err)
	}
	return nil
}

func (p *Plan) apply() error {
	rules, done, err := p.rules()
	defer done()
	if err != nil {
		return err
	}
	return config(p.Level).Restrict(rules...)
}

// rules returns what the run may do. The rules refer to open files, which done closes.
func (p *Plan) rules() (rules []landlock.Rule, done func(), err error) {
	var open []int
	done = func() {
		for _, fd := range open {
			_ = unix.Close(fd) // nothing was written to it
		}
	}
	allow := func(rights landlock.AccessFSSet, paths ...string) {
		rules = append(rules, landlock.PathAccess(rights, paths...).IgnoreIfMissing())
	}
	allow(use, devices...)
	if p.Level != option.SandboxStrict {
		allow(use, terminals...)
	}
	allow(use, output()...)
	allow(read, p.defaultReadable()...)
	if p.Secrets != "" {
		allow(read, p.Secrets)
	}
	allow(change, p.defaultWritable(uint32(os.Geteuid()))...)
	own := func(key string, dir, file landlock.AccessFSSet, paths []string) error {
		for _, path := range paths {
			fd, isDir, err := openOwn(path)
			if err != nil {
				return fmt.Errorf("%s=%s: %w", key, path, err)
			}
			open = append(open, fd)
			rights := file
			if isDir {
				rights = dir
			}
			rules = append(rules, landlock.PathAccess(rights, "/proc/self/fd/"+strconv.Itoa(fd)))
		}
		return nil
	}
	return rules, done, errors.Join(own("read-only", read, readFile, p.ReadOnly), own("write", change, use, p.Write))
}

// openOwn opens a path of an option. It follows no symbolic link: otherwise, a user who can replace a
// directory of the path by a link could choose what the sandbox allows.
func openOwn(path string) (fd int, isDir bool, err error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS}
	if fd, err = unix.Openat2(unix.AT_FDCWD, path, &how); err == unix.ELOOP {
		return 0, false, errors.New("there is a symbolic link in the path; write the path that it leads to")
	}
	if err != nil {
		return 0, false, err
	}
	var status unix.Stat_t
	if err := unix.Fstat(fd, &status); err != nil {
		return 0, false, errors.Join(err, unix.Close(fd))
	}
	return fd, status.Mode&unix.S_IFMT == unix.S_IFDIR, nil
}

// Readable returns the directories that the run can read.
func (p *Plan) Readable() []string { return append(p.defaultReadable(), p.ReadOnly...) }

// Writable returns the directories that the run of a user can change and, beyond Readable, read.
func (p *Plan) Writable(uid uint32) []string { return append(p.defaultWritable(uid), p.Write...) }

func (p *Plan) defaultReadable() []string {
	if p.Level == option.SandboxStrict {
		return slices.Clone(programs)
	}
	return []string{"/"}
}

func (p *Plan) defaultWritable(uid uint32) []string {
	switch {
	case p.Level == option.SandboxStrict:
		return nil
	case ownsDir(uid, p.Home):
		return append([]string{p.Home}, temporary...)
	}
	return slices.Clone(temporary)
}

// ownsDir reports whether a home directory belongs to its user. The home directories of
// system users are often directories of the system.
func ownsDir(uid uint32, path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir() && filepath.IsAbs(path) && !os.SameFile(info, rootDir()) && info.Sys().(*syscall.Stat_t).Uid == uid
}

func rootDir() os.FileInfo {
	info, _ := os.Stat("/") // the root directory always exists
	return info
}

// output returns the standard files that have a path, so that /dev/stdout and /dev/stderr can be
// opened.
func output() (paths []string) {
	for fd := range 3 {
		path := "/proc/self/fd/" + strconv.Itoa(fd)
		if target, err := os.Readlink(path); err == nil && strings.HasPrefix(target, "/") {
			paths = append(paths, path)
		}
	}
	return paths
}
