package crontab

import (
	"cmp"
	"errors"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Sidecar is what the daemon's configuration says of entries: options beside
// those that stand in the tables. It must not be changed while it is in use.
type Sidecar struct {
	Default []Setting            // of each entry; below all that its table says
	Jobs    map[string]JobConfig // by NAME or OWNER/NAME; above all that its table says
	Matches []Match              // likewise; a later one wins over an earlier one, and Jobs over both
}

// Setting is one option of a Sidecar. A ? before the key marks one that older
// versions may ignore.
type Setting struct {
	Key, Value string
	File       string // where it stands
	Line       int
}

// Place is where a part of a Sidecar stands.
type Place struct {
	File string
	Line int
}

// JobConfig is the options of one job. A user names entries freely: an entry of a
// user's crontab gets only what is meant for OWNER/NAME or for its user.
type JobConfig struct {
	User string // user whose entries a bare NAME means; "": those of root's crontabs
	Set  []Setting
	At   Place
}

// Match gives options, and a name if it sets one, to entries of tables that
// stay as they are. Its empty fields match all; at least one is not empty. As
// anybody may write any command into a table of his own, entries of such tables
// are meant only where File or User says so.
type Match struct {
	File    string // the table's name, or a pattern as path.Match has it
	User    string // the account that the entry runs as
	Command string // the whole command, or a pattern with * for any text
	Set     []Setting
	At      Place
}

// Check says what is wrong with the Sidecar whatever entries it is for, in the
// order of its files and lines. Of the Config, Zone and Local count.
func (s *Sidecar) Check(c Config) []Diagnostic {
	_, remarks := newRuling(s, Config{Zone: c.Zone, Local: c.Local})
	slices.SortStableFunc(remarks, byPlace)
	return remarks
}

// Unused names the parts of the Sidecar that are for no entry of the tables,
// which were parsed with it.
func (s *Sidecar) Unused(tables []*Table) []Diagnostic {
	all := newTouched()
	for _, t := range tables {
		if t.touched != nil {
			maps.Copy(all.jobs, t.touched.jobs)
			maps.Copy(all.matches, t.touched.matches)
			maps.Copy(all.strangers, t.touched.strangers)
		}
	}
	var remarks []Diagnostic
	for name, j := range s.Jobs {
		if !all.jobs[name] {
			remarks = append(remarks, unusedJob(name, j, all.strangers[name]))
		}
	}
	for i := range s.Matches {
		if !all.matches[i] {
			remarks = append(remarks, s.Matches[i].At.remark("B601", "this [[match]] is for no entry", ""))
		}
	}
	slices.SortFunc(remarks, byPlace)
	return remarks
}

// unusedJob says that nothing has the name, or only an entry of a stranger.
func unusedJob(name string, j JobConfig, stranger string) Diagnostic {
	what := "[job." + name + "] is for no entry: "
	if stranger == "" {
		return j.At.remark("B601", what+"none has that name", "")
	}
	return j.At.remark("B601", what+"the one of that name runs as "+stranger, "write `user = \""+stranger+"\"` if it is meant")
}

func (at Place) remark(code Code, message, fix string) Diagnostic {
	return Diagnostic{
		File: at.File, Line: at.Line, Code: code, Severity: lineCodes[code].severity,
		Message: harmless(message), Fix: harmless(fix),
	}
}

func byPlace(a, b Diagnostic) int {
	return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Message, b.Message))
}

// touched is the parts of a Sidecar that are for entries of a table.
type touched struct {
	jobs      map[string]bool
	matches   map[int]bool
	strangers map[string]string // accounts of entries that have the name of a job and are not meant
}

func newTouched() *touched {
	return &touched{map[string]bool{}, map[int]bool{}, map[string]string{}}
}

// ruling is a Sidecar with its items judged, once for all tables.
type ruling struct {
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
	command []string // the texts between its *; nil: any command
	items   []item
	name    string // that it gives; ""
}

// newRuling judges the items of a sidecar. The remarks are for Check: in Parse
// they would be said again for each table.
func newRuling(s *Sidecar, c Config) (*ruling, []Diagnostic) {
	p := newParser("", "", c)
	r := &ruling{jobs: make(map[string]ruledJob, len(s.Jobs)), matches: make([]ruledMatch, len(s.Matches))}
	r.defaults = p.readSettings(s.Default, FromSidecarDefault, "name= is for one entry, not for all")
	for name, j := range s.Jobs {
		if err := checkReference(name); err != nil {
			p.remarks = append(p.remarks, j.At.remark("B602", "no entry can be called "+quote(name)+": "+err.Error(), ""))
		}
		r.jobs[name] = ruledJob{j.User, p.readSettings(j.Set, FromSidecar, "the entry has a name already")}
	}
	for i := range s.Matches {
		m := &s.Matches[i]
		if err := m.check(); err != nil {
			p.remarks = append(p.remarks, m.At.remark("B602", err.Error(), ""))
		}
		ruled := ruledMatch{Match: m, items: p.readSettings(m.Set, FromMatch, "")}
		if m.Command != "" {
			ruled.command = strings.Split(m.Command, "*")
		}
		if it := find(ruled.items, "name"); it != nil && it.effective() {
			ruled.name = it.Value
		}
		r.matches[i] = ruled
	}
	return r, p.remarks
}

func (m *Match) check() error {
	if m.File == "" && m.User == "" && m.Command == "" {
		return errors.New("a [[match]] needs file, user or command: [default] is for all entries")
	}
	if _, err := path.Match(m.File, ""); err != nil {
		return errors.New("file: " + quote(m.File) + " is not a pattern")
	}
	return nil
}

// readSettings judges settings as items of tables are judged. unnamed, if not
// "", is why a name has no place among them.
func (p *parser) readSettings(set []Setting, from Origin, unnamed string) []item {
	var items []item
	for _, s := range set {
		key, maybe := strings.CutPrefix(s.Key, "?")
		it := item{Option: Option{Key: key, Value: s.Value, Line: s.Line, Maybe: maybe, Origin: from, File: s.File}}
		it.Key, it.Value = unalias(it.Key, it.Value)
		it.spec = vocabularyByKey[it.Key]
		p.table.Name, p.number = s.File, s.Line
		switch {
		case len(items) == maxItems:
			p.refuse(&items[0], "B413", "more than 64 options in one section", "delete those that are not needed")
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

// subject is an entry as the parts of a Sidecar find it.
type subject struct{ name, user, command string }

// isSubject tells whether parts of the sidecar may be for an entry of that
// name. Others are not looked at.
func (p *parser) isSubject(name string) bool {
	return len(p.matches) > 0 || p.ruling != nil && name != "" && len(p.ruling.jobs) > 0
}

// subjectAt is the entry with time fields at byte at of the present line, which
// may be no good entry yet.
func (p *parser) subjectAt(name string, at int) subject {
	s := subject{name: name, user: p.table.user}
	account, command, _ := p.columns(timesEnd(p.line, at))
	if p.config.Format == System {
		s.user = p.line[account:wordEnd(p.line, account)]
	}
	s.command, _, _ = splitCommand(p.line[command:])
	s.command = strings.TrimRight(s.command, blanks)
	return s
}

// said is which settings above an entry stand where [default] of the sidecar
// has an option: they win.
type said struct{ zone, delay, mail bool }

func (s said) has(key string) bool {
	return key == "tz" && s.zone || key == "jitter" && s.delay || key == "mailto" && s.mail
}

// hostDefaults is [default] of the sidecar, as far as it holds here.
func (p *parser) hostDefaults() []item {
	switch {
	case p.ruling == nil:
		return nil
	case p.said == said{}:
		return p.ruling.defaults
	}
	return slices.DeleteFunc(slices.Clone(p.ruling.defaults), func(it item) bool { return p.said.has(it.Key) })
}

// under is what holds for an entry that parts of the sidecar may be for.
// Entries that the same parts are for share it, where nothing else is theirs
// alone.
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

// over is the items of each [[match]] and [job.NAME] that is for an entry,
// lowest first, which parts those are, and whether one of them names it.
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
	for _, name := range []string{s.name, p.table.owner + "/" + s.name} { // the full name is above the bare one
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

// isRoots tells whether nobody but root writes the table.
func (p *parser) isRoots() bool { return p.config.Format != User || p.config.Privileged }

func (p *parser) touch() *touched {
	if p.table.touched == nil {
		p.table.touched = newTouched()
	}
	return p.table.touched
}

// forTable is the matches that may be for entries of the present table.
func (p *parser) forTable() (matches []int) {
	for i := range p.ruling.matches {
		m := &p.ruling.matches[i]
		meant := m.check() == nil && (p.isRoots() || m.File != "" || m.User != "")
		if meant && m.File != "" && m.File != p.table.Name {
			meant, _ = path.Match(m.File, p.table.Name)
		}
		if meant && m.User != "" && p.config.Format == User {
			meant = m.User == p.table.user
		}
		if meant {
			matches = append(matches, i)
		}
	}
	return matches
}

// matchText tells whether text is parts with any text between them.
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
