package starter

import (
	"encoding/binary"
	"strings"
	"syscall"
	"time"
)

// Command describes a process. Path, Argv, Env and Dir are bytes, without NUL.
type Command struct {
	Path string
	Argv []string
	Env  []string // all of it

	// Dir is the working directory; "" is /. With DirOptional the command runs
	// in / if Dir cannot be entered, and without it the command does not run.
	Dir         string
	DirOptional bool

	// DirPatience bounds how long the process may take to enter Dir, because a network file system
	// may never answer; 0 does not.
	DirPatience time.Duration

	// Files become descriptors 0, 1, 2 and so on. There are 3 to maxFiles.
	Files []int

	// Status is the writing end of a pipe for reports, which Progress reads;
	// 0 is none. It is closed when the command runs or never will.
	Status int

	// User is the user of the process; nil is the daemon's own user.
	User *syscall.Credential

	// Login is the number of the user to whom the audit log attributes the actions of the process
	// (loginuid); "" leaves it unchanged. It is optional: containers reject it.
	Login string

	Umask *uint32 // nil is 022

	// Group is an open directory of a control group (version 2) in which the process begins; 0 is
	// none. GroupFiles are files of control groups into which it writes itself, as the daemon's
	// user.
	Group      int
	GroupFiles []string

	Limits []Limit
	Nice   []Nice
	Idle   bool // least priority for processor and disk (SCHED_IDLE, IOPRIO_CLASS_IDLE)

	// Mark is the path of a symbolic link that the starter makes as soon as the process exists; ""
	// is none. With it the process can be found if this one is killed before it reads the answer.
	// The text of the link is MarkText, the number of the process and the time since boot in
	// nanoseconds, with spaces between them.
	Mark, MarkText string

	// NoNetwork gives the process a network of its own that consists of a loopback interface. It
	// cannot gain privileges either, because root could go back.
	NoNetwork bool
}

// Limit is a resource limit, as for prlimit(2).
type Limit struct {
	Resource   int
	Soft, Hard uint64
	Rule
}

// Nice is a nice value, -20 to 19.
type Nice struct {
	Value int
	Rule
}

// Rule determines whose rights are used to set a value, and what happens if that fails.
type Rule struct {
	AsUser   bool // with the user's rights, not with the daemon's
	Required bool // if it cannot be set, the command does not run
}

const (
	maxFiles = 5

	// maxMessage is above what the kernel takes as arguments and environment
	// of a program.
	maxMessage = 8 << 20
)

// The flags of a message.
const (
	flagDirOptional = 1 << iota
	flagStatus
	flagUser
	flagGroup
	flagIdle
	flagHurry
	flagNoNetwork
)

// encode makes a message: its length and fixed numbers of 64 bits, little
// endian, and texts that end with NUL, which the starter passes to the kernel
// where they are.
func (c *Command) encode() ([]byte, error) {
	if !c.isValid() {
		return nil, syscall.EINVAL
	}
	m := message{make([]byte, 8, 1024)}
	m.number(c.flags())
	m.number(uint64(len(c.Files)))
	user := c.User
	if user == nil {
		user = &syscall.Credential{}
	}
	m.number(uint64(user.Uid))
	m.number(uint64(user.Gid))
	umask := uint64(0o022)
	if c.Umask != nil {
		umask = uint64(*c.Umask)
	}
	m.number(umask)
	m.number(uint64(len(user.Groups)))
	for _, gid := range user.Groups {
		m.number(uint64(gid))
	}
	m.number(uint64(len(c.Limits)))
	for _, limit := range c.Limits {
		m.number(uint64(limit.Resource))
		m.number(limit.Soft)
		m.number(limit.Hard)
		m.rule(limit.Rule)
	}
	m.number(uint64(len(c.Nice)))
	for _, nice := range c.Nice {
		m.number(uint64(nice.Value))
		m.rule(nice.Rule)
	}
	m.number(uint64(c.DirPatience / time.Second))
	m.text(c.Path)
	m.text(c.Dir)
	m.number(uint64(len(c.Login)))
	m.text(c.Login)
	m.text(c.Mark)
	m.text(c.MarkText)
	m.texts(c.Argv)
	m.texts(c.Env)
	m.texts(c.GroupFiles)
	if len(m.bytes) > maxMessage {
		return nil, syscall.E2BIG
	}
	binary.LittleEndian.PutUint64(m.bytes, uint64(len(m.bytes)))
	return m.bytes, nil
}

func (c *Command) isValid() bool {
	for _, texts := range [][]string{{c.Path, c.Dir, c.Login, c.Mark, c.MarkText}, c.Argv, c.Env, c.GroupFiles} {
		for _, text := range texts {
			if strings.IndexByte(text, 0) >= 0 {
				return false
			}
		}
	}
	return len(c.Argv) > 0 && len(c.Files) >= 3 && len(c.Files) <= maxFiles
}

func (c *Command) flags() (flags uint64) {
	for flag, set := range map[uint64]bool{
		flagDirOptional: c.DirOptional, flagStatus: c.Status != 0, flagUser: c.User != nil, flagGroup: c.Group != 0, flagIdle: c.Idle,
		flagHurry: c.DirPatience > 0, flagNoNetwork: c.NoNetwork,
	} {
		if set {
			flags |= flag
		}
	}
	return flags
}

// descriptors are passed along with a message, in this order.
func (c *Command) descriptors() []int {
	fds := append([]int(nil), c.Files...)
	if c.Status != 0 {
		fds = append(fds, c.Status)
	}
	if c.Group != 0 {
		fds = append(fds, c.Group)
	}
	return fds
}

// message is a message that is being written.
type message struct{ bytes []byte }

func (m *message) number(n uint64) { m.bytes = binary.LittleEndian.AppendUint64(m.bytes, n) }

func (m *message) rule(r Rule) {
	n := uint64(0)
	if r.AsUser {
		n |= ruleAsUser
	}
	if r.Required {
		n |= ruleRequired
	}
	m.number(n)
}

const (
	ruleAsUser = 1 << iota
	ruleRequired
)

func (m *message) text(s string) {
	m.number(uint64(len(s)))
	m.bytes = append(append(m.bytes, s...), 0)
}

func (m *message) texts(all []string) {
	m.number(uint64(len(all)))
	for _, s := range all {
		m.text(s)
	}
}

// reader takes a message apart, in place. After an error all that it returns
// is zero.
type reader struct {
	rest   []byte
	failed bool
}

func (r *reader) number() uint64 {
	if len(r.rest) < 8 {
		r.failed, r.rest = true, nil
		return 0
	}
	n := binary.LittleEndian.Uint64(r.rest)
	r.rest = r.rest[8:]
	return n
}

// count reads how many of something follow, each of at least size bytes.
func (r *reader) count(size int) int {
	n := r.number()
	if n > uint64(len(r.rest)/size) {
		r.failed, r.rest = true, nil
		return 0
	}
	return int(n)
}

func (r *reader) rule() Rule {
	n := r.number()
	return Rule{AsUser: n&ruleAsUser != 0, Required: n&ruleRequired != 0}
}

// text returns the address of a text in the message.
func (r *reader) text() *byte {
	n := r.count(1)
	if n >= len(r.rest) || r.rest[n] != 0 {
		r.failed, r.rest = true, nil
		return nil
	}
	first := &r.rest[0]
	r.rest = r.rest[n+1:]
	return first
}

// texts appends the addresses of texts to into, and nil at the end, as execve requires.
func (r *reader) texts(into []*byte) []*byte {
	into = into[:0]
	for range r.count(9) {
		into = append(into, r.text())
	}
	return append(into, nil)
}
