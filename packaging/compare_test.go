package packaging

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/mail"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronring/cronring/packaging/machinetest"
)

// tenPackages ship a crontab in /etc/cron.d; with dma and e2fsprogs they are twelve.
const tenPackages = "cron sysstat php-common e2fsprogs mdadm atop popularity-contest backupninja rsnapshot awstats dma logcheck munin-node"

// difference is one difference between the behaviour of cronring and of Debian's cron.
type difference struct {
	where string // what it was seen on
	what  string // how it differs: "NAME: OLD -> NEW"
}

// allowed are the differences that are meant, and why.
var allowed = []struct {
	what *regexp.Regexp
	why  string
}{
	{regexp.MustCompile(`^env USER: `), "lines: USER is always set, to the account; scripts expect it"},
	{regexp.MustCompile(`^env (CRONRING_\w+|TRACEPARENT): none -> `), "a job is told about its run"},
	{regexp.MustCompile(`^parent: "cron" -> "cronringd"`), "running: there is no process of cron's own between daemon and job"},
	{regexp.MustCompile(`^fd [12]: "/tmp/X \(deleted\)" -> `), "running: output goes to the daemon and not to a deleted file"},
	{regexp.MustCompile(`^fd 0: "pipe:X" -> "(/dev/null|/memfd:.*)"`), "command: without % standard input is at its end; with %, the text in memory"},
	{regexp.MustCompile(`^Groups: "0" -> ""$`), "running: root's only group is its primary one; naming it a second time gives nothing"},
	{regexp.MustCompile(`^cwd: "/var/spool/cron" -> "/"`), "running: without its HOME a job runs in / and not in the daemon's directory"},
	{regexp.MustCompile(`^mail header X-Cron-Env <(USER|CRONRING_\w+|TRACEPARENT)=.*>: none -> `), "mail: one header for each variable, so also for these"},
	{regexp.MustCompile(`^mail header X-Cron-Env <USER=evil>: .* -> none`), "lines: USER is always set, to the account"},
	{regexp.MustCompile(`^mail header Auto-Submitted: none -> "auto-generated"`), "mail: automatic answers must not answer"},
	{regexp.MustCompile(`^mail body: "from the shell\\n" -> "from the shell\\nfrom the background\\n"`), "running: output of what the shell left behind is read for two more seconds"},
	{regexp.MustCompile(`^env QUOTED: " blanks kept" -> " blanks kept "`), "lines: blanks inside quotes are kept, which is what the quotes are for"},
	{regexp.MustCompile(`^SigIgn: "00000000[8c]000000(\d)" -> "000000000000000(\d)"`), "running: jobs begin with default dispositions; make leaves signals of the C library ignored in all that it starts, also in a machine with Debian's cron"},
	{regexp.MustCompile(`^mail header X-Cron-Env <QUOTED= blanks kept ?>: `), "lines: the same in the mail"},
	{regexp.MustCompile(`^missing: log \(bob\) CMD \(echo no shell\)`), "logs: a start without SHELL has no record, and its line is left out if the journal does not take it immediately; the history and the mail say why"},
	{regexp.MustCompile(`^(missing|added): .*escaped percent %d `), `command: \\ reaches the shell untouched; Debian's cron makes it one \`},
	{regexp.MustCompile(`^(missing|added): log \(carol\) UNSAFE MAIL`), "logs: values of the environment never go there, so the variable is named"},
	{regexp.MustCompile(`^added: (log \(root\) CMD \(echo in Kathmandu\)|mail .* echo in Kathmandu)`), "time: CRON_TZ is the zone of the schedule; Debian's cron ignores it"},
	{regexp.MustCompile(`^missing: start of (gap-fixed|gap-hours|gap-30|each-hour) #\d`), "time: a job that the clock skipped runs once, and not once for each skipped minute"},
	{regexp.MustCompile(`^missing: start of (every|last-minutes) #2`), "time: a changed zone is a jump for Debian's cron, which starts the present minute again"},
}

// TestCompareWithDebianCron lets Debian's cron and cronring run the same
// crontabs in two machines at the same time, and compares everything they did.
func TestCompareWithDebianCron(t *testing.T) {
	t.Parallel()
	machinetest.Need(t)
	minutes := 2
	if long() {
		minutes = 10
	}
	m := comparable(t, minutes)
	theirs, ours, window := runTogether(t, minutes, asDebian(m), m)
	was := collect(t, theirs, window)
	for _, name := range []string{"plain", "environ", "carol", "reboot", "system-www"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(was)), func(deed string) bool { return strings.Contains(deed, " job "+name) }) {
			t.Errorf("Debian's cron never ran %q: its crontab was refused", name)
		}
	}
	compare(t, was, collect(t, ours, window), 30*minutes)
}

// TestCompareDebianCronWithItself checks the comparison: two equal machines do not differ.
func TestCompareDebianCronWithItself(t *testing.T) {
	needLong(t, "the control takes minutes, and what it shows changes with the crontabs only: CRONRING_LONG=1")
	machinetest.Need(t)
	m := asDebian(comparable(t, 2))
	one, other, window := runTogether(t, 2, m, m)
	if d := differences(collect(t, one, window), collect(t, other, window)); len(d) > 0 {
		t.Errorf("Debian's cron differs from itself: %+v", d)
	}
}

func comparable(t *testing.T, minutes int) machine {
	return machine{
		packages: tenPackages, files: comparedCrontabs(t, "compare"),
		proof: "compare", args: []string{fmt.Sprint(minutes)},
		limit: time.Duration(minutes+10) * time.Minute,
	}
}

// fixedTimes is a crontab that names single minutes of the next quarter of an
// hour, one of them in another zone.
func fixedTimes(now time.Time) string {
	var crontab strings.Builder
	for i := range 15 {
		at := now.Add(time.Duration(i) * time.Minute)
		fmt.Fprintf(&crontab, "%d %d %d %d %d root echo minute %d\n", at.Minute(), at.Hour(), at.Day(), at.Month(), at.Weekday(), i)
	}
	at := now.Add(3 * time.Minute).In(time.FixedZone("Kathmandu", 5*3600+45*60))
	fmt.Fprintf(&crontab, "CRON_TZ=Asia/Kathmandu\n%d %d * * * root echo in Kathmandu\n", at.Minute(), at.Hour())
	return crontab.String()
}

func asDebian(m machine) machine {
	m.debian = true
	return m
}

// runTogether runs two machines until both saw the same minutes. On a busy host one may be up
// minutes before the other; then both run again.
func runTogether(t *testing.T, minutes int, one, other machine) (result, result, map[string]bool) {
	for try := 1; ; try++ {
		one.files["tables/cron.d/lab-fixed"] = fixedTimes(time.Now().UTC())
		other.files = one.files
		a, b := runBoth(t, one, other)
		window := commonMinutes(t, a, b)
		switch names := slices.Sorted(maps.Keys(window)); {
		case len(window) >= minutes:
			t.Logf("compared: %v", names)
			return a, b, window
		case try == 3:
			t.Fatalf("both machines saw only the minutes %v whole, want %d", names, minutes)
		}
	}
}

// runBoth runs two machines at the same time, each with a root of its own.
// runBoth boots two machines at the same moment. As parallel tests one would
// wait for minutes until there is a place for it.
func runBoth(t *testing.T, one, other machine) (result, result) {
	first, second := one.prepare(t), other.prepare(t)
	var both sync.WaitGroup
	both.Go(first.boot)
	both.Go(second.boot)
	both.Wait()
	a, b := first.judge(t), second.judge(t)
	if t.Failed() {
		t.FailNow()
	}
	return a, b
}

// comparedCrontabs are the files of testdata/lab/NAME as machine.files.
func comparedCrontabs(t *testing.T, name string) map[string]string {
	files := map[string]string{}
	for _, path := range glob(t, filepath.Join(lab, name, "*", "*")) {
		kind := filepath.Base(filepath.Dir(path))
		files["tables/"+kind+"/"+filepath.Base(path)] = text(t, path)
	}
	files["sendmail"] = text(t, filepath.Join(lab, "sendmail"))
	return files
}

// commonMinutes are the minutes that both machines saw completely.
func commonMinutes(t *testing.T, machines ...result) map[string]bool {
	common := map[string]bool{}
	for i, m := range machines {
		marks := strings.Fields(m.file(t, "minutes"))
		whole := map[string]bool{}
		for _, minute := range marks[:max(0, len(marks)-1)] {
			if i == 0 || common[minute] {
				whole[minute] = true
			}
		}
		common = whole
	}
	return common
}

// deeds are the observed actions of a cron: facts by their subject.
type deeds map[string]map[string]string

// collect gathers a machine's deeds of the given minutes, and of its boot.
func collect(t *testing.T, m result, window map[string]bool) deeds {
	all := deeds{}
	for _, path := range glob(t, filepath.Join(m.out, "probe", "*")) {
		var r report
		if err := json.Unmarshal([]byte(text(t, path)), &r); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if boot := strings.HasPrefix(r.Name, "reboot"); boot || window[r.Minute] {
			if boot {
				r.Minute = "boot"
			}
			all.add(r.Minute+" job "+r.Name, r.Facts)
		}
	}
	for _, path := range glob(t, filepath.Join(m.out, "mail", "*")) {
		all.addMail(t, text(t, path), window)
	}
	logged := regexp.MustCompile(`T(\d\d:\d\d):\d\d\S* \S+ CRON\[\d+\]: (\(.*)`)
	for line := range strings.Lines(m.file(t, "cron.log")) {
		if f := logged.FindStringSubmatch(line); f != nil && window[f[1]] {
			// A command begins at its first non-blank; Debian's cron logs the
			// blanks between account and command, too.
			what := regexp.MustCompile(`CMD \( +`).ReplaceAllString(f[2], "CMD (")
			all.add(f[1]+" log "+what, map[string]string{"logged": "yes"})
		}
	}
	return all
}

// add numbers what happened more than once.
func (d deeds) add(key string, facts map[string]string) {
	numbered := key
	for n := 2; d[numbered] != nil; n++ {
		numbered = fmt.Sprintf("%s #%d", key, n)
	}
	d[numbered] = facts
}

func (d deeds) addMail(t *testing.T, raw string, window map[string]bool) {
	letter, err := mail.ReadMessage(strings.NewReader(raw))
	if err != nil {
		t.Fatalf("not a mail: %v\n%s", err, raw)
	}
	minute, to := letter.Header.Get("Lab-Minute"), letter.Header.Get("To")
	switch boot := strings.Contains(letter.Header.Get("Subject"), " probe reboot"); {
	case to == "logcheck": // a package's, about the log of its machine
		return
	case boot: // in the minute after, where the machine is slow
		minute = "boot"
	case !window[minute]:
		return
	}
	facts := map[string]string{}
	for name, values := range letter.Header {
		if name == "X-Cron-Env" {
			for _, value := range values {
				facts["mail header X-Cron-Env "+value] = "yes"
			}
		} else if name != "Lab-Minute" {
			facts["mail header "+name] = strings.Join(values, " ")
		}
	}
	_, facts["mail body"], _ = strings.Cut(raw, "\n\n")
	d.add(minute+" mail to "+to+": "+letter.Header.Get("Subject"), facts)
}

// compare prints the differences as a table, and fails for each one that is not allowed. atLeast
// is the number of deeds below which the comparison fails.
func compare(t *testing.T, theirs, ours deeds, atLeast int) {
	t.Helper()
	if len(theirs) < atLeast {
		t.Errorf("Debian's cron did only %d things, want %d: nothing was compared", len(theirs), atLeast)
	}
	seen := map[string][]string{}
	for _, d := range differences(theirs, ours) {
		seen[d.what] = append(seen[d.what], d.where)
	}
	t.Logf("%d deeds of Debian's cron, %d of cronring; %d kinds of difference", len(theirs), len(ours), len(seen))
	for _, what := range slices.Sorted(maps.Keys(seen)) {
		where := seen[what]
		if why := reason(what); why != "" {
			t.Logf("meant    %4d x %.200s\n             because %s", len(where), what, why)
			continue
		}
		t.Errorf("DIFFERS  %4d x %.400s\n             first on %.200s", len(where), what, where[0])
	}
}

func reason(what string) string {
	for _, a := range allowed {
		if a.what.MatchString(what) {
			return a.why
		}
	}
	return ""
}

func differences(theirs, ours deeds) []difference {
	var all []difference
	for _, key := range union(theirs, ours) {
		_, deed, _ := strings.Cut(key, " ") // without the minute
		was, is := theirs[key], ours[key]
		switch {
		case is == nil:
			all = append(all, difference{key, "missing: " + deed})
			continue
		case was == nil:
			all = append(all, difference{key, "added: " + deed})
			continue
		}
		for _, fact := range union(was, is) {
			if old, new := quoted(was, fact), quoted(is, fact); old != new {
				if strings.HasPrefix(fact, "env CRONRING_") {
					new = "..." // another one in each run
				}
				all = append(all, difference{key, fact + ": " + old + " -> " + new})
			}
		}
	}
	return all
}

func union[V any](a, b map[string]V) []string {
	keys := slices.AppendSeq(slices.Collect(maps.Keys(a)), maps.Keys(b))
	slices.Sort(keys)
	return slices.Compact(keys)
}

func quoted(facts map[string]string, name string) string {
	if value, ok := facts[name]; ok {
		return fmt.Sprintf("%q", value)
	}
	return "none"
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		t.Fatalf("no %s: %v", pattern, err)
	}
	return paths
}

func text(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestCompareOptionsUnderOtherCrons runs crontabs with many options under other crons, where
// options are comments. For each option it compares the effect with the report of lint.
func TestCompareOptionsUnderOtherCrons(t *testing.T) {
	t.Parallel()
	machinetest.Need(t)
	cases := lossCases(time.Now())
	known, atChange := atKnownTimes(cases)
	for _, m := range []machine{
		{packages: machinetest.Packages, args: []string{"debian", "busybox"}},
		{suite: "trixie", packages: "cronie", args: []string{"cronie"}},
	} {
		m.proof, m.debian, m.limit = "options", true, 15*time.Minute
		m.files = map[string]string{
			"tables/cron.d/options": text(t, "../testdata/crontab/options.cron.d"),
			"tables/users/root":     text(t, "../testdata/crontab/options.crontab"),
			"tables/cron.d/losses":  lossCrontab(known, m.args[0], "root "),
			"change/cron.d":         lossCrontab(atChange, m.args[0], "root "),
			"busybox":               lossCrontab(known, "busybox", ""),
			"change/busybox":        lossCrontab(atChange, "busybox", ""),
			"sendmail":              text(t, filepath.Join(lab, "sendmail")),
		}
		t.Run(m.args[0], func(t *testing.T) {
			t.Parallel() // they wait for the next minute
			r := m.run(t)
			for _, cron := range m.args {
				judgeLosses(t, r, cron, cases)
			}
		})
	}
}
