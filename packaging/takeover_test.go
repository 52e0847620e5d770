package packaging

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/packaging/machinetest"
)

// debianHost is one of Debian's releases with its own cron, as packages find it.
type debianHost struct {
	name, suite string
	packages    string // of its root, which other machines have, too
}

var debianHosts = []debianHost{
	{"Debian12", "bookworm", machinetest.Packages},
	{"Debian13", "trixie", "cronie"}, // which apt.sh replaces before the boot
}

// boot runs a proof in a machine with these of Debian's packages and, as files,
// with ours of two versions.
func (h debianHost) boot(t *testing.T, proof, debians string, files map[string]string) result {
	t.Helper()
	debs, err := exec.Command(filepath.Join(lab, "debs.sh"), h.suite, "cron", "anacron").Output()
	if err != nil {
		t.Fatalf("fetch Debian's packages: %v", err)
	}
	for _, path := range glob(t, filepath.Join(strings.TrimSpace(string(debs)), "*")) {
		files["debs/"+filepath.Base(path)] = text(t, path)
	}
	later, err := upgrade()
	if err != nil {
		t.Fatal(err)
	}
	for folder, deb := range map[string]string{"new": aPackage(t, "*.deb"), "newer": later} {
		files[folder+"/"+filepath.Base(deb)] = text(t, deb)
	}
	for _, name := range []string{"apt.sh", "takeover.sh", "sendmail"} {
		files[name] = text(t, filepath.Join(lab, name))
	}
	files["more"] = "#!/bin/sh\nset -e\n/lab/apt.sh " + debians + "\n" + files["more"]
	return machine{suite: h.suite, packages: h.packages, proof: proof, debian: true, limit: 15 * time.Minute, files: files}.run(t)
}

// upgrade is a package that upgrades the shipped one: with other programs and other
// settings, and else the same. It is compressed in no time.
var upgrade = sync.OnceValues(func() (string, error) {
	dir, err := shipped()
	if err != nil {
		return "", err
	}
	said, err := exec.Command("sh", "-euc", `
		work=$1/upgrade version=$(dpkg-deb --field "$1"/*.deb Version)
		make -s -C .. build BIN="$work/bin" VERSION="${version%-*}.1"
		cd "$work"
		dpkg-deb --raw-extract ../*.deb tree
		cp bin/cronringd tree/usr/sbin; cp bin/cronring tree/usr/bin
		sed -i "$2" tree/etc/cronring/cronring.toml
		sed -i "s/^Version: .*/Version: ${version%-*}.1-1/" tree/DEBIAN/control
		(cd tree && find . -type f ! -path './DEBIAN/*' -printf '%P\0' | sort -z | xargs -0 md5sum) >md5sums
		mv md5sums tree/DEBIAN
		dpkg-deb -Zgzip -z1 --root-owner-group --build tree upgrade.deb
		rm -r tree bin`, "upgrade", dir, reset).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("make an upgrade: %w\n%s", err, said)
	}
	return filepath.Join(dir, "upgrade/upgrade.deb"), nil
})

// duty is an entry of a host: see entryTool for what it does.
type duty struct {
	user, name, fields, does string
}

// duties are the crontabs of a host that is taken over. Those of the past are due
// once a day, hours ago, and so not before tomorrow.
func duties(now time.Time) []duty {
	ago := now.UTC().Add(-2 * time.Hour)
	return []duty{
		{"root", "minute", eachMinute, "quick"},
		{"root", "long", eachMinute, "live"},
		{"root", "past", fmt.Sprintf("%d %d * * *", ago.Minute(), ago.Hour()), "quick"},
		{"root", "daily", "@daily", "quick"},
		{"root", "reboot", "@reboot", "quick"},
		{"alice", "alice", eachMinute, "talk"},
		{"bob", "long-bob", eachMinute, "live"},
		{"bob", "reboot-bob", "@reboot", "quick"},
	}
}

// next returns the next due time after an instant.
func (d duty) next(after time.Time) time.Time {
	file, _ := crontab.Parse("duty", d.fields+" true\n", crontab.Config{Zone: time.LoadLocation, Local: time.UTC})
	return file.Entries[0].Schedule.Next(after)
}

// dutyCrontabs are the entries as files of a machine: root's are in /etc/cron.d,
// and /etc/cron.daily has one more.
func dutyCrontabs(all []duty) map[string]string {
	files := map[string]string{}
	for _, d := range all {
		path, who := "tables/users/"+d.user, ""
		if d.user == "root" {
			path, who = "tables/cron.d/duties", "root "
		}
		files[path] += fmt.Sprintf("%s %s/lab/labtool entry host %s %s\n", d.fields, who, d.name, d.does)
	}
	return files
}

// ready lays out what the jobs write to.
const ready = `
: >/lab/out/host.events; mkfifo /lab/gate; chmod 666 /lab/out/host.events /lab/gate
printf '#!/bin/sh\n/lab/labtool entry host cron.daily quick\n' >/etc/cron.daily/duty; chmod 755 /etc/cron.daily/duty
`

// edited is the result of "systemctl edit cron" on a host where cron logs more.
const edited = `
mkdir -p /etc/systemd/system/cron.service.d
printf '[Service]\nExecStart=\nExecStart=/usr/sbin/cron -f -L 5\n' >/etc/systemd/system/cron.service.d/override.conf
`

// today marks anacron's jobs of today as done.
const today = `
day=$(date +%Y%m%d)
for stamp in daily weekly monthly yearly; do echo $day >/var/spool/anacron/cron.$stamp; done
date --date="$day + 1 day" +%F >/lab/out/tomorrow
`

// TestTakeOverFromDebianCron lets apt put cronring in the place of a cron that
// runs, and that cron in the place of cronring, and looks at all that they did
// and at all that they left.
func TestTakeOverFromDebianCron(t *testing.T) {
	t.Parallel()
	machinetest.Need(t)
	for _, h := range debianHosts {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel() // it waits for the next minute
			all := duties(time.Now())
			files := dutyCrontabs(all)
			files["more"] = ready + today
			r := h.boot(t, "takeover", "cron anacron", files)
			before, installed, back := stage(t, r, "before"), stage(t, r, "installed"), stage(t, r, "back")
			t.Run("NoneLostNoneDoubled", func(t *testing.T) { judgeDuties(t, r, all) })
			t.Run("MailGoesOn", func(t *testing.T) { judgeLetters(t, r) })
			t.Run("TablesUntouched", func(t *testing.T) {
				if before["tables"] != installed["tables"] {
					t.Errorf("got\n%s\nwant\n%s", installed["tables"], before["tables"])
				}
			})
			t.Run("CrontabIsNotSetgid", func(t *testing.T) { notSetgid(t, installed) })
			t.Run("CronServiceIsOurs", func(t *testing.T) { oursByOldName(t, installed, "loaded active enabled") })
			t.Run("NothingBroken", func(t *testing.T) {
				for name, s := range map[string]facts{"installed": installed, "back": back} {
					same(t, name+" broken", s["broken"], "")
				}
			})
			t.Run("CronIsBack", func(t *testing.T) { cronIsBack(t, before, back) })
			t.Run("DaysOfAnacronAreKept", func(t *testing.T) {
				got, tomorrow := r.file(t, "daily"), strings.TrimSpace(r.file(t, "tomorrow"))
				if !strings.Contains(got, tomorrow) {
					t.Errorf("cron.daily is due %q, want on the day after that of its stamp, %s", got, tomorrow)
				}
			})
		})
	}
}

// TestPackageLife takes the package through what a package manager does, and
// looks at what is there after each step.
func TestPackageLife(t *testing.T) {
	t.Parallel()
	machinetest.Need(t)
	for _, h := range debianHosts {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			all := duties(time.Now())
			files := dutyCrontabs(all)
			files["more"] = ready + edited
			files["slow-dpkg"] = slowDpkg
			files["pulse"] = "#@ name=pulse every=1s catchup=all:1000\n* * * * * root echo \"$CRONRING_DUE\" >>/lab/out/pulse\n"
			files["long"] = "#@ name=long memory=64M\n0 0 29 2 * root echo before; echo $$ >/lab/out/long; read -r _ </lab/gate; echo after; exit 7\n"
			r := h.boot(t, "takeover-life", "cron", files)
			at := map[string]facts{}
			for _, name := range []string{"before", "dpkg", "purged-cron", "refused", "upgraded", "removed", "purged", "anew", "back", "cron"} {
				at[name] = stage(t, r, name)
			}
			t.Run("MinuteBetweenIsMadeUp", func(t *testing.T) { judgeBetween(t, r, all) })
			t.Run("CrontabIsNotSetgid", func(t *testing.T) {
				for _, name := range []string{"dpkg", "purged-cron", "upgraded", "anew"} {
					notSetgid(t, at[name])
				}
			})
			t.Run("SettingsOfCronOutliveIt", func(t *testing.T) {
				// What they hold is looked at where all crontabs are.
				for name, want := range map[string]bool{"dpkg": true, "purged-cron": false} {
					for _, path := range []string{"/etc/pam.d/cron\n", "/etc/default/cron\n"} {
						if got := strings.Contains(at[name]["tables"], "  "+path); got != want {
							t.Errorf("%s: %s is there: got %v, want %v", name, path, got, want)
						}
					}
				}
				oursByOldName(t, at["purged-cron"], "loaded active enabled")
			})
			t.Run("CronServiceIsOurs", func(t *testing.T) {
				for _, name := range []string{"dpkg", "refused", "upgraded", "anew"} {
					oursByOldName(t, at[name], "loaded active enabled")
				}
			})
			t.Run("DpkgRefusesAptGoesBack", func(t *testing.T) {
				same(t, "packages after dpkg refused", at["refused"]["packages"], at["purged-cron"]["packages"])
				cronIsBack(t, at["before"], at["back"])
				cronIsBack(t, at["before"], at["cron"])
			})
			t.Run("NoneLostInAnUpgrade", func(t *testing.T) { judgePulse(t, r) })
			t.Run("EndsAreRecorded", func(t *testing.T) {
				same(t, "output", r.file(t, "logs"), "before\nafter\n")
			})
			t.Run("RemoveKeepsSettings", func(t *testing.T) { removed(t, at["removed"]) })
			t.Run("PurgeLeavesNothing", func(t *testing.T) {
				same(t, "traces", at["purged"]["traces"], "")
				same(t, "traces beside cron", at["cron"]["traces"], "")
				same(t, "severed links beside cron", at["cron"]["severed"], at["before"]["severed"])
				same(t, "units", at["purged"].unit("cronring.service"), "not-found inactive")
			})
			t.Run("TablesOfUsersUntouched", func(t *testing.T) {
				for name, s := range at {
					same(t, name+" crontabs", usersCrontabs(s), usersCrontabs(at["before"]))
				}
			})
			t.Run("NothingBroken", func(t *testing.T) {
				for name, s := range at {
					same(t, name+" broken", s["broken"], "")
				}
			})
		})
	}
}

// facts are the state of a machine at a stage: see takeover.sh.
type facts map[string]string

func stage(t *testing.T, r result, name string) facts {
	t.Helper()
	s := facts{}
	for _, path := range glob(t, filepath.Join(r.out, name, "*")) {
		s[filepath.Base(path)] = text(t, path)
	}
	return s
}

// unit is the state of a unit: loaded, active and, if that is relevant, enabled.
func (s facts) unit(name string) string {
	property := func(key string) string {
		m := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(name) + ` ` + key + `=(.*)$`).FindStringSubmatch(s["units"])
		if m == nil {
			return ""
		}
		return m[1]
	}
	return strings.TrimSpace(property("LoadState") + " " + property("ActiveState") + " " + property("UnitFileState"))
}

func notSetgid(t *testing.T, s facts) {
	t.Helper()
	same(t, "crontab(1)", s["crontab"], "755 root:root\n")
	same(t, "overrides", s["overrides"], "")
}

// oursByOldName: cron.service is cronring.service, and that is as is wanted.
func oursByOldName(t *testing.T, s facts, want string) {
	t.Helper()
	for _, name := range []string{"cron.service", "cronring.service"} {
		same(t, name, s.unit(name), want)
		if !strings.Contains(s["units"], name+" Id=cronring.service\n") {
			t.Errorf("%s is not cronring's:\n%s", name, s["units"])
		}
	}
	same(t, "severed links", s["severed"], "")
}

// cronIsBack: all of cron is as it was before cronring came.
func cronIsBack(t *testing.T, before, back facts) {
	t.Helper()
	same(t, "cron.service", back.unit("cron.service"), "loaded active enabled")
	same(t, "its unit", fragment(back), fragment(before))
	same(t, "crontab(1)", back["crontab"], before["crontab"])
	same(t, "overrides", back["overrides"], before["overrides"])
	same(t, "tables", usersCrontabs(back), usersCrontabs(before))
	if !strings.Contains(back["packages"], "cron installed\n") {
		t.Errorf("cron is not installed:\n%s", back["packages"])
	}
	if strings.Contains(back["processes"], "cronringd cronring.service\n") {
		t.Errorf("cronring runs beside cron:\n%s", back["processes"])
	}
}

func fragment(s facts) string {
	return regexp.MustCompile(`cron\.service (Id|FragmentPath)=.*`).FindString(s["units"])
}

// usersCrontabs are the crontabs, with rights and contents, but without the times
// of folders.
func usersCrontabs(s facts) string {
	var kept []string
	for line := range strings.Lines(s["tables"]) {
		if strings.Contains(line, "/var/spool/cron") || strings.HasPrefix(line, "crontab:") {
			kept = append(kept, regexp.MustCompile(` \d+\.\d+ d `).ReplaceAllString(line, " d "))
		}
	}
	return strings.Join(kept, "")
}

// stays matches the processes of jobs that run longer than their cron: ours, and those that
// Debian's cron started if a minute began while it was back.
var stays = regexp.MustCompile(`^(cronring-shim cronring\.service|cronringd cronring-runs-\S+\.service|cron cron-jobs-\S+\.scope)$`)

// removed: what is left are settings, history and, until their job ends, what
// watches it.
func removed(t *testing.T, s facts) {
	t.Helper()
	for _, want := range []string{"/etc/cronring/cronring.toml", "/etc/pam.d/cronring", "/var/lib/cronring/cronring.db"} {
		if !strings.Contains(s["traces"], want+"\n") {
			t.Errorf("%s is gone, want it kept until purge:\n%s", want, s["traces"])
		}
	}
	for line := range strings.Lines(s["traces"]) {
		path := strings.TrimSpace(line)
		if strings.HasPrefix(path, "/usr/") || strings.HasPrefix(path, "/lib/") || strings.HasSuffix(path, ".sock") {
			t.Errorf("%s is left", path)
		}
	}
	same(t, "cronring.service", s.unit("cronring.service"), "not-found inactive")
	same(t, "cronring.socket", s.unit("cronring.socket"), "not-found inactive")
	for line := range strings.Lines(s["processes"]) {
		if !stays.MatchString(strings.TrimSpace(line)) {
			t.Errorf("%s is left", line)
		}
	}
}

func same(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got\n%s\nwant\n%s", what, got, want)
	}
}

// judgeDuties compares the starts with the schedule in the minutes that the script saw. While one
// cron replaces another, for seconds, a start may be missing, but not doubled.
func judgeDuties(t *testing.T, r result, all []duty) {
	t.Helper()
	starts, by := map[string][]time.Time{}, map[string]int{}
	for _, e := range startsOf(t, r) {
		starts[e.Entry] = append(starts[e.Entry], e.At.UTC())
		by[whose(e)]++
	}
	if by["cron"] == 0 || by["cronring"] == 0 {
		t.Errorf("got starts by %v, want some by both", by)
	}
	begin, end := instants(t, r, "begin")[0], instants(t, r, "end")[0]
	switches := instants(t, r, "switches")
	for _, d := range append(all, duty{name: "cron.daily", fields: never}) {
		if d.fields == "@reboot" {
			if n := len(starts[d.name]); n != 1 {
				t.Errorf("%s started %d times, want once: %v", d.name, n, starts[d.name])
			}
			continue
		}
		judgeStarts(t, d, starts[d.name], begin, end, switches)
	}
	t.Logf("starts by %v between %v and %v, switches %v", by, begin, end, switches)
}

// startsOf returns the starts of a machine's jobs. Each must have ended, except for those that
// began after the script unblocked the last ones.
func startsOf(t *testing.T, r result) (starts []lossEvent) {
	t.Helper()
	ended := map[int]bool{}
	for line := range strings.Lines(r.file(t, "host.events")) {
		var e lossEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if e.What == "end" {
			ended[e.PID] = true
		} else {
			starts = append(starts, e)
		}
	}
	let := instants(t, r, "end")[0]
	for _, e := range starts {
		if !ended[e.PID] && e.At.Before(let) {
			t.Errorf("process %d of %s did not come to its end", e.PID, e.Entry)
		}
	}
	return starts
}

// judgeStarts: one in each minute that the fields name.
func judgeStarts(t *testing.T, d duty, starts []time.Time, begin, end time.Time, switches []time.Time) {
	t.Helper()
	seen := map[int64]int{} // by minute
	for _, at := range starts {
		seen[at.Unix()/60]++
	}
	for at := d.next(begin); !at.IsZero() && at.Before(end); at = d.next(at) {
		n := seen[at.Unix()/60]
		delete(seen, at.Unix()/60)
		between := false
		for i := 0; i < len(switches); i += 2 {
			between = between || !at.Before(switches[i]) && !at.After(switches[i+1])
		}
		if n != 1 && !(n == 0 && (between || end.Sub(at) < 10*time.Second)) {
			t.Errorf("%s: %d starts in the minute of %v, want 1", d.name, n, at)
		}
	}
	for minute, n := range seen {
		if at := time.Unix(minute*60, 0).UTC(); at.After(begin) && at.Before(end) {
			t.Errorf("%s: %d starts in the minute of %v, in which it is not due", d.name, n, at)
		}
	}
}

// whose start it was, by the control group.
func whose(e lossEvent) string {
	if strings.Contains(e.Place["groups"], "cronring") {
		return "cronring"
	}
	return "cron"
}

// instants are the seconds since 1970 that a file of the script has.
func instants(t *testing.T, r result, name string) []time.Time {
	t.Helper()
	var all []time.Time
	for _, word := range strings.Fields(r.file(t, name)) {
		var seconds float64
		if _, err := fmt.Sscan(strings.ReplaceAll(word, ",", "."), &seconds); err != nil {
			t.Fatalf("%s: %q: %v", name, word, err)
		}
		whole, part := math.Modf(seconds)
		all = append(all, time.Unix(int64(whole), int64(part*1e9)).UTC())
	}
	return all
}

// slowDpkg is a dpkg that unpacks only when another minute has begun.
const slowDpkg = `#!/bin/bash
case " $* " in *" --unpack "*)
	minute=$((EPOCHSECONDS / 60 + 1))
	until [ $((EPOCHSECONDS / 60)) -ge $minute ]; do sleep 0.1; done
	echo $((minute * 60)) >/lab/out/between
esac
exec dpkg "$@"
`

// judgeBetween: of the minutes that began between two crons, which is one if the machine is fast
// enough, each job of each minute made up the newest, once. No other job started.
func judgeBetween(t *testing.T, r result, all []duty) {
	t.Helper()
	between, installed, end := instants(t, r, "between")[0], instants(t, r, "installed")[0], instants(t, r, "end")[0]
	starts := map[string][]lossEvent{}
	for _, e := range startsOf(t, r) {
		starts[e.Entry] = append(starts[e.Entry], e)
	}
	for _, d := range all {
		ours := map[string]int{} // starts by the time that they were due
		first := ""
		for _, e := range starts[d.name] {
			if e.At.Before(between) {
				continue
			}
			if whose(e) != "cronring" {
				if e.At.Before(between.Add(time.Minute)) {
					t.Errorf("%s is started by cron at %v", d.name, e.At)
				}
				continue
			}
			if first = cmp.Or(first, e.Due); e.Due < first {
				first = e.Due
			}
			ours[e.Due]++
		}
		if d.fields == eachMinute {
			due, err := time.Parse(time.RFC3339, first)
			if err != nil || due.Before(between) || due.After(installed) || ours[first] != 1 {
				t.Errorf("%s: %d starts for %q, want 1 for a minute from %v to %v; error %v", d.name, ours[first], first, between, installed, err)
			}
		}
		switch got := len(starts[d.name]); {
		case d.fields == "@reboot" && got != 1:
			t.Errorf("%s: got %d starts in this boot, want 1", d.name, got)
		case d.fields != "@reboot" && got > 0 && d.next(between.Add(-time.Second)).After(end):
			t.Errorf("%s: got %d starts, but it was not due", d.name, got)
		}
	}
	if n := len(starts["cron.daily"]); n != 0 {
		t.Errorf("a script of cron.daily: got %d starts, want none before its time", n)
	}
}

// judgeLetters: each run of alice's job is one letter to her.
func judgeLetters(t *testing.T, r result) {
	t.Helper()
	letters := map[string]int{}
	for _, path := range glob(t, filepath.Join(r.out, "mail", "*")) {
		letter := text(t, path)
		if !strings.Contains(letter, "said by alice") {
			continue
		}
		letters[regexp.MustCompile(`(?m)^To: .*$`).FindString(letter)]++
	}
	want := 0
	for line := range strings.Lines(r.file(t, "host.events")) {
		if strings.Contains(line, `"Entry":"alice","What":"start"`) {
			want++
		}
	}
	if letters["To: alice"] != want || len(letters) != 1 {
		t.Errorf("got letters %v, want %d to alice", letters, want)
	}
}

// judgePulse: each second from the first to the last has one start.
func judgePulse(t *testing.T, r result) {
	t.Helper()
	var dues []time.Time
	for _, word := range strings.Fields(r.file(t, "pulse")) {
		due, err := time.Parse(time.RFC3339, word)
		if err != nil {
			t.Fatal(err)
		}
		dues = append(dues, due)
	}
	slices.SortFunc(dues, func(a, b time.Time) int { return cmp.Compare(a.Unix(), b.Unix()) })
	for i := 1; i < len(dues); i++ {
		if step := dues[i].Sub(dues[i-1]); step != time.Second {
			t.Errorf("the start after that of %v is %v later, want one in each second", dues[i-1], step)
		}
	}
	t.Logf("%d starts", len(dues))
}
