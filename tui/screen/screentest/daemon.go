package screentest

import (
	"context"
	"errors"
	"iter"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/screen"
)

var (
	_ screen.Daemon = (*api.Client)(nil)
	_ screen.Daemon = (*Daemon)(nil)
)

// Daemon answers as Real does, except where a test has put in an answer. It notes what should be
// changed, and changes nothing. Without Real, what is missing is an error.
type Daemon struct {
	Real      screen.Daemon
	OnShow    func(ref string) (api.Job, error)
	OnWhy     func(ref string, at time.Time) (api.Why, error)
	OnHistory func(f api.Filter) (api.Runs, error)
	OnFailed  func(since time.Time) (api.Failures, error)
	OnOneRun  func(ref string) (job.Run, error)
	OnOutput  func(run string) []api.Event
	OnPast    func(jobs []job.ID, n int) ([]api.JobPast, error)
	OnLine    func(q api.TimelineQuery) (api.Timeline, error)
	OnConfig  func(ref string) (api.JobConfig, error)
	OnClashes func(q api.ClashQuery) (api.Clashes, error)
	OnStats   func(q api.StatsQuery) (api.Stats, error)
	OnComing  func(q api.ComingQuery) (api.Coming, error)
	Planned   int      // how many occurrences a backfill has
	Asked     []string // what was changed: "run etl-orders"

	OnCrontabFiles func() ([]api.CrontabFile, error)
	OnCrontabText  func(file, user string) (api.CrontabText, error)
	OnInstall      func(r api.CrontabFileRequest) (api.Installed, error)
	OnRevisions    func(q api.RevisionQuery) ([]api.Revision, error)
	OnRevision     func(id int64) (api.Revision, error)
	OnList         func(q api.Query) ([]job.Status, error)
	OnRing         func() api.Ring
}

var ErrNotFaked = errors.New("the test's daemon does not know this")

// missing answers each request with ErrNotFaked.
var missing = NoServer(ErrNotFaked)

// real returns the daemon that answers where a test has put in no answer.
func (d *Daemon) real() screen.Daemon {
	if d.Real == nil {
		return missing
	}
	return d.Real
}

// ask returns the answer that a test has put in, else that of Real.
func ask[Q, T any](ctx context.Context, d *Daemon, on func(Q) (T, error), real func(screen.Daemon, context.Context, Q) (T, error), q Q) (answer T, err error) {
	if on != nil {
		return on(q)
	}
	return real(d.real(), ctx, q)
}

func (d *Daemon) Status(ctx context.Context) (api.Status, error) { return d.real().Status(ctx) }

func (d *Daemon) Ring(ctx context.Context) (api.Ring, error) {
	if d.OnRing == nil {
		return d.real().Ring(ctx)
	}
	return d.OnRing(), nil
}

func (d *Daemon) Board(ctx context.Context) iter.Seq2[api.BoardUpdate, error] {
	return d.real().Board(ctx)
}

func (d *Daemon) Show(ctx context.Context, ref string) (api.Job, error) {
	return ask(ctx, d, d.OnShow, screen.Daemon.Show, ref)
}

func (d *Daemon) Why(ctx context.Context, ref string, at time.Time) (api.Why, error) {
	if d.OnWhy == nil {
		return d.real().Why(ctx, ref, at)
	}
	return d.OnWhy(ref, at)
}

func (d *Daemon) History(ctx context.Context, f api.Filter) (api.Runs, error) {
	return ask(ctx, d, d.OnHistory, screen.Daemon.History, f)
}

func (d *Daemon) Failures(ctx context.Context, since time.Time) (api.Failures, error) {
	return ask(ctx, d, d.OnFailed, screen.Daemon.Failures, since)
}

func (d *Daemon) OneRun(ctx context.Context, ref string) (job.Run, error) {
	return ask(ctx, d, d.OnOneRun, screen.Daemon.OneRun, ref)
}

func (d *Daemon) Output(ctx context.Context, run string, follow bool) iter.Seq2[api.Event, error] {
	if d.OnOutput == nil {
		return d.real().Output(ctx, run, follow)
	}
	return func(yield func(api.Event, error) bool) {
		for _, e := range d.OnOutput(run) {
			if !yield(e, nil) {
				return
			}
		}
	}
}

func (d *Daemon) Run(_ context.Context, r api.RunRequest) ([]job.Run, error) {
	d.note("run", r.Refs...)
	return []job.Run{{ID: 4231, Job: job.ID(r.Refs[0])}}, nil
}

func (d *Daemon) Stop(_ context.Context, r api.StopRequest) ([]job.Run, error) {
	d.note("stop", r.Refs...)
	return nil, nil
}

func (d *Daemon) Pause(_ context.Context, r api.PauseRequest) ([]job.ID, error) {
	d.note("pause", r.Refs...)
	return nil, nil
}

func (d *Daemon) Resume(_ context.Context, r api.ResumeRequest) ([]job.ID, error) {
	d.note("resume", r.Refs...)
	return nil, nil
}

func (d *Daemon) Reload(context.Context) ([]api.Diagnostic, error) {
	d.note("reload")
	return nil, nil
}

func (d *Daemon) Past(ctx context.Context, jobs []job.ID, n int) ([]api.JobPast, error) {
	if d.OnPast == nil {
		return d.real().Past(ctx, jobs, n)
	}
	return d.OnPast(jobs, n)
}

func (d *Daemon) Timeline(ctx context.Context, q api.TimelineQuery) (api.Timeline, error) {
	return ask(ctx, d, d.OnLine, screen.Daemon.Timeline, q)
}

func (d *Daemon) Clashes(ctx context.Context, q api.ClashQuery) (api.Clashes, error) {
	return ask(ctx, d, d.OnClashes, screen.Daemon.Clashes, q)
}

func (d *Daemon) Stats(ctx context.Context, q api.StatsQuery) (api.Stats, error) {
	return ask(ctx, d, d.OnStats, screen.Daemon.Stats, q)
}

func (d *Daemon) Coming(ctx context.Context, q api.ComingQuery) (api.Coming, error) {
	return ask(ctx, d, d.OnComing, screen.Daemon.Coming, q)
}

func (d *Daemon) Backfill(_ context.Context, r api.BackfillRequest) (api.Backfill, error) {
	if r.DryRun {
		return api.Backfill{Plan: &api.BackfillPlan{Count: d.Planned, First: []time.Time{Now}}}, nil
	}
	d.note("backfill", r.Ref, r.From+".."+r.To)
	return api.Backfill{Backfill: job.Backfill{ID: 3}}, nil
}

func (d *Daemon) Retry(_ context.Context, r api.RetryRequest) ([]job.Run, error) {
	d.note("retry", r.Refs...)
	return []job.Run{{ID: 4232, Job: "etl-orders"}}, nil
}

func (d *Daemon) Undo(context.Context, api.UndoRequest) (api.Installed, error) {
	d.note("undo")
	return api.Installed{File: "/etc/cron.d/etl"}, nil
}

func (d *Daemon) Ack(_ context.Context, r api.AckRequest) ([]job.ID, error) {
	d.note("ack", r.Refs...)
	return nil, nil
}

func (d *Daemon) JobConfig(ctx context.Context, ref string) (api.JobConfig, error) {
	return ask(ctx, d, d.OnConfig, screen.Daemon.JobConfig, ref)
}

func (d *Daemon) CrontabFiles(ctx context.Context) ([]api.CrontabFile, error) {
	if d.OnCrontabFiles == nil {
		return d.real().CrontabFiles(ctx)
	}
	return d.OnCrontabFiles()
}

func (d *Daemon) CrontabText(ctx context.Context, file, user string) (api.CrontabText, error) {
	if d.OnCrontabText == nil {
		return d.real().CrontabText(ctx, file, user)
	}
	return d.OnCrontabText(file, user)
}

func (d *Daemon) InstallCrontabFile(_ context.Context, r api.CrontabFileRequest) (api.Installed, error) {
	d.note("install", r.File)
	if d.OnInstall == nil {
		return api.Installed{File: r.File, Before: 31, Entries: 3}, nil
	}
	return d.OnInstall(r)
}

func (d *Daemon) Revisions(ctx context.Context, q api.RevisionQuery) ([]api.Revision, error) {
	return ask(ctx, d, d.OnRevisions, screen.Daemon.Revisions, q)
}

func (d *Daemon) Revision(ctx context.Context, id int64) (api.Revision, error) {
	return ask(ctx, d, d.OnRevision, screen.Daemon.Revision, id)
}

func (d *Daemon) List(ctx context.Context, q api.Query) ([]job.Status, error) {
	return ask(ctx, d, d.OnList, screen.Daemon.List, q)
}

func (d *Daemon) note(verb string, refs ...string) {
	d.Asked = append(d.Asked, strings.Join(append([]string{verb}, refs...), " "))
}

// NewDaemon answers as the host of NewWorld does.
func NewDaemon() *Daemon { return &Daemon{Real: host().client} }

// FilesDaemon answers as NewDaemon does, except about the text of crontabs: the daemon reads only
// files whose owner is right, which a test cannot set without being root.
func FilesDaemon() *Daemon {
	return &Daemon{
		Real:           host().client,
		OnCrontabFiles: func() ([]api.CrontabFile, error) { return SomeCrontabs(), nil },
		OnRevisions:    someRevisions,
		OnCrontabText:  func(string, string) (api.CrontabText, error) { return ETLCrontab(), nil },
		OnRevision: func(id int64) (api.Revision, error) {
			return api.Revision{ID: id, Text: []byte(strings.Replace(ETLText, "--since auto", "", 1))}, nil
		},
	}
}
