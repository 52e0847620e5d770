package job

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/daemon/filetest"
)

// TestWords freezes the texts that the engine uses, in testdata/words.golden. The history of hosts has such
// texts, and programs of users search for them, so a change is a change of the product.
func TestWords(t *testing.T) {
	const golden = "testdata/words.golden"
	at := time.Date(2026, 11, 20, 2, 30, 0, 0, time.UTC)
	occurrence := (&Run{ID: 5, Due: at, Attempt: 1}).DescribeOccurrence(time.UTC)
	var got strings.Builder
	listed := map[string]bool{}
	type words struct{ name, text string }
	var all []words
	for _, d := range listDetails(at) {
		all = append(all, words{d.name, d.detail.Words()})
	}
	for _, w := range append(all, []words{
		{"RefuseNoJob", RefuseNoJob},
		{"RefuseDraining", RefuseDraining},
		{"RefuseNothingLive", RefuseNothingLive},
		{"RefuseNotRunning", RefuseNotRunning},
		{"RefuseNotPaused", RefuseNotPaused},
		{"RefuseLaterPause", RefuseLaterPause},
		{"RefuseSkipPaused", RefuseSkipPaused},
		{"RefuseNonePlanned", RefuseNonePlanned},
		{"RefuseNotAcked", RefuseNotAcked},
		{"RefuseNotInstalled", RefuseNotInstalled},
		{"RefuseUnderWay", RefuseUnderWay(5)},
		{"RefuseNoBackfill", RefuseNoBackfill(2)},
		{"RefusePeriodic", RefusePeriodic},
		{"RefuseNoSchedule", RefuseNoSchedule},
		{"RefuseBefore1970", RefuseBefore1970},
		{"RefuseEndBeforeStart", RefuseEndBeforeStart},
		{"RefuseFuture", RefuseFuture},
		{"RefuseMaxActive", RefuseMaxActive(10_000)},
		{"RefuseOverlap", RefuseOverlap("skip", "allow", "queue-all")},
		{"RefuseReprocess", RefuseReprocess("some")},
		{"RefuseUserBackfills", RefuseUserBackfills(16, "ann")},
		{"RefuseBackfills", RefuseBackfills(64)},
		{"RefuseOccurrences", RefuseOccurrences(1_000_000)},
		{"HeldShardsOfPeriod", HeldShardsOfPeriod},
		{"HeldRingReboot", HeldRingReboot},
		{"HeldRingPeriod", HeldRingPeriod},
		{"HeldNoRing", HeldNoRing},
		{"HeldNoVoters", HeldNoVoters},
		{"HeldFaultySchedule", HeldFaultySchedule},
		{"HeldShards", HeldShards(100_000)},
		{"HeldName", HeldName("dump", "/etc/crontab")},
		{"HeldScope", HeldScope("after", "ann/dump")},
		{"HeldPool", HeldPool("db", 3, 2)},
		{"HeldUndeclaredPool", HeldUndeclaredPool("db", 3, 1)},
		{"HeldForeignPool", HeldForeignPool("db", 3, 1, "ann")},

		{"AgainstDraining", AgainstDraining},
		{"AgainstWeight", AgainstWeight},
		{"AgainstOtherEntry", AgainstOtherEntry("")},
		{"AgainstOtherEntry", AgainstOtherEntry("ann/dump")},
		{"AgainstNoEntry", AgainstNoEntry("ann/dump")},
		{"AgainstHost", AgainstHost("db1", "ann/dump")},
		{"AgainstLabels", AgainstLabels(DetailNeed("disk", "ssd").Words(), "ann/dump")},

		{"NoticeStarted", NoticeStarted},
		{"NoticeLost", NoticeText("ann/dump", NoticeLost, occurrence, "")},
		{"NoticeFailed", NoticeText("ann/dump", NoticeFailed("exit 1"), occurrence, "")},
		{"NoticeDead", NoticeText("ann/dump", NoticeDead("exit 1"), occurrence, "")},
		{"NoticePaused", NoticeText("ann/dump", NoticePaused("exit 1"), occurrence, "")},
		{"NoticeSucceeded", NoticeText("ann/dump", NoticeSucceeded(3*time.Second), occurrence, "")},
		{"NoticeBehind", NoticeText("ann/dump", NoticeBehind(time.Minute), occurrence, "")},
		{"NoticeStartedLate", NoticeText("ann/dump", NoticeStartedLate(time.Minute), occurrence, "")},
		{"NoticeRunsLong", NoticeText("ann/dump", NoticeRunsLong(time.Hour), occurrence, "")},
		{"NoticeRecovered", NoticeText("ann/dump", NoticeRecovered(0), occurrence, "")},
		{"NoticeRecovered", NoticeText("ann/dump", NoticeRecovered(1), occurrence, "")},
		{"NoticeRecovered", NoticeText("ann/dump", NoticeRecovered(2), occurrence, "")},
		{"NoticeText", NoticeText("ann/dump", NoticeStarted, occurrence, "")},
		{"NoticeNotStarted", NoticeText("ann/dump", NoticeNotStarted(time.Minute), occurrence, NoticeState("run 5 waits for a slot"))},
		{"NoticeState", NoticeState("run 5 waits for a slot")},
		{"NoticeBreaker", NoticeText("ann/dump", NoticeFailed("exit 1"), occurrence, NoticeBreaker(FormatTime(at, time.UTC)))},
		{"NoticeHeld", NoticeHeld("ann/dump", HeldNoRing)},
		{"NoticeDegraded", NoticeDegraded("ann/dump", "nice=: not allowed")},
		{"NoticeMissed", NoticeMissed("ann/dump", FormatTime(at, time.UTC), Late.With(DetailLate(time.Hour)))},
		{"NoticeMissedSeveral", NoticeMissedSeveral("ann/dump", 2, FormatTime(at, time.UTC), FormatTime(at.Add(time.Hour), time.UTC), Late.With(DetailLate(time.Hour)))},
		{"NoticeNoSuccess", NoticeNoSuccess("ann/dump", time.Hour, FormatTime(at, time.UTC))},
		{"NoticeLastSuccess", NoticeLastSuccess("ann/dump", time.Hour, FormatTime(at, time.UTC))},
		{"WarnNoSuccess", WarnNoSuccess},
		{"WarnLate", WarnLate},
		{"Run.DescribeOccurrence", (&Run{ID: 5, Due: at, Attempt: 2, Ended: at.Add(time.Minute)}).DescribeOccurrence(time.UTC)},
		{"Run.DescribeFailure", (&Run{State: RunDropped, Reason: QueueOverflow}).DescribeFailure()},
		{"Run.DescribeFailure", (&Run{State: RunEnded, Outcome: Outcome{Kind: Exited, Code: 1}}).DescribeFailure()},
		{"FormatTime", FormatTime(at, time.FixedZone("CET", 3600))},
	}...) {
		listed[w.name] = true
		fmt.Fprintf(&got, "%-24s%s\n", w.name, w.text)
	}
	for _, r := range Reasons() {
		fmt.Fprintf(&got, "%-24s%s\n", r, r.Sentence())
	}
	for _, file := range []string{"detail_words.go", "detail.go", "refusal.go", "notice.go"} {
		for _, name := range wordsIn(t, file) {
			if !listed[name] {
				t.Errorf("%s: %s is not in the list of this test", file, name)
			}
		}
	}
	compareGolden(t, golden, got.String())
}

// compareGolden compares a text with a file, which -update writes.
func compareGolden(t *testing.T, golden, got string) {
	t.Helper()
	if *update {
		filetest.Write(t, golden, got, 0o644)
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got; -update)\n%s", golden, diff)
	}
}

// namedDetail is a detail with the name of the function that makes it.
type namedDetail struct {
	name   string
	detail Detail
}

// listDetails returns the results of all functions of detail.go.
func listDetails(at time.Time) []namedDetail {
	failed := Run{ID: 5, Outcome: Outcome{Kind: Exited, Code: 1}, Verdict: VerdictRetry}
	preempted := Run{ID: 5, Outcome: Outcome{Kind: Signalled, Signal: 15}, Reason: Preempted, Stop: &Stop{By: DetailRunOfUser(7, "bob"), For: 7}}
	return []namedDetail{
		{"DetailByUser", DetailByUser("ann")},
		{"DetailAsRun", DetailAsRun(5, "ann")},
		{"DetailReprocess", DetailReprocess(ReprocessFailed)},
		{"DetailEmitted", DetailEmitted("ann/deployed", "ann", "ann")},
		{"DetailEmitted", DetailEmitted("ann/deployed", "ann", "root")},
		{"Hold.Detail", (&Hold{By: "ann"}).Detail()},
		{"Hold.Detail", (&Hold{By: "ann", Reason: "moving house"}).Detail()},
		{"Ack.Detail", (&Ack{Run: 5, By: "ann"}).Detail()},
		{"Ack.Detail", (&Ack{Run: 5, By: "ann", Reason: "known"}).Detail()},
		{"Stop.Detail", (&Stop{By: "ann"}).Detail()},
		{"Stop.Detail", (&Stop{By: "ann", Signal: "HUP", Grace: 5 * time.Second}).Detail()},
		{"DetailPauseEnd", DetailPauseEnd(at)},
		{"DetailBreaker", DetailBreaker(1)},
		{"DetailBreaker", DetailBreaker(3)},
		{"DetailFailedForGood", DetailFailedForGood(&failed)},
		{"DetailBeingReplaced", DetailBeingReplaced},
		{"DetailVersion", DetailVersion("1.2")},
		{"DetailSuspend", DetailSuspend(90*time.Minute + 1)},
		{"DetailHost", DetailHost("db1")},
		{"DetailNeed", DetailNeed("disk", "ssd")},
		{"DetailAvoid", DetailAvoid("disk", "ssd")},
		{"DetailFromHost", DetailFromHost("db1")},
		{"DetailRanToo", DetailRanToo("db1", 7)},
		{"DetailCrontabs", DetailCrontabs(7, 3)},
		{"DetailAwaitsOlder", DetailAwaitsOlder},
		{"DetailFewMembers", DetailFewMembers(2, 3)},
		{"DetailNoAgreement", DetailNoAgreement("db1")},
		{"DetailClockSet", DetailClockSet(3*time.Second + 1)},
		{"DetailClockSet", DetailClockSet(-time.Hour)},
		{"DetailFiles", DetailFiles(nil, 3)},
		{"DetailFiles", DetailFiles([]string{"/in/a"}, 0)},
		{"DetailFiles", DetailFiles([]string{"/in/a", "/in/b"}, 3)},
		{"DetailOnBattery", DetailOnBattery},
		{"DetailUnmeasured", DetailUnmeasured},
		{"DetailNotBelow", DetailNotBelow("load", "", 3.25, 3, "")},
		{"DetailNotBelow", DetailNotBelow("pressure", "cpu", 12.5, 12, " %")},
		{"DetailTooSmall", DetailTooSmall("need-memory", "", "2.00G", "3.00G")},
		{"DetailNotMeasured", DetailNotMeasured("need-disk", "/gone", fs.ErrNotExist)},
		{"JoinDetails", JoinDetails([]Detail{DetailOnBattery, DetailNotBelow("load", "", 3.25, 3, "")})},
		{"DetailDay", DetailDay("2026-11-20")},
		{"DetailLate", DetailLate(time.Minute + 1)},
		{"DetailUntil", DetailUntil(at)},
		{"DetailRuleUntil", DetailRuleUntil("window=22:00-06:00", at)},
		{"DetailRuleAndRun", DetailRuleAndRun("window=22:00-06:00", stateOf(WaitsOnSlot, at))},
		{"DetailBreakerUntil", DetailBreakerUntil(at, 3)},
		{"DetailSucceeded", DetailSucceeded(at)},
		{"DetailWaitUntil", DetailWaitUntil(at, "")},
		{"DetailWaitUntil", DetailWaitUntil(at, "window=22:00-06:00")},
		{"DetailResult", DetailResult(&failed)},
		{"DetailResult", DetailResult(&Run{Outcome: Outcome{Kind: Signalled, Signal: 9}})},
		{"DetailResult", DetailResult(&Run{Outcome: Outcome{Kind: NotStarted, Error: "no such user"}, Verdict: VerdictFail})},
		{"DetailResult", DetailResult(&Run{Outcome: Outcome{Kind: TimedOut}, Reason: NoBeat})},
		{"DetailAfterResult", DetailAfterResult(&failed)},
		{"DetailAfterPreemption", DetailAfterPreemption(&preempted)},
		{"DetailProbe", DetailProbe(5)},
		{"DetailQueued", DetailQueued(5, at)},
		{"DetailRun", DetailRun(5, "ann/dump")},
		{"DetailRunOfUser", DetailRunOfUser(5, "ann")},
		{"DetailForJobs", DetailForJobs("ann/dump")},
		{"JoinNames", JoinNames([]Detail{"ann/dump", "ann/sync"})},
		{"JoinNamesAndOthers", JoinNamesAndOthers([]Detail{"ann/dump", "ann/sync"})},
		{"Parent.Detail", (&Parent{Job: "ann/dump", Run: 5, Verdict: VerdictFail}).Detail()},
		{"Parent.Name", (&Parent{Job: "ann/dump"}).Name()},
		{"Parent.Name", (&Parent{Job: "ann/dump", Run: 5}).Name()},
		{"Run.DescribeState", (&Run{ID: 5, State: RunDecided}).DescribeState(at)},
		{"Run.DescribeState", (&Run{ID: 5, State: RunRunning, Started: at.Add(-time.Hour)}).DescribeState(at)},
		{"Run.DescribeState", stateOf(WaitsOnRun, at)},
		{"Run.DescribeState", stateOf(WaitsOnSlot, at)},
		{"Run.DescribeState", stateOf(WaitsOnCheck, at)},
		{"Run.DescribeState", stateOf(WaitsOnParents, at)},
		{"Run.DescribeState", stateOf(WaitsOnRetry, at)},
		{"Run.DescribeState", stateOf(WaitsOnDelay, at)},
		{"Run.DescribeState", stateOf(WaitsOnHours, at)},
		{"Run.DescribeState", stateOf(WaitsOnConditions, at)},
		{"StopsWithoutEntry", StopsWithoutEntry},
		{"StopsNoSchedule", StopsNoSchedule},
		{"StopsAtLimit", StopsAtLimit(1_000_000)},
		{"DetailQueueMax", DetailQueueMax(100)},
		{"DetailInstances", DetailInstances([]RunID{1, 2}, 2, 2)},
		{"DetailInstances", DetailInstances([]RunID{1, 2, 3}, 5, 4)},
		{"DetailUnstartedRuns", DetailUnstartedRuns(10_000, "ann", 3)},
		{"DetailHostSlots", DetailHostSlots(4, 4, 1, "ann")},
		{"DetailUserSlots", DetailUserSlots(2, 2, "ann", SlotHolders([]Detail{DetailRun(5, "ann/dump")}, 0))},
		{"DetailPoolSlots", DetailPoolSlots("db", 2, 2, "", 1)},
		{"DetailPoolSlots", DetailPoolSlots("db", 2, 2, "", 2)},
		{"DetailPoolRate", DetailPoolRate("db", 3, time.Minute, 7*time.Second)},
		{"DetailOthersFirst", DetailOthersFirst("")},
		{"DetailOthersFirst", DetailOthersFirst("db")},
		{"SlotHolders", SlotHolders([]Detail{DetailRun(5, "ann/dump"), DetailRun(6, "ann/sync")}, 3)},
		{"SlotHolders", SlotHolders(nil, 3)},
	}
}

func stateOf(on WaitsOn, at time.Time) Detail {
	r := Run{ID: 5, NotBefore: at}
	r.Wait(on)
	return r.DescribeState(at)
}

// wordsIn returns the exported functions, methods and string constants of a file.
func wordsIn(t *testing.T, file string) (names []string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + name
			}
			if d.Name.IsExported() {
				names = append(names, name)
			}
		case *ast.GenDecl:
			if d.Tok != token.CONST {
				continue
			}
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok && (v.Type == nil || slices.Contains([]string{"string", "Detail"}, types.ExprString(v.Type))) {
					for _, name := range v.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}
