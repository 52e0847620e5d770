package spawn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"syscall"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/sandbox"
	"github.com/cronring/cronring/daemon/spawn/command"
	"github.com/cronring/cronring/daemon/spawn/runoutput"
)

// Options set up a Spawner. The zero value is usable.
type Options struct {
	// Live is called with each piece of output as it is read, from more than
	// one goroutine. It must not wait: while it runs, no job's output is read.
	// The chunk's Data is valid until it returns.
	Live func(job.Chunk)

	// Began is called once for each run that gets a process, which is not reaped before
	// it returns. It must not wait.
	Began func(run job.RunID, pid int)

	// Ready reports whether Live can take output of a user's runs. While it
	// cannot, they are not read, for up to a second at a time, so that they wait
	// and not the receiver; nil is always.
	Ready func(user string) bool

	// Memory limits the bytes that captured output takes; nil is a Budget of
	// UserMemory and RootMemory.
	Memory *budget.Budget

	// Location finds a job's zone for CRONRING_DUE_LOCAL; nil is
	// time.LoadLocation.
	Location func(zone string) (*time.Location, error)

	// Accounts finds the users that jobs run as; nil reads the host's files alone.
	Accounts Accounts

	// BaseEnv returns the variables that the host sets for a user before cron's own and the
	// crontab's: /etc/environment, the locale. nil means none. It is called by the goroutine that
	// starts every run, and must not wait.
	BaseEnv func(account.Account) []string

	// Limits returns the limits that the host sets for a user; nil means the daemon's limits. It
	// must not wait either.
	Limits func(account.Account) account.Limits

	// Family decides where crons differ: a job whose HOME cannot be entered
	// runs in / on Debian and not at all on RHEL.
	Family crontab.Family

	Path   string        // PATH of jobs whose crontab sets none; "" is the family's
	Node   string        // the host's name, for CRONRING_NODE
	Socket string        // path of a control socket that clients do not find by themselves, for CRONRING_SOCKET; "" is none
	Output int           // bytes of output kept for each run without its own limit; 0 is 64 KiB, and 1 MiB in crontabs of the host
	Linger time.Duration // how long the end of a run waits for processes that hold its output open; 0 is 2 s

	// Keep receives the descriptors of running jobs; nil keeps none.
	Keep DescriptorStore

	// Runs is a directory for the output of running jobs, one file each, and for the files that
	// Find needs. With it the complete output survives a crash of the daemon; "" is none. It should
	// be in memory, and other users must not be able to write to it.
	Runs string

	// Boot identifies this start of the system. It distinguishes processes from earlier ones with
	// the same numbers.
	Boot string

	// Record has output after the end of a run added to its file in Runs, and not
	// reported as Late.
	Record bool

	// Claim is called when a run with a file in Runs has ended. It returns true if the receiver
	// takes the file and the duty to remove it; nil means false. It is called before the end is
	// reported and must not wait.
	Claim func(job.RunID) bool

	// Sessions starts jobs through the service manager; nil starts all of them here.
	Sessions Sessions

	// Notify opens sockets for runs with watchdog=; nil opens none.
	Notify NotifySockets

	// Precedence raises the priority of this process above that of the jobs, if
	// it may.
	Precedence bool

	// Groups makes control groups; nil makes none, and no run may ask for one.
	Groups Groups
}

func (o *Options) setDefaults() {
	o.Linger = cmp.Or(o.Linger, 2*time.Second)
	if o.Location == nil {
		o.Location = time.LoadLocation
	}
	if o.Accounts == nil {
		o.Accounts = account.New(account.Options{})
	}
	if o.Memory == nil {
		o.Memory = budget.New(UserMemory, RootMemory)
	}
}

func (o *Options) commandMaker() command.Maker {
	m := command.Maker{
		Family: o.Family, Path: o.Path, Node: o.Node, Socket: o.Socket,
		Location: o.Location, BaseEnv: o.BaseEnv, Limits: o.Limits, Group: o.Accounts.Group,
	}
	if o.Notify != nil {
		m.Notify = o.Notify.Path
	}
	return m
}

// Accounts is the part of *account.Directory that a Spawner uses.
type Accounts interface {
	// Known answers at once, or not at all.
	Known(name string) (account.Account, bool)

	// Find may wait for a directory service.
	Find(ctx context.Context, name string) (account.Account, error)
	// Group answers at once.
	Group(name string) (gid uint32, ok bool)
}

// Ended is the engine's event together with what the run printed: the first
// and the last bytes, where it printed more than Options.Output.
type Ended struct {
	event.Ended
	User   string
	Output []job.Chunk
	File   string // of all that it printed, for runoutput.Read, if Options.Claim took it
	Late   bool   // a process holds its output open: Late follows

	// Memory is what Output uses of Options.Memory, and Space what File uses of the directory. The
	// receiver releases each when it no longer needs it.
	Memory, Space *budget.Lease
}

// UserMemory and RootMemory are the maximum bytes of captured output of all users other than root
// and of root. The memory is used until the output is in the history and in its mail.
const (
	UserMemory = 64 << 20
	RootMemory = 64 << 20
)

// Late is output that background processes of a run wrote after its end was
// reported. It is for the receiver of Ended; the engine needs nothing of it.
type Late struct {
	event.Tick
	Run    job.RunID
	User   string
	Output []job.Chunk
	File   string // of the same output, which the receiver removes; "": none
	Last   bool   // no process holds the output open

	// Memory is what Output uses of Options.Memory, and Space what File uses of the directory. The
	// receiver releases both.
	Memory, Space *budget.Lease
}

// Sessions starts jobs through the service manager, which is their parent and gives each a unit and
// a PAM session.
type Sessions interface {
	// Takes reports whether a job is started that way.
	Takes(*job.Job) bool

	// Start begins a session. It returns the process of its command, 0 if that is unknown, and a
	// note about the start for the job's output, or "". It may wait, and must have its own time
	// limit. An error means that the session does not and will not exist.
	Start(ctx context.Context, session Session) (pid int, note string, err error)

	// Kill signals all processes of a session. It must not wait, nor call the
	// Spawner.
	Kill(name string, sig syscall.Signal)

	// Wait waits for the end of a session that began, perhaps under another
	// daemon. The error is that ctx is done.
	Wait(ctx context.Context, name string) (SessionEnd, error)

	// Release forgets a session that has ended. It must not wait. Of a run's
	// session, the receiver of Ended calls it.
	Release(name string)
}

// ErrUnsure means that a session was not started, or was killed just after its command began.
var ErrUnsure = errors.New("its command may have run for a moment")

// Session describes what to start. The descriptors are valid until Start returns.
type Session struct {
	Name      string
	Job       job.Job
	Account   account.Account
	Argv      []string // Argv[0] is the path
	Env       []string // without Options.BaseEnv, as PAM has its own
	Dir       string
	Anyhow    bool          // it runs in / where Dir cannot be entered
	EnvFile   string        // the session reads it as the user; "": none
	Kept      []string      // variables that EnvFile does not change
	Sandbox   *sandbox.Plan // the session applies it as the user; nil: none
	NoNetwork bool
	Files     [3]int // standard input, output and error
	Options   *option.Options
}

// SessionEnd describes how a session ended.
type SessionEnd struct {
	Outcome job.Outcome
	At      time.Time // zero: now
	Usage   job.Usage
	Limit   job.Reason // that it ran into, or ""
}

// Groups makes control groups: what bounds a run, and ends all of it.
type Groups interface {
	// Needs reports whether a run needs a group.
	Needs(*effect.Start) bool

	// Make makes the group of a run, with its limits set. It may wait, and is called by several
	// goroutines. An error means that the run must not begin; no group and no error mean that it
	// may run without one.
	Make(ctx context.Context, name string, start *effect.Start) (Group, error)

	// Find is for a group that another daemon has made; text is of its
	// MarshalJSON.
	Find(text []byte) (Group, error)
}

// Group is the control group of one run.
type Group interface {
	json.Marshaler

	Dir() string          // that a process can be created in, or ""
	ProcsFiles() []string // files into which a process writes 0 to enter
	Kill()                // all processes, but it can miss one that is being forked; it may wait
	Usage() job.Usage     // until now
	Limit() job.Reason    // that was reached: job.OverMemory, job.OverTasks, or ""
	Remove() bool         // false: the group still has processes
}

// NotifySockets are the sockets to which runs with watchdog= send signs of life, with systemd's
// protocol. No method may wait.
type NotifySockets interface {
	Path(run job.RunID) string
	Open(run job.RunID, user string, uid uint32) error
	Close(run job.RunID) (wasOpen bool)
	Count() int
}

// DescriptorStore puts the descriptors of running jobs where they outlive this process:
// the descriptor store of the service manager. Neither method may wait, as
// every run's start and end passes through them.
type DescriptorStore interface {
	// Keep is called once for each run when its process exists, with the reading ends of its output
	// and a pidfd; 0 means none. They are closed when the Spawner no longer needs them: to use them
	// after Keep has returned, duplicate them first.
	Keep(run job.RunID, out, err, pidfd int)

	// Forget is called once for each run that was kept or adopted, after its
	// end was reported.
	Forget(run job.RunID)
}

// ownOutput is the most output of a run, in bytes, that an entry of a user's crontab may keep with
// output-max=: the daemon keeps it in memory.
const ownOutput = 1 << 20

func (s *Spawner) outputOf(start *effect.Start) int {
	usual := cmp.Or(s.options.Output, runoutput.DefaultLimit)
	if e := start.Entry; e != nil && e.File().Format != crontab.User {
		usual = cmp.Or(s.options.Output, option.HostOutput)
	}
	wanted := cmp.Or(command.OptionsOf(start).OutputMax, usual)
	if command.IsOwn(start.Entry, "output-max") {
		return min(wanted, max(ownOutput, usual))
	}
	return wanted
}
