package crontab

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/option"
)

// optionValues are values that each option takes, and some that it does not, with blanks between.
var optionValues = []struct{ key, good, bad string }{
	{"sec", "0 0,30 */10 0-30/5", "60 x"},
	{"count", "1 1000", "0 1001 x"},
	{"spread", "0 30m", "x"},
	{"name", "a A.b_c-9", "a/b -y --all"},
	{"enabled", "yes no", "x"},
	{"protect", "yes no", "x"},
	{"desc", "text Nächtliche-Sicherung", "\x01 \xff"},
	{"owner", "ops@example.org", "\x7f"},
	{"access", "view:@ops+bob,operate:@oncall", "run:@ops"},
	{"access", "operate:ann", "view:"},
	{"access", "view:@a", "view:@a,view:@b"},
	{"access", "view:@a", "view:@a+@a"},
	{"quiet", "yes no", "x"},
	{"retry-for", "5m 1d", "0 x"},
	{"labels", "a:b team:etl,tier:1.x", "a a: :b a:b,c a:b:c a:b,,c:d a:b,a:b"},
	{"tz", "Europe/Paris UTC", "Mars/Base"},
	{"dst", "cron literal second", "no"},
	{"day", "last L-3 workday first-workday,last-workday 15W mon#2,fri#last", "x 0W 32W L-31 mon#6 last,"},
	{"year", "2027 2027-2029,2031", "27 1969 2200 2029-2027 x"},
	{"weeks", "1 2 520", "0 521 x"},
	{"calendar", "weekend weekend,weekend", "x weekend, weekend,x"},
	{"except", "weekend", "x"},
	{"shift", "none next prev", "x"},
	{"window", "00:00-18:00 mon-fri/01:00-18:00,sat/22:00-06:00 00:00-24:00", "x 8-18 08:00-08:00 foo/08:00-18:00"},
	{"blackout", "12:00-13:00", "x 12:00"},
	{"outside", "skip wait", "x"},
	{"every", "90s 5m 36525d", "0 5 x 36526d 106751d"},
	{"phase", "90s 0", "5"},
	{"delay", "90s 5m 36525d", "0 5 x 36526d"},
	{"at", "2026-01-01 2026-01-01T08:00 2026-01-01T08:00:00Z 1970-01-01 2199-12-31T23:59:59", "tomorrow 2026-13-01 1969-12-31 2200-01-01 2300-01-01 9999-12-31"},
	{"from", "2026-01-01", "2300-01-01"},
	{"until", "2026-01-01", "2300-01-01"},
	{"jitter", "5m 0", "5"},
	{"grace", "5m 0", "5"},
	{"catchup", "cron skip once all all:7 all:1000", "x all:0 once:2 all:1001"},
	{"deadline", "5m 0", "5"},
	{"overlap", "allow skip queue queue-all replace kill", "x"},
	{"timeout", "5m 0 36525d", "5 36525d1s 106751d 99999999999999999999s"},
	{"preempt", "yes no", "x"},
	{"preemptible", "yes no", "x"},
	{"watchdog", "1s 2m", "0 x 5"},
	{"retry", "0 1000", "-1 1001 x"},
	{"backoff", "1s 1s..5m 1s..5mx1.5", "x 5m..1s 1s..5mx0 106751d 1s..106751d"},
	{"retry-jitter", "0% 100% 5", "101% x"},
	{"on", "job:a job:a:fail,lost job:a:ok,job:b job:ann/a:ok boot resume,clock event:a,event:ann/b,job:a,boot job:a:ok,boot,job:b:fail,lost file:/srv/in/*.csv,file:/a", "x job: job:/b job:a/b/c job:a:maybe job:a,fail job:a: job:a,job:a job:a,suspend boot,ok event: event:a/b/c event:-a file: file:a file:/ file:/a/ file:/a/../b file:/[a file:/a,/b"},
	{"trigger", "clock manual", "x"},
	{"pause-counts", "yes no", "x"},
	{"once-per", "hour day week month due", "x year"},
	{"max-instances", "1 100", "0 -1 x"},
	{"after", "a a:ok,b:done c:fail ann/b root/a:ok,b@x.org/a", "a, a/ /a a/b/c a/-b a:x a: a,a a:ok,a:fail"},
	{"when", "all any none-failed one_success all-done always", "ALL some"},
	{"wait", "5m", "5 x 0"},
	{"if", "true", ""},
	{"load", "<4 <0.5 <100000", "4 <0 <-1 <x <NaN <Inf <100001 < >4"},
	{"pressure", "cpu<10 cpu<10,io<0.5,memory<100", "x<1 cpu cpu<0 cpu<101 cpu<1,cpu<2 cpu<1, cpu>1"},
	{"need-memory", "64M 2G", "x 0 -1G"},
	{"need-disk", "10G:/srv 1G:/tmp,2G:/", "10G /srv 10G:srv x:/srv 1G:/a,2G:/a 1G:/a/../b 1G:/a, :/a"},
	{"on-battery", "run skip wait", "x"},
	{"unmet", "wait skip", "run"},
	{"pool", "a a:3", "a/b a:0 a:x a:"},
	{"stop-signal", "TERM SIGINT USR1", "9 TREM SIGSIGINT"},
	{"stop-grace", "30s 0", "30 106751d"},
	{"ok", "0 0,3,255", "256 x 0,"},
	{"skip-code", "99", "-1"},
	{"retry-on", "1 timeout lost any none 1,2,lost", "x 300 none,1"},
	{"no-retry-on", "none 7", "x"},
	{"breaker", "5/1h", "5 x/1h 5/x 0/1h 5/0 1001/1h 1/106751d"},
	{"on-exhausted", "dead continue pause", "x"},
	{"if-lost", "fail rerun leave", "x"},
	{"priority", "1 10", "0 11"},
	{"nice", "-20 0 19", "-21 20 x"},
	{"idle", "yes no", "x"},
	{"io-weight", "1 10000", "0"},
	{"cpu-weight", "100", "10001"},
	{"memory", "512M 2G 1048576", "0 2X 2GB M 512 1023K 9999999T 9223372036854775807G"},
	{"memory-high", "1T 5M", "x 5K"},
	{"cpu", "50% 150% 2 0.5 1%", "0 x -1 0.5% 1e3 0x1p3 Inf 1001 1.2.3"},
	{"tasks", "100", "0"},
	{"nofile", "1024", "x"},
	{"slice", "batch.slice batch a-b", "a/b -.slice .slice a--b a-"},
	{"cwd", "/ /srv/x", "srv ./x ~ ~/x"},
	{"sandbox", "off basic strict", "yes Basic on"},
	{"network", "yes no", "off none"},
	{"read-only", "/ /srv,/etc/x", "srv ./x /srv/ /srv/../etc //srv /srv, ,/srv ~"},
	{"write", "/srv /srv,/var/lib/x", "/ /srv,/ srv /srv/. /srv/.."},
	{"credential", "a:/x a:/x,b.c-d_e:/y/z", "a /x :/x a: a:x a:/x,a:/y a/b:/x ../a:/x .a:/x -a:/x a:/x/.. a:/x,"},
	{"umask", "027 0027 0 777", "8 0o27 1000 00027 +7 -1"},
	{"group", "adm 0 www-data 4294967294", "a:b a/b 4294967295 $x"},
	{"env", "A=1 A=,B=x=y _a=", "A A=1,B =1 1A=1 A=1,A=2 A-B=1 MAILTO=x CRON_TZ=UTC USER=x CRONRING_JOB=x TRACEPARENT=x"},
	{"env-file", "/etc/default/x", "x ./x"},
	{"log", "journal none file:/var/log/x", "file:x x file:"},
	{"output-max", "64K 16M 1", "x 17M 0"},
	{"mail", "output always failure never", "x"},
	{"mailto", "a@b,c root+cron@example.org", "a,,b -oQ a;b a@b,-x |x"},
	{"notify", "ops a,b", "a,a a/b a,"},
	{"notify-after", "1 3 1000", "0 1001 x"},
	{"ping", "https://hc-ping.com/uuid http://10.0.0.1:8000/p/{{.Job}}?u={{.User}}&h={{.Host}}", "x /x ftp://h/ https:// https://{{.Job}}.h/ https://h/{{.Text}} https://h/{{"},
	{"notify-on", "fail,dead start held fail,each odd", "x fail,x each each,start"},
	{"keep", "1000 90d 1000,90d 90d,1", "x 0 1,2 1d,2d 1,2d,3 100001 4000d"},
	{"max-late", "5m 0", "x"},
	{"max-run", "1h", "x"},
	{"expect", "1d", "x 106751d23h47m"},
	{"scope", "host ring all", "x"},
	{"host", "a,b web-1.example.org", "a,,b -x a/b a*"},
	{"need", "zone:a zone:a,role:db", "x zone: :a zone:a:b zone:a,zone:b zone:a,zone:a zone:a, zone=a:b zone:a*2"},
	{"avoid", "zone:a zone:a,zone:b", "x zone:a,,zone:b zone:a,zone:a"},
	{"prefer", "zone:a zone:a*3,role:db*0.5 zone:a*100 zone:a*0.01", "x zone:a* zone:a*0 zone:a*-1 zone:a*1e1 zone:a*Inf zone:a*101 zone:a*3,zone:a*4 *3"},
	{"route", "hash any", "x"},
	{"shards", "1 1000", "0 1001 x"},
	{"if-partitioned", "run hold", "x"},
	{"quorum", "3", "0 1001"},
}

// TestValuesAreChecked holds each option whose value is checked to values that
// it takes and to some that it does not, also where this version does not act
// on it.
func TestValuesAreChecked(t *testing.T) {
	codeOf := func(item string) diagnostic.Code {
		_, diagnostics := Parse("t", "#@ "+item+"\n0 1 * * * x\n", Config{Zone: time.LoadLocation, Privileged: true})
		if len(diagnostics) == 0 {
			return ""
		}
		return diagnostics[0].Code
	}
	for _, tt := range optionValues {
		for good := range strings.FieldsSeq(tt.good) {
			if code := codeOf(tt.key + "=" + good); code != "" && code != "B403" && code != "B411" {
				t.Errorf("%s=%s: got %s, want the value taken", tt.key, good, code)
			}
		}
		for bad := range strings.FieldsSeq(tt.bad) {
			if code := codeOf(tt.key + "=" + bad); code != "B404" {
				t.Errorf("%s=%s: got %q, want B404", tt.key, bad, code)
			}
		}
		if code := codeOf(tt.key + "="); code != "B404" {
			t.Errorf("%s without value: got %q, want B404", tt.key, code)
		}
	}
	tested := map[string]bool{}
	for _, tt := range optionValues {
		tested[tt.key] = true
	}
	for _, s := range option.Vocabulary() {
		if !tested[s.Key] {
			t.Errorf("%s is an option without a test of its values", s.Key)
		}
	}
}

func TestDiagnosticsAreHarmless(t *testing.T) {
	_, diagnostics := Parse("t", "#@ a\x1b[31m=1\n\x1b[2J\xff"+strings.Repeat("é", 400)+"\n", Config{})
	if len(diagnostics) != 2 {
		t.Fatalf("got %v, want two diagnostics", diagnostics)
	}
	for _, d := range diagnostics {
		if said := d.Message + d.Fix; strings.Contains(said, "\x1b") || !utf8.ValidString(said) || len(d.Message) > diagnostic.MaxSentence {
			t.Errorf("got %q, want no escape and at most %d bytes", d.Message, diagnostic.MaxSentence)
		}
	}
}

func TestDiagnosticAsError(t *testing.T) {
	d := diagnostic.Diagnostic{File: "/etc/crontab", Line: 7, Column: 3, Message: "hour 24 is above 23"}
	if got, want := d.Error(), "/etc/crontab:7:3: hour 24 is above 23"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	d.Column = 0
	if got, want := d.Error(), "/etc/crontab:7: hour 24 is above 23"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
