package server

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
)

// An entry with a period starts later than the instant that its schedule
// names. Both are asked about.
func TestWhyOfAPeriodTakesItsStartForIt(t *testing.T) {
	w := newWorld(t, "")
	file, _ := crontab.Parse("/etc/anacrontab", "1 5 daily true\n7 10 weekly true\n", crontab.Config{Format: crontab.Anacron, Owner: "root", Privileged: true, Zone: time.LoadLocation})
	w.Step(event.Load{Crontabs: []*crontab.File{file}}) // found due, without stamps
	client := w.client()
	ask := func(ref, at string) api.Why {
		t.Helper()
		when := time.Time{}
		if at != "" {
			when = instant(t, at)
		}
		why, err := client.Why(t.Context(), ref, when)
		if err != nil {
			t.Fatal(err)
		}
		return why
	}
	said := func(ref, at, want string) {
		t.Helper()
		if got := ask(ref, at); !strings.Contains(got.Verdict, want) {
			t.Errorf("%s at %q: got %q, want %q in it", ref, at, got.Verdict, want)
		}
	}
	const waits = "it will start at Fri 20 Nov 2026 00:10:00"
	said("weekly", "", waits)
	said("weekly", "2026-11-20T00:10:00Z", waits)
	said("daily", "2026-11-21T00:05:00Z", "It is due in 1d")
	said("daily", "2026-11-21T00:06:00Z", "the schedule does not include that time")
	w.To("2026-11-20T00:05:00Z")
	for _, r := range w.View().Runs() {
		if r.Job == "daily" {
			w.Start(r.ID)
			w.End(r.ID, 0)
		}
	}
	w.To("2026-11-20T00:06:00Z")
	said("daily", "", "It ran")
	if next := w.View().Next(0, w.Now()); !next.Equal(instant(t, "2026-11-21T00:05:00Z")) {
		t.Errorf("after its run the next start is %s", next)
	}
}

// The schedule of an anacrontab's entry names each midnight, and few of these start a run.
func TestClashesCountNoChecksOfAPeriod(t *testing.T) {
	w := newWorld(t, "")
	file, _ := crontab.Parse("/etc/anacrontab", "7 10 weekly true\n7 10 other true\n", crontab.Config{Format: crontab.Anacron, Owner: "root", Privileged: true, Zone: time.LoadLocation})
	w.Step(event.Load{Crontabs: []*crontab.File{file}}) // found due, without stamps
	from := w.Now()
	found, err := w.client().Clashes(t.Context(), api.ClashQuery{From: from, To: from.Add(7 * 24 * time.Hour)})
	if err != nil || len(found.Clashes) != 1 || found.Starts != 2 || !found.Clashes[0].At.Equal(instant(t, "2026-11-20T00:10:00Z")) {
		t.Errorf("got %+v, %v, want two starts at 00:10 once a week", found, err)
	}
}

// The schedule of an anacrontab's entry names each midnight, at which the daemon checks whether it is due.
func TestExplainListsTheStartsOfAPeriod(t *testing.T) {
	w := newWorld(t, "")
	file, _ := crontab.Parse("/etc/anacrontab", "7 10 weekly true\n", crontab.Config{Format: crontab.Anacron, Owner: "root", Privileged: true, Zone: time.LoadLocation})
	w.Step(event.Load{Crontabs: []*crontab.File{file}}) // found due, without stamps
	x, err := w.client().Explain(t.Context(), "weekly", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, at := range x.Next {
		got = append(got, at.UTC().Format(time.RFC3339))
	}
	if want := []string{"2026-11-20T00:10:00Z", "2026-11-27T00:10:00Z", "2026-12-04T00:10:00Z"}; !slices.Equal(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

// factOf returns what a step of the chain states.
func factOf(why api.Why, step string) string {
	i := slices.IndexFunc(why.Steps, func(s api.Step) bool { return string(s.Name) == step })
	if i < 0 {
		return ""
	}
	return why.Steps[i].Fact
}

// An occurrence that is not due yet has neither waited for anything nor missed a check.
func TestWhyOfTheFutureReportsNoPast(t *testing.T) {
	w := newWorld(t, "#@ name=parent\n0 0 * * * ann true\n#@ name=child after=parent if=true pool=disk\n0 1 * * * ann true\n")
	why, err := w.client().Why(t.Context(), "child", instant(t, "2026-11-21T01:00:00Z"))
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range map[string]string{
		"parents": "when it is due, it waits for after=parent",
		"check":   "it is checked when it is due",
		"slot":    "when it is due, it needs a free slot in pool=disk",
	} {
		if got := factOf(why, step); got != want {
			t.Errorf("%s: got %q, want %q", step, got, want)
		}
	}
}

// A period that is found due between the midnights of its schedule is due all the same.
func TestWhyOfAPeriodThatWasFoundDue(t *testing.T) {
	w := newWorld(t, "")
	w.To("2026-11-20T09:03:15Z")
	file, _ := crontab.Parse("/etc/anacrontab", "1 5 daily true\n", crontab.Config{Format: crontab.Anacron, Owner: "root", Privileged: true, Zone: time.LoadLocation})
	w.Step(event.Load{Crontabs: []*crontab.File{file}})
	why, err := w.client().Why(t.Context(), "daily", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for step, want := range map[string]string{
		"schedule": "its period was over when the daemon checked: once a day, 5m after it is found due",
		"gate":     "it will be started as root at Fri 20 Nov 2026 09:08:15 UTC",
	} {
		if got := factOf(why, step); got != want {
			t.Errorf("%s: got %q, want %q", step, got, want)
		}
	}
}

// A user starts a run shortly before a scheduled occurrence: each of the two instants is explained
// by its own run.
func TestWhyOfAnExactInstantIsOfNoneSoonAfter(t *testing.T) {
	w := newWorld(t, "#@ name=j\n* * * * * root true\n")
	w.To("2026-11-20T00:00:30Z")
	client := w.client()
	runs, err := client.Run(t.Context(), api.RunRequest{Refs: []string{"j"}})
	if err != nil {
		t.Fatal(err)
	}
	w.To("2026-11-20T00:01:00Z")
	for at, want := range map[string]job.Trigger{"2026-11-20T00:00:30Z": job.TriggerManual, "2026-11-20T00:01:00Z": job.TriggerClock, "2026-11-20T00:00:31Z": job.TriggerClock} {
		why, err := client.Why(t.Context(), "j", instant(t, at))
		if err != nil || why.Run == nil || why.Run.Trigger != want {
			t.Errorf("at %s: got %+v, %v; want a run by %s", at, why.Run, err, want)
		}
	}
	if !runs[0].Due.Equal(instant(t, "2026-11-20T00:00:30Z")) {
		t.Errorf("the run that was asked for is due at %s", runs[0].Due)
	}
}

func TestWhyOfABarredAccountSaysWhereToLook(t *testing.T) {
	w := newWorld(t, "#@ name=ghost\n* * * * * ghost true\n#@ name=old\n* * * * * old true\n")
	w.Step(event.BarUsers{Users: map[string]event.Barred{
		"ghost": {Reason: job.NoUser, Detail: "unknown user ghost"},
		"old":   {Reason: job.AccountRefused, Detail: "account expired on 2022-01-09"},
	}})
	client := w.client()
	for ref, want := range map[string]string{"ghost": "getent passwd ghost", "old": "chage -l old"} {
		for _, skipped := range []bool{false, true} {
			if skipped {
				w.To(w.Now().Add(time.Minute).Format(time.RFC3339))
			}
			why, err := client.Why(t.Context(), ref, time.Time{})
			if err != nil {
				t.Fatal(err)
			}
			if len(why.Remedies) != 1 || why.Remedies[0].Command != want {
				t.Errorf("%s, skipped %t: got remedies %+v, want %s", ref, skipped, why.Remedies, want)
			}
		}
	}
}

// Occurrences that wait are named, also if the answer is about another one.
func TestWhyNamesOccurrencesThatWait(t *testing.T) {
	w := newWorld(t, "#@ name=slow overlap=queue\n*/10 * * * * ann true\n")
	w.To("2026-11-20T00:10:00Z")
	w.Start(1)
	w.To("2026-11-20T00:20:00Z") // is queued
	w.To("2026-11-20T00:30:00Z") // is skipped, as one is queued
	client := w.client()
	for _, at := range []string{"2026-11-20T00:10:00Z", "2026-11-20T00:30:00Z"} {
		why, err := client.Why(t.Context(), "slow", instant(t, at))
		if text := strings.Join(why.Facts, "\n"); err != nil || !strings.Contains(text, "the occurrence of Fri 20 Nov 2026 00:20:00 UTC is waiting, as run 2: ") {
			t.Errorf("about %s: facts %q, %v, want the occurrence of 00:20 among them", at, why.Facts, err)
		}
	}
	why, err := client.Why(t.Context(), "slow", instant(t, "2026-11-20T00:20:00Z"))
	if text := strings.Join(why.Facts, "\n"); err != nil || strings.Contains(text, "is waiting") {
		t.Errorf("about the one that waits: facts %q, %v", why.Facts, err)
	}
}

// TestWhyNamesTheDefaultOfOverlap: once-per= changes it to skip.
func TestWhyNamesTheDefaultOfOverlap(t *testing.T) {
	w := newWorld(t, "#@ name=once once-per=day\n* * * * * ann true\n#@ name=plain\n* * * * * ann true\n")
	w.To("2026-11-20T00:02:00Z")
	for name, want := range map[string]string{"once": "(overlap=skip)", "plain": "overlap=allow: other runs do not prevent it"} {
		why, err := w.client().Why(t.Context(), name, instant(t, "2026-11-20T00:01:00Z"))
		if err != nil || !strings.HasSuffix(factOf(why, "overlap"), want) {
			t.Errorf("%s: got %+v, %v, want %s", name, why.Steps, err, want)
		}
	}
}

// A coming occurrence that next leaves out, because the job already ran in the period, is not due.
func TestWhyOfTheFutureConsidersThatTheJobRan(t *testing.T) {
	w := newWorld(t, "#@ name=once once-per=day\n0 * * * * ann true\n")
	w.To("2026-11-20T01:00:00Z")
	for _, r := range w.View().Runs() {
		w.Start(r.ID)
		w.End(r.ID, 0)
	}
	for at, want := range map[string]string{
		"2026-11-20T02:00:00Z": "It will not start. It already ran in this period: ",
		"2026-11-21T00:00:00Z": "It is due in 23h",
		"2026-11-20T02:30:00Z": "It was not due then: the schedule does not include that time.",
	} {
		why, err := w.client().Why(t.Context(), "once", instant(t, at))
		if err != nil || !strings.HasPrefix(why.Verdict, want) {
			t.Errorf("%s: got %q, %v, want %q", at, why.Verdict, err, want)
		}
	}
}
