package backfill

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/job"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// jobsOf returns the jobs of ann's crontab.
func jobsOf(t *testing.T, text string) *catalog.Catalog {
	t.Helper()
	file, diagnostics := crontab.Parse("ann", text, crontab.Config{Owner: "ann", Local: time.UTC})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics[0])
	}
	return catalog.New([]*crontab.File{file}, nil, nil)
}

func TestPlan(t *testing.T) {
	in := jobsOf(t, "#@ name=hourly\n0 * * * * true\n#@ name=boot\n@reboot true\n#@ name=minutes\n* * * * * true\n")
	hour := func(n int) time.Time { return noon.Add(time.Duration(n) * time.Hour) }
	ran := map[int64]job.Verdict{hour(-3).UnixNano(): job.VerdictOK, hour(-2).UnixNano(): job.VerdictDead}
	valid := job.Backfill{Job: "ann/hourly", From: hour(-4), To: hour(-1), Overlap: "allow", Reprocess: job.ReprocessNone, MaxActive: 1}
	for _, tc := range []struct {
		name string
		edit func(*job.Backfill)
		want string // the hours of the first occurrences, and the number of those that are skipped; or the refusal
	}{
		{"both ends included, and none that ran", func(*job.Backfill) {}, "8 11 of 4, 2 skipped"},
		{"failed ones again", func(b *job.Backfill) { b.Reprocess = job.ReprocessFailed }, "8 10 of 4, 1 skipped"},
		{"all again", func(b *job.Backfill) { b.Reprocess = job.ReprocessAll }, "8 9 of 4, 0 skipped"},
		{"no occurrence", func(b *job.Backfill) { b.From, b.To = hour(-4).Add(1), hour(-3).Add(-1) }, "of 0, 0 skipped"},
		{"another job", func(b *job.Backfill) { b.Job = "ann/none" }, "no such job"},
		{"no times", func(b *job.Backfill) { b.Job = "ann/boot" }, "the clock never starts it"},
		{"the ends exchanged", func(b *job.Backfill) { b.From, b.To = b.To, b.From }, "the time ends before it begins"},
		{"the future", func(b *job.Backfill) { b.To = noon.Add(1) }, "the time ends in the future"},
		{"before 1970", func(b *job.Backfill) { b.From = time.Unix(-1, 0) }, "the time begins before 1970"},
		{"no run at once", func(b *job.Backfill) { b.MaxActive = 0 }, "max-active is 1 to 10000"},
		{"too many runs at once", func(b *job.Backfill) { b.MaxActive = 10_001 }, "max-active is 1 to 10000"},
		{"a rule that would drop runs", func(b *job.Backfill) { b.Overlap = "skip" }, "overlap=skip"},
		{"an unknown word", func(b *job.Backfill) { b.Reprocess = "some" }, "reprocess=some"},
		{"too many", func(b *job.Backfill) { b.Job, b.From = "ann/minutes", noon.AddDate(-2, 0, 0) }, "more than 1000000 occurrences"},
	} {
		b := valid
		tc.edit(&b)
		p, err := PlanOf(in, noon, b, ran, 2)
		if err != nil {
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: got error %v, want %q", tc.name, err, tc.want)
			}
			continue
		}
		var got []string
		for _, at := range p.First {
			got = append(got, fmt.Sprint(at.Hour()))
		}
		got = append(got, fmt.Sprintf("of %d, %d skipped", p.Count, p.LeftOut))
		if s := strings.Join(got, " "); s != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, s, tc.want)
		}
	}
}

func TestCompleteSetsTheUserOfTheEntry(t *testing.T) {
	in := jobsOf(t, "#@ name=a\n0 * * * * true\n")
	b, _, refusal := Complete(in, job.Backfill{Job: "ann/a", User: "root", From: noon, To: noon, Overlap: "allow", Reprocess: job.ReprocessNone, MaxActive: 1}, noon)
	if refusal != nil || b.User != "ann" {
		t.Errorf("got user %q, %v; want ann", b.User, refusal)
	}
}

func TestAdmitsLimitsEachUser(t *testing.T) {
	var f Active
	admits := func(user string) bool { return f.Admits(&job.Backfill{User: user}) == nil }
	for n := range maxFills {
		user := fmt.Sprintf("user%d", n/maxAccountFills)
		if !admits(user) {
			t.Fatalf("backfill %d of %s is refused", n%maxAccountFills+1, user)
		}
		f.Going = append(f.Going, &Fill{Backfill: job.Backfill{User: user}})
		if full := n%maxAccountFills == maxAccountFills-1; admits(user) == full {
			t.Errorf("after %d backfills of %s: another is admitted: %t", n%maxAccountFills+1, user, !full)
		}
	}
	if admits("other") {
		t.Errorf("backfill %d of the host is admitted", maxFills+1)
	}
}

func TestRestoreAndTurns(t *testing.T) {
	f := Restore([]job.Backfill{{ID: 5}, {ID: 3}, {ID: 4}}, nil, 2)
	ids := func() (all []int64) {
		for _, x := range f.Going {
			all = append(all, x.ID)
		}
		return all
	}
	if !slices.Equal(ids(), []int64{3, 4, 5}) || f.Next != 6 {
		t.Errorf("restored %v, next %d; want the oldest first, and 6", ids(), f.Next)
	}
	f.MoveToEnd(f.Find(4))
	if !slices.Equal(ids(), []int64{5, 3, 4}) || f.List()[0].ID != 3 {
		t.Errorf("after the turn of 4: %v, listed %+v", ids(), f.List())
	}
	f.Count(0, 1)
	f.Count(9, 1)
	f.Count(3, 1)
	f.NoteFailure(3)
	if x := f.Find(3); x.Live != 1 || x.Failed != 1 || !x.Changed || f.Find(9) != nil {
		t.Errorf("backfill 3: %+v", x)
	}
}
