package migration

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/cmd/cronring/analysis"
	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/inventory"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/wake"
)

// shadowed is one start that cronring would make.
type shadowed struct {
	At      time.Time `json:"at"` // of the start
	Due     time.Time `json:"due"`
	Job     job.ID    `json:"job"`
	Crontab string    `json:"crontab"`
	Line    int       `json:"line"`
	User    string    `json:"user"`
	Command string    `json:"command"`

	quiet bool // no cron logs it
}

// shadow drives the daemon's own engine in real time with the host's own
// crontabs, and answers each start as if the job had ended at once: nothing
// overlaps, nothing fails.
type shadow struct {
	*inventory.Machine
	source *spool.Source
	engine *engine.Engine
	up     func() time.Duration
	wait   func(ctx context.Context, until time.Time) error
	seen   func(shadowed) error

	scanned time.Time // when to read the crontabs next
}

// newShadow returns a shadow that has not started.
func newShadow(m *inventory.Machine) *shadow {
	return &shadow{
		Machine: m, engine: engine.New(engine.State{}), up: sinceBoot, wait: waitUntil,
		source: spool.OpenSource(m.SourceOptions()),
	}
}

// sinceBoot returns the clock that includes suspends and is never set.
func sinceBoot() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(bootClock, &t); err != nil {
		return time.Hour // as good as any: only differences count
	}
	return time.Duration(t.Nano())
}

// waitUntil waits for a time of the wall clock, in steps so short that a
// suspend or a change of the clock is noticed.
func waitUntil(ctx context.Context, until time.Time) error {
	const step = 5 * time.Second
	return wake.Sleep(ctx, min(until.Sub(time.Now().Round(0)), step))
}

// beforeMinute is how long before a full minute the crontabs are read, so that a change
// counts for that minute.
const beforeMinute = time.Second

// run watches until the context ends or, if until is not zero, that time.
func (s *shadow) run(ctx context.Context, until time.Time) error {
	for {
		now := s.Now().Round(0)
		if ctx.Err() != nil || !until.IsZero() && !now.Before(until) {
			return nil
		}
		if err := s.step(ctx, now); err != nil {
			return err
		}
		next := s.scanned
		if at := s.engine.Wake(); !at.IsZero() && at.Before(next) {
			next = at
		}
		if !until.IsZero() && until.Before(next) {
			next = until
		}
		if err := s.wait(ctx, next); err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// step passes the time to the engine, and the crontabs if they are due.
func (s *shadow) step(ctx context.Context, now time.Time) error {
	var events []event.Event
	// A clock that was set back far would keep the crontabs unread for long.
	if !now.Before(s.scanned) || s.scanned.Sub(now) > time.Minute {
		events = s.load(ctx)
		s.scanned = now.Truncate(time.Minute).Add(time.Minute - beforeMinute)
		if !s.scanned.After(now) {
			s.scanned = s.scanned.Add(time.Minute)
		}
	}
	for first := true; first || len(events) > 0; first = false {
		effects := s.engine.Step(job.Moment{Wall: now.UTC(), Up: s.up()}, events...)
		events = nil
		for _, e := range effects {
			if check, ok := e.(effect.Check); ok { // only the real cron runs things
				events = append(events, event.Checked{Run: check.Run.ID, Outcome: job.Outcome{Kind: job.Exited}})
			}
			start, ok := e.(effect.Start)
			if !ok {
				continue
			}
			events = append(events, event.Started{Run: start.Run.ID}, event.Ended{Run: start.Run.ID, Outcome: job.Outcome{Kind: job.Exited}})
			if err := s.seen(s.shadowed(now, start)); err != nil {
				return err
			}
		}
	}
	return nil
}

// load reads the crontabs, the users whose jobs must not start, and the timestamps of
// anacron's jobs.
func (s *shadow) load(ctx context.Context) []event.Event {
	scan := s.source.Scan(ctx)
	barred, asked, stamps := map[string]event.Barred{}, map[string]bool{}, map[string]timetable.Day{}
	for _, file := range scan.Crontabs {
		for i := range file.Entries {
			e := &file.Entries[i]
			if p := e.Options().Period; p != nil {
				if day, ok := stamp(s.Machine, p.ID); ok {
					stamps[p.ID] = day
				}
			}
			name := e.User()
			if asked[name] {
				continue
			}
			asked[name] = true
			if reason, why := s.Barred(ctx, name); reason != "" {
				barred[name] = event.Barred{Reason: reason, Detail: why}
			}
		}
	}
	return []event.Event{event.Stamps{Days: stamps}, event.BarUsers{Users: barred}, event.Load{Crontabs: scan.Crontabs, Node: analysis.HostName()}}
}

func (s *shadow) shadowed(now time.Time, start effect.Start) shadowed {
	one := shadowed{
		At: now, Due: start.Run.Due.In(s.Host.Zone), Job: start.Job.ID, Crontab: s.HostPath(start.Job.Crontab), Line: start.Job.Line,
		User: start.Job.User, Command: start.Job.Command,
	}
	view := s.engine.View()
	if i, ok := view.Find(start.Job.ID); ok {
		e := view.Entry(i)
		one.quiet = e.Quiet() || e.File().Format == crontab.Anacron // which cron never runs
	}
	return one
}

// runShadow is import --shadow.
func runShadow(ctx context.Context, a *cli.App, f *importFlags) error {
	if f.out.Value == formCrontab {
		return cli.UsageError("print that", "-o crontab does not go with --shadow", "cronring import systemd -o crontab")
	}
	if f.against != "" && f.against != "journal" {
		if _, err := os.Stat(f.against); err != nil {
			return cli.FileError(f.against, err)
		}
	}
	// An interrupt is the usual end, after which the comparison is due.
	signal.Reset(os.Interrupt)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return recordShadow(ctx, a, newShadow(inventory.This(a.Now)), f)
}

func recordShadow(ctx context.Context, a *cli.App, s *shadow, f *importFlags) error {
	var starts []shadowed
	s.seen = func(one shadowed) error {
		starts = append(starts, one)
		return printShadowed(a, one, f.out)
	}
	begin, until := s.Now(), time.Time{}
	if f.length > 0 {
		until = begin.Add(time.Duration(f.length))
	}
	a.Infof("computing and logging what cronring would start, as if each job ended at once; nothing is run")
	if err := s.run(ctx, until); err != nil {
		return err
	}
	if f.against == "" {
		return nil
	}
	// What ended the watch must not end the comparison.
	return compareShadow(context.WithoutCancel(ctx), a, s, starts, begin, s.Now(), f.against)
}

func printShadowed(a *cli.App, one shadowed, out *cli.Output) error {
	if out.Value == cli.FormJSON {
		if err := a.PrintLine(one); err != nil {
			return err
		}
		return a.Out.Flush()
	}
	a.Printf("%s  %s:%d  (%s) CMD (%s)\n", one.At.In(one.Due.Location()).Format(time.DateTime), display.Text(filepath.Base(one.Crontab)), one.Line, display.Text(one.User), display.Text(one.Command))
	return a.Out.Flush()
}

// errNoMinute means that a watch was too short for a comparison.
var errNoMinute = errors.New("no whole minute was watched: wait longer, --for 5m")
