package screen

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/amount"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/safe"
	"github.com/cronring/cronring/tui/when"
)

// Runs lists runs, newest first, and what was missed.
type Runs struct {
	only   job.ID // the job whose runs these are; "": all that may be seen
	preset preset
	rows   []runRow // newest first
	shown  Slice[runKey]
	places map[runKey]int // of what is shown, in rows
	list   Listing[runKey]
	older  bool // the daemon may have more of them
	known  bool // it has answered
	asking bool // for an older page
	err    error

	filter  string // what shown goes by
	version uint64 // of the board when it was asked last
	asked   time.Time
}

// preset is which runs are listed.
type preset uint8

// The presets, in the order in which a key goes through them.
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

// NewRuns lists the runs of all jobs.
func NewRuns() *Runs { return &Runs{} }

// NewRunsOf lists those of one job.
func NewRunsOf(id job.ID) *Runs { return &Runs{only: id} }

// Scope is that of runs.
func (*Runs) Scope() keys.Scope { return keys.Runs }

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

// Open asks for the newest.
func (s *Runs) Open(w *World) []Effect {
	s.asking = false // what was asked before it was left does not come any more
	return s.ask(w)
}

// query is what the daemon is asked for.
func (s *Runs) query(w *World) api.Filter {
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
		f.Since = midnight(w.Now, w.In(""))
	}
	return f
}

// fresh is the newest runs, and how those are now that had not ended.
type fresh struct {
	preset preset
	runs   api.Runs
	joined bool // the runs reach back to those that are known
	older  bool // there may be older ones
}

func (s *Runs) ask(w *World) []Effect {
	s.version, s.asked = w.Board.Version(), w.Now
	query, which, newest, live := s.query(w), s.preset, s.newest(), s.live()
	return []Effect{Ask{slotNewest, func(ctx context.Context, d Daemon) (any, error) {
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

// update asks how runs are now that are too old for the page.
func (f *fresh) update(ctx context.Context, d Daemon, live []job.RunID) error {
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
func (s *Runs) newest() job.RunID {
	if len(s.rows) == 0 {
		return 0
	}
	return s.rows[0].run.ID
}

// live are the listed runs that had not ended, as many as one may ask about.
func (s *Runs) live() []job.RunID {
	const most = 50
	var ids []job.RunID
	if s.preset == runningRuns {
		return nil // they are all in the answer
	}
	for i := range s.rows {
		if r := &s.rows[i].run; s.rows[i].missed == nil && r.State.Live() && len(ids) < most {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// more asks for the next older page when the cursor comes near the end of what
// is shown.
func (s *Runs) more(w *World) []Effect {
	near := s.list.Index()+runPage/4 >= len(s.shown)
	if !s.older || s.asking || !near || len(s.rows) >= mostRuns || len(s.rows) == 0 {
		return nil
	}
	s.asking = true
	query, which := s.query(w), s.preset
	query.Before, query.Limit = s.rows[len(s.rows)-1].run.ID, olderPage
	return []Effect{Ask{slotOlder, func(ctx context.Context, d Daemon) (any, error) {
		runs, err := d.History(ctx, query)
		return fresh{preset: which, runs: runs, joined: true, older: len(runs.Runs) == query.Limit}, err
	}}}
}

// Take receives runs.
func (s *Runs) Take(w *World, a Answer) []Effect {
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
	if whole {
		s.rows = s.rows[:0]
	}
	s.known = true
	s.merge(got.runs)
	s.choose()
	return s.more(w)
}

// merge puts runs in their places.
func (s *Runs) merge(got api.Runs) {
	at := make(map[job.RunID]int, len(s.rows))
	for i := range s.rows {
		at[s.rows[i].run.ID] = i
	}
	for _, r := range got.Runs {
		if i, ok := at[r.ID]; ok {
			s.rows[i].run = r
		} else {
			s.rows = append(s.rows, runRow{run: r})
		}
	}
	for i := range got.Skipped {
		r := &got.Skipped[i]
		s.rows = append(s.rows, runRow{run: job.Run{Job: r.Job, Due: r.Due}, missed: r})
	}
	slices.SortStableFunc(s.rows, func(a, b runRow) int {
		if a.missed != nil && b.missed != nil {
			return b.missed.Due.Compare(a.missed.Due)
		}
		return cmp.Compare(b.run.ID, a.run.ID)
	})
	s.rows = s.rows[:min(len(s.rows), mostRuns)]
}

// choose lists the rows that the filter lets through.
func (s *Runs) choose() {
	s.filter = s.list.Filter()
	text := strings.ToLower(s.filter)
	s.shown, s.places = s.shown[:0], make(map[runKey]int, len(s.rows))
	for i := range s.rows {
		if r := &s.rows[i]; text == "" || strings.Contains(strings.ToLower(r.words()), text) {
			s.places[r.key()] = i
			s.shown = append(s.shown, r.key())
		}
	}
	s.list.Settle(s.shown)
}

// words are what a filter looks through.
func (r *runRow) words() string {
	if r.missed != nil {
		return strings.Join([]string{string(r.missed.Job), r.outcome()}, "\n")
	}
	return strings.Join([]string{r.run.ID.String(), string(r.run.Job), r.outcome(), string(r.run.Trigger), r.run.User, r.run.By}, "\n")
}

// outcome is how it ended, how far it has come, or why it was missed.
func (r *runRow) outcome() string {
	switch {
	case r.missed != nil && r.missed.Count > 1:
		return fmt.Sprintf("%d times: %s", r.missed.Count, r.missed.Reason.With(r.missed.Detail))
	case r.missed != nil:
		return r.missed.Reason.With(r.missed.Detail)
	}
	return r.run.Standing()
}

// row is the one under the cursor; nil: there is none.
func (s *Runs) row() *runRow {
	k, ok := s.list.Cursor()
	if !ok {
		return nil
	}
	return s.rowOf(k)
}

func (s *Runs) rowOf(k runKey) *runRow {
	if i, ok := s.places[k]; ok {
		return &s.rows[i]
	}
	return nil
}

// Refresh asks for what is new, once a second at most.
func (s *Runs) Refresh(w *World) []Effect {
	changed := s.version != w.Board.Version() || s.err != nil && api.KindOf(s.err) == api.Unreachable
	if !w.Link.Live || !changed || w.Now.Sub(s.asked) < time.Second {
		return nil
	}
	return s.ask(w)
}

// Act moves, filters, and opens what is under the cursor.
func (s *Runs) Act(w *World, a keys.Action) ([]Effect, bool) {
	switch a {
	case keys.States:
		return s.turn(w, (s.preset+1)%presets), true
	case keys.Open:
		return s.open(), true
	case keys.Back:
		if !s.list.Act(s.shown, a) {
			if s.preset == allRuns {
				return nil, false
			}
			return s.turn(w, allRuns), true
		}
	default:
		if !s.list.Act(s.shown, a) {
			return nil, false
		}
	}
	s.refilter()
	return s.more(w), true
}

// turn lists other runs.
func (s *Runs) turn(w *World, p preset) []Effect {
	s.preset, s.rows, s.older, s.known, s.asking = p, s.rows[:0], false, false, false
	s.list.Unmark()
	s.choose()
	return append(s.ask(w), Forget{slotOlder})
}

// refilter follows a filter that has changed.
func (s *Runs) refilter() {
	if s.filter != s.list.Filter() {
		s.choose()
	}
}

// open shows the output of a run, or why there is none.
func (s *Runs) open() []Effect {
	r := s.row()
	switch {
	case r == nil:
		return nil
	case r.missed != nil || r.run.Started.IsZero():
		return []Effect{Goto{NewWhy(Subject{Jobs: []job.ID{r.run.Job}, Run: r.run.ID, At: r.run.Due})}}
	}
	return []Effect{Goto{NewOutput(Subject{Jobs: []job.ID{r.run.Job}, Run: r.run.ID, At: r.run.Due})}}
}

// Typing reports that keys go to the filter.
func (s *Runs) Typing() bool { return s.list.Typing() }

// Type answers to a key of the filter.
func (s *Runs) Type(w *World, k Key) ([]Effect, bool) {
	ok := s.list.Type(s.shown, k)
	s.refilter()
	return s.more(w), ok
}

// Subject is the run under the cursor, or the jobs of those that are marked.
func (s *Runs) Subject(*World) Subject {
	chosen, marked := s.list.Chosen(s.shown)
	subject := Subject{Marked: marked}
	for _, k := range chosen {
		if r := s.rowOf(k); r != nil && !slices.Contains(subject.Jobs, r.run.Job) {
			subject.Jobs = append(subject.Jobs, r.run.Job)
		}
	}
	if r := s.row(); r != nil && !marked {
		subject.Run, subject.At = r.run.ID, r.run.Due
	}
	return subject
}

// Refuses says what the list cannot do.
func (s *Runs) Refuses(_ *World, a keys.Action) string {
	switch a {
	case keys.Sort, keys.Reverse:
		return "runs stand in their order, the newest first"
	case keys.Open:
		if s.row() == nil {
			return "nothing is selected"
		}
	case keys.ShowOutput, keys.PageOutput, keys.Retry:
		if r := s.row(); r != nil && r.missed != nil {
			return "it was not run"
		}
	case keys.Wide, keys.Views:
		return "the list of runs has one form"
	}
	return ""
}

// Foot is the keys of runs.
func (s *Runs) Foot(*World) []keys.Action {
	return []keys.Action{keys.Open, keys.States, keys.Filter, keys.Explain, keys.ShowOutput, keys.Retry, keys.Stop, keys.Mark, keys.ShowGroups,
		keys.Times, keys.Palette, keys.Help, keys.Leave}
}

// runColumn is one column of the list.
type runColumn struct {
	title string
	from  int // the narrowest screen that shows it
	width int // with the blank behind it; 0: what is left
	text  func(w *World, r *runRow) (string, canvas.Style)
}

var off = canvas.Style{Role: canvas.Off}

// runColumns are those of the list of runs from left to right.
var runColumns = []runColumn{
	{"START", 0, 9, startText},
	{"JOB", 0, 0, func(_ *World, r *runRow) (string, canvas.Style) { return string(r.run.Job), canvas.Style{} }},
	{"OUTCOME", 0, 13, outcomeText},
	{"TOOK", 60, 7, func(w *World, r *runRow) (string, canvas.Style) { return tookText(w, &r.run), canvas.Style{} }},
	{"CPU", 80, 7, func(_ *World, r *runRow) (string, canvas.Style) { return cpuText(&r.run), off }},
	{"MEM", 80, 6, func(_ *World, r *runRow) (string, canvas.Style) { return amount.Bytes(r.run.Usage.Memory), off }},
	{"TRIGGER", 60, 11, func(_ *World, r *runRow) (string, canvas.Style) { return triggerText(&r.run), off }},
	{"NODE", 110, 9, func(w *World, r *runRow) (string, canvas.Style) { return w.Status.Host, off }},
	{"USER", 110, 9, func(_ *World, r *runRow) (string, canvas.Style) { return r.run.User, off }},
	{"RUN", 110, 9, func(_ *World, r *runRow) (string, canvas.Style) { return r.run.ID.String(), off }},
}

// missedColumns are those of the list of what was not run.
var missedColumns = []runColumn{
	{"DUE", 0, 9, func(w *World, r *runRow) (string, canvas.Style) {
		return w.Past(r.run.Due, w.zoneOf(r.run.Job)), canvas.Style{}
	}},
	{"JOB", 0, 16, func(_ *World, r *runRow) (string, canvas.Style) { return string(r.run.Job), canvas.Style{} }},
	{"WHY IT WAS NOT RUN", 0, 0, func(_ *World, r *runRow) (string, canvas.Style) { return r.outcome(), canvas.Style{} }},
}

// zoneOf is the zone of a job.
func (w *World) zoneOf(id job.ID) string {
	row, _ := w.row(Subject{Jobs: []job.ID{id}})
	return row.Zone
}

func startText(w *World, r *runRow) (string, canvas.Style) {
	at := r.run.Started
	if at.IsZero() {
		at = r.run.Decided
	}
	return w.Past(at, w.zoneOf(r.run.Job)), canvas.Style{}
}

func outcomeText(w *World, r *runRow) (string, canvas.Style) {
	_, style := runSign(w, &r.run)
	return r.outcome(), style
}

func tookText(w *World, r *job.Run) string {
	switch {
	case r.Started.IsZero():
		return "-"
	case r.Ended.IsZero():
		return when.Brief(w.Now.Sub(r.Started).Truncate(time.Second))
	}
	return when.Brief(r.Ended.Sub(r.Started))
}

func cpuText(r *job.Run) string {
	if r.Usage.CPU == 0 {
		return ""
	}
	return when.Brief(r.Usage.CPU)
}

// triggerText is what started it, in the words that a person has for it.
func triggerText(r *job.Run) string {
	switch r.Trigger {
	case job.TriggerClock:
		return "schedule"
	case job.TriggerCatchup:
		return "catch-up"
	case job.TriggerManual:
		if r.By != "" {
			return r.By
		}
	}
	return string(r.Trigger)
}

// Draw draws the list below a line that says which runs it has.
func (s *Runs) Draw(v canvas.View, w *World) {
	s.drawHead(v.Row(0), w)
	columns := runColumns
	if s.preset == missedRuns {
		columns = missedColumns
	}
	columns = fitRunColumns(columns, v.Width(), w.Absolute)
	drawRunTitles(v.Row(1), columns)
	body := v.Below(2)
	if len(s.shown) == 0 {
		p := page{paragraphs: s.empty(w)}
		p.draw(body, w.Glyphs)
		return
	}
	if r := s.row(); r != nil && (body.Height() >= 16 || r.missed != nil && body.Height() >= 8) {
		const lines = 3
		p := page{paragraphs: r.peek(w)}
		p.draw(body.Below(body.Height()-lines), w.Glyphs)
		body = body.Above(body.Height() - lines)
	}
	first, last := s.list.Window(s.shown, body.Height())
	for i := first; i < last; i++ {
		if r := s.rowOf(s.shown[i]); r != nil {
			s.drawRun(body.Row(i-first), w, columns, r, i)
		}
	}
}

func (s *Runs) drawHead(v canvas.View, w *World) {
	end := v.PutRight(0, fmt.Sprintf("%d/%d ", min(s.list.Index()+1, len(s.shown)), len(s.shown)), off)
	v = v.In(0, 0, max(end, 0), 1)
	title := "runs: " + presetNames[s.preset]
	if s.only != "" {
		title = "runs of " + safe.Text(string(s.only)) + ": " + presetNames[s.preset]
	}
	x := v.Put(1, 0, title, canvas.Style{Bold: true}) + 2
	if s.preset == missedRuns {
		x = v.Put(x, 0, "in 7 days", off) + 2
	}
	if n := s.list.Marks(s.shown); n > 0 {
		x = v.Put(x, 0, fmt.Sprintf("%s%d marked", w.Glyphs.Mark, n), canvas.Style{Role: canvas.Title}) + 2
	}
	x = s.list.DrawFilter(v, x, 0, max(v.Width()-x-2, 8), w) + 2
	if s.err != nil && s.known {
		v.PutCut(x, 0, v.Width()-x, s.err.Error(), w.Glyphs.Ellipsis, canvas.Style{Role: canvas.Bad})
	} else if s.asking {
		v.Put(x, 0, "reading older ones", off)
	}
}

// fitRunColumns chooses what a screen shows, and gives the rest of its width to
// the one column that takes it.
func fitRunColumns(columns []runColumn, width int, absolute bool) []runColumn {
	shown := make([]runColumn, 0, len(columns))
	rest, wide := width-3, 0 // the cursor, the sign and a blank
	for _, c := range columns {
		if c.from > width {
			continue
		}
		if len(shown) == 0 && absolute {
			c.width = when.PointWidth + 1
		}
		if c.width == 0 {
			wide = len(shown)
		}
		rest -= c.width
		shown = append(shown, c)
	}
	const enough = 30
	if spare := rest - enough; spare > 0 && shown[wide].title == "JOB" && len(shown) > wide+1 {
		more := min(spare, 24) // a long outcome: "not started: ..."
		shown[wide+1].width += more
		rest -= more
	}
	shown[wide].width = rest
	return shown
}

func drawRunTitles(v canvas.View, columns []runColumn) {
	x := 3
	for _, c := range columns {
		v.In(x, 0, c.width, 1).Put(0, 0, c.title, canvas.Style{Role: canvas.Title})
		x += c.width
	}
}

func (s *Runs) drawRun(v canvas.View, w *World, columns []runColumn, r *runRow, i int) {
	sign, style := runSign(w, &r.run)
	if r.missed != nil {
		sign, style = w.Glyphs.Skipped, off
	}
	v.Put(1, 0, sign, style)
	x := 3
	for _, c := range columns {
		text, style := c.text(w, r)
		v.PutCut(x, 0, c.width-1, text, w.Glyphs.Ellipsis, style)
		x += c.width
	}
	if s.list.Marked(s.shown, i) {
		v.Put(0, 0, w.Glyphs.Mark, canvas.Style{Bold: true})
	}
	if i == s.list.Index() {
		v.Put(0, 0, w.Glyphs.Cursor, canvas.Style{})
		v.Restyle(selected)
	}
}

// empty is what stands in the place of a list without rows.
func (s *Runs) empty(w *World) []paragraph {
	switch {
	case s.err != nil:
		return errorParagraphs(w, s.err)
	case !s.known:
		return []paragraph{said(" Asking cronringd ...", off)}
	case s.filter != "":
		return []paragraph{said(fmt.Sprintf(" None of %s has %q in it; esc clears the filter.", counted(len(s.rows), "run"), s.filter), off)}
	case s.preset != allRuns:
		return []paragraph{said(" None. f shows others: all, failed, running, missed, today.", off)}
	}
	return []paragraph{said(" Nothing has run yet.", off)}
}

// peek says more of a row than it has columns for.
func (r *runRow) peek(w *World) []paragraph {
	zone := w.zoneOf(r.run.Job)
	due := "due " + w.Stamp(r.run.Due, zone)
	if r.missed != nil {
		return []paragraph{ruled(fmt.Sprintf("%s, %s", r.run.Job, due)), said(" "+r.outcome(), canvas.Style{})}
	}
	title := fmt.Sprintf("run %s of %s: %s", r.run.ID, r.run.Job, r.run.Standing())
	if r.run.Attempt > 1 {
		due += fmt.Sprintf(", attempt %d", r.run.Attempt)
	}
	if !r.run.NotBefore.IsZero() && r.run.Started.IsZero() {
		due += ", not before " + w.Stamp(r.run.NotBefore, zone)
	}
	return []paragraph{ruled(title), said(" "+due, canvas.Style{}), said(" "+r.run.Reason.Sentence(), off)}
}

// runSign is a run's state as a sign and its colour.
func runSign(w *World, r *job.Run) (string, canvas.Style) {
	g := w.Glyphs
	switch {
	case r.State == job.RunRunning:
		return g.Running, canvas.Style{Role: canvas.Busy}
	case r.State.Live():
		return g.Late, canvas.Style{Role: canvas.Doubt}
	case r.State == job.RunDropped:
		return g.Skipped, off
	case r.OK():
		return g.OK, canvas.Style{Role: canvas.Good}
	case r.Failed():
		return g.Failed, canvas.Style{Role: canvas.Bad}
	}
	return g.Skipped, off
}
