package manifest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/job"
)

// values has a value other than the default for each option without a list of words.
var values = map[string]string{
	"name": "job-1", "desc": "'keeps $HOME: \"# safe\"'", "labels": "team:web,a_b:c", "owner": "ops@example.org",
	"tz": "Europe/Paris", "sec": "*/10", "day": "last", "year": "2027", "weeks": "2 from=2026-01-05", "calendar": "weekend", "except": "weekend",
	"shift": "next except=weekend", "window": "08:00-20:00 outside=wait", "blackout": "12:00-13:00", "outside": "wait window=00:00-06:00",
	"from": "2026-01-05", "until": "2027-01-05", "count": "5 from=2026-01-05", "every": "90m", "phase": "5m every=2h", "at": "2027-01-05T08:00:00Z",
	"on": "job:a", "jitter": "5m", "spread": "5m", "grace": "5m", "catchup": "once", "deadline": "90s", "max-instances": "2", "once-per": "hour",
	"after": "a", "when": "any after=a", "wait": "5m after=a", "if": "'test $A'", "pool": "p", "timeout": "90s", "stop-signal": "INT", "stop-grace": "5s",
	"cwd": "/srv/50%", "umask": "027", "env": "A=1", "env-file": "/etc/x", "group": "www", "ok": "0,3", "skip-code": "99",
	"retry": "1000 backoff=5m", "backoff": "1s..5m retry=3", "retry-jitter": "20% retry=3", "retry-for": "1h retry=3", "retry-on": "10,11,timeout retry=3",
	"no-retry-on": "12 retry=3", "on-exhausted": "pause", "breaker": "3/6h", "if-lost": "rerun", "priority": "9", "nice": "5", "io-weight": "10", "cpu-weight": "10",
	"memory": "2G", "memory-high": "1G memory=2G", "cpu": "50%", "tasks": "50", "nofile": "50", "slice": "x", "log": "none", "output-max": "1M",
	"mail": "never", "mailto": "a@example.org", "notify": "ops", "notify-on": "fail notify=ops", "keep": "7,5d", "max-late": "5m", "max-run": "5m", "expect": "5m",
	"scope": "ring", "host": "a", "need": "zone:a", "avoid": "zone:a", "prefer": "zone:a scope=ring", "route": "any scope=ring", "shards": "3",
	"delay": "5m", "watchdog": "2m", "need-memory": "1G", "need-disk": "10G:/srv", "load": "'<4'", "unmet": "skip load='<4'", "pressure": "'cpu<10'", "credential": "a:/etc/a",
	"read-only": "/srv sandbox=strict", "write": "/srv sandbox=strict", "ping": "https://example.org/x", "access": "view:@ops", "notify-after": "3 notify=ops",
	"if-partitioned": "hold scope=ring", "quorum": "3 scope=ring",
}

// parsed returns the entry of a crontab with one.
func parsed(t *testing.T, text string) *crontab.Entry {
	t.Helper()
	file, _ := crontab.Parse("t", text, crontab.Config{Owner: "root", Privileged: true, Zone: time.LoadLocation, Channels: map[string][]string{"ops": nil}})
	if len(file.Entries) != 1 {
		t.Fatalf("%s: got %d entries, want 1", text, len(file.Entries))
	}
	return &file.Entries[0]
}

// TestEveryOptionIsInEveryManifest writes an entry with each option of the vocabulary: the
// manifest of each engine changes by a field or says in a comment what is missing, and
// never drops a guard. The engines' own code reads all manifests.
func TestEveryOptionIsInEveryManifest(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	write := func(name string, e *crontab.Entry) (texts [engines]string) {
		id := job.ID("root/" + name)
		texts[kubernetes], texts[nomad] = Kubernetes(id, e, "example.org/a:1"), Nomad(id, e).Text
		for _, u := range Units(id, e) {
			texts[systemd] += u.Text
		}
		for extension, text := range map[string]string{".yaml": texts[kubernetes], ".hcl": texts[nomad]} {
			path := filepath.Join(dir, fmt.Sprintf("%03d-%s%s", len(paths), name, extension))
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			paths = append(paths, path)
		}
		return texts
	}
	plain := write("job", parsed(t, "CRON_TZ=UTC\n30 4 * * * true\n"))
	for _, spec := range option.Vocabulary() {
		row := equivalents[spec.Key]
		for _, value := range samples(spec) {
			e := parsed(t, "CRON_TZ=UTC\n#@ "+spec.Key+"="+value+"\n30 4 * * * true\n")
			if e.Options().Degraded != "" {
				t.Errorf("%s=%s: the entry is degraded: %s", spec.Key, value, e.Options().Degraded)
			}
			for on, text := range write("job", e) {
				on := engine(on)
				said := strings.Contains(text, "# "+spec.Key+"=")
				if row[on] == nil && !said {
					t.Errorf("%s=%s for %s: got no comment in\n%s", spec.Key, value, on, text)
				}
				off := strings.Contains(text, "suspend: true") || strings.Contains(text, "enabled = false") || on == systemd && !strings.Contains(text, "[Install]")
				if spec.Guard && row[on] == nil && !off {
					t.Errorf("%s=%s for %s: the job starts by itself without it:\n%s", spec.Key, value, on, text)
				}
				if !said && text == plain[on] && !strings.Contains("name env scope overlap phase desc", spec.Key) {
					t.Errorf("%s=%s for %s: got the manifest of a plain entry", spec.Key, value, on)
				}
			}
		}
	}
	for _, line := range []string{
		"0 0 13 * 5", "0 0 */2 * 1", "0 0 1-31 * 1", "0 0 * * 1-5", "*/7 */5 * 2,3 *", "0 0 1 * *", "@reboot", "0 0 30 2 *", "59 23 29 2 0-6/3",
	} {
		write("times", parsed(t, "SHELL=/bin/bash\nA='$HOME ${B} %{if}\"\nCRON_TZ=America/New_York\n#@ name=Long_name-that.needs-a-number-because-it-is-longer-than-a-name-may-be\n"+line+" echo \"$(date +\\%F) ${A}\" 'x' \t\\\\ \xff%in%put\n"))
	}
	if os.Getenv("CRONRING_LONG") == "" {
		t.Skip("SKIPPED, NOT TESTED: the schemas of Kubernetes and Nomad take a minute to compile on a fresh machine: make analysis")
	}
	check := exec.Command("go", append([]string{"run", "."}, paths...)...)
	check.Dir = "../../../../packaging/manifests"
	check.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("check %d manifests: %v\n%s", len(paths), err, out)
	}
}

// samples returns values of an option that are not its default.
func samples(spec option.Spec) (list []string) {
	if value, ok := values[spec.Key]; ok {
		return []string{value}
	}
	for value := range strings.SplitSeq(spec.Values, ", ") {
		if value != spec.Same {
			list = append(list, "'"+value+"'")
		}
	}
	return list
}

func TestManifestsHaveWhatTheEntrySays(t *testing.T) {
	e := parsed(t, "CRON_TZ=Asia/Shanghai\n#@ name=backup overlap=replace catchup=once deadline=6h timeout=1h retry=3 memory=2G cpu=50% window=00:00-06:00\n0 3 13 * 5 /usr/bin/backup $DIR%x\n")
	for _, tt := range []struct {
		on, text string
		want     []string
	}{
		{"Kubernetes", Kubernetes("root/backup", e, "a"), []string{
			"\n  schedule: \"0 3 13 * 5\"\n", "timeZone: \"Asia/Shanghai\"", "concurrencyPolicy: \"Replace\"", "startingDeadlineSeconds: 21600", "backoffLimit: 3",
			"activeDeadlineSeconds: 3600", "suspend: true", "# window=00:00-06:00 has no equivalent in Kubernetes: the job does not start by itself\n",
			"limits:\n                memory: \"2147483648\"\n                cpu: \"500m\"\n", `"/usr/bin/backup $$DIR"`,
		}},
		{"Nomad", Nomad("root/backup", e).Text, []string{
			"crons = [\"0 3 13 * 5\"]", "time_zone = \"Asia/Shanghai\"", "prohibit_overlap = true", "enabled = false", "attempts = 3", "memory = 2048",
			"# timeout=1h has no equivalent in Nomad\n", "# deadline=6h has no equivalent in Nomad\n", "# overlap=replace: Nomad can only skip the new run\n",
		}},
	} {
		for _, want := range tt.want {
			if !strings.Contains(tt.text, want) {
				t.Errorf("%s: got\n%s\nwant %q in it", tt.on, tt.text, want)
			}
		}
	}
}

// TestFieldsOfOtherParsers compares the times of exported fields with cronring's own.
func TestFieldsOfOtherParsers(t *testing.T) {
	for line, exact := range map[string]bool{
		"0 0 13 * 5": true, "0 0 */2 * 1": false, "0 0 * * 1-5": true, "0 0 1-31 * 1": true, "0 0 13 * *": true, "0 0 1 1 0-7": true, "*/7 3-5 * */2 *": true,
		"#@ every=5m phase=2m\n0 0 1 1 *": true, "#@ every=6h phase=90m\n0 0 1 1 *": true, "#@ every=90m\n0 0 1 1 *": false, "#@ every=7h\n0 0 1 1 *": false,
	} {
		e := parsed(t, "CRON_TZ=UTC\n"+line+" x\n")
		fields, _, got := timetable.CronFields(e.Schedule)
		if got != exact {
			t.Errorf("%s: got the fields %q, exact %v, want %v", line, fields, got, exact)
		}
		if !got {
			continue
		}
		other, err := cron.ParseStandard(fields)
		if err != nil {
			t.Fatalf("%s: %q: %v", line, fields, err)
		}
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		for range 500 {
			want := e.Schedule.Next(at)
			if got := other.Next(at); !got.Equal(want) {
				t.Fatalf("%s as %q after %v: got %v, want %v", line, fields, at, got, want)
			}
			at = want
		}
	}
}

// TestTimerCountsFromTheEndOfTheRun holds a timer to delay=, which systemd has too.
func TestTimerCountsFromTheEndOfTheRun(t *testing.T) {
	units := Units("a", parsed(t, "#@ delay=90s\n* * * * * true\n"))
	if len(units) != 2 || !strings.Contains(units[0].Text, "\nOnActiveSec=90s\nOnUnitInactiveSec=90s\n") {
		t.Errorf("got %+v", units)
	}
}

// TestNoTwoJobsHaveOneName: the characters in which two identities differ may be missing in names.
func TestNoTwoJobsHaveOneName(t *testing.T) {
	e := parsed(t, "0 0 1 1 *\ttrue\n")
	long := job.ID(strings.Repeat("x", 300))
	of := map[string]job.ID{}
	for _, id := range []job.ID{"a/b", "a:b", "a_b", "a b", "A/b", long + "1", long + "2"} {
		for _, name := range []string{Units(id, e)[0].Name, Nomad(id, e).Name} {
			if before, ok := of[name]; ok {
				t.Errorf("%q and %q: got the name %s for both", before, id, name)
			}
			of[name] = id
			if len(strings.TrimSuffix(name, ".timer")+".service") > 255 {
				t.Errorf("got a name of %d bytes: %s", len(name), name)
			}
		}
	}
	if name := Units("a_b", e)[0].Name; name != "cronring-a_b.timer" {
		t.Errorf("got %s, want the identity as it is", name)
	}
}
