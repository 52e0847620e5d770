package store

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

func TestRestoreNewDatabaseIsZero(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	r := restore(t, s)
	if r.Seed == 0 || r.Seed == restore(t, open(t, t.TempDir())).Seed {
		t.Errorf("seed %d is not random", r.Seed)
	}
	same(t, "restored", r, Restored{NextRun: 1, NextBackfill: 1, Seed: r.Seed})
	s = reopen(t, s, dir)
	same(t, "restored again", restore(t, s), Restored{NextRun: 1, NextBackfill: 1, Seed: r.Seed})
}

func TestRestoreGivesWhatWasCommitted(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	seed := restore(t, s).Seed
	hold := job.Hold{Since: noon, By: "ann", Reason: "maintenance"}
	paused := func(id job.ID, h *job.Hold) job.Record {
		return job.Record{At: noon, Kind: job.Paused, Job: id, Hold: h}
	}
	running := decided(1, "a", noon)
	running.Run.State, running.Run.PID, running.Run.Started = job.RunRunning, 99, noon
	waiting := *decided(3, "c", noon).Run
	waiting.Trigger, waiting.State, waiting.NotBefore = job.TriggerRetry, job.RunWaiting, noon.Add(time.Minute)
	dropped := waiting
	dropped.ID, dropped.State = 4, job.RunDropped
	ranges := skipped("b", noon.Add(time.Hour), job.Late)
	ranges.First, ranges.Count = noon, 61
	known := []effect.Known{{Key: job.Key{1}, Spec: 1<<64 - 1, Since: noon}, {Key: job.Key{15: 1}, Spec: 2, Since: time.Unix(0, -5).UTC()}}

	commit(t, s, Batch{Era: 7, BootID: "boot-1", Roster: wholeRoster(known[:1]), Records: []job.Record{
		running, ranges, recordOf(job.Queued, job.DecideHold, waiting), recordOf(job.Dropped, "", dropped),
		paused("a", &job.Hold{By: "bob"}), paused("b", &hold), paused("c", &hold),
	}})
	commit(t, s, Batch{
		At: noon.Add(time.Minute), Era: 8, BootID: "boot-2", Roster: wholeRoster(known),
		Records: []job.Record{
			ended(5, "a", noon.Add(time.Minute), 0), paused("a", &hold),
			{At: noon, Kind: job.Resumed, Job: "c"}, {At: noon, Kind: job.Resumed, Job: "never paused"},
		},
	})
	s = reopen(t, s, dir)
	r := restore(t, s)
	slices.SortFunc(r.Marks, func(a, b job.Mark) int { return strings.Compare(string(a.Job), string(b.Job)) })
	same(t, "restored", r, Restored{
		Marks:   []job.Mark{{Job: "a", Due: noon.Add(time.Minute)}, {Job: "b", Due: noon.Add(time.Hour)}},
		Live:    []job.Run{*running.Run, waiting},
		Holds:   job.Holds{"a": {hold}, "b": {hold}},
		Known:   known,
		NextRun: 6, NextBackfill: 1, Era: 8, LastSeen: noon.Add(time.Minute), BootID: "boot-2", Seed: seed,
	})
}

// TestRestoreFindsWhatWasHandedOver: of the occurrences of a job, one was handed over because it could not
// start, one failed after that, one was handed over before it began, and one failed without that.
func TestRestoreFindsWhatWasHandedOver(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	end := func(id job.RunID, minute int, reason job.Reason) job.Record {
		r := ended(id, "a", noon.Add(time.Duration(minute)*time.Minute), 0)
		r.Run.Outcome, r.Run.Reason, r.Reason = job.Outcome{Kind: job.NotStarted}, reason, reason
		return r
	}
	waiting := *decided(4, "a", noon.Add(3*time.Minute)).Run
	waiting.State, waiting.Reason = job.RunDropped, job.HandedOver
	handed, next := end(1, 1, job.HandedOver), end(3, 2, "")
	next.Kind = job.Ended
	commit(t, s, Batch{Era: 7, BootID: "boot-1", Records: append(requested(6, handed.Due),
		handed, end(2, 2, job.HandedOver), next, recordOf(job.Dropped, "", waiting), end(5, 4, ""),
	)})
	s = reopen(t, s, dir)
	same(t, "handed over", restore(t, s).Handed, []job.Run{*handed.Run})
}

func TestRestoreKeepsThePausesOfEachAccount(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	hold := func(user, by string) job.Hold { return job.Hold{Since: noon, By: by, User: user} }
	paused := func(user, by string) job.Record {
		h := hold(user, by)
		return job.Record{At: noon, Kind: job.Paused, Job: "backup", Hold: &h}
	}
	resumed := func(user string) job.Record {
		return job.Record{At: noon, Kind: job.Resumed, Job: "backup", User: user}
	}
	for _, c := range []struct {
		what    string
		records []job.Record
		want    job.Holds
	}{
		{"of two", []job.Record{paused("ann", "ann"), paused("zoe", "root"), paused("ann", "root")}, job.Holds{"backup": {hold("ann", "root"), hold("zoe", "root")}}},
		{"one resumed", []job.Record{resumed("ann")}, job.Holds{"backup": {hold("zoe", "root")}}},
		{"all resumed", []job.Record{paused("ann", "ann"), resumed("")}, job.Holds{}},
		{"of whoever has it", []job.Record{paused("", "ann")}, job.Holds{"backup": {hold("", "ann")}}},
		{"of one in its place", []job.Record{paused("zoe", "zoe")}, job.Holds{"backup": {hold("zoe", "zoe")}}},
	} {
		commit(t, s, Batch{Records: c.records})
		s = reopen(t, s, dir)
		same(t, c.what, restore(t, s).Holds, c.want)
	}
}

func TestOlderDatabaseKeepsItsPauses(t *testing.T) {
	dir := t.TempDir()
	older(t, dir, 6, `INSERT INTO job (n, id) VALUES (1, 'a'), (2, 'b');
		INSERT INTO hold VALUES (1, '{"since":"2026-11-20T12:00:00Z","by":"root","user":"ann"}'), (2, '{"since":"2026-11-20T12:00:00Z","by":"bob"}');`)
	since := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	want := job.Holds{"a": {{Since: since, By: "root", User: "ann"}}, "b": {{Since: since, By: "bob"}}}
	s := open(t, dir)
	same(t, "pauses", restore(t, s).Holds, want)
	commit(t, s, Batch{Records: []job.Record{{At: noon, Kind: job.Resumed, Job: "a", User: "ann"}, {At: noon, Kind: job.Resumed, Job: "b", User: "zoe"}}})
	same(t, "resumed", restore(t, s).Holds, job.Holds{})
}

// Of a roster the rows are written that changed, and none is left of what was
// there before.
func TestRosterWritesWhatChanged(t *testing.T) {
	s := open(t, t.TempDir())
	changes := func() int64 {
		t.Helper()
		n, err := s.write.Value(t.Context(), "SELECT total_changes()")
		if err != nil {
			t.Fatal(err)
		}
		return n.(int64)
	}
	commit(t, s, Batch{At: noon})
	before := changes()
	commit(t, s, Batch{At: noon})
	idle := changes() - before
	known := bigRoster().All()[:3*rosterPart+1]
	edited := func(at int) []effect.Known {
		edited := slices.Clone(known)
		edited[at].Since = noon
		return edited
	}
	for _, c := range []struct {
		what  string
		known []effect.Known
		rows  int64
	}{
		{"the first one", known, 4},
		{"the same", known, 0},
		{"an edit", edited(rosterPart), 1},
		{"the edit undone, and another", edited(3 * rosterPart), 2},
		{"jobs are gone", known[:rosterPart+5], 3}, // two rows with them
		{"the first job is gone", known[1 : rosterPart+5], 2},
		{"nobody is left", nil, 2},
		{"all are back", known, 4},
	} {
		before := changes()
		commit(t, s, Batch{At: noon, Roster: wholeRoster(c.known)})
		if rows := changes() - before - idle; rows != c.rows {
			t.Errorf("%s: %d rows changed, want %d", c.what, rows, c.rows)
		}
		if got := restore(t, s).Known; !slices.Equal(got, c.known) {
			t.Errorf("%s: the roster came back otherwise", c.what)
		}
	}
	part := func(crontabs ...effect.RosterCrontab) *effect.Roster { return &effect.Roster{Crontabs: crontabs} }
	for _, c := range []struct {
		what   string
		roster *effect.Roster
		rows   int64
		known  int
	}{
		{"another crontab", part(effect.RosterCrontab{Name: "other", Known: known[:3]}), 1, len(known) + 3},
		{"both change", part(effect.RosterCrontab{Name: "other", Known: known[:5]}, effect.RosterCrontab{Name: "t", Known: known[:2]}), 5, 7},
		{"one is gone", part(effect.RosterCrontab{Name: "other"}), 1, 2},
		{"an unknown one is gone", part(effect.RosterCrontab{Name: "never"}), 0, 2},
		{"all are others", &effect.Roster{Whole: true, Crontabs: []effect.RosterCrontab{{Name: "a", Known: known[:1]}, {Name: "b", Known: known[1:4]}}}, 3, 4},
	} {
		before := changes()
		commit(t, s, Batch{At: noon, Roster: c.roster})
		if rows := changes() - before - idle; rows != c.rows {
			t.Errorf("%s: %d rows changed, want %d", c.what, rows, c.rows)
		}
		if got := len(restore(t, s).Known); got != c.known {
			t.Errorf("%s: %d jobs came back, want %d", c.what, got, c.known)
		}
	}
}

func TestRestoreMarkGoesBackOnlyWithTheEra(t *testing.T) {
	s := open(t, t.TempDir())
	mark := func() job.Mark {
		marks := restore(t, s).Marks
		if len(marks) != 1 {
			t.Fatalf("marks: %v, want one", marks)
		}
		return marks[0]
	}
	for _, c := range []struct {
		due  time.Time
		era  job.Era
		want job.Mark
	}{
		{noon, 0, job.Mark{Job: "a", Due: noon}},
		{noon.Add(time.Hour), 0, job.Mark{Job: "a", Due: noon.Add(time.Hour)}},
		{noon.Add(time.Minute), 0, job.Mark{Job: "a", Due: noon.Add(time.Hour)}},
		{noon.Add(time.Minute), 1, job.Mark{Job: "a", Due: noon.Add(time.Minute), Era: 1}},
		{noon.Add(2 * time.Hour), 0, job.Mark{Job: "a", Due: noon.Add(time.Minute), Era: 1}},
		{noon.Add(2 * time.Minute), 1, job.Mark{Job: "a", Due: noon.Add(2 * time.Minute), Era: 1}},
	} {
		rec := skipped("a", c.due, job.Late)
		rec.Era = c.era
		commit(t, s, Batch{Era: c.era, Records: []job.Record{rec}})
		same(t, "mark", mark(), c.want)
	}
}

func TestRestoreRosterOfDamagedRowFails(t *testing.T) {
	s := open(t, t.TempDir())
	if err := s.Write(t.Context(), func(w *database.Writer) error {
		return w.Script(t.Context(), "INSERT INTO roster VALUES (0, x'010203')")
	}); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Restore(t.Context()); err == nil {
		t.Errorf("Restore gave %v", r.Known)
	}
}

// bigRoster is that of a host with 100,000 jobs.
func bigRoster() *effect.Roster {
	known := make([]effect.Known, 100_000)
	for i := range known {
		known[i] = effect.Known{Key: job.KeyOf(job.ID(jobName(i)), ""), Spec: uint64(i), Since: noon.Add(time.Duration(i))}
	}
	return wholeRoster(known)
}

// wholeRoster is the roster of a host with one crontab.
func wholeRoster(known []effect.Known) *effect.Roster {
	return &effect.Roster{Whole: true, Crontabs: []effect.RosterCrontab{{Name: "t", Known: known}}}
}

func TestRestoreBigRosterInOrder(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	want := bigRoster()
	commit(t, s, Batch{Roster: want})
	s = reopen(t, s, dir)
	if !slices.Equal(restore(t, s).Known, want.All()) {
		t.Error("the roster came back otherwise")
	}
	if size, limit := diskSize(t, dir), int64(4<<20); size > limit {
		t.Errorf("a roster of 100,000 jobs takes %d bytes, limit %d", size, limit)
	}
	commit(t, s, Batch{Roster: &effect.Roster{Whole: true}})
	if got := restore(t, s).Known; len(got) != 0 {
		t.Errorf("%d jobs are left of an empty roster", len(got))
	}
}

func diskSize(t *testing.T, dir string) (size int64) {
	t.Helper()
	for _, suffix := range []string{"", "-wal"} {
		info, err := os.Stat(filepath.Join(dir, fileName+suffix))
		if err != nil {
			t.Fatal(err)
		}
		size += info.Size()
	}
	return size
}

// Rows of the previous format, without a format byte and with keys of 8 bytes, are read, and
// rewritten in the current format.
func TestRestoreRosterOfTheFormBefore(t *testing.T) {
	for jobs := 1; jobs <= 8; jobs++ {
		dir := t.TempDir()
		row, want := []byte{}, []effect.Known{}
		for i := range jobs {
			hash := uint64(i+1) * 0x9e3779b97f4a7c15
			for _, n := range []uint64{hash, uint64(i), uint64(noon.UnixNano())} {
				row = binary.LittleEndian.AppendUint64(row, n)
			}
			want = append(want, effect.Known{Key: catalog.FormerKey(hash), Spec: uint64(i), Since: noon})
		}
		older(t, dir, 8, fmt.Sprintf("INSERT INTO roster VALUES (0, x'%x')", row))
		s := open(t, dir)
		same(t, "roster", restore(t, s).Known, want)
		for i := range want {
			want[i].Key = job.KeyOf(job.ID(jobName(i)), "")
		}
		commit(t, s, Batch{Roster: wholeRoster(want)})
		same(t, "roster written anew", restore(t, reopen(t, s, dir)).Known, want)
	}
}

// Old versions stored reasons of any length, which are cut when they are read.
func TestLongReasonsOfOldVersionsAreCut(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir)
	long := job.Text(strings.Repeat("x", 1<<20))
	hold := &job.Hold{Since: noon, By: "ann", Reason: long}
	commit(t, s, Batch{Records: []job.Record{{At: noon, Kind: job.Paused, Job: "a", Detail: long, Hold: hold}}})
	s = reopen(t, s, dir)
	if h, ok := restore(t, s).Holds.Of("a", ""); !ok || len(h.Reason) > job.MaxText+3 {
		t.Errorf("the pause is restored as %.50v", h)
	}
	records, err := s.Records(t.Context(), noon, noon.Add(1), 10)
	if err != nil || len(records) != 1 || len(records[0].Detail) > job.MaxText+3 || len(records[0].Hold.Reason) > job.MaxText+3 {
		t.Errorf("%d records, %v, want one with short texts", len(records), err)
	}
}
