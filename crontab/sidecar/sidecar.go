package sidecar

import (
	"cmp"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/directive"
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

// Position is the position of a part of a Sidecar.
type Position struct {
	File string
	Line int
}

// JobConfig is the options of one job. Users choose the names of their jobs, so a
// bare NAME does not apply to a user's crontab unless User is that user.
type JobConfig struct {
	User string // user whose entries a bare NAME applies to; "": entries of root's crontabs
	Set  []Setting
	At   Position
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
	At      Position
}

// Unused returns a diagnostic for each part of the Sidecar that matches no entry of
// the crontabs that touched those parts.
func (s *Sidecar) Unused(each []*Touched) []diagnostic.Diagnostic {
	all := newTouched()
	for _, t := range each {
		maps.Copy(all.jobs, t.jobs)
		maps.Copy(all.matches, t.matches)
		maps.Copy(all.otherUsers, t.otherUsers)
	}
	var diagnostics []diagnostic.Diagnostic
	for name, j := range s.Jobs {
		if !all.jobs[name] {
			diagnostics = append(diagnostics, unusedJob(name, j, all.otherUsers[name]))
		}
	}
	for i := range s.Matches {
		if !all.matches[i] {
			diagnostics = append(diagnostics, s.Matches[i].At.report("B601", "this [[match]] matches no entry", ""))
		}
	}
	slices.SortFunc(diagnostics, byPosition)
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

func (at Position) report(code diagnostic.Code, message, fix string) diagnostic.Diagnostic {
	return diagnostic.Diagnostic{
		File: at.File, Line: at.Line, Code: code, Severity: code.Severity(),
		Message: diagnostic.Harmless(message), Fix: diagnostic.Harmless(fix),
	}
}

func byPosition(a, b diagnostic.Diagnostic) int {
	return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), strings.Compare(a.Message, b.Message))
}

// Touched is the parts of a Sidecar that match entries of a crontab.
type Touched struct {
	jobs       map[string]bool
	matches    map[int]bool
	otherUsers map[string]string // users of entries that have the name of a job, but do not match
}

func newTouched() *Touched {
	return &Touched{map[string]bool{}, map[int]bool{}, map[string]string{}}
}

// Checked is a Sidecar whose items were checked, once for all crontabs.
type Checked struct {
	Defaults []directive.Item
	jobs     map[string]ruledJob
	matches  []ruledMatch
}

type ruledJob struct {
	user  string
	items []directive.Item
}

type ruledMatch struct {
	*Match
	command []string // the texts between the asterisks; nil: any command
	items   []directive.Item
	name    string // the value of name=, or ""
}

// Check checks the items of the Sidecar with p, and returns the errors that do not
// depend on crontabs, sorted by file and line. Parse would repeat them for each
// crontab, and does not use them.
func (s *Sidecar) Check(p *directive.Reader) (*Checked, []diagnostic.Diagnostic) {
	r := &Checked{jobs: make(map[string]ruledJob, len(s.Jobs)), matches: make([]ruledMatch, len(s.Matches))}
	r.Defaults = readSettings(p, s.Default, option.FromSidecarDefault, "name= can be set for one entry only")
	for name, j := range s.Jobs {
		if err := option.CheckReference(name); err != nil {
			p.Diagnostics = append(p.Diagnostics, j.At.report("B602", diagnostic.Quote(name)+" is not a valid job name: "+err.Error(), ""))
		}
		r.jobs[name] = ruledJob{j.User, readSettings(p, j.Set, option.FromSidecar, "the entry already has a name")}
	}
	for i := range s.Matches {
		m := &s.Matches[i]
		if err := m.check(); err != nil {
			p.Diagnostics = append(p.Diagnostics, m.At.report("B602", err.Error(), ""))
		}
		ruled := ruledMatch{Match: m, items: readSettings(p, m.Set, option.FromMatch, "")}
		if m.Command != "" {
			ruled.command = strings.Split(m.Command, "*")
		}
		if it := directive.Find(ruled.items, "name"); it != nil && it.Effective() {
			ruled.name = it.Value
		}
		r.matches[i] = ruled
	}
	slices.SortStableFunc(p.Diagnostics, byPosition)
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
func readSettings(p *directive.Reader, set []Setting, from option.Origin, unnamed string) []directive.Item {
	var items []directive.Item
	for _, s := range set {
		key, maybe := strings.CutPrefix(s.Key, "?")
		it := directive.NewItem(option.Option{Key: key, Value: s.Value, Line: s.Line, Maybe: maybe, Origin: from, File: s.File})
		p.Name, p.Number = s.File, s.Line
		switch {
		case len(items) == directive.MaxItems:
			p.Refuse(&items[0], "B413", "more than 64 options in one section", "delete some of them")
			return items
		case it.Key == "name" && unnamed != "":
			p.Refuse(&it, "B410", unnamed, "write it in a [[match]], or `#@ name="+it.Value+"` above the entry")
			continue
		default:
			p.Judge(&it, items)
		}
		items = append(items, it)
	}
	return items
}
