package install

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

// at returns noon plus a duration such as "-1h", and for "" the zero time.
func at(t *testing.T, d string) time.Time {
	t.Helper()
	if d == "" {
		return time.Time{}
	}
	by, err := time.ParseDuration(d)
	if err != nil {
		t.Fatal(err)
	}
	return noon.Add(by)
}

func crontabOf(t *testing.T, text string) *crontab.File {
	t.Helper()
	file, diagnostics := crontab.Parse("x", text, crontab.Config{Owner: "root", Local: time.UTC, Zone: time.LoadLocation})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics[0])
	}
	return file
}

// prepare prepares the load of a crontab after another one, saved at an instant; zero: unknown.
func prepare(t *testing.T, before, after string, saved time.Time) *Prepared {
	t.Helper()
	old := catalog.New([]*crontab.File{crontabOf(t, before)}, nil, nil)
	times := map[string]time.Time{}
	if !saved.IsZero() {
		times["x"] = saved
	}
	return Prepare([]*crontab.File{crontabOf(t, after)}, times, nil, old, noon)
}

// TestMarksOfAnEdit checks from when on a job counts its occurrences after an edit.
func TestMarksOfAnEdit(t *testing.T) {
	const entry = "#@ name=a\n0 5 * * * true\n"
	for _, tc := range []struct {
		name, before, after string
		mark, saved, want   string // relative to noon
	}{
		{"a job that stays", entry, entry, "-7h", "-10s", "-7h"},
		{"another command of a named job", entry, "#@ name=a\n0 5 * * * false\n", "-7h", "-10s", "-7h"},
		{"other times", entry, "#@ name=a\n0 6 * * * true\n", "-7h", "-10s", "-10s"},
		{"a new job", entry, "#@ name=b\n0 5 * * * true\n", "-7h", "-10s", "-10s"},
		{"a new job, saved long ago", entry, "#@ name=b\n0 5 * * * true\n", "-7h", "-1h", "-1m"},
		{"a new job, saved in the future", entry, "#@ name=b\n0 5 * * * true\n", "-7h", "1h", "0s"},
		{"a new job, saved at an unknown time", entry, "#@ name=b\n0 5 * * * true\n", "-7h", "", "0s"},
		{"a new job instead of one that ran after the edit", entry, "#@ name=b\n0 5 * * * true\n", "-5s", "-10s", "-5s"},
		{"other times of a job that ran after the edit", entry, "#@ name=a\n0 6 * * * true\n", "-5s", "-10s", "-5s"},
		{"other times of a job whose clock was set back a little", entry, "#@ name=a\n0 6 * * * true\n", "30s", "-10s", "30s"},
		{"other times of a job whose clock was set back", entry, "#@ name=a\n0 6 * * * true\n", "1h", "-10s", "-10s"},
	} {
		p := prepare(t, tc.before, tc.after, at(t, tc.saved))
		marks, _ := p.Marks([]int64{at(t, tc.mark).UnixNano()}, noon, nil, nil)
		if got := time.Unix(0, marks[0]); !got.Equal(at(t, tc.want)) {
			t.Errorf("%s: got a mark at noon and %v, want %s", tc.name, got.Sub(noon), tc.want)
		}
	}
}

// TestMarksOfTheFirstLoad checks from when on a job counts its occurrences when the daemon starts.
func TestMarksOfTheFirstLoad(t *testing.T) {
	const era = job.Era(4)
	for _, tc := range []struct {
		name, entry             string
		known                   bool
		spec                    string // the stored times; "": the same
		rosterMark, mark        string
		markEra                 job.Era
		lastSeen, since, expect string
	}{
		{"a job that ran", "0 5 * * * true", true, "", "-48h", "-31h", era, "-30h", "", "-31h"},
		{"a job that never ran", "0 5 * * * true", true, "", "-48h", "", era, "-30h", "", "-48h"},
		{"a mark of an earlier era", "0 5 * * * true", true, "", "-48h", "-31h", era - 1, "-30h", "", "-48h"},
		{"a mark of an earlier era in a ring", "#@ scope=ring\n0 5 * * * true", true, "", "-48h", "-31h", era - 1, "-30h", "", "-31h"},
		{"other times", "0 5 * * * true", true, "0 6 * * *", "-48h", "-31h", era, "-30h", "", "0s"},
		{"a new job", "0 5 * * * true", false, "", "", "", era, "-30h", "", "0s"},
		{"the clock was set back by hours", "* * * * * true", true, "", "-48h", "5h", era, "5h", "", "0s"},
		{"another cron ran it until an hour ago", "0 5 * * * true", true, "", "-48h", "-31h", era, "-30h", "-1h", "-1h"},
		{"another cron ran it, and its time is in the future", "0 5 * * * true", true, "", "-48h", "-31h", era, "-30h", "1h", "0s"},
		{"a new job that another cron ran until an hour ago", "0 5 * * * true", false, "", "", "", era, "-30h", "-1h", "-1h"},
	} {
		p := prepare(t, "", tc.entry+"\n", time.Time{})
		var roster []effect.Known
		var marks []job.Mark
		if tc.known {
			spec := p.Jobs.Entry(0).Schedule
			if tc.spec != "" {
				spec = crontabOf(t, tc.spec+" true\n").Entries[0].Schedule
			}
			roster = []effect.Known{{Key: p.Jobs.Key(0), Spec: catalog.Specs{}.Of(spec), Since: at(t, tc.rosterMark)}}
			if tc.mark != "" {
				marks = []job.Mark{{Job: p.Jobs.ID(0), Due: at(t, tc.mark), Era: tc.markEra}}
			}
		}
		memory := Remember(roster, marks, era, at(t, tc.lastSeen), at(t, tc.since))
		got, _ := p.Marks(nil, noon, memory, nil)
		if mark := time.Unix(0, got[0]); !mark.Equal(at(t, tc.expect)) {
			t.Errorf("%s: got a mark at noon and %v, want %s", tc.name, mark.Sub(noon), tc.expect)
		}
	}
}

// TestMarksOfAnAwaitedCrontab checks that a crontab whose user was unknown at the first load has
// the state of the previous daemon when it is loaded later.
func TestMarksOfAnAwaitedCrontab(t *testing.T) {
	p := prepare(t, "", "0 5 * * * true\n", time.Time{})
	roster := []effect.Known{{Key: p.Jobs.Key(0), Spec: catalog.Specs{}.Of(p.Jobs.Entry(0).Schedule), Since: noon.Add(-31 * time.Hour)}}
	for awaited, want := range map[string]time.Duration{"x": -31 * time.Hour, "y": 0} {
		a := &Awaited{Memory: Remember(roster, nil, 0, noon.Add(-30*time.Hour), time.Time{}), Crontabs: map[string]bool{awaited: true}}
		marks, _ := p.Marks(nil, noon, nil, a)
		if got := time.Unix(0, marks[0]).Sub(noon); got != want {
			t.Errorf("%s is awaited: got a mark at noon and %v, want %v", awaited, got, want)
		}
		a.Forget(p.Jobs)
		if a.Len() != 0 {
			t.Errorf("%d jobs are kept after they were installed", a.Len())
		}
	}
}

// TestStay checks which jobs decide their occurrences before the load after it as well.
func TestStay(t *testing.T) {
	before := "#@ name=a\n0 1 * * * a\n#@ name=b\n0 2 * * * b\n#@ name=c\n0 3 * * * c\n#@ name=d\n0 4 * * * d\n"
	after := "#@ name=a\n0 1 * * * a\n#@ name=b\n0 2 * * * other\n#@ name=c\n0 5 * * * c\n"
	p := prepare(t, before, after, time.Time{})
	if got := p.Stay(); !slices.Equal(got, []bool{true, true, false, false}) {
		t.Errorf("as it was, another command, other times, removed: got %v", got)
	}
}

// TestRoster checks that a load lists the crontabs with new or changed jobs, and those that are gone.
func TestRoster(t *testing.T) {
	const entry = "0 5 * * * true\n"
	named := func(name, text string) *crontab.File {
		file := crontabOf(t, text)
		file.Name = name
		return file
	}
	old := catalog.New([]*crontab.File{named("same", "#@ name=s\n"+entry), named("edited", "#@ name=e\n"+entry), named("gone", "#@ name=g\n"+entry)}, nil, nil)
	files := []*crontab.File{old.Crontabs()[0], named("edited", "#@ name=e\n0 6 * * * true\n"), named("new", "#@ name=n\n"+entry)}
	p := Prepare(files, nil, nil, old, noon)
	var got []string
	for _, c := range p.Roster(make([]int64, p.Jobs.Len())).Crontabs {
		got = append(got, fmt.Sprintf("%s %d", c.Name, len(c.Known)))
	}
	if want := []string{"edited 1", "new 1", "gone 0"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestNewPeriods checks that new jobs that run once in a period are reported.
func TestNewPeriods(t *testing.T) {
	file, _ := crontab.Parse("/etc/anacrontab", "1 5 daily true\n7 5 weekly true\n", crontab.Config{Format: crontab.Anacron, Local: time.UTC})
	p := Prepare([]*crontab.File{file}, nil, nil, catalog.New(nil, nil, nil), noon)
	if _, periods := p.Marks(nil, noon, nil, nil); len(periods) != 2 {
		t.Errorf("got %v, want both jobs", periods)
	}
}
