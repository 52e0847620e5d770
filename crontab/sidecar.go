package crontab

import (
	"cmp"
	"errors"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/option"
)

// Sidecar is the options of entries in the daemon's configuration, in addition to
// those in the crontabs. It must not be changed while it is in use.
type Sidecar struct {
	Default []Setting            // for each entry; its crontab overrides them
	Jobs    map[string]JobConfig // by NAME or OWNER/NAME; override the crontab and Matches
	Matches []Match              // override the crontab; later ones override earlier ones
}

// Setting is one option of a Sidecar. A ? before the key marks one that older
// versions may ignore.
type Setting struct {
	Key, Value string
	File       string // of the configuration
	Line       int
}

// Place is the position of a part of a Sidecar.
type Place struct {
	File string
	Line int
}

// JobConfig is the options of one job. Users choose the names of their jobs, so a
// bare NAME does not apply to a user's crontab unless User is that user.
type JobConfig struct {
	User string // user whose entries a bare NAME applies to; "": entries of root's crontabs
	Set  []Setting
	At   Place
}

// Match sets options, and optionally a name, of entries whose crontabs need not
// be edited. An empty field matches everything; at least one must be set. Users
// can write any command into their own crontabs, so a Match without File and User
// does not apply to those.
type Match struct {
	File    string // the crontab's name, or a pattern of path.Match
	User    string // the user that the entry runs as
	Command string // the whole command, or a pattern with * for any text
	Set     []Setting
	At      Place
}

// Check returns the errors of the Sidecar that do not depend on crontabs, sorted
// by file and line. It uses only Zone and Local of the Config.
func (s *Sidecar) Check(c Config) []diagnostic.Diagnostic {
	_, diagnostics := newCheckedSidecar(s, Config{Zone: c.Zone, Local: c.Local})
	slices.SortStableFunc(diagnostics, byPlace)
	return diagnostics
}

// Unused returns a diagnostic for each part of the Sidecar that matches no entry
// of tables, which were parsed with it.
func (s *Sidecar) Unused(crontabs []*File) []diagnostic.Diagnostic {
	all := newTouched()
	for _, t := range crontabs {
		if t.touched != nil {
			maps.Copy(all.jobs, t.touched.jobs)
			maps.Copy(all.matches, t.touched.matches)
			maps.Copy(all.strangers, t.touched.strangers)
		}
	}
	var diagnostics []diagnostic.Diagnostic
	for name, j := range s.Jobs {
		if !all.jobs[name] {
			diagnostics = append(diagnostics, unusedJob(name, j, all.strangers[name]))
		}
	}
	for i := range s.Matches {
		if !all.matches[i] {
			diagnostics = append(diagnostics, s.Matches[i].At.report("B601", "this [[match]] matches no entry", ""))
		}
	}
	slices.SortFunc(diagnostics, byPlace)
	return diagnostics
}

// unusedJob reports that no entry has the name, or only an entry of another user,
// stranger.
func unusedJob(name string, j JobConfig, stranger string) diagnostic.Diagnostic {
	what := "[job." + name + "] matches no entry: "
	if stranger == "" {
		return j.At.report("B601", what+"no job has that name", "")
	}
	return j.At.report("B601", what+"the job with that name runs as "+stranger, "write `user = \""+stranger+"\"` to select it")
}

func (at Place) report(code diagnostic.Code, message, fix string) diagnostic.Diagnostic {
	return diagnostic.Diagnostic{
		File: at.File, Line: at.Line, Code: code, Severity: code.Severity(),
		Message: diagnostic.Harmless(message), Fix: diagnostic.Harmless(fix),
	}
}

func byPlace(a, b diagnostic.Diagnostic) int {
	return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Message, b.Message))
}

// touched is the parts of a Sidecar that match entries of a crontab.
type touched struct {
	jobs      map[string]bool
	matches   map[int]bool
	strangers map[string]string // users of entries that have the name of a job, but do not match
}

func newTouched() *touched {
	return &touched{map[string]bool{}, map[int]bool{}, map[string]string{}}
}

// checkedSidecar is a Sidecar whose items were checked, once for all crontabs.
type checkedSidecar struct {
	defaults []item
	jobs     map[string]ruledJob
	matches  []ruledMatch
}

type ruledJob struct {
	user  string
	items []item
}

type ruledMatch struct {
	*Match
	command []string // the texts between the asterisks; nil: any command
	items   []item
	name    string // the value of name=, or ""
}

// newCheckedSidecar checks the items of a sidecar. Only Check uses the diagnostics:
// Parse would repeat them for each crontab.
func newCheckedSidecar(s *Sidecar, c Config) (*checkedSidecar, []diagnostic.Diagnostic) {
	p := newParser("", "", c)
	r := &checkedSidecar{jobs: make(map[string]ruledJob, len(s.Jobs)), matches: make([]ruledMatch, len(s.Matches))}
	r.defaults = p.readSettings(s.Default, option.FromSidecarDefault, "name= can be set for one entry only")
	for name, j := range s.Jobs {
		if err := option.CheckReference(name); err != nil {
			p.Diagnostics = append(p.Diagnostics, j.At.report("B602", diagnostic.Quote(name)+" is not a valid job name: "+err.Error(), ""))
		}
		r.jobs[name] = ruledJob{j.User, p.readSettings(j.Set, option.FromSidecar, "the entry already has a name")}
	}
	for i := range s.Matches {
		m := &s.Matches[i]
		if err := m.check(); err != nil {
			p.Diagnostics = append(p.Diagnostics, m.At.report("B602", err.Error(), ""))
		}
		ruled := ruledMatch{Match: m, items: p.readSettings(m.Set, option.FromMatch, "")}
		if m.Command != "" {
			ruled.command = strings.Split(m.Command, "*")
		}
		if it := find(ruled.items, "name"); it != nil && it.effective() {
			ruled.name = it.Value
		}
		r.matches[i] = ruled
	}
	return r, p.Diagnostics
}

func (m *Match) check() error {
	if m.File == "" && m.User == "" && m.Command == "" {
		return errors.New("a [[match]] requires file, user or command; use [default] for all entries")
	}
	if _, err := path.Match(m.File, ""); err != nil {
		return errors.New("file: " + diagnostic.Quote(m.File) + " is not a pattern")
	}
	return nil
}

// readSettings checks settings like the items of crontabs. unnamed, if not "", is
// the reason why they must not include name=.
func (p *parser) readSettings(set []Setting, from option.Origin, unnamed string) []item {
	var items []item
	for _, s := range set {
		key, maybe := strings.CutPrefix(s.Key, "?")
		it := item{Option: option.Option{Key: key, Value: s.Value, Line: s.Line, Maybe: maybe, Origin: from, File: s.File}}
		it.Key, it.Value = option.Unalias(it.Key, it.Value)
		it.spec = option.Find(it.Key)
		p.Name, p.Number = s.File, s.Line
		switch {
		case len(items) == maxItems:
			p.refuse(&items[0], "B413", "more than 64 options in one section", "delete some of them")
			return items
		case it.Key == "name" && unnamed != "":
			p.refuse(&it, "B410", unnamed, "write it in a [[match]], or `#@ name="+it.Value+"` above the entry")
			continue
		default:
			p.judge(&it, items)
		}
		items = append(items, it)
	}
	return items
}

// subject is the properties of an entry that the parts of a Sidecar match.
type subject struct{ name, user, command string }

// isSubject reports whether parts of the sidecar might match an entry with that
// name.
func (p *parser) isSubject(name string) bool {
	return len(p.matches) > 0 || p.ruling != nil && name != "" && len(p.ruling.jobs) > 0
}

// subjectAt returns the subject for the entry whose time fields begin at byte at
// of the current line. The entry might turn out to be invalid.
func (p *parser) subjectAt(name string, at int) subject {
	s := subject{name: name, user: p.file.user}
	account, command, _ := p.columns(timesEnd(p.Text, at))
	if p.config.Format == System {
		s.user = p.Text[account:lex.WordEnd(p.Text, account)]
	}
	s.command, _, _ = splitCommand(p.Text[command:])
	s.command = strings.TrimRight(s.command, lex.Blanks)
	return s
}

// overrides is the assignments above an entry that override an option in [default] of
// the sidecar.
type overrides struct{ zone, delay, mail bool }

func (s overrides) has(key string) bool {
	return key == "tz" && s.zone || key == "jitter" && s.delay || key == "mailto" && s.mail
}

// hostDefaults returns the items of [default] that no assignment overrides.
func (p *parser) hostDefaults() []item {
	switch {
	case p.ruling == nil:
		return nil
	case p.said == overrides{}:
		return p.ruling.defaults
	}
	return slices.DeleteFunc(slices.Clone(p.ruling.defaults), func(it item) bool { return p.said.has(it.Key) })
}

// under returns the context of an entry that parts of the sidecar might match.
// Entries without own options that match the same parts share it.
func (p *parser) under(s subject) *standing {
	over, parts, named := p.over(s)
	switch {
	case len(over) == 0:
		return p.byItself()
	case len(p.block) > 0 || named:
		return p.stand(p.block, over...)
	}
	common := p.byItself()
	if common.under == nil {
		common.under = map[string]*standing{}
	}
	if common.under[parts] == nil {
		common.under[parts] = p.stand(nil, over...)
	}
	return common.under[parts]
}

// over returns the items of each [[match]] and [job.NAME] that matches an entry,
// lowest precedence first, a key for these parts, and whether one sets a name.
func (p *parser) over(s subject) (items [][]item, parts string, named bool) {
	for _, i := range p.matches {
		m := &p.ruling.matches[i]
		if m.User != "" && m.User != s.user || m.command != nil && !matchText(m.command, s.command) {
			continue
		}
		p.touch().matches[i] = true
		items, parts = append(items, m.items), parts+strconv.Itoa(i)+" "
		s.name, named = cmp.Or(m.name, s.name), named || m.name != ""
	}
	if s.name == "" {
		return items, parts, named
	}
	for _, name := range []string{s.name, p.file.owner + "/" + s.name} { // the full name overrides the bare one
		j, ok := p.ruling.jobs[name]
		switch {
		case !ok:
		case name != s.name && (j.user == "" || j.user == s.user), j.user == s.user, j.user == "" && p.isRoots():
			p.touch().jobs[name] = true
			items, parts = append(items, j.items), parts+name
		default:
			p.touch().strangers[name] = s.user
		}
	}
	return items, parts, named
}

// isRoots reports whether only root can write the crontab.
func (p *parser) isRoots() bool { return p.config.Format != User || p.config.Privileged }

func (p *parser) touch() *touched {
	if p.file.touched == nil {
		p.file.touched = newTouched()
	}
	return p.file.touched
}

// forFile returns the matches that might apply to entries of the current crontab.
func (p *parser) forFile() (matches []int) {
	for i := range p.ruling.matches {
		m := &p.ruling.matches[i]
		meant := m.check() == nil && (p.isRoots() || m.File != "" || m.User != "")
		if meant && m.File != "" && m.File != p.file.Name {
			meant, _ = path.Match(m.File, p.file.Name)
		}
		if meant && m.User != "" && p.config.Format == User {
			meant = m.User == p.file.user
		}
		if meant {
			matches = append(matches, i)
		}
	}
	return matches
}

// matchText reports whether text consists of parts with any text between them.
func matchText(parts []string, text string) bool {
	last := len(parts) - 1
	if last == 0 {
		return text == parts[0]
	}
	if !strings.HasPrefix(text, parts[0]) {
		return false
	}
	text = text[len(parts[0]):]
	for _, part := range parts[1:last] {
		at := strings.Index(text, part)
		if at < 0 {
			return false
		}
		text = text[at+len(part):]
	}
	return strings.HasSuffix(text, parts[last])
}
