package screen

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	"github.com/cronring/cronring/tui/keys"
)

// affected lists the jobs whose times the next two changes of their clocks
// touch: those that name a time which is missing, or comes twice.
type affected struct {
	rows    []touched
	shown   Slice[touchedKey]
	places  map[touchedKey]int
	listing Listing[touchedKey]
	filter  string
	found   bool
	zones   map[string]*crontab.Zone
	jobs    map[job.ID]*api.Job // as far as they were in view
	asking  bool
}

// touchedKey is a job and a change of its clock.
type touchedKey struct {
	at  int64
	job job.ID
}

type touched struct {
	key    touchedKey
	change crontab.Change
	zone   string
	spec   string
}

// Scope is that of changes of the clocks.
func (*affected) Scope() keys.Scope { return keys.DST }

// Heading names it.
func (*affected) Heading(*World) string {
	return "DST preview: jobs whose times a change of the clocks touches"
}

// Open finds them.
func (s *affected) Open(w *World) []Effect {
	s.asking = false
	s.find(w)
	return s.ask(w)
}

// find looks through all jobs. Those that are written alike are looked at once.
func (s *affected) find(w *World) {
	s.rows, s.zones, s.found = s.rows[:0], map[string]*crontab.Zone{}, w.Board.Complete()
	type written struct{ schedule, zone string }
	changes := map[written][]crontab.Change{}
	for id := range w.Board.Jobs() {
		row, ok := w.row(Subject{Jobs: []job.ID{id}})
		if !ok {
			continue
		}
		as := written{row.Schedule, zoneName(w, row.Zone)}
		touching, known := changes[as]
		if !known {
			for _, c := range s.zoneOf(w, as.zone).Coming(w.Now, 2) {
				if c.Touches(job.FieldsOf(as.schedule)) {
					touching = append(touching, c)
				}
			}
			changes[as] = touching
		}
		for _, c := range touching {
			s.rows = append(s.rows, touched{touchedKey{c.At.Unix(), id}, c, as.zone, row.Schedule})
		}
	}
	slices.SortFunc(s.rows, func(a, b touched) int {
		return cmp.Or(cmp.Compare(a.key.at, b.key.at), cmp.Compare(a.key.job, b.key.job))
	})
	s.choose()
}

// mostZones bounds the zones that are held: they are as large as a file.
const mostZones = 600

func (s *affected) zoneOf(w *World, name string) *crontab.Zone {
	z, ok := s.zones[name]
	if !ok {
		z = crontab.NewZone(w.zone(name))
		if len(s.zones) < mostZones {
			s.zones[name] = z
		}
	}
	return z
}

// choose lists what the filter lets through.
func (s *affected) choose() {
	s.filter = s.listing.Filter()
	text := strings.ToLower(s.filter)
	s.shown, s.places = s.shown[:0], make(map[touchedKey]int, len(s.rows))
	for i := range s.rows {
		if r := &s.rows[i]; strings.Contains(strings.ToLower(string(r.key.job)+"\n"+r.spec+"\n"+r.zone), text) {
			s.shown = append(s.shown, r.key)
			s.places[r.key] = i
		}
	}
	s.listing.Settle(s.shown)
}

const slotTouched = "touched"

// ask asks for the options of the jobs in view: they may say what a change does.
func (s *affected) ask(w *World) []Effect {
	const most = 60
	first, last := s.listing.Seen(s.shown)
	var ids []job.ID
	for i := first; i < min(last, first+most); i++ {
		if id := s.shown[i].job; s.jobs[id] == nil && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	if s.asking || len(ids) == 0 || !w.Link.Live {
		return nil
	}
	s.asking = true
	return []Effect{Ask{slotTouched, func(ctx context.Context, d Daemon) (any, error) {
		all := map[job.ID]*api.Job{}
		for _, id := range ids {
			j, err := d.Show(ctx, string(id))
			if err != nil && api.KindOf(err) != api.NotFound {
				return all, err
			}
			all[id] = &j // one that is gone stays as the list has it
		}
		return all, nil
	}}}
}

// Take receives jobs.
func (s *affected) Take(w *World, a Answer) []Effect {
	s.asking = false
	if a.Err != nil {
		return nil
	}
	if s.jobs == nil || len(s.jobs) > maxPasts {
		s.jobs = map[job.ID]*api.Job{}
	}
	for id, j := range a.Value.(map[job.ID]*api.Job) {
		s.jobs[id] = j
	}
	return s.ask(w)
}

// Refresh looks again once all jobs have come.
func (s *affected) Refresh(w *World) []Effect {
	if !s.found && w.Board.Complete() {
		s.find(w)
	}
	return s.ask(w)
}

// effect is what a change does to a job, exactly where its options are known,
// else as for an entry without any.
func (s *affected) effect(w *World, r *touched) string {
	zone := s.zoneOf(w, r.zone)
	if j := s.jobs[r.key.job]; j != nil && j.Job.ID != "" {
		if spec, schedule := readSchedule(j, zone); schedule != nil {
			return r.change.Effect(spec, schedule)
		}
	}
	fields := job.FieldsOf(r.spec)
	schedule, _ := crontab.ParseSchedule(fields, zone, 0)
	if schedule == nil {
		return "no effect"
	}
	return r.change.Effect(fields, schedule)
}

// Act moves, filters, and shows a job.
func (s *affected) Act(w *World, a keys.Action) ([]Effect, bool) {
	if a == keys.Open {
		if k, ok := s.listing.Cursor(); ok {
			return []Effect{Goto{&DST{id: k.job}}}, true
		}
		return nil, true
	}
	if !s.listing.Act(s.shown, a) {
		return nil, false
	}
	if s.filter != s.listing.Filter() {
		s.choose()
	}
	return s.ask(w), true
}

// Typing reports that keys go to the filter.
func (s *affected) Typing() bool { return s.listing.Typing() }

// Type answers to a key of the filter.
func (s *affected) Type(w *World, k Key) ([]Effect, bool) {
	ok := s.listing.Type(s.shown, k)
	if s.filter != s.listing.Filter() {
		s.choose()
	}
	return s.ask(w), ok
}

// Subject is the jobs that are marked, or the one under the cursor.
func (s *affected) Subject(*World) Subject {
	chosen, marked := s.listing.Chosen(s.shown)
	subject := Subject{Marked: marked}
	for _, k := range chosen {
		if !slices.Contains(subject.Jobs, k.job) {
			subject.Jobs = append(subject.Jobs, k.job)
		}
	}
	return subject
}

// Refuses says what the list cannot do.
func (s *affected) Refuses(_ *World, a keys.Action) string {
	switch a {
	case keys.Sort, keys.Reverse, keys.States, keys.Views, keys.Wide:
		return "the next change stands first"
	case keys.AllJobs:
		return "these are all; enter shows one"
	case keys.ShowDST:
		return "this is it"
	case keys.PreviousRun, keys.NextRun:
		return "these are changes of the clocks, not runs"
	}
	return ""
}

// Foot is the keys of the list.
func (*affected) Foot(*World) []keys.Action {
	return []keys.Action{keys.Open, keys.Back, keys.Filter, keys.Edit, keys.Palette, keys.Help, keys.Leave}
}

// Draw draws the list, and what the change under the cursor does in full.
func (s *affected) Draw(v canvas.View, w *World) {
	s.drawCount(v.Row(0), w)
	v = v.Below(1)
	if len(s.shown) == 0 {
		drawEmpty(v, s.emptyText(w))
		return
	}
	foot := 0
	if v.Height() >= 10 {
		foot = 4
	}
	list := v.Above(v.Height() - foot)
	wide := v.Width() >= tableFrom
	const name, when, effect = 1, 20, 42
	if title := (canvas.Style{Role: canvas.Title, Bold: true}); wide {
		list.Put(name, 0, "JOB", title)
		list.Put(when, 0, "CHANGE", title)
		list.Put(effect, 0, "EFFECT", title)
		list = list.Below(1)
	}
	first, last := s.listing.Window(s.shown, list.Height())
	for i := first; i < last; i++ {
		r, row := &s.rows[s.places[s.shown[i]]], list.Row(i-first)
		row.PutCut(name, 0, when-name-1, string(r.key.job), w.Glyphs.Ellipsis, canvas.Style{})
		at := r.change.At.Add(-time.Second).Format("2 Jan")
		if wide {
			before, after := crontab.Wall(r.change.At, r.change.Before), crontab.Wall(r.change.At, r.change.After)
			at = fmt.Sprintf("%s %s -> %s", before.Format("2 Jan"), before.Format("15:04"), after.Format("15:04"))
			row.PutCut(effect, 0, row.Width()-effect-1, s.effect(w, r), w.Glyphs.Ellipsis, canvas.Style{})
		}
		row.PutCut(when, 0, row.Width()-when-1, at, w.Glyphs.Ellipsis, canvas.Style{})
		if s.listing.Marked(s.shown, i) {
			row.Put(when-1, 0, w.Glyphs.Mark, canvas.Style{Role: canvas.Match, Bold: true})
		}
		if i == s.listing.Index() {
			row.Put(0, 0, w.Glyphs.Cursor, canvas.Style{Bold: true})
			row.Restyle(selected)
		}
	}
	if foot > 0 {
		s.drawFoot(v.Below(v.Height()-foot), w)
	}
}

// drawCount says how many they are.
func (s *affected) drawCount(row canvas.View, w *World) {
	jobs := map[job.ID]struct{}{}
	for i := range s.rows {
		jobs[s.rows[i].key.job] = struct{}{}
	}
	text := fmt.Sprintf("%s of %s jobs in the next two changes of their clocks", thousands(len(jobs)), thousands(w.Board.Len()))
	row.PutCut(1, 0, row.Width()-2, text, w.Glyphs.Ellipsis, canvas.Style{Bold: true})
	if s.listing.Typing() || s.filter != "" {
		field := min(max(cells(s.listing.Filter())+2, 8), 24)
		row.In(row.Width()-field-2, 0, field+2, 1).Fill(" ", canvas.Style{})
		s.listing.DrawFilter(row, row.Width()-field-1, 0, field, w)
	}
}

func (s *affected) emptyText(w *World) []string {
	switch {
	case len(s.rows) > 0:
		return []string{fmt.Sprintf("0 of %d match /%s. esc clears", len(s.rows), s.filter)}
	case !w.Board.Complete():
		return []string{"Asking cronringd ..."}
	}
	return []string{
		"No job names a time that the next two changes of its clock leave out or show twice.",
		"Times between midnight and 04:00 are where that happens.",
	}
}

func (s *affected) drawFoot(v canvas.View, w *World) {
	k, ok := s.listing.Cursor()
	if !ok {
		return
	}
	r := &s.rows[s.places[k]]
	drawRule(v.Row(0), changeTitle(r.change)+"  "+r.zone, w.Glyphs)
	p := page{paragraphs: []paragraph{
		{spans: []span{{text: " "}, {text: string(r.key.job) + "  " + r.spec}}, hang: 1},
		{spans: []span{{text: " "}, {s.effect(w, r), canvas.Style{Bold: true}}}, hang: 1},
	}}
	p.draw(v.Below(1), w.Glyphs)
}
