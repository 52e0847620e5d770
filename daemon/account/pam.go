package account

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
)

// PAM is the part of the PAM configuration that applies to cron jobs.
type PAM struct {
	// Service is the name of the file in /etc/pam.d, "" if there is none.
	Service string

	// Needs is the first line that requires more than this package covers, ""
	// if there is none: the file, the line number and the line itself.
	Needs string

	// Umask and Login report that pam_umask and pam_loginuid are in the file.
	Umask, Login bool
}

// Bounds are Limits, and what pam_umask and pam_loginuid set, if the PAM file
// of cron has them.
func (d *Directory) Bounds(family crontab.Family, a Account) Limits {
	p := d.PAM(family)
	limits := d.Limits(a)
	limits.Login = p.Login
	if p.Umask {
		limits.Umask = d.umask(a)
	}
	return limits
}

// umask is that of /etc/login.defs, or 022. With USERGROUPS_ENAB, a user whose
// group has the user's name shares files with the group.
func (d *Directory) umask(a Account) uint32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	defs, err := d.loginDefs.parse(d.options.Root+"/etc/login.defs", func(text string) map[string]string {
		defs := map[string]string{}
		for line := range strings.Lines(text) {
			if words := strings.Fields(line); len(words) >= 2 {
				defs[words[0]] = words[1]
			}
		}
		return defs
	})
	mask, bad := strconv.ParseUint(defs["UMASK"], 8, 9)
	if err != nil || bad != nil {
		mask = 0o022
	}
	if gid, ok := d.groupNamed(a.Name); ok && gid == a.GID && a.UID != 0 && strings.EqualFold(defs["USERGROUPS_ENAB"], "yes") {
		mask = mask&^0o070 | mask>>3&0o070
	}
	return uint32(mask)
}

// PAMCost describes the cost of a PAM session, without that of its modules.
const PAMCost = "each start takes about 50 ms longer, and each running job has one more process"

// services are the PAM services of cron, the preferred one first. rpm renames a
// file that was changed when its package, cronie, is removed: the administrator's
// rules still apply. Where no cron's file is left, our own applies.
var services = map[crontab.Family][]string{
	crontab.Debian: {"cron", "cronie", "cronring"},
	crontab.RHEL:   {"crond", "crond.rpmsave", "cronring"},
}

// lookAgain is how long a result for PAM is reused without checking the files, because each start
// needs it twice.
const lookAgain = time.Second

// PAM reads which PAM service applies to cron jobs, and whether it requires
// more than this package covers: the dates of /etc/shadow, /etc/environment,
// limits.conf, the umask and the login. A file that cannot be understood
// requires more. A change of the files counts within a second.
func (d *Directory) PAM(family crontab.Family) PAM {
	d.mu.Lock()
	defer d.mu.Unlock()
	last := &d.pamLast[family]
	now := d.now()
	if age := now.Sub(last.at); age >= 0 && age < lookAgain {
		return last.PAM
	}
	last.at = now
	last.PAM, _ = d.pam[family].get(d.pamPaths, func() (PAM, error) {
		r := pamReader{root: d.options.Root}
		p := r.read(services[family])
		d.pamPaths = r.paths
		return p, nil
	})
	return last.PAM
}

// pamAnswer is an answer of PAM.
type pamAnswer struct {
	PAM
	at time.Time
}

// pamReader reads a PAM file and the files that it includes.
type pamReader struct {
	root  string
	paths []string // that were looked at
	found PAM
	needs string
	skip  map[string]int // lines of a type that the line before them jumps over
}

// pamDirs are searched for a service, the first one first.
var pamDirs = []string{"/etc/pam.d/", "/usr/lib/pam.d/"}

func (r *pamReader) read(names []string) PAM {
	for _, name := range names {
		if path, ok := r.find(name); ok {
			r.skip = map[string]int{}
			r.file(path, "", 0)
			r.found.Service, r.found.Needs = name, r.needs
			return r.found
		}
	}
	return PAM{}
}

func (r *pamReader) find(name string) (path string, ok bool) {
	if filepath.IsAbs(name) {
		return name, true
	}
	for _, dir := range pamDirs {
		path = dir + name
		r.paths = append(r.paths, r.root+path)
		if _, err := os.Stat(r.root + path); err == nil {
			return path, true
		}
	}
	return path, false
}

// deepest is the maximum nesting of files that PAM opens.
const deepest = 16

// file reads a file, or its lines of one type. It ends with the first line
// that requires more.
func (r *pamReader) file(path, only string, depth int) {
	r.paths = append(r.paths, r.root+path)
	text, err := read(r.root + path)
	if err != nil || depth > deepest {
		r.needs = fmt.Sprintf("%s: it cannot be read", path)
		return
	}
	number, whole := 0, ""
	for line := range strings.Lines(text) {
		number++
		line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), "#")
		if before, more := strings.CutSuffix(line, `\`); more {
			whole += before + " "
			continue
		}
		if line = strings.TrimSpace(whole + line); line != "" && !r.line(line, only, depth) && r.needs == "" {
			r.needs = fmt.Sprintf("%s:%d: %s", path, number, strings.Join(strings.Fields(line), " "))
		}
		if whole = ""; r.needs != "" {
			return
		}
	}
}

// line reports whether this package covers what a line requires.
func (r *pamReader) line(line, only string, depth int) bool {
	kind, rest, _ := strings.Cut(strings.ReplaceAll(line, "\t", " "), " ")
	rest = strings.TrimSpace(rest)
	if kind == "@include" {
		return r.include(rest, only, depth)
	}
	kind = strings.ToLower(strings.TrimPrefix(kind, "-"))
	if only != "" && kind != only || kind == "password" {
		return true
	}
	control, rest := cutControl(rest)
	if control == "include" || control == "substack" {
		return r.include(rest, kind, depth)
	}
	if r.skip[kind] > 0 {
		r.skip[kind]--
		return true
	}
	words := strings.Fields(rest)
	if len(words) == 0 || strings.Contains(control, "success=bad") || strings.Contains(control, "success=die") {
		return false
	}
	module := strings.TrimSuffix(filepath.Base(words[0]), ".so")
	switch module {
	case "pam_unix", "pam_permit":
		r.skip[kind] = jump(control)
	case "pam_umask":
		r.found.Umask = true
	case "pam_loginuid":
		r.found.Login = true
	}
	return slices.ContainsFunc(covered, func(c coverage) bool {
		return c.module == module && slices.Contains(strings.Fields(c.kinds), kind) &&
			(c.control == "" || c.control == control) && c.takes(words[1:]) && r.isIdle(c.idle)
	})
}

func (r *pamReader) include(name, only string, depth int) bool {
	path, ok := r.find(name)
	if ok {
		r.file(path, only, depth+1)
	}
	return ok
}

// cutControl splits "required pam_unix.so" and "[success=1 default=ignore]
// pam_unix.so".
func cutControl(text string) (control, rest string) {
	if strings.HasPrefix(text, "[") {
		control, rest, _ = strings.Cut(text, "]")
		return control + "]", strings.TrimSpace(rest)
	}
	control, rest, _ = strings.Cut(text, " ")
	return strings.ToLower(control), strings.TrimSpace(rest)
}

// jump returns how many lines a control skips if its module succeeds. pam_unix succeeds for every
// user that Refusal admits, and pam_permit always.
func jump(control string) (lines int) {
	for _, action := range []string{"default=", "success="} {
		if _, after, ok := strings.Cut(control, action); ok {
			lines = 0
			_, _ = fmt.Sscanf(after, "%d", &lines) // a word is not a jump
		}
	}
	return lines
}

// coverage is a PAM module whose work this package does, or which has none to do.
type coverage struct {
	module  string
	kinds   string // the types of lines
	control string // the only one; "" is any
	args    string // the only ones; "*" is any
	idle    string // it does nothing while these files (patterns of Glob) have no line that counts
}

// covered lists the modules of Debian's and Red Hat's files for cron that do not require a PAM
// session. cron does not authenticate, so of auth only the setting of credentials counts.
var covered = []coverage{
	{module: "pam_unix", kinds: "auth account session", args: "*"},
	{module: "pam_permit", kinds: "auth account session", args: "*"},
	{module: "pam_deny", kinds: "auth", args: "*"},
	{module: "pam_env", kinds: "auth session", args: "readenv=1 user_readenv=0 envfile=/etc/default/locale", idle: "/etc/security/pam_env.conf"},
	{module: "pam_limits", kinds: "session", args: "noaudit"},
	{module: "pam_loginuid", kinds: "session"},
	{module: "pam_umask", kinds: "session"},
	{module: "pam_keyinit", kinds: "session", args: "*"},
	{module: "pam_systemd", kinds: "session", args: "*"},
	{module: "pam_succeed_if", kinds: "auth session", args: "*"},
	{module: "pam_succeed_if", kinds: "account", control: "sufficient", args: "*"},
	{module: "pam_localuser", kinds: "auth", args: "*"},
	{module: "pam_localuser", kinds: "account", control: "sufficient", args: "*"},
	{module: "pam_usertype", kinds: "auth", args: "*"},
	{module: "pam_usertype", kinds: "account", control: "sufficient", args: "*"},
	{module: "pam_faillock", kinds: "auth account", args: "*"},
	{module: "pam_faildelay", kinds: "auth", args: "*"},
	{module: "pam_fprintd", kinds: "auth", args: "*"},
	{module: "pam_access", kinds: "account", args: "nodefgroup noaudit", idle: "/etc/security/access.conf /etc/security/access.d/*.conf"},
	{module: "pam_group", kinds: "auth", idle: "/etc/security/group.conf"},
	{module: "pam_time", kinds: "account", args: "noaudit", idle: "/etc/security/time.conf"},
	{module: "pam_cap", kinds: "auth", idle: "/etc/security/capability.conf"},
	{module: "pam_sss", kinds: "auth account session", args: "*", idle: "/etc/sssd/sssd.conf /etc/sssd/conf.d/*.conf"},
}

func (c coverage) takes(args []string) bool {
	return c.args == "*" || !slices.ContainsFunc(args, func(arg string) bool {
		return !slices.Contains(strings.Fields(c.args), arg)
	})
}

// isIdle reports whether no file has a line that counts.
func (r *pamReader) isIdle(patterns string) bool {
	idle := true
	for pattern := range strings.FieldsSeq(patterns) {
		paths := []string{r.root + pattern}
		if strings.Contains(pattern, "*") {
			paths, _ = filepath.Glob(r.root + pattern) // the pattern is a good one
			r.paths = append(r.paths, filepath.Dir(r.root+pattern))
		}
		for _, path := range paths {
			r.paths = append(r.paths, path)
			text, err := read(path)
			idle = idle && err == nil && !slices.ContainsFunc(strings.Split(text, "\n"), counts)
		}
	}
	return idle
}

// counts reports whether a line is one for a module. "none *" in Debian's
// capability.conf takes away what jobs do not have.
func counts(line string) bool {
	line, _, _ = strings.Cut(line, "#")
	words := strings.Fields(line)
	return len(words) > 0 && !slices.Equal(words, []string{"none", "*"})
}
