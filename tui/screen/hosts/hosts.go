// Package hosts owns the screen that lists hosts, and what fails, runs and comes next on each.
package hosts

import (
	"context"
	"iter"
	"os/exec"
	"slices"
	"strconv"
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
	hostwatch "github.com/cronring/cronring/tui/hosts"
	"github.com/cronring/cronring/tui/keys"
	"github.com/cronring/cronring/tui/page"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/table"
)

// Hosts lists the host that is shown and all others that are known.
type Hosts struct {
	table.Table[string, row]
	rows table.Rows[string, row]
}

// row is a host. Its key is its name, or "" for the host that is shown.
type row struct {
	hostwatch.Report
	known bool
}

const (
	slotHosts     = "hosts"
	slotDashboard = "dashboard"
)

// New makes the screen.
func New() *Hosts {
	s := &Hosts{rows: table.Rows[string, row]{
		Key:   func(r *row) string { return r.Host },
		Words: func(r *row) string { return r.Host + " " + r.Status.Host },
	}}
	s.Table = table.Table[string, row]{
		Source: &s.rows, Left: 2, MarkAt: 1, Titles: table.TitleStyle, In: keys.Hosts, ToFirst: true,
		Keys:    []keys.Action{keys.Open, keys.ShowHostJobs, keys.Mark, keys.Filter, keys.Back, keys.Help},
		Refused: table.Refuse("not on this screen", keys.States, keys.Views, keys.Wide, keys.Sort, keys.Reverse),
		Columns: []table.Column[row]{
			{Title: "HOST", Width: 16, Text: hostText},
			count("FAILING", 0, canvas.Bad, job.StateFailing),
			count("LATE", 0, canvas.Doubt, job.StateLate),
			count("RUNNING", screen.FullWidth, canvas.Busy, job.StateRunning),
			count("JOBS", 100, canvas.Plain, job.States[:]...),
			{Width: 1, Text: table.Plain(func(*row) string { return "" })}, // numbers end at the right
			{Title: "NEXT", Width: 12, Fill: true, Text: nextText},
		},
	}
	s.Refused[keys.ShowHosts] = "this is it"
	return s
}

// hostText returns the name of a host.
func hostText(_ *screen.World, r *row) (string, canvas.Style) {
	if r.Host != "" {
		return r.Host, canvas.Style{}
	}
	if r.Status.Host == "" {
		return "shown here", canvas.Style{Bold: true}
	}
	return r.Status.Host + " (shown)", canvas.Style{Bold: true}
}

// count returns a column with the number of jobs in some states.
func count(title string, from int, role canvas.Role, states ...job.State) table.Column[row] {
	return table.Column[row]{Title: title, Width: 8, From: from, Right: true, Text: func(_ *screen.World, r *row) (string, canvas.Style) {
		if !r.known || r.Err != nil {
			return "-", canvas.Style{Role: canvas.Off}
		}
		n := 0
		for _, state := range states {
			n += r.Status.States[state]
		}
		if n == 0 {
			return "0", canvas.Style{}
		}
		return strconv.Itoa(n), canvas.Style{Role: role}
	}}
}

// cell returns a reason without the address that ssh puts before it, for which a cell has no room.
func cell(reason string) string {
	if address, ok := strings.CutPrefix(reason, "ssh: connect to host "); ok {
		if _, why, ok := strings.Cut(address, ": "); ok {
			return why
		}
	}
	return reason
}

// nextText returns the next start, or why nothing is known of the host.
func nextText(w *screen.World, r *row) (string, canvas.Style) {
	switch {
	case r.Err != nil:
		text := w.Glyphs.Failed + " " + cell(page.Reason(r.Err))
		if r.Retry > 0 {
			text += " (again after " + display.Brief(r.Retry) + ")"
		}
		return text, canvas.Style{Role: canvas.Bad}
	case !r.known:
		return "connecting ...", canvas.Style{Role: canvas.Off}
	case r.Status.Next == nil:
		return "nothing is planned", canvas.Style{Role: canvas.Off}
	}
	return string(display.AppendAway(nil, r.Status.Next.At, r.Status.Now)) + "  " + string(r.Status.Next.Job), canvas.Style{}
}

// Heading returns the number of hosts, and of those that were not reached.
func (s *Hosts) Heading(*screen.World) string {
	down := 0
	for _, r := range s.rows.All() {
		if r.Err != nil {
			down++
		}
	}
	text := "Hosts: " + display.Count(len(s.rows.All()), "host")
	if down > 0 {
		text += ", " + display.Count(down, "host") + " not reached"
	}
	return text
}

// Headed keeps the heading on narrow screens.
func (*Hosts) Headed() {}

// Open begins to ask the hosts.
func (s *Hosts) Open(w *screen.World) []screen.Effect {
	s.here(w)
	if w.Hosts == nil {
		return nil
	}
	other := w.Hosts
	return []screen.Effect{screen.Follow{Slot: slotHosts, Call: func(ctx context.Context, d screen.Daemon) iter.Seq2[any, error] {
		return func(yield func(any, error) bool) {
			names := w.KnownHosts(ctx, d)
			names = names[:min(len(names), hostwatch.Most)]
			if !yield(names, nil) {
				return
			}
			for r := range hostwatch.Watch(ctx, names, func(ctx context.Context, host string) (api.Status, error) {
				d, err := other.Daemon(host)
				if err != nil {
					return api.Status{}, err
				}
				return d.Status(ctx)
			}) {
				if !yield(r, nil) {
					return
				}
			}
		}
	}}}
}

// Take receives the names of the hosts, and then the state of each.
func (s *Hosts) Take(w *screen.World, a screen.Answer) []screen.Effect {
	switch value := a.Value.(type) {
	case []string:
		rows := s.rows.All()[:1:1]
		for _, name := range value {
			r := row{Report: hostwatch.Report{Host: name}}
			if old := slices.IndexFunc(s.rows.All(), func(r row) bool { return r.Host == name }); old >= 0 {
				r = s.rows.All()[old]
			}
			rows = append(rows, r)
		}
		s.SetRows(rows)
	case hostwatch.Report:
		s.put(row{Report: value, known: true})
	}
	if a.Slot == slotDashboard && a.Err != nil {
		return []screen.Effect{screen.Toast{Text: "the dashboard of the host ended: " + a.Err.Error(), Bad: true}}
	}
	return nil
}

// here sets the row of the host that is shown.
func (s *Hosts) here(w *screen.World) {
	r := row{Report: hostwatch.Report{Status: w.Status, Retry: w.Link.Retry}, known: w.Link.Live}
	if !w.Link.Live && w.Link.Tried {
		r.Err = w.Link.Err
	}
	s.put(r)
}

// put replaces or adds the row of a host.
func (s *Hosts) put(r row) {
	rows := slices.Clone(s.rows.All())
	if at := slices.IndexFunc(rows, func(old row) bool { return old.Host == r.Host }); at >= 0 {
		rows[at] = r
	} else {
		rows = append(rows, r)
	}
	s.SetRows(rows)
}

// Refresh updates the row of the host that is shown.
func (s *Hosts) Refresh(w *screen.World) []screen.Effect {
	s.here(w)
	return nil
}

// Act moves, marks and filters, and opens the dashboard of a host, or the jobs of marked ones.
func (s *Hosts) Act(w *screen.World, a keys.Action) ([]screen.Effect, bool) {
	if a != keys.Open {
		return nil, s.Move(a)
	}
	if about := s.Subject(w); len(about.Hosts) > 0 {
		return []screen.Effect{screen.Show{Action: keys.ShowHostJobs, Subject: about}}, true
	}
	host := s.Current().Host
	return []screen.Effect{screen.Execute{Slot: slotDashboard, Program: func() *exec.Cmd { return w.Hosts.Dashboard(host, "") }}}, true
}

// Subject returns the marked hosts. Jobs of other hosts are in their own dashboard.
func (s *Hosts) Subject(*screen.World) screen.Subject {
	if chosen, marked := s.Chosen(); marked {
		return screen.Subject{Hosts: chosen}
	}
	return screen.Subject{}
}

// Refuses returns why a key does nothing here.
func (s *Hosts) Refuses(w *screen.World, a keys.Action) string {
	switch r := s.Current(); {
	case a == keys.ShowHostJobs && len(s.rows.All()) == 1:
		return "no other host is known"
	case a != keys.Open || r == nil || len(s.Subject(w).Hosts) > 0:
	case r.Host == "":
		return "this host is shown; esc goes back to its jobs"
	}
	return s.Table.Refuses(w, a)
}

// Draw draws the list, and below it the whole error of the host under the cursor.
func (s *Hosts) Draw(v canvas.View, w *screen.World) {
	if s.Typing() || s.Filter() != "" {
		s.DrawFilter(v, 1, 0, v.Width()-2, w)
		v = v.Below(1)
	}
	list := v
	if slices.ContainsFunc(s.rows.All(), func(r row) bool { return r.Err != nil }) { // else the list would move with the cursor
		rows := min(s.rows.Len(), max(v.Height()-8, 1))
		list = v.Above(rows + 1)
		if r := s.Current(); r != nil && r.Err != nil {
			page.DrawUnknown(v.Below(rows+2), r.Err, w)
		}
	}
	s.Table.Draw(list, w)
	if len(s.rows.All()) == 1 {
		page.DrawNotice(v.Below(3), []string{"No other host is known. Name hosts in the settings, with [[host]], or at the start: cronring top -H HOST1 -H HOST2"})
	}
}
