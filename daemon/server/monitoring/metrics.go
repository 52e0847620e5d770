package monitoring

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/view"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/metrics"
	"github.com/cronring/cronring/daemon/server/call"
	"github.com/cronring/cronring/daemon/server/jobstate"
)

// Limits of the answer.
const (
	// MaxJobs is the maximum number of jobs with metrics of their own: each has a dozen series in
	// the monitoring system.
	MaxJobs    = 10_000
	statesPage = 2048 // jobs whose states are read at a time
)

// Metrics answers with the metrics. Metrics of the whole host are for admins; other users receive
// those of their own jobs. It answers even if the history cannot be read, because monitoring is
// needed most then.
func (s *Monitor) Metrics(ctx context.Context, c *call.Call) error {
	m, err := s.newGauges(ctx, c)
	if err != nil {
		return err
	}
	read := m.look(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	m.addDaemon(read)
	if c.Peer.Admin {
		m.addHost()
	}
	m.addRing()
	if m.each != nil {
		m.addJobs()
	}
	c.Send(http.StatusOK, metrics.ContentType, m.Bytes())
	return nil
}

// gauges is metrics as they are made.
type gauges struct {
	*metrics.Text
	s      *Monitor
	c      *call.Call
	view   *view.View
	health api.Health
	ring   api.Ring
	each   []job.ID // jobs with their own metrics; nil: none
	left   int      // of the requested jobs

	states map[job.State]int
	jobs   []metricJob
	where  *jobstate.Whereabouts
}

// metricJob is a job with its own metrics.
type metricJob struct {
	i int
	jobstate.Past
	elsewhere bool // another member claimed its newest occurrence
}

func (s *Monitor) newGauges(ctx context.Context, c *call.Call) (*gauges, error) {
	m := &gauges{s: s, c: c, view: c.View, health: s.daemon.Health(), ring: s.ring.Status(), states: map[job.State]int{}}
	m.Text = metrics.New("host", m.health.Host)
	jobs, err := c.Flag("jobs")
	if err != nil || !jobs {
		return m, err
	}
	wanted, err := s.find.Requested(ctx, c, "report metrics")
	if err != nil {
		return nil, err
	}
	m.each = c.IDs(wanted)
	slices.Sort(m.each) // so that, of too many, the same ones are included each time
	m.left = max(0, len(m.each)-MaxJobs)
	m.each = m.each[:len(m.each)-m.left]
	return m, nil
}

// look finds out how jobs are, as boards do. It reports false if the history could
// not be read.
func (m *gauges) look(ctx context.Context) bool {
	const tries = 3 // crontabs can change meanwhile
	for range tries {
		numbering, err := m.s.states.Follow(ctx)
		if err != nil {
			break
		}
		if view := m.s.daemon.View(); view.SameJobs(numbering.View) {
			m.view = view
			if m.count(numbering) {
				return true
			}
		}
	}
	clear(m.states)
	m.jobs = nil
	return false
}

func (m *gauges) count(numbering *jobstate.Numbering) bool {
	clear(m.states)
	m.jobs = m.jobs[:0]
	c := *m.c
	c.View = m.view
	p := m.s.states.Look(&c, nil)
	m.where = p.Where
	for slots := range slices.Chunk(numbering.Order, statesPage) {
		pasts, ok := p.Read(numbering, slots)
		if !ok {
			return false
		}
		for k, slot := range slots {
			if c.SeesJob(slot) {
				condition, _ := p.Condition(slot, &pasts[k])
				m.states[condition.State()]++
			}
		}
	}
	for _, id := range m.each {
		if i, ok := m.view.Find(id); ok && c.SeesJob(i) {
			pasts, ok := p.Read(numbering, []int{i})
			if !ok {
				return false
			}
			m.jobs = append(m.jobs, metricJob{i: i, Past: pasts[0], elsewhere: p.Where.Since(i, pasts[0].At()) != nil})
		}
	}
	return true
}

// family begins a family that has one sample.
func (m *gauges) gauge(name, help string, value float64) {
	m.Family(name, metrics.Gauge, help)
	m.Add(value)
}

func (m *gauges) counter(name, help string, value float64) {
	m.Family(name, metrics.Counter, help)
	m.Add(value)
}

func truth(so bool) float64 {
	if so {
		return 1
	}
	return 0
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
