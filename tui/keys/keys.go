// Package keys owns the keys of the dashboard, one table of actions that the dashboard, its help, the
// manual page and the settings use.
package keys

// Action is the name of what a key does. Settings use it.
type Action string

// Scope is where a binding applies. The narrowest one wins: the screen's own, then
// Subject if something is selected, then Everywhere.
type Scope string

// The scopes.
const (
	Everywhere Scope = "everywhere"
	Subject    Scope = "job or run" // what acts on a selected job or run, on any screen
	List       Scope = "lists"      // moving, filtering, marking

	Jobs     Scope = "jobs"
	Detail   Scope = "job"
	Runs     Scope = "runs"
	Timeline Scope = "timeline"
	Clash    Scope = "clashes"
	Ring     Scope = "ring"
	Files    Scope = "files"
	Editor   Scope = "editor"
	Output   Scope = "output"
	Why      Scope = "why"
	DST      Scope = "dst"
	Incident Scope = "incident"
	Stats    Scope = "statistics"
	Upcoming Scope = "next hour"
	Hosts    Scope = "hosts"
	Command  Scope = "command"
	Options  Scope = "options"
)

// Screens are the scopes of screens.
var Screens = []Scope{
	Jobs, Detail, Runs, Timeline, Clash, Ring, Files, Editor, Output, Why, DST, Incident, Stats, Upcoming, Hosts, Command, Options,
}

// The actions.
const (
	ShowJobs     Action = "jobs"
	ShowRuns     Action = "runs"
	ShowTimeline Action = "timeline"
	ShowRing     Action = "ring"
	ShowFiles    Action = "files"
	Palette      Action = "palette"
	Help         Action = "help"
	CommandLog   Action = "command-log"
	Undo         Action = "undo"
	Previous     Action = "previous-view"
	Times        Action = "times"
	Zone         Action = "zone"
	Mouse        Action = "mouse"
	Reload       Action = "reload"
	Redraw       Action = "redraw"
	Wide         Action = "wide"
	Side         Action = "side"
	Enlarge      Action = "enlarge"
	Reduce       Action = "reduce"
	Columns      Action = "columns"
	Back         Action = "back"
	Leave        Action = "leave"
	Quit         Action = "quit"

	Down         Action = "down"
	Up           Action = "up"
	First        Action = "first"
	Last         Action = "last"
	HalfDown     Action = "half-page-down"
	HalfUp       Action = "half-page-up"
	PageDown     Action = "page-down"
	PageUp       Action = "page-up"
	NextPane     Action = "next-pane"
	PreviousPane Action = "previous-pane"
	Open         Action = "open"
	Filter       Action = "filter"
	NextMatch    Action = "next-match"
	PrevMatch    Action = "previous-match"
	States       Action = "states"
	Sort         Action = "sort"
	Reverse      Action = "reverse"
	Mark         Action = "mark"
	Range        Action = "range"
	MarkAll      Action = "mark-all"
	Views        Action = "views"
	ScrollLeft   Action = "scroll-left"
	ScrollRight  Action = "scroll-right"

	Run         Action = "run"
	Stop        Action = "stop"
	Pause       Action = "pause"
	Explain     Action = "why"
	ShowOutput  Action = "output"
	PageOutput  Action = "output-pager"
	Edit        Action = "edit"
	Add         Action = "add"
	Delete      Action = "delete"
	Acknowledge Action = "acknowledge"
	Backfill    Action = "backfill"
	Retry       Action = "retry"
	Copy        Action = "copy"
	NextRun     Action = "next-run"
	PreviousRun Action = "previous-run"
	ShowDST     Action = "dst"
	ShowGroups  Action = "incident"

	ShowStats    Action = "statistics"
	ShowUpcoming Action = "next-hour"
	ShowHosts    Action = "hosts"
	ShowOptions  Action = "options"
	ShowHostJobs Action = "jobs-of-hosts"
	Days30       Action = "30-days"
	Days90       Action = "90-days"
	OfAll        Action = "statistics-of-all"

	Search     Action = "search"
	Follow     Action = "follow"
	Wrap       Action = "wrap"
	Timestamps Action = "timestamps"
	Diff       Action = "diff"
	DiffRuns   Action = "diff-runs"
	Matching   Action = "matching"
	Streams    Action = "streams"
	Raw        Action = "raw"

	Earlier      Action = "earlier"
	Later        Action = "later"
	ZoomIn       Action = "zoom-in"
	ZoomOut      Action = "zoom-out"
	Now          Action = "now"
	Clashes      Action = "clashes"
	NextSlot     Action = "next-slot"
	AllJobs      Action = "all-jobs"
	PreviousSlot Action = "previous-slot"
	Write        Action = "write"
	Save         Action = "save"
	Try          Action = "try"
	Problem      Action = "next-problem"
	Form         Action = "form"
	Revisions    Action = "revisions"
	Restore      Action = "restore"
	External     Action = "external-editor"
	UndoText     Action = "undo-text"
	RedoText     Action = "redo-text"
	Remedy1      Action = "remedy-1"
	Remedy2      Action = "remedy-2"
	Remedy3      Action = "remedy-3"
	Remedy4      Action = "remedy-4"
	UsualValue   Action = "usual-value"
	EditSettings Action = "edit-settings"
)

// Binding is one row of the table.
type Binding struct {
	Action  Action
	Scope   Scope
	Keys    []string // as Bubble Tea names them: "j", "ctrl+d", "esc", "space"
	Short   string   // one or two words for the foot of a screen
	Long    string   // what it does, for help and the manual page
	Command string   // the command that does the same; empty where it only moves or shows
}

// Map finds actions by key.
type Map struct {
	bindings []Binding
	byKey    map[Scope]map[string]Action
}

// Default is the table without keys of the user.
func Default() *Map { return newMap(table) }

func newMap(bindings []Binding) *Map {
	m := &Map{bindings: bindings, byKey: map[Scope]map[string]Action{}}
	for _, b := range bindings {
		if m.byKey[b.Scope] == nil {
			m.byKey[b.Scope] = map[string]Action{}
		}
		for _, key := range b.Keys {
			m.byKey[b.Scope][key] = b.Action
		}
	}
	return m
}

// Find returns the action of a key in the first scope that has the key.
func (m *Map) Find(key string, scopes ...Scope) (a Action, ok bool) {
	for _, s := range scopes {
		if a, ok = m.byKey[s][key]; ok {
			return a, true
		}
	}
	return "", false
}

// All returns all bindings, in the order of the table.
func (m *Map) All() []Binding { return m.bindings }

// Of returns the bindings of scopes, in the order of the table.
func (m *Map) Of(scopes ...Scope) []Binding {
	var all []Binding
	for _, s := range scopes {
		for _, b := range m.bindings {
			if b.Scope == s {
				all = append(all, b)
			}
		}
	}
	return all
}

// Binding returns the row of an action.
func (m *Map) Binding(a Action) (b Binding, ok bool) {
	i := place(a)
	if i < 0 {
		return Binding{}, false
	}
	return m.bindings[i], true
}

// Key returns the first key of an action, or "" if it has none.
func (m *Map) Key(a Action) string {
	if b, _ := m.Binding(a); len(b.Keys) > 0 {
		return b.Keys[0]
	}
	return ""
}
