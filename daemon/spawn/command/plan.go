package command

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/sandbox"
)

// Plan describes the process of a run.
type Plan struct {
	Account   account.Account
	Argv      []string
	Dir       string
	InRoot    bool     // it runs in / where Dir cannot be entered
	Env       []string // what is the same for each run
	RunEnv    []string // what is not
	Limits    []account.Limit
	Nice      *int
	Idle      bool
	Umask     *uint32       // nil: 022, or that of the session
	EnvFile   string        // Env is without its variables; "": none
	Kept      []string      // variables that EnvFile does not change
	Sandbox   *sandbox.Plan // nil: none
	NoNetwork bool
	Secrets   []string // its credentials, and who reads them
	Session   bool     // PAM opens a session for it, and has an environment and limits of its own
}

// Plan returns what a run would be if it started now.
func (m *Maker) Plan(start *effect.Start, who account.Account, session bool) (Plan, error) {
	cmd, err := m.Make(start, who, session)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{
		Account: cmd.Account, Umask: cmd.umask(), EnvFile: cmd.EnvFile, Kept: cmd.Kept, Session: session, Argv: cmd.Argv, Dir: cmd.Dir, InRoot: cmd.DirOptional,
		Limits: cmd.limits.Resources, Nice: cmd.limits.Nice, Idle: cmd.wants.idle,
		Sandbox: cmd.Sandbox, NoNetwork: cmd.NoNetwork,
	}
	if i := OptionsOf(start).Isolation; i != nil {
		reader := "root"
		if IsOwn(start.Entry, "credential") {
			reader = who.Name
		}
		for _, one := range i.Credentials {
			p.Secrets = append(p.Secrets, one.ID+" from "+one.Path+", read as "+reader)
		}
	}
	if cmd.wants.nice != nil {
		p.Nice = cmd.wants.nice
	}
	if n := uint64(cmd.wants.noFile); n != 0 {
		p.Limits = slices.DeleteFunc(slices.Clone(p.Limits), func(l account.Limit) bool { return l.Resource == unix.RLIMIT_NOFILE })
		p.Limits = append(p.Limits, account.Limit{Resource: unix.RLIMIT_NOFILE, Soft: &n, Hard: &n})
	}
	var own job.Environment
	m.describeRun(&own, start)
	for _, entry := range cmd.Env {
		if slices.Contains(own.List, entry) {
			p.RunEnv = append(p.RunEnv, entry)
			continue
		}
		p.Env = append(p.Env, entry)
	}
	return p, nil
}
