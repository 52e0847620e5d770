package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/display"
)

// The codes of refusals. As the codes of package crontab they are never given
// another meaning.
const (
	CodeOrphan    crontab.Code = "F101" // no such account
	CodeOpen      crontab.Code = "F102" // cannot be opened or read
	CodeLinkOwner crontab.Code = "F103" // a symbolic link that is not root's
	CodeOwner     crontab.Code = "F104" // a file of another user
	CodeType      crontab.Code = "F105" // not a regular file
	CodeMode      crontab.Code = "F106" // others may write it
	CodeLinks     crontab.Code = "F107" // more than one name
	CodeSize      crontab.Code = "F108" // too large
	CodeDirectory crontab.Code = "F109" // a directory of crontabs that cannot be listed
	CodeUnchecked crontab.Code = "F110" // whether there is such an account cannot be checked
	CodeDefect    crontab.Code = "F111" // the parser panics
)

// Refusal is a file, or a directory of files, that is not read.
type Refusal struct {
	Path string
	Who  string // as cron's log names it: the account, *system*NAME or root; "" for files named by hand
	Code crontab.Code
	Word string // cron's own: "WRONG FILE OWNER"
	Why  string // lower case, no full stop
	Fix  string
	Kept bool   // what the file said before stays loaded
	Log  string // cron's line: "(bob) WRONG FILE OWNER (crontabs/bob)"

	gone bool // the file no longer exists
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s: %s", r.Path, r.Word, r.Why) }

// Diagnostic returns the refusal in lint's form.
func (r *Refusal) Diagnostic() crontab.Diagnostic {
	return crontab.Diagnostic{File: r.Path, Severity: crontab.Error, Code: r.Code, Message: fmt.Sprintf("refused, %s: %s", r.Word, r.Why), Fix: r.Fix}
}

// kind is which rules hold for a file.
type kind uint8

const (
	namedCrontab  kind = iota // named by hand: it need only be readable
	userCrontab               // in the spool
	systemCrontab             // /etc/crontab and /etc/cron.d/*
	anacrontab                // /etc/anacrontab
)

// candidate is a file that may be a crontab.
type candidate struct {
	kind kind
	path string
	name string // last element of path: the account of a user's crontab; "" for /etc/crontab
}

// trust is the host's rules.
type trust struct {
	family     crontab.Family
	permissive bool // cronie's -p: ignore owners and permissions
}

// facts are what a refusal can depend on.
type facts struct {
	candidate
	account *account.Account // of a user's crontab; nil if unknown
	unknown error            // why it is unknown
	link    *unix.Stat_t     // the symbolic link at path, if it is one
	file    unix.Stat_t      // of the open descriptor
	err     error            // why the file cannot be opened
}

// refuse checks all reasons not to read a crontab, in cron's own order, and returns cron's own word
// for the first; nil if the crontab is good. The words of Debian's cron 3.0 and of cronie 1.7
// differ, as do their rules and the order of them, so that a file that breaks two rules gets the
// word of its host's cron.
func (t trust) refuse(f *facts) *Refusal {
	var (
		debian   = t.family == crontab.Debian
		user     = f.kind == userCrontab
		strict   = !t.permissive
		stranger = strict && f.file.Uid != 0 && !(user && f.account != nil && f.file.Uid == f.account.UID)
		regular  = f.file.Mode&unix.S_IFMT == unix.S_IFREG
		mode     = f.file.Mode & 0o7777
	)
	switch {
	case user && f.account == nil:
		return t.refuseOwner(f)
	case debian && strict && !user && f.link != nil && f.link.Uid != 0:
		return t.refusal(f, CodeLinkOwner, "WRONG SYMLINK OWNER", "", fmt.Sprintf("the symbolic link belongs to %s, not to root", uid(f.link.Uid)), "chown -h root "+quoted(f.path))
	case f.err != nil && f.link != nil && !user:
		return t.refusal(f, CodeOpen, "CAN'T OPEN SYMLINK", "CAN'T OPEN", "what the symbolic link leads to cannot be opened: "+Reason(f.err), "")
	case f.err != nil:
		return t.refusal(f, CodeOpen, "CAN'T OPEN", "CAN'T OPEN", f.unopened(), "")
	case debian && stranger:
		return t.refusal(f, CodeOwner, "WRONG FILE OWNER", "", f.stranger(), f.owned())
	case !regular:
		return t.refusal(f, CodeType, "NOT A REGULAR FILE", "NOT REGULAR", "it is "+typeName(uint32(f.file.Mode))+", not a regular file", "")
	case strict && debian && user && mode != 0o600:
		return t.refusal(f, CodeMode, "INSECURE MODE (mode 0600 expected)", "", fmt.Sprintf("its mode is %04o, not 0600", mode), "chmod 600 "+quoted(f.path))
	case strict && (debian || f.kind == anacrontab) && mode&0o022 != 0:
		return t.refusal(f, CodeMode, "INSECURE MODE (group/other writable)", "BAD FILE MODE", fmt.Sprintf("its mode is %04o: others than the owner may write it", mode), "chmod go-w "+quoted(f.path))
	case strict && !debian && f.kind != anacrontab && mode&0o7533 != 0o400:
		return t.refusal(f, CodeMode, "", "BAD FILE MODE", fmt.Sprintf("its mode is %04o: it must be readable for its owner, neither executable nor set-id, and not writable for others", mode), "chmod "+f.goodMode()+" "+quoted(f.path))
	case stranger:
		return t.refusal(f, CodeOwner, "", "WRONG FILE OWNER", f.stranger(), f.owned())
	case strict && (debian || user) && f.file.Nlink != 1:
		return t.refusal(f, CodeLinks, "NUMBER OF HARD LINKS > 1", "BAD LINK COUNT", fmt.Sprintf("the file has %d names, and its owner may not know them all", f.file.Nlink), "find the others and delete them: find / -xdev -samefile "+quoted(f.path))
	case f.file.Size > crontab.MaxText:
		return t.refusal(f, CodeSize, "FILE TOO LARGE", "FILE TOO LARGE", "the file has more than 16 MiB, which no crontab has", "split the file")
	}
	return nil
}

// refusal returns a refusal in the words of the host's family.
func (t trust) refusal(f *facts, code crontab.Code, debian, cronie, why, fix string) *Refusal {
	word := debian
	if t.family == crontab.RHEL {
		word = cronie
	}
	r := &Refusal{Path: f.path, Who: t.who(f.candidate), Code: code, Word: word, Why: why, Fix: fix}
	r.gone = errors.Is(f.err, fs.ErrNotExist) && code == CodeOpen
	if f.kind == namedCrontab {
		return r
	}
	detail := t.logPath(f.candidate)
	if code == CodeOrphan {
		detail = "no passwd entry"
	}
	r.Log = logLine(r.Who, word, detail)
	if code == CodeOpen && t.family == crontab.RHEL {
		r.Log += ": " + Reason(f.err)
	}
	return r
}

// refuseOwner returns the refusal of a crontab whose user does not exist or cannot be looked up. A
// directory service that is down must not lead administrators to delete crontabs: it can look like
// one without the user.
func (t trust) refuseOwner(f *facts) *Refusal {
	look := "getent passwd " + quoted(f.name)
	none, ok := errors.AsType[*account.UnknownError](f.unknown)
	switch {
	case f.unknown != nil && !ok:
		return t.refusal(f, CodeUnchecked, "CAN'T LOOK UP USER", "CAN'T LOOK UP USER", "it cannot be checked whether there is a user of that name: "+f.unknown.Error(),
			"keep the file: it is loaded when the directory service answers; to check that: "+look)
	case ok && none.Asked:
		return t.refusal(f, CodeOrphan, "ORPHAN", "ORPHAN", "neither the files nor the directory service of the host know a user of that name",
			"keep the file and check the directory service: "+look+"; if the user never existed, create it")
	}
	return t.refusal(f, CodeOrphan, "ORPHAN", "ORPHAN", "there is no user of that name", "create the user, or move the file to another directory")
}

func (f *facts) unopened() string {
	if errors.Is(f.err, unix.ELOOP) && f.link != nil {
		return "it is a symbolic link, which a user's crontab must not be"
	}
	return "it cannot be opened: " + Reason(f.err)
}

func (f *facts) stranger() string {
	if f.kind == userCrontab {
		return fmt.Sprintf("it belongs to %s, neither to %s (uid %d) nor to root: check its content before you fix that", uid(f.file.Uid), quoted(f.name), f.account.UID)
	}
	return fmt.Sprintf("it belongs to %s, not to root: check its content before you fix that", uid(f.file.Uid))
}

func (f *facts) owned() string {
	if f.kind == userCrontab {
		return "chown " + quoted(f.name) + " " + quoted(f.path)
	}
	return "chown root " + quoted(f.path)
}

func (f *facts) goodMode() string {
	if f.kind == userCrontab {
		return "600"
	}
	return "644"
}

// who is the name before a refusal in cron's log.
func (t trust) who(c candidate) string {
	switch {
	case c.kind == namedCrontab:
		return ""
	case c.kind == userCrontab:
		return c.name
	case t.family == crontab.RHEL:
		return "root"
	}
	return "*system*" + c.name
}

// whoReloads is the name before RELOAD, where cronie has another.
func (t trust) whoReloads(c candidate) string {
	if t.family == crontab.RHEL && (c.kind == systemCrontab || c.kind == anacrontab) {
		return "*system*"
	}
	return t.who(c)
}

// logPath returns the path in cron's log: Debian's cron runs in the directory above its spool.
func (t trust) logPath(c candidate) string {
	if t.family == crontab.Debian && c.kind == userCrontab {
		return filepath.Base(filepath.Dir(c.path)) + "/" + c.name
	}
	return c.path
}

// reload is the line that cron logs when it reads a crontab again.
func (t trust) reload(c candidate) string {
	if c.kind == namedCrontab {
		return ""
	}
	return logLine(t.whoReloads(c), "RELOAD", t.logPath(c))
}

// logLine is one line of cron's log, with unprintable bytes as cron has them.
func logLine(who, word, detail string) string {
	return crontab.Printable("(" + who + ") " + word + " (" + detail + ")")
}

func uid(n uint32) string {
	if n == 0 {
		return "root"
	}
	return "uid " + formatUID(n)
}

// Reason returns an error without its path, which the message contains already.
func Reason(err error) string {
	if p, ok := errors.AsType[*fs.PathError](err); ok {
		return p.Err.Error()
	}
	return err.Error()
}

// quoted returns a word for a command that users copy: unchanged if it is plain, else in quotes.
// Characters that are not printable ASCII become question marks.
func quoted(word string) string {
	return display.Quote(strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f {
			return '?'
		}
		return r
	}, word))
}

func typeName(mode uint32) string {
	switch mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return "a directory"
	case unix.S_IFIFO:
		return "a named pipe"
	case unix.S_IFSOCK:
		return "a socket"
	case unix.S_IFCHR, unix.S_IFBLK:
		return "a device"
	}
	return "something else"
}
