// Package runs owns the screen that lists runs, newest first, and occurrences that
// were not run.
package runs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
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

	version uint64 // of the board when it was asked last
	asked   time.Time
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
	s.OnRow = s.more
	return s
}

// Bounds of what is asked and held.
const (
	runPage    = 200
	olderPage  = 1000
	mostPages  = 10     // of new runs since the last question
	mostRuns   = 20_000 // in the list
	missedSpan = 7 * 24 * time.Hour
	mostMissed = 2000
)

// The slots of its questions.
const (
	slotNewest = "runs"
	slotOlder  = "runs-older"
)

// Open requests the newest runs.
func (s *Runs) Open(w *screen.World) []screen.Effect {
	s.asking = false // older answers do not arrive any longer
	return s.ask(w)
}

// query returns the filter of a request.
func (s *Runs) query(w *screen.World) api.Filter {
	f := api.Filter{Limit: runPage}
	if s.only != "" {
		f.Refs = []string{string(s.only)}
	}
	switch s.preset {
	case failedRuns:
		f.Failed = true
	case runningRuns:
		f.Live, f.Limit = true, mostRuns
	case missedRuns:
		f.Skipped, f.Since, f.Limit = true, w.Now.Add(-missedSpan), mostMissed
	case todayRuns:
		f.Since = screen.Midnight(w.Now, w.In(""))
	}
	return f
}

// fresh is the newest runs, and how those are now that had not ended.
type fresh struct {
	preset preset
	runs   api.Runs
	joined bool // the runs are contiguous with the known ones
	older  bool // there may be older ones
}

func (s *Runs) ask(w *screen.World) []screen.Effect {
	s.version, s.asked = w.Board.Version(), w.Now
	query, which, newest, live := s.query(w), s.preset, s.newest(), s.live()
	return []screen.Effect{screen.Ask{Slot: slotNewest, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
		got := fresh{preset: which, joined: newest == 0}
		for range mostPages {
			page, err := d.History(ctx, query)
			if err != nil {
				return nil, err
			}
			got.runs.Runs = append(got.runs.Runs, page.Runs...)
			got.runs.Skipped = append(got.runs.Skipped, page.Skipped...)
			got.older = len(page.Runs) == query.Limit
			if got.older {
				query.Before = page.Runs[len(page.Runs)-1].ID
			}
			if got.joined = got.joined || !got.older || query.Before <= newest; got.joined {
				break
			}
		}
		return got, got.update(ctx, d, live)
	}}}
}

// update requests live runs that are older than the page.
func (f *fresh) update(ctx context.Context, d screen.Daemon, live []job.RunID) error {
	for _, id := range live {
		if slices.ContainsFunc(f.runs.Runs, func(r job.Run) bool { return r.ID == id }) {
			continue
		}
		r, err := d.OneRun(ctx, id.String())
		if err != nil && api.KindOf(err) != api.NotFound {
			return err
		}
		if err == nil {
			f.runs.Runs = append(f.runs.Runs, r)
		}
	}
	return nil
}

// newest is the newest run that is known; 0: none.
func (s *Runs) newest() (id job.RunID) {
	for _, row := range s.rows.All() {
		id = max(id, row.run.ID)
	}
	return id
}

// oldest is the oldest run that is known; 0: none.
func (s *Runs) oldest() (id job.RunID) {
	for _, row := range s.rows.All() {
		if row.missed == nil && (id == 0 || row.run.ID < id) {
			id = row.run.ID
		}
	}
	return id
}

// live are the listed runs that had not ended, as many as one may ask about.
func (s *Runs) live() []job.RunID {
	const most = 50
	var ids []job.RunID
	if s.preset == runningRuns {
		return nil // they are all in the answer
	}
	for _, row := range s.rows.All() {
		if row.missed == nil && row.run.State.Live() && len(ids) < most {
			ids = append(ids, row.run.ID)
		}
	}
	return ids
}

// more requests the next older page when the cursor is near the end of the list.
func (s *Runs) more(w *screen.World) []screen.Effect {
	near, all := s.Index()+runPage/4 >= s.rows.Len(), s.rows.All()
	if !s.older || s.asking || !near || len(all) >= mostRuns || len(all) == 0 {
		return nil
	}
	s.asking = true
	query, which := s.query(w), s.preset
	query.Before, query.Limit = s.oldest(), olderPage
	return []screen.Effect{screen.Ask{Slot: slotOlder, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
		runs, err := d.History(ctx, query)
		return fresh{preset: which, runs: runs, joined: true, older: len(runs.Runs) == query.Limit}, err
	}}}
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
	s.SetRows(merged(all, got.runs))
	return s.more(w)
}

// merged adds runs to others, and sorts all by their start, the newest first. Runs that wait to
// start are before them.
func merged(rows []runRow, got api.Runs) []runRow {
	at := make(map[job.RunID]int, len(rows))
	for i := range rows {
		at[rows[i].run.ID] = i
	}
	for _, r := range got.Runs {
		if i, ok := at[r.ID]; ok {
			rows[i].run = r
		} else {
			rows = append(rows, runRow{run: r})
		}
	}
	for i := range got.Skipped {
		r := &got.Skipped[i]
		rows = append(rows, runRow{run: job.Run{Job: r.Job, Due: r.Due, Decided: r.Due}, missed: r})
	}
	slices.SortStableFunc(rows, func(a, b runRow) int {
		switch {
		case a.waits() && !b.waits():
			return -1
		case b.waits() && !a.waits():
			return 1
		}
		return screen.CompareStarts(&a.run, &b.run)
	})
	return rows[:min(len(rows), mostRuns)]
}

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

// Refresh requests new runs, at most once a second.
func (s *Runs) Refresh(w *screen.World) []screen.Effect {
	changed := s.version != w.Board.Version() || s.err != nil && api.KindOf(s.err) == api.Unreachable
	if !w.Link.Live || !changed || w.Now.Sub(s.asked) < time.Second {
		return nil
	}
	return s.ask(w)
}

// Act moves, filters, and opens what is under the cursor.
func (s *Runs) Act(w *screen.World, a keys.Action) ([]screen.Effect, bool) {
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

// Subject returns the run under the cursor, or the jobs of the marked runs.
func (s *Runs) Subject(*screen.World) screen.Subject {
	subject := s.ChosenJobs(func(r *runRow) job.ID { return r.run.Job })
	if r := s.Current(); r != nil && !subject.Marked {
		subject.Run, subject.At = r.run.ID, r.run.Due
	}
	return subject
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
	r := s.Current()
	newer, _ := s.pair()
	switch {
	case a == keys.DiffRuns && newer == nil:
		return "mark two runs first, with space"
	case (a == keys.ShowOutput || a == keys.PageOutput || a == keys.Retry) && r != nil && r.missed != nil:
		return "it was not run"
	}
	return s.Table.Refuses(w, a)
}

// startWidth is the width of the column with the time of a row.
func startWidth(w *screen.World) int {
	if w.Absolute {
		return w.Clock.PointWidth() + 1
	}
	return 9
}

// runColumns are the columns of the list of runs. The outcome is as wide as the longest one in view,
// and the job has the rest.
func (s *Runs) runColumns(w *screen.World) []table.Column[runRow] {
	const outcome, longestJob = 13, 30
	outcomes, jobs := 0, 0
	for i, last := s.Seen(); i < last; i++ {
		r := s.rows.Row(i)
		outcomes, jobs = max(outcomes, page.Width(r.outcome())), max(jobs, page.Width(string(r.run.Job)))
	}
	dim := func(text func(r *job.Run) string) func(*screen.World, *runRow) (string, canvas.Style) {
		return func(_ *screen.World, r *runRow) (string, canvas.Style) { return text(&r.run), screen.Dim }
	}
	return []table.Column[runRow]{
		{Width: 2, Text: signText},
		{Title: "START", Width: startWidth(w), Text: startText},
		{Title: "JOB", Fill: true, Least: min(jobs, longestJob) + 1, Most: max(jobs, longestJob) + 1, Text: table.Plain((*runRow).job)},
		{Title: "OUTCOME", Width: outcome, Grow: max(outcomes+1-outcome, 0), Text: outcomeText}, // a long one: "not started: ..."
		{Title: "TOOK", From: 60, Width: 7, Text: func(w *screen.World, r *runRow) (string, canvas.Style) { return w.Took(&r.run), canvas.Style{} }},
		{Title: "CPU", From: 80, Width: 7, Text: dim(cpuText)},
		{Title: "MEM", From: 80, Width: 6, Text: dim(func(r *job.Run) string { return display.Bytes(r.Usage.Memory) })},
		{Title: "TRIGGER", From: 60, Width: 11, Text: dim(screen.TriggerText)},
		{Title: "NODE", From: 110, Width: 9, Text: func(w *screen.World, _ *runRow) (string, canvas.Style) { return w.Status.Host, screen.Dim }},
		{Title: "USER", From: 110, Width: 9, Text: dim(func(r *job.Run) string { return r.User })},
		{Title: "RUN", From: 110, Width: 9, Text: dim(func(r *job.Run) string { return r.ID.String() })},
	}
}

// missedColumns are the columns of the list of what was not run.
func missedColumns(w *screen.World) []table.Column[runRow] {
	return []table.Column[runRow]{
		{Width: 2, Text: signText},
		{Title: "DUE", Width: startWidth(w), Text: func(w *screen.World, r *runRow) (string, canvas.Style) {
			return w.Past(r.run.Due, w.JobZone(r.run.Job)), canvas.Style{}
		}},
		{Title: "JOB", Width: 16, Text: table.Plain((*runRow).job)},
		{Title: "WHY IT WAS NOT RUN", Fill: true, Text: table.Plain((*runRow).outcome)},
	}
}

// signText is the sign of a row.
func signText(w *screen.World, r *runRow) (string, canvas.Style) {
	if r.missed != nil {
		return w.Glyphs.Skipped, screen.Dim
	}
	return screen.RunSign(w, &r.run)
}
func startText(w *screen.World, r *runRow) (string, canvas.Style) {
	at := r.run.Started
	if at.IsZero() {
		at = r.run.Decided
	}
	return w.Past(at, w.JobZone(r.run.Job)), canvas.Style{}
}

func outcomeText(w *screen.World, r *runRow) (string, canvas.Style) {
	_, style := screen.RunSign(w, &r.run)
	return r.outcome(), style
}

func cpuText(r *job.Run) string {
	if r.Usage.CPU == 0 {
		return ""
	}
	return display.Brief(r.Usage.CPU)
}

// Draw draws the list below a line that names the preset.
func (s *Runs) Draw(v canvas.View, w *screen.World) {
	s.drawHead(v.Row(0), w)
	s.Columns = s.runColumns(w)
	if s.preset == missedRuns {
		s.Columns = missedColumns(w)
	}
	s.Place(v.Width(), v.Width())
	s.DrawTitles(v.Row(1), w)
	body := v.Below(2)
	if s.rows.Len() == 0 {
		p := page.Page{Paragraphs: s.empty(w)}
		p.Draw(body, w)
		return
	}
	if r := s.Current(); r != nil && (body.Height() >= 16 || r.missed != nil && body.Height() >= 8) {
		const lines = 3
		p := page.Page{Paragraphs: r.peek(w)}
		p.Draw(body.Below(body.Height()-lines), w)
		body = body.Above(body.Height() - lines)
	}
	s.DrawRows(body, w)
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
