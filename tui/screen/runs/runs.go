// Package runs owns the screen that lists runs, newest first, and occurrences that
// were not run.
package runs

import (
	"fmt"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/jobinfo"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/table"
)

// Runs lists runs, newest first, and what was missed.
type Runs struct {
	table.Table[runKey, runRow]
	rows   table.Rows[runKey, runRow] // newest first
	only   job.ID                     // the job whose runs these are; "": all that may be seen
	preset preset
	older  bool // the daemon may have more of them
	known  bool // it has answered
	asking bool // for an older page
	err    error

	seen  any // state when it was asked last
	asked time.Time
}

// preset is which runs are listed.
type preset uint8

// The presets. A key selects them in this order.
const (
	allRuns preset = iota
	failedRuns
	runningRuns
	missedRuns
	todayRuns
	presets
)

var presetNames = [presets]string{"all", "failed", "running", "missed", "today"}

// runRow is a run, or an occurrence that was not run.
type runRow struct {
	run    job.Run
	missed *job.Record
}

// runKey is the identity of a row: a run's number, or the occurrence.
type runKey struct {
	run job.RunID
	job job.ID
	due int64
}

func (r *runRow) key() runKey {
	if r.missed != nil {
		return runKey{job: r.missed.Job, due: r.missed.Due.UnixNano()}
	}
	return runKey{run: r.run.ID}
}

// New lists the runs of all jobs.
func New() *Runs { return Of("") }

// Of lists the runs of one job.
func Of(id job.ID) *Runs {
	s := &Runs{only: id, rows: table.Rows[runKey, runRow]{Key: (*runRow).key, Words: (*runRow).words}}
	s.Table = table.Table[runKey, runRow]{
		Source: &s.rows, Left: 1, Titles: canvas.Style{Role: canvas.Title}, In: keys.Runs,
		Keys: []keys.Action{keys.Open, keys.States, keys.Filter, keys.Explain, keys.ShowOutput, keys.Retry, keys.Stop, keys.Mark, keys.ShowGroups,
			keys.Times, keys.Palette, keys.Help, keys.Leave},
		Refused: map[keys.Action]string{
			keys.Sort: "always sorted by start, newest first", keys.Reverse: "always sorted by start, newest first",
			keys.Wide: "the list of runs has one form", keys.Views: "the list of runs has one form",
		},
	}
	if id != "" {
		s.Keys = []keys.Action{keys.Open, keys.States, keys.Filter, keys.Run, keys.Stop, keys.Pause, keys.Edit, keys.Acknowledge, keys.Copy,
			keys.ShowOutput, keys.Retry, keys.Explain, keys.Mark, keys.Back, keys.Help}
	}
	s.OnRow = s.more
	return s
}

// Open requests the newest runs.
func (s *Runs) Open(w *screen.World) []screen.Effect {
	s.asking = false // older answers do not arrive any longer
	return s.ask(w)
}

// Take receives runs.
func (s *Runs) Take(w *screen.World, a screen.Answer) []screen.Effect {
	if a.Slot == slotOlder {
		s.asking = false
	}
	if s.err = a.Err; a.Err != nil {
		return nil
	}
	got, ok := a.Value.(fresh)
	if !ok || got.preset != s.preset {
		return nil
	}
	if first := !s.known; first || a.Slot == slotOlder || !got.joined {
		s.older = got.older
	}
	whole := s.preset == missedRuns || s.preset == runningRuns || !got.joined
	all := s.rows.All()
	if whole {
		all = all[:0]
	}
	s.known = true
	newest := s.only != "" && s.Index() == 0 && !s.Ranged()
	if s.SetRows(merged(all, got.runs)); newest {
		s.Move(keys.First) // a cursor on the newest run of a job stays on the newest one
	}
	return s.more(w)
}

// Awaits reports whether a slot is one of this screen.
func (*Runs) Awaits(slot string) bool { return slot == slotNewest || slot == slotOlder }

func (r *runRow) job() string { return string(r.run.Job) }

// waits reports whether the run has not started yet.
func (r *runRow) waits() bool {
	return r.missed == nil && r.run.State.Live() && r.run.Started.IsZero()
}

// words returns the text that a filter searches.
func (r *runRow) words() string {
	if r.missed != nil {
		return strings.Join([]string{string(r.missed.Job), r.outcome()}, "\n")
	}
	return strings.Join([]string{r.run.ID.String(), string(r.run.Job), r.outcome(), string(r.run.Trigger), r.run.User, r.run.By}, "\n")
}

// outcome returns how the run ended, its state, or why it was skipped.
func (r *runRow) outcome() string {
	switch {
	case r.missed != nil && r.missed.Count > 1:
		return fmt.Sprintf("%d times: %s", r.missed.Count, r.missed.Reason.With(r.missed.Detail))
	case r.missed != nil:
		return r.missed.Reason.With(r.missed.Detail)
	}
	return r.run.ResultOrState()
}

// state returns a value that changes when a listed run begins or ends, or an occurrence is skipped.
func (s *Runs) state(w *screen.World) any {
	if s.only == "" || s.preset == missedRuns { // a skip changes nothing in the job's stamp
		return w.Board.Version()
	}
	row, _ := w.Board.Job(s.only)
	return jobinfo.StampOf(&row)
}

// Refresh requests new runs, at most once a second.
func (s *Runs) Refresh(w *screen.World) []screen.Effect {
	changed := s.seen != s.state(w) || s.err != nil && api.KindOf(s.err) == api.Unreachable
	if !w.Link.Live || !changed || w.Now.Sub(s.asked) < time.Second {
		return nil
	}
	return s.ask(w)
}

// Act moves, filters, and opens what is under the cursor.
func (s *Runs) Act(w *screen.World, a keys.Action) ([]screen.Effect, bool) {
	switch a {
	case keys.PreviousRun:
		a = keys.Down // the list is newest first
	case keys.NextRun:
		a = keys.Up
	}
	switch a {
	case keys.States:
		return s.list(w, (s.preset+1)%presets), true
	case keys.Open:
		return s.open(), true
	case keys.DiffRuns:
		newer, older := s.pair()
		return []screen.Effect{screen.Show{Action: keys.ShowOutput, Subject: screen.Subject{Jobs: []job.ID{newer.Job}, Run: newer.ID, At: newer.Due, Against: older.ID}}}, true
	case keys.Back:
		if !s.Move(a) {
			if s.preset == allRuns {
				return nil, false
			}
			return s.list(w, allRuns), true
		}
	default:
		if !s.Move(a) {
			return nil, false
		}
	}
	return s.more(w), true
}

// list shows the runs of another preset.
func (s *Runs) list(w *screen.World, p preset) []screen.Effect {
	s.preset, s.older, s.known, s.asking = p, false, false, false
	s.SetRows(s.rows.All()[:0])
	s.Unmark()
	return append(s.ask(w), screen.Forget{Slot: slotOlder})
}

// open shows the output of a run, or why there is none.
func (s *Runs) open() []screen.Effect {
	r := s.Current()
	show := screen.Show{Action: keys.ShowOutput, Subject: screen.Subject{Jobs: []job.ID{r.run.Job}, Run: r.run.ID, At: r.run.Due}}
	if r.missed != nil || r.run.Started.IsZero() {
		show.Action = keys.Explain
	}
	return []screen.Effect{show}
}

// Type answers to a key of the filter.
func (s *Runs) Type(w *screen.World, k screen.Key) ([]screen.Effect, bool) {
	_, ok := s.Table.Type(w, k)
	return s.more(w), ok
}

// Subject returns the run under the cursor, or the jobs of the marked runs. In an empty list of one
// job, it is that job.
func (s *Runs) Subject(*screen.World) screen.Subject {
	subject := s.ChosenJobs(func(r *runRow) job.ID { return r.run.Job })
	if s.only != "" && len(subject.Jobs) == 0 {
		subject.Jobs = []job.ID{s.only}
	}
	if subject.Marked {
		s.addMarked(&subject)
	} else if r := s.Current(); r != nil {
		subject.Run, subject.At = r.run.ID, r.run.Due
	}
	return subject
}

// addMarked adds the marked runs to a subject. If only one row is marked, the subject is that row.
func (s *Runs) addMarked(subject *screen.Subject) {
	chosen, _ := s.Chosen()
	for _, k := range chosen {
		if k.run != 0 {
			subject.Runs = append(subject.Runs, k.run)
		}
		if i := s.rows.Place(k); len(chosen) == 1 && i >= 0 {
			subject.Run, subject.At = k.run, s.rows.Row(i).run.Due
		}
	}
}

// pair returns the two marked runs, or nil.
func (s *Runs) pair() (newer, older *job.Run) {
	chosen, marked := s.Chosen()
	if !marked || len(chosen) != 2 {
		return nil, nil
	}
	var runs []*job.Run
	for _, k := range chosen {
		if i := s.rows.Place(k); i >= 0 && s.rows.Row(i).missed == nil {
			runs = append(runs, &s.rows.Row(i).run)
		}
	}
	switch {
	case len(runs) < 2:
		return nil, nil
	case runs[0].ID < runs[1].ID:
		return runs[1], runs[0]
	}
	return runs[0], runs[1]
}

// Refuses returns why a key does nothing here.
func (s *Runs) Refuses(w *screen.World, a keys.Action) string {
	newer, _ := s.pair()
	switch a {
	case keys.DiffRuns:
		if newer == nil {
			return "mark two runs first, with space"
		}
	case keys.ShowOutput, keys.PageOutput, keys.Retry:
		return s.refusesUnlessAll(func(r *runRow) bool { return r.missed == nil }, "was not run")
	case keys.Stop:
		return s.refusesUnlessAll(func(r *runRow) bool { return r.missed == nil && r.run.State.Live() }, "is not running")
	}
	return s.Table.Refuses(w, a)
}

// refusesUnlessAll returns why an action does not apply to what is chosen, or "" if it applies to each row.
func (s *Runs) refusesUnlessAll(applies func(*runRow) bool, why string) string {
	chosen, marked := s.Chosen()
	for _, k := range chosen {
		switch i := s.rows.Place(k); {
		case i < 0 || applies(s.rows.Row(i)):
		case marked:
			return "a marked row " + why
		default:
			return "it " + why
		}
	}
	return ""
}

// IsAll reports whether the list is of all runs, not only of failed ones or those of another preset.
func (s *Runs) IsAll() bool { return s.preset == allRuns }

// Draw draws the list below a line that names the preset.
func (s *Runs) Draw(v canvas.View, w *screen.World) {
	s.drawHead(v.Row(0), w)
	s.Columns = s.columns(w)
	list := v.Below(1)
	if r := s.Current(); r != nil && (list.Height() > 16 || r.missed != nil && list.Height() > 8) {
		const lines = 3
		p := page.Page{Paragraphs: r.peek(w)}
		p.Draw(list.Below(list.Height()-lines), w)
		list = list.Above(list.Height() - lines)
	}
	s.Place(w, list.Width(), list.Width())
	if list.Height() >= leastTitled {
		s.DrawTitles(list.Row(0), w)
		list = list.Below(1)
	}
	s.DrawRows(list, w)
	if s.rows.Len() == 0 {
		p := page.Page{Paragraphs: s.empty(w)}
		p.Draw(list, w)
	}
}

// leastTitled is the height from which a list has room for the titles of its columns.
const leastTitled = 4

// Used returns what the listed runs have used, or "" if that is not known.
func (s *Runs) Used() string {
	var cpu, longest time.Duration
	var memory int64
	for i := range s.rows.Len() {
		u := &s.rows.Row(i).run.Usage
		cpu, longest, memory = cpu+u.CPU, max(longest, u.CPU), max(memory, u.Memory)
	}
	if cpu == 0 {
		return ""
	}
	text := "cpu " + display.Brief(cpu) + " in " + display.Count(s.rows.Len(), "run") + ", most " + display.Brief(longest)
	if memory > 0 {
		text += "  memory at most " + display.Bytes(memory)
	}
	return text
}

func (s *Runs) drawHead(v canvas.View, w *screen.World) {
	end := v.PutRight(0, fmt.Sprintf("%d/%d ", min(s.Index()+1, s.rows.Len()), s.rows.Len()), screen.Dim)
	v = v.In(0, 0, max(end, 0), 1)
	title := "runs: " + presetNames[s.preset]
	if s.only != "" {
		title = "runs of " + display.Text(string(s.only)) + ": " + presetNames[s.preset]
	}
	x := v.Put(1, 0, title, canvas.Style{Bold: true}) + 2
	w.ClickActs(v.In(1, 0, x-3, 1), keys.States)
	if s.preset == missedRuns {
		x = v.Put(x, 0, "in 7 days", screen.Dim) + 2
	}
	if n := s.Marks(); n > 0 {
		x = v.Put(x, 0, fmt.Sprintf("%s%d marked", w.Glyphs.Mark, n), canvas.Style{Role: canvas.Title}) + 2
	}
	x = s.DrawFilter(v, x, 0, max(v.Width()-x-2, 8), w) + 2
	if s.err != nil && s.known {
		v.PutCut(x, 0, v.Width()-x, s.err.Error(), w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Bad})
	} else if s.asking {
		v.Put(x, 0, "reading older ones", screen.Dim)
	}
}

// empty returns the text that replaces an empty list.
func (s *Runs) empty(w *screen.World) []page.Paragraph {
	switch {
	case s.err != nil || !s.known:
		return page.Unknown(w, s.err)
	case s.Filter() != "":
		return []page.Paragraph{page.Line(fmt.Sprintf(" None of %s has %q in it; esc clears the filter.", display.Count(len(s.rows.All()), "run"), s.Filter()), screen.Dim)}
	case s.preset != allRuns:
		return []page.Paragraph{page.Line(" None. f shows others: all, failed, running, missed, today.", screen.Dim)}
	}
	if w.Status.NoDaemon != "" {
		return []page.Paragraph{page.Line(" No start of these jobs is in cron's log, or you must not read the log. cron keeps no history of how jobs ended.", screen.Dim)}
	}
	return []page.Paragraph{page.Line(" Nothing has run yet.", screen.Dim)}
}

// peek returns details of a row that have no column.
func (r *runRow) peek(w *screen.World) []page.Paragraph {
	zone := w.JobZone(r.run.Job)
	due := "due " + w.Stamp(r.run.Due, zone)
	if r.missed != nil {
		return []page.Paragraph{page.Heading(fmt.Sprintf("%s, %s", r.run.Job, due)), page.Line(" "+r.outcome(), canvas.Style{})}
	}
	title := fmt.Sprintf("run %s of %s: %s", r.run.ID, r.run.Job, r.run.ResultOrState())
	if r.run.Attempt > 1 {
		due += fmt.Sprintf(", attempt %d", r.run.Attempt)
	}
	if r.run.Doubled != "" {
		due += ", " + r.run.Doubled
	}
	if !r.run.NotBefore.IsZero() && r.run.Started.IsZero() {
		due += ", not before " + w.Stamp(r.run.NotBefore, zone)
	}
	return []page.Paragraph{page.Heading(title), page.Line(" "+due, canvas.Style{}), page.Line(" "+r.run.Reason.Sentence(), screen.Dim)}
}
