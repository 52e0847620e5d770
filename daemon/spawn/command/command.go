package command

import (
	"cmp"
	"fmt"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/sandbox"
	"github.com/cronring/cronring/daemon/spawn/self"
	"github.com/cronring/cronring/daemon/starter"
)

// Command describes a process for the starter.
type Command struct {
	Path        string
	Argv        []string
	Dir         string
	Env         []string
	Cred        *syscall.Credential
	Account     account.Account // the user, with the group of group= as the primary one
	limits      account.Limits
	wants       processSettings
	GroupFiles  []string      // files of the control group that it enters after its creation
	Group       int           // directory of the group that it is created in; 0: none
	DirOptional bool          // it runs in / where dir cannot be entered
	OwnDir      bool          // dir is that of cwd=
	Umask       *uint32       // nil: the user's
	EnvFile     string        // a process of the user reads it before the command runs; "": none
	Kept        []string      // variables that EnvFile does not change
	Sandbox     *sandbox.Plan // nil: none
	NoNetwork   bool
}

// processSettings are the settings that an entry's options request for its process.
type processSettings struct {
	noFile int // most open files; 0 leaves it
	nice   *int
	idle   bool

	// These report that the user's own crontab set the option, so that the kernel applies the
	// user's limits; otherwise it applies root's.
	ownNoFile, ownNice bool
}

func wanted(start *effect.Start) processSettings {
	r := OptionsOf(start).Resources
	if r == nil {
		return processSettings{}
	}
	return processSettings{
		noFile: r.NoFile, nice: r.Nice, idle: r.Idle,
		ownNoFile: IsOwn(start.Entry, "nofile"), ownNice: IsOwn(start.Entry, "nice"),
	}
}

// IsOwn reports whether an option was set by the user, in the user's crontab and not in the
// daemon's configuration.
func IsOwn(e *crontab.Entry, key string) (own bool) {
	if e == nil || e.File().Format != crontab.User {
		return false
	}
	for _, it := range e.Options().Items {
		if it.Key == key { // the last one counts
			own = it.Origin == option.FromDefault || it.Origin == option.FromDirective
		}
	}
	return own
}

// Maker makes the commands of runs.
type Maker struct {
	Family   crontab.Family
	Path     string // PATH of jobs whose crontab sets none; "" is the family's
	Node     string // the host's name, for CRONRING_NODE
	Socket   string // for CRONRING_SOCKET; "" is none
	Location func(zone string) (*time.Location, error)
	Notify   func(job.RunID) string // path of the socket of a run with watchdog=; nil: there are none
	Group    func(name string) (gid uint32, ok bool)
	BaseEnv  func(account.Account) []string       // nil means none
	Limits   func(account.Account) account.Limits // nil means the daemon's limits
}

// Make returns the command of a run with all its limits except its control group. A
// PAM session has an environment and limits of its own.
func (m *Maker) Make(start *effect.Start, who account.Account, session bool) (Command, error) {
	if session {
		return m.command(start, who, nil)
	}
	var base []string
	if m.BaseEnv != nil {
		base = m.BaseEnv(who)
	}
	cmd, err := m.command(start, who, base)
	if err != nil {
		return Command{}, err
	}
	if m.Limits != nil {
		cmd.limits = m.Limits(who)
	}
	cmd.wants = wanted(start)
	return cmd, nil
}

// command returns the command of a run. Under anacron the shell is always /bin/sh and the directory
// never a user's home.
func (m *Maker) command(start *effect.Start, who account.Account, base []string) (Command, error) {
	who, err := m.inGroup(start, who)
	if err != nil {
		return Command{}, err
	}
	cred, err := Credential(who)
	if err != nil {
		return Command{}, err
	}
	env := m.environ(start, who, base)
	own := &OptionsOf(start).Process
	cmd := Command{
		Path:        cmp.Or(env.Value("SHELL"), "/bin/sh"),
		Dir:         env.Value("HOME"),
		Env:         env.List,
		Cred:        cred,
		Account:     who,
		DirOptional: m.Family != crontab.RHEL,
		Umask:       own.Umask,
		EnvFile:     own.EnvFile,
		Kept:        namesOf(own.Env, start.Run.Env),
	}
	if m.hasNotify(start) {
		cmd.Kept = append(cmd.Kept, watchdogNames...)
	}
	if i := OptionsOf(start).Isolation; i != nil {
		cmd.Sandbox, cmd.NoNetwork = sandbox.Of(i, who.Home), i.NoNetwork
	}
	if start.Job.Dir != "" {
		cmd.Path, cmd.Dir = "/bin/sh", start.Job.Dir
	}
	if own.Dir != "" {
		cmd.Dir, cmd.OwnDir, cmd.DirOptional = own.Dir, true, false
	}
	cmd.Argv = []string{cmd.Path, "-c", start.Job.Command}
	return cmd, nil
}

// inGroup returns the user of a run with the group of group= as the primary one. In a user's
// own crontab it must be one of the user's groups.
func (m *Maker) inGroup(start *effect.Start, who account.Account) (account.Account, error) {
	name := OptionsOf(start).Process.Group
	if name == "" {
		return who, nil
	}
	gid, ok := m.gid(name)
	switch {
	case !ok:
		return who, fmt.Errorf("group=%s: unknown group", name)
	case gid == who.GID:
		return who, nil
	case IsOwn(start.Entry, "group") && who.UID != 0 && !slices.Contains(who.Groups, gid):
		return who, fmt.Errorf("group=%s: %s is not a member of this group", name, who.Name)
	case os.Geteuid() != 0:
		return who, fmt.Errorf("group=%s: the daemon runs as %s and cannot change groups", name, ownName())
	}
	who.Groups = append([]uint32{gid}, beyond(gid, append(slices.Clone(who.Groups), who.GID))...)
	who.GID = gid
	return who, nil
}

// SetCredentials gives the command a directory with its credentials.
func (cmd *Command) SetCredentials(dir string) {
	const name = "CREDENTIALS_DIRECTORY"
	cmd.Env = slices.DeleteFunc(cmd.Env, func(entry string) bool { return strings.HasPrefix(entry, name+"=") })
	cmd.Env = append(cmd.Env, name+"="+dir)
	cmd.Kept = append(cmd.Kept, name)
	if cmd.Sandbox != nil {
		cmd.Sandbox.Secrets = dir
	}
}

// gid returns the number of a group that is given by name or by number.
func (m *Maker) gid(name string) (uint32, bool) {
	if n, err := strconv.ParseUint(name, 10, 32); err == nil {
		return uint32(n), true
	}
	return m.Group(name)
}

// namesOf returns the names of variables.
func namesOf(lists ...[]string) (names []string) {
	for _, list := range lists {
		for _, entry := range list {
			name, _, _ := strings.Cut(entry, "=")
			names = append(names, name)
		}
	}
	return names
}

// dirPatience is how long a run may take to enter the directory of cwd=.
const dirPatience = 30 * time.Second

// Request is the command without its files, for the starter. It states in full
// how many files may be open and how nice the process is, because the daemon
// has changed both for itself.
func (cmd *Command) Request(original unix.Rlimit, own self.Priority) starter.Command {
	r := starter.Command{
		Path: cmd.Path, Argv: cmd.Argv, Env: cmd.Env, Dir: cmd.Dir, DirOptional: cmd.DirOptional,
		User: cmd.Cred, Group: cmd.Group, GroupFiles: cmd.GroupFiles, Idle: cmd.wants.idle, Umask: cmd.umask(),
		NoNetwork: cmd.NoNetwork,
	}
	if cmd.OwnDir {
		r.DirPatience = dirPatience
	}
	if cmd.limits.Login {
		r.Login = strconv.FormatUint(uint64(cmd.Account.UID), 10)
	}
	files := original
	for _, limit := range cmd.limits.Resources {
		if limit.Resource == unix.RLIMIT_NOFILE {
			files = limit.Over(files)
			continue
		}
		var present unix.Rlimit
		_ = unix.Getrlimit(limit.Resource, &present) // fails only for a resource that this kernel lacks, as setting it will
		present = limit.Over(present)
		r.Limits = append(r.Limits, starter.Limit{Resource: limit.Resource, Soft: present.Cur, Hard: present.Max})
	}
	rule := starter.Rule{AsUser: cmd.wants.ownNoFile, Required: true}
	if cmd.wants.noFile == 0 || rule.AsUser { // the setting of root replaces the user's limit
		r.Limits = append(r.Limits, starter.Limit{Resource: unix.RLIMIT_NOFILE, Soft: files.Cur, Hard: files.Max})
	}
	if n := uint64(cmd.wants.noFile); n != 0 {
		r.Limits = append(r.Limits, starter.Limit{Resource: unix.RLIMIT_NOFILE, Soft: n, Hard: n, Rule: rule})
	}
	switch {
	case cmd.limits.Nice != nil:
		r.Nice = append(r.Nice, starter.Nice{Value: *cmd.limits.Nice})
	case own.Raised:
		r.Nice = append(r.Nice, starter.Nice{Value: own.Original})
	}
	if nice := cmd.wants.nice; nice != nil {
		r.Nice = append(r.Nice, starter.Nice{Value: *nice, Rule: starter.Rule{AsUser: cmd.wants.ownNice, Required: true}})
	}
	return r
}

// umask returns the mask of the option, else that of the host for the user; nil: 022.
func (cmd *Command) umask() *uint32 {
	switch {
	case cmd.Umask != nil:
		return cmd.Umask
	case cmd.limits.Umask != 0:
		return &cmd.limits.Umask
	}
	return nil
}

// OptionsOf returns the options of a run's entry.
func OptionsOf(start *effect.Start) *option.Options {
	if start.Entry == nil {
		return &noOptions
	}
	return start.Entry.Options()
}

var noOptions option.Options

// Credential returns what a child must change to become a user: nil if the daemon already runs as
// it. Groups are always set, because Go drops all of them otherwise.
func Credential(who account.Account) (*syscall.Credential, error) {
	own := os.Geteuid()
	switch {
	case own == 0 && !isOurs(who):
		return &syscall.Credential{Uid: who.UID, Gid: who.GID, Groups: who.Groups}, nil
	case uint32(own) == who.UID:
		return nil, nil
	}
	return nil, fmt.Errorf("cannot become %s: the daemon runs as %s", who.Name, ownName())
}

// isOurs spares setgroups, which root may not call in some containers.
func isOurs(who account.Account) bool {
	if who.UID != uint32(os.Geteuid()) || who.GID != uint32(os.Getegid()) {
		return false
	}
	gids, err := os.Getgroups()
	if err != nil {
		return false
	}
	ours := make([]uint32, len(gids))
	for i, gid := range gids {
		ours[i] = uint32(gid)
	}
	return slices.Equal(beyond(who.GID, ours), beyond(who.GID, who.Groups))
}

// beyond is the groups other than the primary one, which a list may name too
// or not.
func beyond(primary uint32, groups []uint32) []uint32 {
	groups = slices.DeleteFunc(slices.Clone(groups), func(gid uint32) bool { return gid == primary })
	slices.Sort(groups)
	return slices.Compact(groups)
}

func ownName() string {
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return "uid " + strconv.Itoa(os.Geteuid())
}
