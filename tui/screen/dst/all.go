package dst

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/jobinfo"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/table"
)

// affected lists the jobs with a scheduled time that one of the next two clock
// changes skips or repeats.
type affected struct {
	table.Table[touchedKey, touched]
	rows   table.Rows[touchedKey, touched]
	found  bool
	zones  map[string]*timetable.Zone
	jobs   map[job.ID]*api.Job // as far as they were in view
	asking bool
}

// touchedKey is a job and a change of its clock.
type touchedKey struct {
	at  int64
	job job.ID
}

type touched struct {
	key    touchedKey
	change timetable.Change
	zone   string
	spec   string
}

// newAffected makes the screen.
func newAffected() *affected {
	s := &affected{rows: table.Rows[touchedKey, touched]{
		Key:   func(r *touched) touchedKey { return r.key },
		Words: func(r *touched) string { return string(r.key.job) + "\n" + r.spec + "\n" + r.zone },
	}}
	s.Table = table.Table[touchedKey, touched]{
		Source: &s.rows, Left: 1, MarkAt: 19, Titles: table.TitleStyle, In: keys.DST,
		Keys: []keys.Action{keys.Open, keys.Back, keys.Filter, keys.Edit, keys.Palette, keys.Help, keys.Leave},
		Refused: map[keys.Action]string{
			keys.AllJobs: "these are all; enter shows one", keys.ShowDST: "this is it",
			keys.PreviousRun: "these are changes of the clocks, not runs", keys.NextRun: "these are changes of the clocks, not runs",
		},
	}
	maps.Copy(s.Refused, table.Refuse("always sorted by time, the next change first", keys.Sort, keys.Reverse, keys.States, keys.Views, keys.Wide))
	s.OnRow = s.ask
	return s
}

// columns are the job and the day, or on a wide screen the job, the change and what
// it does.
func (s *affected) columns(wide bool) []table.Column[touched] {
	name := table.Column[touched]{Title: "JOB", Width: 19, Text: table.Plain(func(r *touched) string { return string(r.key.job) })}
	if !wide {
		return []table.Column[touched]{name, {Fill: true, Text: table.Plain(func(r *touched) string { return r.change.At.Add(-time.Second).Format("2 Jan") })}}
	}
	return []table.Column[touched]{
		name,
		{Title: "CHANGE", Width: 23, Text: table.Plain(func(r *touched) string {
			before, after := timetable.Wall(r.change.At, r.change.Before), timetable.Wall(r.change.At, r.change.After)
			return fmt.Sprintf("%s %s -> %s", before.Format("2 Jan"), before.Format("15:04"), after.Format("15:04"))
		})},
		{Title: "EFFECT", Fill: true, Text: func(w *screen.World, r *touched) (string, canvas.Style) { return s.effect(w, r), canvas.Style{} }},
	}
}

// Heading names it.
func (*affected) Heading(*screen.World) string {
	return "DST preview: jobs whose times a change of the clocks touches"
}

// Open finds them.
func (s *affected) Open(w *screen.World) []screen.Effect {
	s.asking = false
	s.find(w)
	return s.ask(w)
}

// find checks all jobs. Equal schedules in one zone are checked once.
func (s *affected) find(w *screen.World) {
	s.zones, s.found = map[string]*timetable.Zone{}, w.Board.Complete()
	rows := s.rows.All()[:0]
	type written struct{ schedule, zone string }
	changes := map[written][]timetable.Change{}
	for id := range w.Board.Jobs() {
		row, _ := w.Board.Job(id)
		as := written{row.Schedule, w.ZoneName(row.Zone)}
		touching, known := changes[as]
		if !known {
			for _, c := range s.zoneOf(w, as.zone).Coming(w.Now, 2) {
				if c.Touches(job.FieldsOf(as.schedule), nil) {
					touching = append(touching, c)
				}
			}
			changes[as] = touching
		}
		for _, c := range touching {
			rows = append(rows, touched{touchedKey{c.At.Unix(), id}, c, as.zone, row.Schedule})
		}
	}
	slices.SortFunc(rows, func(a, b touched) int {
		return cmp.Or(cmp.Compare(a.key.at, b.key.at), cmp.Compare(a.key.job, b.key.job))
	})
	s.SetRows(rows)
}

// mostZones bounds the zones that are held: they are as large as a file.
const mostZones = 600

func (s *affected) zoneOf(w *screen.World, name string) *timetable.Zone {
	z, ok := s.zones[name]
	if !ok {
		z = timetable.NewZone(w.LoadZone(name))
		if len(s.zones) < mostZones {
			s.zones[name] = z
		}
	}
	return z
}

// mostOptions bounds the jobs whose options are remembered.
const mostOptions = 2000

const slotTouched = "touched"

// ask requests the options of the jobs in view, because they can alter the effect.
func (s *affected) ask(w *screen.World) []screen.Effect {
	const most = 60
	first, last := s.Seen()
	var ids []job.ID
	for i := first; i < min(last, first+most); i++ {
		if id := s.rows.At(i).job; s.jobs[id] == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if s.asking || len(ids) == 0 || !w.Link.Live {
		return nil
	}
	s.asking = true
	return []screen.Effect{screen.Ask{Slot: slotTouched, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
		all := map[job.ID]*api.Job{}
		for _, id := range ids {
			j, err := d.Show(ctx, string(id))
			if err != nil && api.KindOf(err) != api.NotFound {
				return all, err
			}
			all[id] = &j // a removed job stays as it is listed
		}
		return all, nil
	}}}
}

// Take receives jobs.
func (s *affected) Take(w *screen.World, a screen.Answer) []screen.Effect {
	s.asking = false
	if a.Err != nil {
		return nil
	}
	if s.jobs == nil || len(s.jobs) > mostOptions {
		s.jobs = map[job.ID]*api.Job{}
	}
	for id, j := range a.Value.(map[job.ID]*api.Job) {
		s.jobs[id] = j
	}
	return s.ask(w)
}

// Refresh looks again once all jobs have come.
func (s *affected) Refresh(w *screen.World) []screen.Effect {
	if !s.found && w.Board.Complete() {
		s.find(w)
	}
	return s.ask(w)
}

// effect describes what a change does to a job: exactly if its options are known,
// otherwise as for an entry without options.
func (s *affected) effect(w *screen.World, r *touched) string {
	zone := s.zoneOf(w, r.zone)
	if j := s.jobs[r.key.job]; j != nil && j.Job.ID != "" {
		if spec, schedule := jobinfo.ReadSchedule(j, zone); schedule != nil {
			return r.change.Effect(spec, schedule)
		}
	}
	fields := job.FieldsOf(r.spec)
	schedule, _ := timetable.ParseSchedule(fields, zone, 0)
	if schedule == nil {
		return "no effect"
	}
	return r.change.Effect(fields, schedule)
}

// Act moves, filters, and shows a job.
func (s *affected) Act(w *screen.World, a keys.Action) ([]screen.Effect, bool) {
	if a == keys.Open {
		return []screen.Effect{screen.Goto{Screen: &DST{id: s.Current().key.job}}}, true
	}
	if !s.Move(a) {
		return nil, false
	}
	return s.ask(w), true
}

// Type answers to a key of the filter.
func (s *affected) Type(w *screen.World, k screen.Key) ([]screen.Effect, bool) {
	_, ok := s.Table.Type(w, k)
	return s.ask(w), ok
}

// Subject returns the marked jobs, or the job under the cursor.
func (s *affected) Subject(*screen.World) screen.Subject {
	return s.ChosenJobs(func(r *touched) job.ID { return r.key.job })
}

// Draw draws the list, and what the change under the cursor does in full.
func (s *affected) Draw(v canvas.View, w *screen.World) {
	s.drawCount(v.Row(0), w)
	v = v.Below(1)
	if s.rows.Len() == 0 {
		page.DrawNotice(v, s.emptyText(w))
		return
	}
	foot := 0
	if v.Height() >= 10 {
		foot = 4
	}
	list := v.Above(v.Height() - foot)
	wide := v.Width() >= tableFrom
	s.Columns = s.columns(wide)
	s.Place(w, v.Width(), v.Width())
	if wide {
		s.DrawTitles(list.Row(0), w)
		list = list.Below(1)
	}
	s.DrawRows(list, w)
	if foot > 0 {
		s.drawFoot(v.Below(v.Height()-foot), w)
	}
}

// drawCount draws the number of jobs.
func (s *affected) drawCount(row canvas.View, w *screen.World) {
	jobs := map[job.ID]struct{}{}
	for _, r := range s.rows.All() {
		jobs[r.key.job] = struct{}{}
	}
	text := fmt.Sprintf("%d of %d jobs in the next two changes of their clocks", len(jobs), w.Board.Len())
	row.PutCut(1, 0, row.Width()-2, text, w.Glyphs.Ellipsis, canvas.Style{Bold: true})
	if s.Typing() || s.Filter() != "" {
		field := min(max(page.Width(s.Filter())+2, 8), 24)
		row.In(row.Width()-field-2, 0, field+2, 1).Fill(" ", canvas.Style{})
		s.DrawFilter(row, row.Width()-field-1, 0, field, w)
	}
}

func (s *affected) emptyText(w *screen.World) []string {
	switch {
	case len(s.rows.All()) > 0:
		return []string{fmt.Sprintf("0 of %d match /%s. esc clears", len(s.rows.All()), s.Filter())}
	case !w.Board.Complete():
		return []string{"Asking cronringd ..."}
	}
	return []string{
		"The next two clock changes neither skip nor repeat a scheduled time of any job.",
		"Times between midnight and 04:00 can be affected.",
	}
}

func (s *affected) drawFoot(v canvas.View, w *screen.World) {
	r := s.Current()
	if r == nil {
		return
	}
	page.DrawRule(v.Row(0), changeTitle(r.change)+"  "+r.zone, w.Glyphs)
	p := page.Page{Paragraphs: []page.Paragraph{
		{Spans: []page.Span{{Text: " "}, {Text: string(r.key.job) + "  " + r.spec}}, Hang: 1},
		{Spans: []page.Span{{Text: " "}, {Text: s.effect(w, r), Style: canvas.Style{Bold: true}}}, Hang: 1},
	}}
	p.Draw(v.Below(1), w)
}
