package account

import (
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// Limits are the limits of a user.
type Limits struct {
	Resources []Limit // at most one for each resource, in their order
	Nice      *int    // nice value of the process, -20 to 19; nil leaves it
	Umask     uint32  // 0 is 022
	Login     bool    // the audit log attributes what the process does to the account
}

// Limit is a bound on one resource, in the units of setrlimit(2). A nil half
// keeps what the process has.
type Limit struct {
	Resource   int // unix.RLIMIT_*
	Soft, Hard *uint64
}

// Over applies the limit to the present one of a process. A soft limit never exceeds the hard one.
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

// limitsFiles is the meaning of limits.conf and limits.d.
type limitsFiles struct {
	rules       []rule
	groups      []string // names that rules mention
	diagnostics []error
}

// rule is one line of limits.conf(5).
type rule struct {
	domain     domain
	exempt     bool // "DOMAIN -": no limits for this domain
	soft, hard bool
	item       item
	value      uint64 // in the units of setrlimit
	nice       int    // for priority
}

// domain is the set of users of a rule. Earlier kinds take precedence over later ones.
type domain struct {
	kind     domainKind
	name     string // of a user or group; empty for a range
	min, max uint64 // numbers, both included
	exact    bool   // min is max, and supplementary groups count too
}

type domainKind int

const (
	userDomain domainKind = iota
	groupDomain
	everyone
	nobodyHere // %: bounds logins, and jobs are none
)

// item is the resource of a rule.
type item struct {
	resource int
	unit     uint64
}

const (
	priority = -1 // in place of a resource: the nice value of the process
	ignored  = -2 // bounds logins, or takes privilege gains away
)

// Resources that only Linux has, by their numbers there, so that the client compiles for other systems.
const (
	rlimitLocks = 10 + iota
	rlimitSigpending
	rlimitMsgqueue
	rlimitNice
	rlimitRtprio
	rlimitRttime
)

var items = map[string]item{
	"core":         {unix.RLIMIT_CORE, 1024},
	"data":         {unix.RLIMIT_DATA, 1024},
	"fsize":        {unix.RLIMIT_FSIZE, 1024},
	"memlock":      {unix.RLIMIT_MEMLOCK, 1024},
	"nofile":       {unix.RLIMIT_NOFILE, 1},
	"rss":          {unix.RLIMIT_RSS, 1024},
	"stack":        {unix.RLIMIT_STACK, 1024},
	"cpu":          {unix.RLIMIT_CPU, 60},
	"nproc":        {unix.RLIMIT_NPROC, 1},
	"as":           {unix.RLIMIT_AS, 1024},
	"locks":        {rlimitLocks, 1},
	"sigpending":   {rlimitSigpending, 1},
	"msgqueue":     {rlimitMsgqueue, 1},
	"nice":         {rlimitNice, 1},
	"rtprio":       {rlimitRtprio, 1},
	"rttime":       {rlimitRttime, 1},
	"priority":     {priority, 1},
	"maxlogins":    {ignored, 1},
	"maxsyslogins": {ignored, 1},
	"nonewprivs":   {ignored, 1},
}

// ResourceName returns the name of a resource in limits.conf.
func ResourceName(resource int) string {
	for name, it := range items {
		if it.resource == resource {
			return name
		}
	}
	return strconv.Itoa(resource)
}

// Limits returns the limits of a user in /etc/security/limits.conf and limits.d, by the rules of
// pam_limits. An invalid line sets nothing; Diagnostics returns it.
func (d *Directory) Limits(a Account) Limits {
	d.mu.Lock()
	defer d.mu.Unlock()
	files := d.readLimits()
	var set setting
	for _, r := range files.rules {
		if !d.isFor(r.domain, a) {
			continue
		}
		if r.exempt {
			return Limits{}
		}
		set.apply(r)
	}
	return set.limits()
}

// isFor decides as Debian's pam_limits does: of the groups in a range only the
// primary one counts, and neither the name of a group nor the wildcard means
// root. Directory.mu is held.
func (d *Directory) isFor(who domain, a Account) bool {
	isIn := func(n uint32) bool { return who.min <= uint64(n) && uint64(n) <= who.max }
	switch who.kind {
	case userDomain:
		return who.name == a.Name || who.name == "" && isIn(a.UID)
	case groupDomain:
		switch {
		case who.name != "":
			gid, ok := d.groupNamed(who.name)
			return ok && a.UID != 0 && (gid == a.GID || slices.Contains(a.Groups, gid))
		case who.exact:
			return isIn(a.GID) || slices.ContainsFunc(a.Groups, isIn)
		}
		return isIn(a.GID)
	case everyone:
		return a.UID != 0
	}
	return false
}

// Group returns the number of a group by name: one of /etc/group, or of a directory service as
// far as it is known here.
func (d *Directory) Group(name string) (gid uint32, ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.groupNamed(name)
}

// groupNamed returns the number of a group. Directory.mu is held.
func (d *Directory) groupNamed(name string) (uint32, bool) {
	g, _ := d.readGroup() // if unreadable, the user lookup failed too
	if gid, ok := g.named[name]; ok {
		return gid, true
	}
	gid, ok := d.limitGroups[name]
	return gid, ok
}

// setting collects rules, each half of a limit with the kind of domain that
// set it.
type setting struct {
	soft, hard [32]half // by resource
	nice       *int
}

type half struct {
	value *uint64
	by    domainKind
}

func (s *setting) apply(r rule) {
	switch {
	case r.item.resource == ignored:
		return
	case r.item.resource == priority: // here the last one counts
		s.nice = &r.nice
		return
	}
	if r.soft && !s.soft[r.item.resource].set(r) {
		return // as pam_limits does, which then leaves the hard limit too
	}
	if r.hard {
		s.hard[r.item.resource].set(r)
	}
}

// set is refused where a domain that comes first has set the half already.
func (h *half) set(r rule) bool {
	if h.value != nil && h.by < r.domain.kind {
		return false
	}
	*h = half{&r.value, r.domain.kind}
	return true
}

func (s *setting) limits() Limits {
	var all Limits
	for resource := range s.soft {
		l := Limit{resource, s.soft[resource].value, s.hard[resource].value}
		if l.Soft != nil || l.Hard != nil {
			all.Resources = append(all.Resources, l)
		}
	}
	all.Nice = s.nice
	return all
}

// readLimits reads the files again when one changes, comes or goes.
// Directory.mu is held.
func (d *Directory) readLimits() limitsFiles {
	dir := d.options.Root + "/etc/security/limits.d"
	main := d.options.Root + "/etc/security/limits.conf"
	files, err := d.limits.get(append([]string{main, dir}, d.limitsDir...), func() (limitsFiles, error) {
		more, err := confFiles(dir)
		if err != nil {
			return limitsFiles{}, err
		}
		d.limitsDir = more
		p := limitsParser{ceiling: readCeiling(d.options.Root + "/proc/sys/fs/nr_open")}
		for _, path := range append([]string{main}, more...) {
			p.file(path)
		}
		return p.limitsFiles, nil
	})
	if err != nil {
		files.diagnostics = append(files.diagnostics, err)
	}
	return files
}

// confFiles are the names that pam_limits takes from its folder, in order.
func confFiles(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil, nil
	}
	var paths []string
	for _, entry := range entries {
		if name := entry.Name(); strings.HasSuffix(name, ".conf") && name[0] != '.' {
			paths = append(paths, filepath.Join(dir, name))
		}
	}
	return paths, err
}

// readCeiling returns the value for an unlimited number of open files, which the kernel rejects.
// Zero: it could not be read.
func readCeiling(path string) uint64 {
	data, err := os.ReadFile(path) // a file of /proc
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseUint(strings.TrimSpace(string(data)), 10, 64) // zero if it is not a number
	return n
}

type limitsParser struct {
	limitsFiles
	ceiling uint64
}

func (p *limitsParser) file(path string) {
	text, err := read(path)
	if err != nil {
		p.diagnostics = append(p.diagnostics, err)
		return
	}
	p.text(path, text)
}

func (p *limitsParser) text(path, text string) {
	number := 0
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(line, "#")
		word := strings.Fields(line)
		if len(word) == 0 {
			continue
		}
		r, err := p.rule(word)
		if err != nil {
			p.diagnostics = append(p.diagnostics, fmt.Errorf("%s:%d: %w", path, number, err))
			continue
		}
		p.rules = append(p.rules, r)
		if r.domain.kind == groupDomain && r.domain.name != "" {
			p.groups = append(p.groups, r.domain.name)
		}
	}
}

func (p *limitsParser) rule(word []string) (rule, error) {
	who, err := parseDomain(word[0])
	if err != nil {
		return rule{}, err
	}
	switch {
	case len(word) == 2 && word[1][0] == '-':
		if who.kind > groupDomain {
			who.kind = nobodyHere // PAM exempts no user by a wildcard
		}
		return rule{domain: who, exempt: true}, nil
	case len(word) < 4:
		return rule{}, fmt.Errorf("%d words where there should be four: whom, soft or hard, what, how much", len(word))
	}
	r := rule{domain: who}
	var ok bool
	if r.item, ok = items[strings.ToLower(word[2])]; !ok {
		return rule{}, fmt.Errorf("unknown limit %s", shown(word[2]))
	}
	kind := strings.ToLower(word[1])
	r.soft, r.hard = kind == "soft" || kind == "-", kind == "hard" || kind == "-"
	if !r.soft && !r.hard && r.item.resource != ignored {
		return rule{}, fmt.Errorf("%s is neither soft nor hard nor -", shown(word[1]))
	}
	return r, p.value(&r, strings.ToLower(word[3]))
}

// value reads how much. As in PAM, what follows a number does not count.
func (p *limitsParser) value(r *rule, text string) error {
	switch r.item.resource {
	case ignored:
		return nil
	case priority, rlimitNice:
		n, ok := leadingNumber(text)
		if !ok {
			return fmt.Errorf("%s is not a number", shown(text))
		}
		r.nice = int(min(max(n, -20), 19))
		r.value = uint64(20 - r.nice)
		return nil
	}
	switch text {
	case "-1", "-", "unlimited", "infinity":
		r.value = unix.RLIM_INFINITY
	default:
		n, ok := leadingNumber(text)
		if !ok || n < 0 {
			return fmt.Errorf("%s is not a number", shown(text))
		}
		r.value = times(uint64(n), r.item.unit)
	}
	if r.item.resource == unix.RLIMIT_NOFILE && r.value == unix.RLIM_INFINITY {
		if r.value = p.ceiling; r.value == 0 {
			return fmt.Errorf("cannot read the kernel's maximum of open files")
		}
	}
	return nil
}

// leadingNumber returns the number at the start of a text, and the largest number for larger ones.
func leadingNumber(text string) (int64, bool) {
	sign := len(text) - len(strings.TrimLeft(text, "+-"))
	digits := text[sign:]
	end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' })
	if end >= 0 {
		digits = digits[:end]
	}
	if digits == "" || sign > 1 {
		return 0, false
	}
	n, _ := strconv.ParseInt(text[:sign]+digits, 10, 64) // out of range: the nearest number
	return n, true
}

func times(n, unit uint64) uint64 {
	if n >= unix.RLIM_INFINITY/unit || n == math.MaxInt64 {
		return unix.RLIM_INFINITY
	}
	return n * unit
}

func parseDomain(text string) (domain, error) {
	who := domain{kind: userDomain, name: text}
	switch {
	case text == "*":
		return domain{kind: everyone}, nil
	case text[0] == '%':
		return domain{kind: nobodyHere}, nil
	case text[0] == '@':
		who.kind, who.name = groupDomain, text[1:]
	}
	low, high, isRange := strings.Cut(who.name, ":")
	switch {
	case !isRange && who.name == "":
		return who, fmt.Errorf("%s names no group", shown(text))
	case !isRange:
		return who, nil
	}
	who.name, who.max = "", math.MaxUint64
	var errLow, errHigh error
	if high != "" {
		who.max, errHigh = strconv.ParseUint(high, 10, 64)
	}
	if low != "" {
		who.min, errLow = strconv.ParseUint(low, 10, 64)
	} else {
		who.min, who.exact = who.max, true
	}
	if cmp.Or(errLow, errHigh) != nil || low == "" && high == "" {
		return who, fmt.Errorf("%s is not a range of numbers", shown(text))
	}
	return who, nil
}
