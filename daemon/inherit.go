package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/daemon/descriptor"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/handover"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/member"
	"github.com/cronring/cronring/daemon/othercron"
	"github.com/cronring/cronring/daemon/recorder"
	"github.com/cronring/cronring/daemon/shim"
	"github.com/cronring/cronring/daemon/spawn/handed"
	"github.com/cronring/cronring/daemon/spawn/runoutput"
	"github.com/cronring/cronring/daemon/spool"
	"github.com/cronring/cronring/daemon/store"
)

// inheritance is taken over from the previous daemon.
type inheritance struct {
	children  []handed.Run
	beats     map[job.RunID]int // the sockets of runs
	starts    []effect.Start    // decided and passed to a spawner that did not begin them
	stopping  map[job.RunID]job.Reason
	unwritten recorder.Unwritten
	signals   []os.Signal // that the previous daemon did not handle
}

// inherit gathers it: from the daemon that this process was, or after a crash
// from the service manager's store of descriptors.
func (d *shared) inherit(ctx context.Context, records *recorder.Recorder, before *handover.Handover, live []job.Run) inheritance {
	if before != nil {
		for _, c := range before.Children {
			if !c.Tail {
				d.manager.Remember(c.Run)
			}
		}
		in := inheritance{
			children: before.Children, beats: before.Beats, starts: before.Starts, stopping: before.Stopping,
			unwritten: before.Unwritten, signals: before.Signals,
		}
		return in
	}
	runs := map[job.RunID]job.Run{}
	for _, r := range live {
		runs[r.ID] = r
		d.preserver.Restore(r.ID)
	}
	found, err := shim.TakeOver(d.runs, holdTime)
	if err != nil {
		d.log.Error("some jobs that continued to run cannot be taken over", "error", err)
	}
	stored := map[job.RunID]bool{}
	for _, k := range d.manager.Kept() {
		found = append(found, handed.Run{Run: k.Run, Out: k.Stdout, Err: k.Stderr, PIDFD: k.PID})
		stored[k.Run] = true
	}
	in := inheritance{stopping: map[job.RunID]job.Reason{}}
	stopped := func(r *job.Run) bool {
		if reason := handed.Stopping(d.runs, r.ID); reason != "" {
			in.stopping[r.ID] = reason
		}
		return r.Stop != nil || in.stopping[r.ID] != ""
	}
	for _, h := range found {
		r, lives := runs[h.Run]
		if h.Tail {
			in.children = append(in.children, h)
			continue
		}
		if !lives { // the history has its end, or it was found before
			closeDescriptors(h)
			continue
		}
		delete(runs, h.Run)
		h.Job, h.User, h.PID = r.Job, r.User, cmp.Or(h.PID, handover.PIDOf(h.PIDFD), r.PID)
		h.Stopped = stopped(&r) || h.Stopped
		in.children = append(in.children, h)
		if !stored[h.Run] { // the store was emptied when the daemon stopped
			d.manager.Keep(h.Run, h.Out, h.Err, h.PIDFD)
		}
	}
	for _, h := range handed.Find(d.runs, d.boot) {
		r, lives := runs[h.Run]
		switch {
		case lives:
			delete(runs, h.Run)
			h.Job, h.User, h.Stopped = r.Job, r.User, stopped(&r)
			h.Out, h.Err = handed.OpenPipes(filepath.Join(d.runs, h.Run.String()))
			in.children = append(in.children, h)
			d.manager.Keep(h.Run, h.Out, h.Err, h.PIDFD)
		case slices.ContainsFunc(in.children, func(c handed.Run) bool { return c.Run == h.Run }):
			closeDescriptors(h)
		default:
			in.children = append(in.children, tailOf(h))
		}
	}
	for id, r := range runs { // runs without a process; their output until then is known
		began := r.State == job.RunRunning || r.State == job.RunDecided
		if began && d.printed(&handed.Run{Run: id}) != nil {
			in.children = append(in.children, handed.Run{Run: id, Job: r.Job, User: r.User, PID: r.PID})
		}
	}
	d.inheritOutputs(ctx, records, &in, live)
	d.forgetOthers(live)
	return in
}

// restoreBeats opens the sockets of runs with watchdog= again.
func (d *shared) restoreBeats(in *inheritance) {
	running := map[job.RunID]string{}
	for _, c := range in.children {
		if !c.Tail {
			running[c.Run] = c.User
		}
	}
	if err := d.beats.Restore(running, in.beats); err != nil {
		d.log.Error("the sockets of some runs with watchdog= cannot be opened again", "error", err)
	}
}

// leaveTails starts a shim for background processes of runs, which may write
// when all runs have ended.
func (d *shared) leaveTails() error {
	var tails []handed.Run
	for _, h := range handed.Find(d.runs, d.boot) {
		tails = append(tails, tailOf(h))
	}
	return shim.Start(d.runs, tails)
}

// tailOf makes a tail of what was found of a run whose end is known. Its pipes
// are opened by their names.
func tailOf(h handed.Run) handed.Run {
	closeDescriptors(h)
	return handed.Run{Run: h.Run, Job: h.Job, User: h.User, Tail: true, OutputMax: h.OutputMax}
}

// inheritOutputs takes the files of runs whose end is in the history. Their output is not, if the
// previous daemon was killed before it wrote it. If it was killed before it removed the file, the
// output is in the history, and must not be added again.
func (d *shared) inheritOutputs(ctx context.Context, records *recorder.Recorder, in *inheritance, live []job.Run) {
	lives, limits := map[job.RunID]bool{}, map[job.RunID]int{}
	for _, r := range live {
		lives[r.ID] = true
	}
	for _, c := range in.children {
		limits[c.Run] = c.OutputMax
	}
	for _, left := range runoutput.ListLeft(d.runs) {
		if lives[left.Run] {
			continue
		}
		user, output, err := d.unrecorded(ctx, left, limits[left.Run])
		switch {
		case err != nil:
			d.log.Warn("the output of a run is not in the history", "run", left.Run, "error", err)
		case len(output) == 0:
			recorder.Discard(left.Path)
		default:
			records.Add(left.Run, user, output, recorder.Held{File: left.Path, Memory: d.memory.Lease(user)})
		}
	}
}

// unrecorded returns the output in a file that the history does not have, and the user of its run.
// A file is written to the history as a whole, so the history has all of it or none.
func (d *shared) unrecorded(ctx context.Context, left runoutput.Left, limit int) (user string, output []job.Chunk, err error) {
	r, ok, err := d.history.Run(ctx, left.Run)
	if err != nil || !ok { // the file is of a history that is gone
		return "", nil, err
	}
	if output, err = runoutput.ReadLeft(left, limit); err != nil || len(output) == 0 {
		return r.User, nil, err
	}
	recorded, err := d.history.Output(ctx, left.Run)
	if err != nil {
		return r.User, nil, err
	}
	first := output[0]
	if slices.ContainsFunc(recorded, func(c job.Chunk) bool { return c.Stream == first.Stream && c.At.Equal(first.At) }) {
		return r.User, nil, nil
	}
	return r.User, output, nil
}

// closeDescriptors closes the remaining descriptors of a run that is not awaited.
func closeDescriptors(h handed.Run) {
	for _, fd := range shim.Files(&h) {
		_ = syscall.Close(fd) // nothing was written to it
	}
}

// forgetOthers removes what was kept of runs whose end is in the history.
func (d *shared) forgetOthers(live []job.Run) {
	lives := map[job.RunID]bool{}
	for _, r := range live {
		lives[r.ID] = true
	}
	for _, k := range d.manager.Kept() {
		if !lives[k.Run] {
			d.manager.Forget(k.Run)
		}
	}
	ended, _ := shim.Ends(d.runs) // what is wrong with them was said
	for _, h := range ended {
		if !lives[h.Run] {
			recorder.Discard(shim.EndFile(d.runs, h.Run))
		}
	}
}

// printed returns what a run of the previous daemon has printed until now.
func (d *shared) printed(h *handed.Run) []job.Chunk {
	if len(h.Output) > 0 || d.runs == "" {
		return h.Output
	}
	chunks, _, _ := runoutput.Read(filepath.Join(d.runs, h.Run.String())) // many print nothing, and have none
	for i := range chunks {
		chunks[i].Run, chunks[i].Job, chunks[i].User = h.Run, h.Job, h.User
	}
	return chunks
}

// newLoop returns a loop whose engine and recorder are restored, and publishes the first view. On the
// host's own daemon it also logs the boot and takes the time until which another cron ran the crontabs.
// Only the caller's goroutine may use the loop.
func newLoop(d *shared, records *recorder.Recorder, memory store.Restored, in inheritance) *loop {
	now := d.clock.Now()
	state := engine.State{
		Marks: memory.Marks, Live: memory.Live, Handed: memory.Handed, Holds: memory.Holds, Known: memory.Known,
		NextRun: memory.NextRun, Era: memory.Era, LastSeen: memory.LastSeen,
		Booted:    memory.BootID != d.boot,
		Summaries: memory.Summaries, Backfills: memory.Backfills, Ran: memory.Ran, NextBackfill: memory.NextBackfill,
	}
	if d.options.host() {
		state.Booted = d.bootsNow(state.Booted)
		state.Since = othercron.TakeSince(d.options.State)
		if d.options.relieves && state.Since.IsZero() {
			state.Since = now.Wall // it is unknown until when the other cron ran
		}
		state.Stamps = spool.ReadStamps(d.crontabs.paths.Stamps)
	}
	for _, c := range in.children {
		if c.Tail {
			continue
		}
		state.Adopted = append(state.Adopted, engine.Adopted{
			Run: c.Run, PID: c.PID, Up: startOf(c.PID, now.Up), Stop: in.stopping[c.Run], Mute: !d.beats.Takes(c.Run),
		})
	}
	for _, s := range in.starts {
		state.Adopted = append(state.Adopted, engine.Adopted{Run: s.Run.ID})
	}
	records.Restore(in.unwritten)
	records.RetryUnwritten()
	l := &loop{
		shared: d, engine: engine.New(state), claims: member.NewClaims(d.ring), recorder: records, unstarted: in.starts, unmarked: d.options.host(),
		handedSignals: make(chan os.Signal, len(in.signals)),
		waiting:       map[effect.Token]chan<- effect.Answer{},
		entries:       map[job.RunID]*crontab.Entry{},
		locks:         map[string]*spool.StampLock{},
	}
	for _, s := range in.signals {
		l.handedSignals <- s
	}
	d.view.Store(l.engine.View())
	return l
}

// resume begins the runs that the daemon before was given and did not come to.
// What an entry limits must be known for that: a run whose entry is gone does
// not begin.
func (l *loop) resume() {
	v := l.view.Load()
	for _, s := range l.unstarted {
		i, ok := v.Find(s.Job.ID)
		if !ok {
			l.failToStart(s, "its entry was removed while the daemon was replaced", true)
			continue
		}
		s.Entry = v.Entry(i)
		l.spawner.Start(s)
	}
	l.unstarted = nil
}

// setOwners renames jobs in the data of version 0.7 or before, whose IDs did not contain the owner
// of the crontab. Only the crontabs determine which IDs become USER/NAME.
func (d *shared) setOwners(ctx context.Context, memory *store.Restored, in *inheritance) {
	renames := catalog.Renames(d.allCrontabs())
	if err := d.history.Rename(ctx, renames, memory); err != nil {
		d.log.Error("the jobs in the history cannot be renamed yet; it is tried again with each commit", "error", err)
	}
	for i := range in.starts {
		s := &in.starts[i]
		s.Job.ID = renames.Of(s.Job.ID, s.Job.User)
		renames.Run(&s.Run)
	}
	for i := range in.unwritten.Records {
		renames.Record(&in.unwritten.Records[i])
	}
	for i := range in.unwritten.Summaries {
		s := &in.unwritten.Summaries[i]
		s.Job = renames.Of(s.Job, s.User)
	}
}

// allCrontabs is the crontabs that were read, and those whose users are not known
// because a directory service is out of reach.
func (d *shared) allCrontabs() []*crontab.File {
	s := d.crontabs.current()
	all := slices.Clone(s.Crontabs)
	for path, unsure := range awaited(s) {
		user, ok := d.crontabs.paths.IsUserCrontab(path)
		info, err := os.Lstat(path)
		if !unsure || !ok || err != nil || !info.Mode().IsRegular() {
			continue // its jobs keep their former IDs in the history
		}
		if text, err := atomicfile.ReadRegular(path, crontab.MaxText); err == nil {
			file, _ := crontab.Parse(path, text, crontab.Config{Owner: user, Zone: spool.LoadZone, Sidecar: d.options.Config.Sidecar, Calendars: d.options.Config.Dates()})
			all = append(all, file)
		}
	}
	return all
}

// handOver collects what the next life needs. The socket keeps listening, so that clients that
// connect meanwhile only wait.
func (l *loop) handOver(listener net.Listener) (*handover.Handover, error) {
	own, ok := listener.(*net.UnixListener)
	if !ok {
		return nil, errors.New("hand over: the control socket is none of unix")
	}
	own.SetUnlinkOnClose(false)
	socket, err := descriptor.Copy(own)
	if err != nil {
		return nil, fmt.Errorf("hand over: %w", err)
	}
	current := l.config.current()
	sockets := l.beats.Handover() // before the spawner restores the limit of open files
	return &handover.Handover{
		Children: l.spawner.Handover(), Starts: l.unstarted, Stopping: l.engine.Stopping(), Socket: socket,
		Unwritten: l.recorder.Unwritten(),
		OwnSocket: l.ownSocket, Beats: sockets, Config: &current,
		Signals: l.pendingSignals,
	}, nil
}
