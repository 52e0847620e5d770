package crontab

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/sidecar"
	"github.com/cronring/cronring/crontab/timetable"
)

// optionsOf parses text and returns the options of its last entry with the
// codes of all diagnostics.
func optionsOf(t *testing.T, text string) (*Entry, []string) {
	t.Helper()
	file, diagnostics := Parse("t", text, Config{Zone: time.LoadLocation, Seed: 1})
	var codes []string
	for _, d := range diagnostics {
		codes = append(codes, string(d.Code))
	}
	slices.Sort(codes)
	if len(file.Entries) == 0 {
		t.Fatalf("Parse(%q): no entry; %v", text, diagnostics)
	}
	return &file.Entries[len(file.Entries)-1], codes
}

func TestBuiltOptions(t *testing.T) {
	tests := []struct {
		items string
		want  func(o *option.Options)
	}{
		{"name=a.b_c-9", func(o *option.Options) { o.Name = "a.b_c-9" }},
		{"enabled=no", func(o *option.Options) { o.Enabled = false }},
		{"enabled", func(o *option.Options) {}},
		{"protect", func(o *option.Options) { o.Protect = true }},
		{"protect=no", func(o *option.Options) {}},
		{"grace=90s", func(o *option.Options) { o.Grace = 90 * time.Second }},
		{"grace=0", func(o *option.Options) { o.Grace = 0 }},
		{"catchup=cron", func(o *option.Options) {}},
		{"catchup=skip", func(o *option.Options) { o.Catchup = option.CatchupSkip }},
		{"catchup=once", func(o *option.Options) { o.Catchup, o.Deadline = option.CatchupOnce, 24*time.Hour }},
		{"catchup=all", func(o *option.Options) { o.Catchup, o.Deadline = option.CatchupAll, 24*time.Hour }},
		{"catchup=all:7", func(o *option.Options) { o.Catchup, o.MaxMade, o.Deadline = option.CatchupAll, 7, 24*time.Hour }},
		{"catchup=once deadline=6h", func(o *option.Options) { o.Catchup, o.Deadline = option.CatchupOnce, 6*time.Hour }},
		{"catchup=once deadline=0", func(o *option.Options) { o.Catchup = option.CatchupOnce }},
		{"deadline=1h30m", func(o *option.Options) { o.Deadline = 90 * time.Minute }},
		{"overlap=allow", func(o *option.Options) {}},
		{"overlap=skip", func(o *option.Options) { o.Overlap = option.OverlapSkip }},
		{"overlap=queue", func(o *option.Options) { o.Overlap = option.OverlapQueue }},
		{"overlap=queue-all", func(o *option.Options) { o.Overlap = option.OverlapQueueAll }},
		{"overlap=replace", func(o *option.Options) { o.Overlap = option.OverlapReplace }},
		{"overlap=kill", func(o *option.Options) { o.Overlap = option.OverlapKill }},
		{"timeout=2d", func(o *option.Options) { o.Timeout = 48 * time.Hour }},
		{"timeout=1w", func(o *option.Options) { o.Timeout = 7 * 24 * time.Hour }},
		{"retry=3", func(o *option.Options) { o.Retry, o.Exhausted = 3, option.ExhaustedDead }},
		{"retry-jitter=25%", func(o *option.Options) { o.RetryJitter = 25 }},
		{"backoff=30s", func(o *option.Options) {
			o.Backoff = option.Backoff{Min: 30 * time.Second, Max: 30 * time.Second, Factor: 1}
		}},
		{"backoff=1s..5m", func(o *option.Options) { o.Backoff = option.Backoff{Min: time.Second, Max: 5 * time.Minute, Factor: 2} }},
		{"backoff=1s..5mx1.5", func(o *option.Options) {
			o.Backoff = option.Backoff{Min: time.Second, Max: 5 * time.Minute, Factor: 1.5}
		}},

		{"scope=all", func(o *option.Options) { o.Scope = option.ScopeAll }},
		{"scope=ring need=zone:a,role:db avoid=size:small", func(o *option.Options) {
			o.Scope, o.Need, o.Avoid = option.ScopeRing, []option.Label{{Key: "zone", Value: "a"}, {Key: "role", Value: "db"}}, []option.Label{{Key: "size", Value: "small"}}
		}},
		{"scope=ring prefer=zone:a*3,zone:b*0.5,role:db route=any shards=8", func(o *option.Options) {
			o.Scope, o.Route, o.Shards = option.ScopeRing, option.RouteAny, 8
			o.Prefer = []option.Preference{{Label: option.Label{Key: "zone", Value: "a"}, Weight: 3}, {Label: option.Label{Key: "zone", Value: "b"}, Weight: 0.5}, {Label: option.Label{Key: "role", Value: "db"}, Weight: 2}}
		}},
		{"scope=ring if-partitioned=hold quorum=3", func(o *option.Options) {
			o.Scope, o.Partitioned, o.Quorum = option.ScopeRing, option.PartitionedHold, 3
		}},
		{"scope=ring route=any", func(o *option.Options) { o.Scope, o.Route = option.ScopeRing, option.RouteAny }},
		{"scope=ring if-partitioned=run route=hash", func(o *option.Options) { o.Scope, o.Partitioned = option.ScopeRing, option.PartitionedRun }},
		{"host=a,B.example.org", func(o *option.Options) { o.Hosts = []string{"a", "b.example.org"} }},
		{"trigger=manual", func(o *option.Options) { o.Manual = true }},
		{"trigger=clock", func(o *option.Options) {}},
		{"on=job:a", func(o *option.Options) { o.On = []option.Edge{{Job: "a", Outcomes: option.OutcomeOK}} }},
		{"on=job:a:fail,lost", func(o *option.Options) {
			o.On = []option.Edge{{Job: "a", Outcomes: option.OutcomeFail | option.OutcomeLost}}
		}},
		{"on=job:a:done,job:b,job:c:skip", func(o *option.Options) {
			o.On = []option.Edge{{Job: "a", Outcomes: option.OutcomeDone}, {Job: "b", Outcomes: option.OutcomeOK}, {Job: "c", Outcomes: option.OutcomeSkip}}
		}},
		{"max-instances=3", func(o *option.Options) { o.MaxInstances = 3 }},
		{"after=a", func(o *option.Options) { o.After = []option.Edge{{Job: "a", Outcomes: option.OutcomeOK}} }},
		{"AFTER=a", func(o *option.Options) { o.After = []option.Edge{{Job: "a", Outcomes: option.OutcomeOK}} }},
		{"after=a:done,b:fail,c:dead when=one_success wait=3h", func(o *option.Options) {
			o.After, o.When, o.Wait = []option.Edge{{Job: "a", Outcomes: option.OutcomeDone}, {Job: "b", Outcomes: option.OutcomeFail}, {Job: "c", Outcomes: option.OutcomeDead}}, option.JoinOneSuccess, 3*time.Hour
		}},
		{"after=a when=none_failed", func(o *option.Options) {
			o.After, o.When = []option.Edge{{Job: "a", Outcomes: option.OutcomeOK}}, option.JoinNoneFailed
		}},
		{"if='test -e /x'", func(o *option.Options) { o.If = "test -e /x" }},
		{"pool=wan", func(o *option.Options) { o.Pool, o.Slots = "wan", 1 }},
		{"pool=wan:3", func(o *option.Options) { o.Pool, o.Slots = "wan", 3 }},
		{"stop-signal=INT stop-grace=5s", func(o *option.Options) { o.StopSignal, o.StopGrace = syscall.SIGINT, 5*time.Second }},
		{"stop-signal=SIGKILL", func(o *option.Options) { o.StopSignal = syscall.SIGKILL }},
		{"ok=3,0,3", func(o *option.Options) { o.OK = []uint8{0, 3} }},
		{"ok=1 skip-code=0,99", func(o *option.Options) { o.OK, o.SkipCodes = []uint8{1}, []uint8{0, 99} }},
		{"retry=1 retry-on=35,10,timeout", func(o *option.Options) {
			o.Retry, o.Exhausted, o.RetryOn = 1, option.ExhaustedDead, &option.Failures{Codes: []uint8{10, 35}, Timeout: true}
		}},
		{"retry=1 retry-on=any,lost no-retry-on=none", func(o *option.Options) {
			o.Retry, o.Exhausted, o.RetryOn, o.NoRetryOn = 1, option.ExhaustedDead, &option.Failures{Any: true, Lost: true}, &option.Failures{}
		}},
		{"breaker=3/6h", func(o *option.Options) { o.Breaker = option.Breaker{Failures: 3, Hold: 6 * time.Hour} }},
		{"retry=2 on-exhausted=pause", func(o *option.Options) { o.Retry, o.Exhausted = 2, option.ExhaustedPause }},
		{"on-exhausted=dead", func(o *option.Options) { o.Exhausted = option.ExhaustedDead }},
		{"if-lost=rerun", func(o *option.Options) { o.IfLost = option.LostReruns }},
		{"if-lost=leave", func(o *option.Options) { o.IfLost = option.LostStays }},
		{"priority=2", func(o *option.Options) { o.Priority = 2 }},
		{"idle=no", func(o *option.Options) {}},
		{"nice=5 idle io-weight=50 cpu-weight=20", func(o *option.Options) {
			nice := 5
			o.Resources = &option.Resources{Nice: &nice, Idle: true, IOWeight: 50, CPUWeight: 20}
		}},
		{"memory=2G memory-high=1536M cpu=50% tasks=20 nofile=256", func(o *option.Options) {
			o.Resources = &option.Resources{Memory: 2 << 30, MemoryHigh: 1536 << 20, CPU: 500, Tasks: 20, NoFile: 256}
		}},
		{"cpu=1.5", func(o *option.Options) { o.Resources = &option.Resources{CPU: 1500} }},
		{"cpu=150%", func(o *option.Options) { o.Resources = &option.Resources{CPU: 1500} }},
		{"desc='for people' owner=ops retry=1 retry-for=5m", func(o *option.Options) {
			o.Desc, o.Contact, o.Retry, o.Exhausted, o.RetryFor = "for people", "ops", 1, option.ExhaustedDead, 5*time.Minute
		}},
		{"cwd=/srv umask=027 group=adm env=A=1,B=x=y env-file=/etc/app.env", func(o *option.Options) {
			mask := uint32(0o027)
			o.Process = option.Process{Dir: "/srv", Umask: &mask, Group: "adm", Env: []string{"A=1", "B=x=y"}, EnvFile: "/etc/app.env"}
		}},
		{"sandbox=strict read-only=/srv/in write=/srv/out,/srv/log network=no", func(o *option.Options) {
			o.Isolation = &option.Isolation{
				Sandbox: option.SandboxStrict, NoNetwork: true, ReadOnly: []string{"/srv/in"}, Write: []string{"/srv/out", "/srv/log"},
			}
		}},
		{"credential=db:/etc/credstore/db,api.key:/srv/key", func(o *option.Options) {
			o.Isolation = &option.Isolation{Credentials: []option.Credential{{ID: "db", Path: "/etc/credstore/db"}, {ID: "api.key", Path: "/srv/key"}}}
		}},
		{"sandbox=off network=yes", func(o *option.Options) {}},
		{"log=none", func(o *option.Options) { o.Log = option.Log{Off: true} }},
		{"log=journal", func(o *option.Options) {}},
		{"log=file:/var/log/x", func(o *option.Options) { o.Log = option.Log{File: "/var/log/x"} }},
		{"output-max=1M", func(o *option.Options) { o.OutputMax = 1 << 20 }},
		{"mail=failure mailto=ops@example.org,bob", func(o *option.Options) {
			to := "ops@example.org,bob"
			o.Mail, o.MailTo = option.MailFailure, &to
		}},
		{"notify=ops,chat notify-on=fail,each,held", func(o *option.Options) {
			o.Notify, o.NotifyOn = []string{"ops", "chat"}, option.NoticeFail|option.NoticeEach|option.NoticeHeld
		}},
		{"keep=12", func(o *option.Options) { o.Keep = option.Keep{Runs: 12} }},
		{"keep=1d", func(o *option.Options) { o.Keep = option.Keep{Age: 24 * time.Hour} }},
		{"keep=30d,50", func(o *option.Options) { o.Keep = option.Keep{Runs: 50, Age: 30 * 24 * time.Hour} }},
		{"max-late=5m max-run=1h expect=2d", func(o *option.Options) { o.MaxLate, o.MaxRun, o.Expect = 5*time.Minute, time.Hour, 48*time.Hour }},

		{"concurrencyPolicy=Forbid", func(o *option.Options) { o.Overlap = option.OverlapSkip }},
		{"concurrencyPolicy=Replace", func(o *option.Options) { o.Overlap = option.OverlapReplace }},
		{"overlap=BufferOne", func(o *option.Options) { o.Overlap = option.OverlapQueue }},
		{"overlap=TerminateOther", func(o *option.Options) { o.Overlap = option.OverlapKill }},
		{"overlap-policy=BufferAll catchup-window=1h", func(o *option.Options) { o.Overlap, o.Deadline = option.OverlapQueueAll, time.Hour }},
		{"misfire=FIRE_ONCE_NOW", func(o *option.Options) { o.Catchup, o.Deadline = option.CatchupOnce, 24*time.Hour }},
		{"misfire-policy=Skip", func(o *option.Options) { o.Catchup = option.CatchupSkip }},
		{"startingDeadlineSeconds=90", func(o *option.Options) { o.Deadline = 90 * time.Second }},

		{"x-team='a b' x-y", func(o *option.Options) {}},
		{"scope=host trigger=clock dst=cron", func(o *option.Options) {}},
		{"timeout=5m -- retry=3 is for later", func(o *option.Options) { o.Timeout = 5 * time.Minute }},
		{`name="quoted" timeout='5m'`, func(o *option.Options) { o.Name, o.Timeout = "quoted", 5*time.Minute }},
		{"\t timeout=5m  \t retry=1 ", func(o *option.Options) { o.Timeout, o.Retry, o.Exhausted = 5*time.Minute, 1, option.ExhaustedDead }},
		{"?timeout=5m", func(o *option.Options) { o.Timeout = 5 * time.Minute }},
	}
	for _, tt := range tests {
		e, codes := optionsOf(t, "#@ "+tt.items+"\n0 1 * * * x\n")
		want := option.DefaultOptions()
		tt.want(want)
		got := *e.Options()
		got.Items = nil
		if diff := cmp.Diff(*want, got); diff != "" || len(codes) > 0 {
			t.Errorf("%s: got diagnostics %v and options (-want +got)\n%s", tt.items, codes, diff)
		}
	}
}

func TestOptionsOfTime(t *testing.T) {
	const start = "2026-01-01T00:00:00Z"
	tests := []struct {
		items, fields string
		want          []string // the first occurrences after start, UTC
	}{
		{"dst=literal tz=America/New_York from=2026-03-08", "30 2 * * *", []string{"2026-03-09T06:30:00Z"}},
		{"dst=second tz=America/New_York from=2026-11-01", "30 1 * * *", []string{"2026-11-01T06:30:00Z", "2026-11-02T06:30:00Z"}},
		{"dst=literal tz=America/New_York from=2026-03-08 sec=15", "30 2 * * *", []string{"2026-03-09T06:30:15Z"}},
		{"tz=Asia/Tokyo", "0 9 * * *", []string{"2026-01-02T00:00:00Z"}},
		{"timeZone=Asia/Tokyo", "0 9 * * *", []string{"2026-01-02T00:00:00Z"}},
		{"sec=*/30", "5 0 * * *", []string{"2026-01-01T00:05:00Z", "2026-01-01T00:05:30Z", "2026-01-02T00:05:00Z"}},
		{"sec=10,20-24/2", "5 0 * * *", []string{"2026-01-01T00:05:10Z", "2026-01-01T00:05:20Z", "2026-01-01T00:05:22Z", "2026-01-01T00:05:24Z"}},
		{"every=90s", "* * * * *", []string{"2026-01-01T00:01:30Z", "2026-01-01T00:03:00Z"}},
		{"every=1h phase=5m", "* * * * *", []string{"2026-01-01T00:05:00Z", "2026-01-01T01:05:00Z"}},
		{"at=2026-02-03T04:05:06Z", "0 0 3 2 *", []string{"2026-02-03T04:05:06Z", ""}},
		{"tz=Asia/Tokyo at=2026-02-03T09:00", "0 0 3 2 *", []string{"2026-02-03T00:00:00Z", ""}},
		{"at=2026-02-03T09:00 tz=Asia/Tokyo", "0 0 3 2 *", []string{"2026-02-03T00:00:00Z", ""}},
		{"at='2026-02-03 09:00'", "0 0 3 2 *", []string{"2026-02-03T09:00:00Z"}},
		{"from=2026-03-01", "0 1 * * *", []string{"2026-03-01T01:00:00Z"}},
		{"until=2026-01-02T01:00:00Z", "0 1 * * *", []string{"2026-01-01T01:00:00Z", "2026-01-02T01:00:00Z", ""}},
		{"from=2026-03-01 count=2", "0 1 * * *", []string{"2026-03-01T01:00:00Z", "2026-03-02T01:00:00Z", ""}},
	}
	for _, tt := range tests {
		e, codes := optionsOf(t, "#@ "+tt.items+"\n"+tt.fields+" x\n")
		if len(codes) > 0 {
			t.Errorf("%s: got diagnostics %v, want none", tt.items, codes)
		}
		at, _ := time.Parse(time.RFC3339, start)
		for _, want := range tt.want {
			at = e.Schedule.Next(at)
			got := at.UTC().Format(time.RFC3339)
			if at.IsZero() {
				got = ""
			}
			if got != want {
				t.Errorf("%s on %s: got %q, want %q", tt.items, tt.fields, got, want)
				break
			}
		}
	}
}

// TestDirectiveDiagnostics holds the grammar of directives to its refusals: each
// line above the same entry, with the diagnostics it gets and whether the entry is
// then held or degraded.
func TestDirectiveDiagnostics(t *testing.T) {
	tests := []struct {
		line, codes    string
		held, degraded bool
	}{
		{"#@ tiemout=5m", "B403", false, true},
		{"#@ ?tiemout=5m", "B412", false, false},
		{"#@ timeout=5", "B404", false, true},
		{"#@ timeout=", "B404", false, true},
		{"#@ timeout", "B404", false, true},
		{"#@ timeout=1h30", "B404", false, true},
		{"#@ timeout=99999999999999w", "B404", false, true},
		{"#@ timeout=5m timeout=6m", "B405", false, true},
		{"#@ overlap=skip overlap=kill", "B405", true, false},
		{"#@ overlap=skpi", "B404", true, false},
		{"#@ overlap", "B404", true, false},
		{"#@ ?overlap=skpi", "B412", false, false},
		{"#@ enabled=maybe", "B404", true, false},
		{"#@ tz=Mars/Base", "B404", true, false},
		{"#@ name=a/b", "B404", false, true},
		{"#@ name=" + strings.Repeat("x", 65), "B404", false, true},
		{"#@ catchup=all:0", "B404", false, true},
		{"#@ catchup=once:5", "B404", false, true},
		{"#@ backoff=5m..1s", "B404", false, true},
		{"#@ backoff=1s..5mx0.5", "B404", false, true},
		{"#@ retry=-1", "B404", false, true},
		{"#@ retry-jitter=101%", "B404", false, true},
		{"#@ sec=60", "B404", false, true},
		{"#@ sec=5/10", "B404", false, true},
		{"#@ sec=*/0", "B404", false, true},
		{"#@ every=0s", "B404", false, true},
		{"#@ at=tomorrow", "B404", true, false},
		{"#@ count=0 from=2026-01-01", "B404", true, false},
		{"#@ count=3", "B411", true, false},
		{"#@ phase=3m", "B411", false, true},
		{"#@ every=5m phase=5m", "B411", false, true},
		{"#@ every=5m at=2026-01-01", "B411", false, true},
		{"#@ every=5m sec=30", "B411", false, true},
		{"#@ from=2026-02-01 until=2026-01-01", "B411", true, false},
		{"#@ timeout = 5m", "B406", false, true},
		{"#@ timeout= 5m", "B406", false, true},
		{"#@ timeout=5m =6m", "B406", false, true},
		{"#@ name=\"open", "B406", false, true},
		{"#@ name=\"a\"b", "B406", false, true},
		{"#@ overlap = skip", "B406", true, false},
		{"#@ Timeout=5m", "B403", false, true},

		{"#@ quorum=3", "B411", true, false},
		{"#@ priority=11", "B404", false, true},
		{"#@ ?quorum=3", "B412", false, false},
		{"#@ desc=text", "", false, false},
		{"#@ delay=5m", "", false, false},
		{"#@ delay=0", "B404", true, false},
		{"#@ delay=5m at=2026-01-01", "B410", true, false},
		{"#@ delay=5m every=5m", "B410", false, true},
		{"#@ delay=5m sec=30", "B410", false, true},
		{"#@ delay=5m day=last", "B410", true, false},
		{"#@ delay=5m jitter=30s", "B410", false, true},
		{"#@ delay=5m window=08:00-20:00", "", false, false},
		{"#@ delay=5m on=job:a", "B411", true, false},
		{"#@ delay=5m trigger=manual", "B411", true, false},
		{"#@ delay=5m scope=ring", "B411", true, false},
		{"#@ preempt", "", false, false},
		{"#@ preempt=no", "", false, false},
		{"#@ pause-counts=yes", "", false, false},
		{"#@ pause-counts=maybe", "B404", true, false},
		{"#@ pause-counts=yes scope=ring", "B411", true, false},
		{"#@ pause-counts=no scope=ring", "", false, false},
		{"#@ pause-counts on=job:a", "B411", true, false},
		{"#@ default pause-counts\n#@ on=job:a", "", false, false},
		{"#@ retry-for=1h", "B411", true, false},
		{"#@ access=operate:@oncall", "", false, false},
		{"#@ access=@oncall", "B404", true, false},
		{"#@ retry=3 retry-for=1h", "", false, false},
		{"#@ quiet", "B414", false, true},
		{"#@ memory=2X", "B404", true, false},
		{"#@ ?memory=2X", "B412", false, false},
		{"#@ after=dump:maybe", "B404", true, false},
		{"#@ window=08:00-20:00", "B423", true, false},
		{"#@ window=08:00-20:00 blackout=07:00-21:00", "B411", true, false},
		{"#@ watchdog=2m", "", false, false},
		{"#@ watchdog=0", "B404", true, false},
		{"#@ day=last year=2027", "", false, false},
		{"#@ weeks=2 from=2026-01-05", "", false, false},
		{"#@ weeks=2", "B411", true, false},
		{"#@ day=first", "B404", true, false},
		{"#@ day=last at=2026-01-05", "B411", true, false},
		{"#@ day=workday every=12h", "", false, false},
		{"#@ day=workday every=13h", "B411", true, false},
		{"#@ day=workday trigger=manual", "B410", true, false},
		{"#@ scope=ring", "", false, false},
		{"#@ scope=rings", "B404", true, false},
		{"#@ scope=ring route=most", "B404", false, true},
		{"#@ on=file:/srv/*", "", false, false},
		{"#@ on=file:srv/*", "B404", true, false},
		{"#@ on=file:/srv/../*", "B404", true, false},
		{"#@ on=file:/srv/[a", "B404", true, false},
		{"#@ on=event:alice/ready,boot,job:a:ok,fail,clock", "", false, false},
		{"#@ on=event:", "B404", true, false},
		{"#@ on=boot,fail", "B404", true, false},
		{"#@ on=boot sec=5", "B410", false, true},
		{"#@ on=resume scope=ring", "B410", true, false},
		{"#@ ?on=suspend", "B412", false, false},

		{"#@ phase=3m every=10m after=a wait=5m when=any", "", false, false},
		{"#@ when=any", "B411", true, false},
		{"#@ wait=5m", "B411", false, true},
		{"#@ retry-on=1", "B411", false, true},
		{"#@ no-retry-on=1", "B411", false, true},
		{"#@ notify-on=fail", "B411", false, true},
		{"#@ notify-after=3", "B411", false, true},
		{"#@ max-instances=3 overlap=skip", "B411", true, false},
		{"#@ max-instances=3 overlap=allow", "", false, false},
		{"#@ stop-signal=KILL stop-grace=5s", "B411", false, true},
		{"#@ memory=1G memory-high=2G", "B411", true, false},
		{"#@ memory=1G memory-high=1G", "", false, false},
		{"#@ skip-code=0", "B411", false, true},
		{"#@ ok=0,3 skip-code=2,3", "B411", false, true},
		{"#@ trigger=manual on=job:a", "B411", true, false},
		{"#@ trigger=manual every=5m", "B410", false, true},
		{"#@ trigger=manual at=2026-01-01", "B410", true, false},
		{"#@ on=job:a sec=30", "B410", false, true},
		{"#@ scope=ring route=any prefer=zone:a if-partitioned=hold quorum=3", "", false, false},
		{"#@ route=any", "B411", false, true},
		{"#@ prefer=zone:a scope=all", "B411", false, true},
		{"#@ if-partitioned=hold scope=host", "B411", true, false},
		{"#@ scope=ring if-partitioned=run quorum=3", "B411", true, false},
		{"#@ need=zone:a avoid=zone:b,role:db", "", false, false},
		{"#@ need=zone:a,role:db avoid=role:db", "B411", true, false},
		{"#@ shards=4", "", false, false},
		{"#@ default if-partitioned=hold quorum=3 prefer=zone:a*2 route=any", "", false, false},
		{"#@ default if-partitioned=hold quorum=3\n#@ scope=ring", "", false, false},
		{"#@ default wait=5m retry-on=1 stop-grace=5s max-instances=2 phase=1m", "", false, false},
		{"#@ default wait=5m\n#@ stop-signal=KILL overlap=skip", "", false, false},
		{"#@ default skip-code=99\n#@ ok=99", "", false, false},
		{"#@ default every=1h\n#@ at=2027-01-01", "", false, false},
		{"#@ default memory-high=1G\n#@ memory=512M", "", false, false},
		{"#@ default trigger=manual\n#@ on=job:a", "", false, false},
		{"#@ default jitter=5m\n#@ trigger=manual", "", false, false},
		{"#@ default from=2026-01-01\n#@ trigger=manual", "B410", true, false},
		{"#@ dst=literal every=5m", "B411", false, true},
		{"#@ dst=literal trigger=manual", "B410", false, true},

		{"#@ Please keep this in order.", "B401", false, false},
		{"#@ default", "", false, false},
		{"#@ default name=x", "B410", false, false},
		{"#@ default tiemout=5m", "B403", false, true},
		{"#@daily x", "", false, false},
		{"#@(#) version 1", "", false, false},
		{"#@", "", false, false},
		{"#@ ", "", false, false},
		{"# @ timeout=x", "B421", false, false},
		{"# @timeout=x", "B421", false, false},
		{"#@timeout=5m", "B421", false, false},
		{"# @ name of the job", "", false, false},
		{"#@ overlap:skip", "B421", false, false},
		{"#@ overlap: skip", "B421", false, false},
		{"#@ no-overlap", "B421", false, false},
		{"#@ unheard-of", "B421", false, false},
		{"#@ \v", "B421", false, false}, // crashed the daemon: a word that strings.Fields does not see
		{"#@ \f\v\t\f", "B401", false, false},
		{"#@ for people\n#@ for people", "B401 B401", false, false},
		{"#@ no-overlap\n#@ name:x", "B421 B421", false, false},

		{"#@ name=my job", "B406", false, true},
		{"#@ if=test -f x", "B406", true, false},
		{"#@ if=test -f x overlap=skip", "B406", true, false},
		{"#@ if='test -f x' job", "B403", false, true},
		{"#@ timeout=1 h", "B406", false, true},
		{"#@ unheard=of job", "B406", false, true},

		{"#@ shift=next", "B411", true, false},
		{"#@ shift=next except=weekend", "", false, false},
		{"#@ except=holidays", "B404", true, false},
		{"#@ calendar=weekend at=2026-01-05", "B411", true, false},
		{"#@ shift=none", "", false, false},
		{"#@ env-file=/x tasks=8", "B411", true, false},
		{"#@ env-file=/x tasks=9", "", false, false},
		{"#@ sandbox=basic tasks=8", "B411", true, false},
		{"#@ sandbox=basic write=/srv", "", false, false},
		{"#@ write=/srv", "B411", true, false},
		{"#@ sandbox=off write=/srv", "B411", true, false},
		{"#@ read-only=/srv", "B411", true, false},
		{"#@ sandbox=basic read-only=/srv", "B411", true, false},
		{"#@ sandbox=strict read-only=/srv/a write=/srv/b,/srv/a/b", "", false, false},
		{"#@ sandbox=strict read-only=/srv/a write=/srv", "B411", true, false},
		{"#@ sandbox=strict read-only=/srv write=/srv", "B411", true, false},
		{"#@ sandbox=strict read-only=/srv2 write=/srv", "", false, false},
		{"#@ network=no", "", false, false},
		{"#@ ?cwd=srv", "B412", false, false},
		{"#@ cwd=srv", "B404", true, false},
		{"#@ env=USER=x", "B404", true, false},
		{"#@ -- for people", "", false, false},
	}
	for _, tt := range tests {
		e, codes := optionsOf(t, tt.line+"\n0 1 * * * x\n")
		o := e.Options()
		if got := strings.Join(codes, " "); got != tt.codes || (o.Held != "") != tt.held || (o.Degraded != "") != tt.degraded {
			t.Errorf("%s\ngot  [%s] held %q degraded %q\nwant [%s] held %v degraded %v", tt.line, got, o.Held, o.Degraded, tt.codes, tt.held, tt.degraded)
		}
	}
}

// TestEntriesOfNoTimeNameNone: the time fields of an entry that only an event or a person starts
// have no effect, and a date that never occurs is not an error there.
func TestEntriesOfNoTimeNameNone(t *testing.T) {
	for _, items := range []string{"on=job:a", "trigger=manual"} {
		for _, times := range []string{"* * * * *", "@reboot", "@daily", "~ 3 * * *", "0 0 31 2 *"} {
			e, codes := optionsOf(t, "RANDOM_DELAY=5\n#@ "+items+"\n"+times+" x\n")
			if e.Schedule != timetable.Never || e.Reboot() || slices.Contains(codes, string(timetable.CodeNoDate)) {
				t.Errorf("%s above %s: got %v %v, want Never", items, times, e.Schedule, codes)
			}
		}
	}
	for _, items := range []string{"every=5m", "at=2027-01-01T00:00"} {
		if e, codes := optionsOf(t, "#@ "+items+"\n0 0 31 2 * x\n"); slices.Contains(codes, string(timetable.CodeNoDate)) {
			t.Errorf("%s in place of a date that never comes: got %v, and it is %v", items, codes, e.Schedule)
		}
	}
	if _, codes := optionsOf(t, "0 0 31 2 * x\n"); !slices.Contains(codes, string(timetable.CodeNoDate)) {
		t.Errorf("0 0 31 2 *: got %v, want %s", codes, timetable.CodeNoDate)
	}
	file, diagnostics := Parse("t", "#@ trigger=manual\n1 5 a x\n#@ on=job:a\n1 5 b x\n#@ trigger=clock\n1 5 c x\n", Config{Format: Anacron})
	if o := file.Entries[0].Options(); o.Held == "" || file.Entries[1].Options().Held == "" || file.Entries[2].Options().Held != "" {
		t.Errorf("anacrontab: got %v, want the first two lines held", diagnostics)
	}
}

// TestUsersCannotGoBeforeOthers holds options that put a job before those of
// others to root's crontabs and the administrator's configuration.
func TestUsersCannotGoBeforeOthers(t *testing.T) {
	nice := -5
	granted := []sidecar.Setting{{Key: "nice", Value: "-5"}, {Key: "priority", Value: "9"}, {Key: "io-weight", Value: "200"}, {Key: "cpu-weight", Value: "300"}, {Key: "slice", Value: "batch"}}
	all := func(o *option.Options) {
		o.Priority, o.Resources = 9, &option.Resources{Nice: &nice, IOWeight: 200, CPUWeight: 300, Slice: "batch.slice"}
	}
	const line = "nice=-5 priority=9 io-weight=200 cpu-weight=300 slice=batch"
	tests := []struct {
		what, items    string
		config         Config
		want           func(*option.Options)
		codes          int
		held, degraded bool
	}{
		{"a user", line, Config{Owner: "bob"}, func(*option.Options) {}, 5, true, true},
		{"a user by default", "default " + line, Config{Owner: "bob"}, func(*option.Options) {}, 5, true, true},
		{"a user who marks them", "?nice=-5 ?priority=9 ?slice=batch", Config{Owner: "bob"}, func(*option.Options) {}, 3, false, false},
		{"a user, not his slice", "nice=-5 priority=9", Config{Owner: "bob"}, func(*option.Options) {}, 2, false, true},
		{"a user who gives way", "nice=5 priority=1 io-weight=100 cpu-weight=1", Config{Owner: "bob"}, func(o *option.Options) {
			gives := 5
			o.Priority, o.Resources = 1, &option.Resources{Nice: &gives, IOWeight: 100, CPUWeight: 1}
		}, 0, false, false},
		{"root", line, Config{Owner: "root", Privileged: true}, all, 0, false, false},
		{"the administrator", "name=j", Config{Owner: "bob", Sidecar: &sidecar.Sidecar{Jobs: map[string]sidecar.JobConfig{"j": {User: "bob", Set: granted}}}}, all, 0, false, false},
		{"the administrator for all", "name=j", Config{Owner: "bob", Sidecar: &sidecar.Sidecar{Default: granted}}, all, 0, false, false},
		{"the administrator over a user", "name=j priority=10 slice=x", Config{Owner: "bob", Sidecar: &sidecar.Sidecar{Jobs: map[string]sidecar.JobConfig{"j": {User: "bob", Set: granted}}}}, all, 0, false, false},
	}
	for _, tt := range tests {
		file, diagnostics := Parse("t", "#@ "+tt.items+"\n0 1 * * * x\n", tt.config)
		got := *file.Entries[0].Options()
		if len(diagnostics) != tt.codes || (got.Held != "") != tt.held || (got.Degraded != "") != tt.degraded {
			t.Errorf("%s: got held %q, degraded %q, diagnostics %v; want held %v, degraded %v, %d diagnostics", tt.what, got.Held, got.Degraded, diagnostics, tt.held, tt.degraded, tt.codes)
		}
		want := option.DefaultOptions()
		tt.want(want)
		want.Name, got.Items, got.Held, got.Degraded = got.Name, nil, "", ""
		if diff := cmp.Diff(*want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.what, diff)
		}
	}
}

func TestFixesQuoteAsTheLineDoes(t *testing.T) {
	for items, want := range map[string]string{
		`nottify='a "b'`: "write `notify='a \"b'`",
		`nottify=a`:      "write `notify=a`",
		`nottify="a b"`:  "write `notify=\"a b\"`",
	} {
		if _, diagnostics := Parse("t", "#@ "+items+"\n0 1 * * * x\n", Config{}); len(diagnostics) != 1 || diagnostics[0].Fix != want {
			t.Errorf("%s: got %+v, want the fix %s", items, diagnostics, want)
		}
	}
}

func TestDirectivesAddUp(t *testing.T) {
	e, codes := optionsOf(t, "#@ timeout=5m\n#@ retry=2\n0 1 * * * x\n")
	if o := e.Options(); o.Timeout != 5*time.Minute || o.Retry != 2 || len(codes) > 0 {
		t.Errorf("got %+v %v, want both options", o, codes)
	}
	if _, codes = optionsOf(t, "#@ timeout=5m\n#@ timeout=6m\n0 1 * * * x\n"); !slices.Equal(codes, []string{"B405"}) {
		t.Errorf("got %v, want B405 for a key repeated in the next line", codes)
	}
}

func TestDirectivesMustTouchTheirEntry(t *testing.T) {
	for _, between := range []string{"", "# note", "A=b", "#@ default", "#@ for people"} {
		file, diagnostics := Parse("t", "#@ timeout=5m\n"+between+"\n0 1 * * * x\n", Config{})
		i := slices.IndexFunc(diagnostics, func(d diagnostic.Diagnostic) bool { return d.Code == "B402" })
		if i < 0 || diagnostics[i].Line != 1 || !strings.Contains(diagnostics[i].Message, "in line 2") {
			t.Errorf("with %q between: got %v, want B402 about line 1 naming line 2", between, diagnostics)
		}
		if got := file.Entries[0].Options().Timeout; got != 0 {
			t.Errorf("with %q between: got timeout %v, want none", between, got)
		}
	}
	if _, diagnostics := Parse("t", "#@ timeout=5m\n", Config{}); len(diagnostics) != 1 || diagnostics[0].Code != "B402" {
		t.Errorf("at the end of the file: got %v, want B402", diagnostics)
	}
}

func TestDirectivesEndWithBrokenEntry(t *testing.T) {
	e, codes := optionsOf(t, "#@ timeout=5m\n61 1 * * * x\n0 1 * * * y\n")
	if e.Options().Timeout != 0 || !slices.Equal(codes, []string{"B001"}) {
		t.Errorf("got %+v %v, want no options and B001", e.Options(), codes)
	}
}

func TestDefaultsHoldUntilReset(t *testing.T) {
	text := "#@ default timeout=5m retry=2\n0 1 * * * a\n#@ timeout=1m\n0 1 * * * b\n#@ default retry=3\n0 1 * * * c\n#@ default\n0 1 * * * d\n"
	file, diagnostics := Parse("t", text, Config{})
	if len(diagnostics) > 0 {
		t.Fatal(diagnostics)
	}
	want := []string{"5m0s 2", "1m0s 2", "5m0s 3", "0s 0"}
	for i := range file.Entries {
		o := file.Entries[i].Options()
		if got := fmt.Sprint(o.Timeout, " ", o.Retry); got != want[i] {
			t.Errorf("entry %d: got %s, want %s", i, got, want[i])
		}
	}
	items := file.Entries[1].Options().Items
	if len(items) != 2 || items[0].Key != "retry" || items[0].Origin != option.FromDefault || items[1].Key != "timeout" || items[1].Origin != option.FromDirective {
		t.Errorf("got items %+v, want the default retry, then timeout", items)
	}
}

func TestNameBelongsToOneEntry(t *testing.T) {
	file, diagnostics := Parse("t", "#@ name=a\n61 1 * * * x\n#@ name=a\n0 1 * * * x\n#@ name=a\n0 2 * * * y\n", Config{})
	if len(diagnostics) != 2 || diagnostics[1].Code != "B409" || diagnostics[1].Line != 5 {
		t.Errorf("got %v, want B001 and B409 in line 5", diagnostics)
	}
	first, second := file.Entries[0].Options(), file.Entries[1].Options()
	if first.Name != "a" || first.Held != "" || second.Name != "" || second.Held == "" {
		t.Errorf("got %+v and %+v, want the second held without name", first, second)
	}
}

func TestRebootHasNoInstants(t *testing.T) {
	for items, held := range map[string]bool{"jitter=5m": false, "every=5m": false, "at=2026-01-01": true, "from=2026-01-01": true} {
		e, codes := optionsOf(t, "#@ "+items+"\n@reboot x\n")
		if o := e.Options(); !slices.Equal(codes, []string{"B410"}) || (o.Held != "") != held || o.Degraded == "" == !held || !e.Reboot() {
			t.Errorf("%s: got %v %+v, want B410, held %v", items, codes, o, held)
		}
	}
	file, _ := Parse("t", "#@ default jitter=5m\n@reboot x\n0 1 * * * y\n", Config{})
	if o := file.Entries[1].Options(); o.Degraded != "" {
		t.Errorf("got %q for the entry below @reboot, want nothing", o.Degraded)
	}
}

func TestRandomDelayIsJitter(t *testing.T) {
	file, _ := Parse("t", "RANDOM_DELAY=45\n0 1 * * * x\n#@ jitter=0\n0 1 * * * y\n", Config{Seed: 7})
	start := time.Date(2026, 1, 1, 0, 30, 0, 0, time.UTC)
	delayed := file.Entries[0].Schedule.Next(start).Sub(start) - 30*time.Minute
	if delayed <= 0 || delayed > 45*time.Minute {
		t.Errorf("got a delay of %v, want one up to 45m", delayed)
	}
	if got := file.Entries[1].Schedule.Next(start).Sub(start); got != 30*time.Minute {
		t.Errorf("with jitter=0: got %v, want 30m", got)
	}
}

// TestSpreadHangsOnIdentity shows that neither the lines around an entry nor
// its time change its delay, and that its command and the seed do.
func TestSpreadHangsOnIdentity(t *testing.T) {
	delay := func(text string, seed uint64) time.Duration {
		file, _ := Parse("t", text, Config{Seed: seed, Owner: "bob"})
		e := &file.Entries[len(file.Entries)-1]
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		return e.Schedule.Next(start).Sub(start) % time.Hour
	}
	base := delay("#@ spread=1h\n0 3 * * * x\n", 1)
	if got := delay("# other\n0 1 * * * y\n#@ spread=1h\n0 4 * * * x\n", 1); got != base {
		t.Errorf("moved: got %v, want %v", got, base)
	}
	if delay("#@ spread=1h\n0 3 * * * z\n", 1) == base || delay("#@ spread=1h\n0 3 * * * x\n", 2) == base {
		t.Error("another command or seed: got the same delay")
	}
	if delay("#@ spread=1h name=n\n0 3 * * * x\n", 1) != delay("#@ spread=1h name=n\n0 3 * * * z\n", 1) {
		t.Error("same name: got another delay")
	}
}

// TestTooManyOptionsHold shows that neither one line nor many defaults make
// parsing slow: without a bound the last of these would take hours.
func TestTooManyOptionsHold(t *testing.T) {
	var many, defaults strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&many, "x-%d=1 ", i)
		fmt.Fprintf(&defaults, "#@ default x-%d=1\n", i)
	}
	for name, text := range map[string]string{"one line": "#@ " + many.String() + "\n", "defaults": defaults.String()} {
		e, codes := optionsOf(t, text+"0 1 * * * x\n")
		if e.Options().Held == "" || !slices.Contains(codes, "B413") {
			t.Errorf("%s: got held %q and %d diagnostics, want held and B413", name, e.Options().Held, len(codes))
		}
	}
}

func TestSameHasNoDiagnostic(t *testing.T) {
	for _, s := range option.Vocabulary() {
		if s.Same != "" {
			_, codes := optionsOf(t, "#@ "+s.Key+"="+s.Same+"\n0 1 * * * x\n")
			codes = slices.DeleteFunc(codes, func(code string) bool { return code == "B411" }) // it needs another option
			if len(codes) > 0 {
				t.Errorf("%s=%s: got %v", s.Key, s.Same, codes)
			}
		}
	}
}

// TestQuietIsForRoot: a user cannot hide runs from the log.
func TestQuietIsForRoot(t *testing.T) {
	quiet := &sidecar.Sidecar{Default: []sidecar.Setting{{Key: "quiet", Value: "yes"}}}
	for _, tt := range []struct {
		text   string
		config Config
		want   bool
	}{
		{"#@ quiet\n0 1 * * * root x\n", Config{Format: System}, true},
		{"#@ quiet=no\n0 1 * * * root x\n", Config{Format: System}, false},
		{"#@ quiet\n0 1 * * * x\n", Config{Owner: "bob"}, false},
		{"0 1 * * * x\n", Config{Owner: "bob", Sidecar: quiet}, true},
	} {
		file, diagnostics := Parse("t", tt.text, tt.config)
		if got := file.Entries[0].Quiet(); got != tt.want {
			t.Errorf("%q: got quiet %v, want %v; %v", tt.text, got, tt.want, diagnostics)
		}
	}
}
