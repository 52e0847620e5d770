package packaging

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
)

// lossCase is an entry that other crons run: its options here, and the behaviour of its program
// there. See entryTool for the values of does.
type lossCase struct {
	name, options, fields, does string
}

const (
	eachMinute = "* * * * *"
	never      = "* * 31 2 *"
	inGap      = "@GAP@" // the script inserts the minute and hour that a change of the clock skips
)

// lossCases have each option that can be lost, by itself or with what it needs.
// That what is asked for would have been seen is the point of each: a delay of
// half a day, a limit that the program breaks, a parent that fails.
func lossCases(now time.Time) []lossCase {
	utc := now.UTC()
	// The zone of the machine is an hour ahead from its second minute on, and
	// the hour may end while it runs; in China it is another time of day.
	hours := fmt.Sprintf("* %d,%d,%d * * *", utc.Hour(), (utc.Hour()+1)%24, (utc.Hour()+2)%24)
	tomorrow := utc.Add(2 * time.Hour)
	today := fmt.Sprintf("* * %d,%d %d,%d *", utc.Day(), tomorrow.Day(), utc.Month(), tomorrow.Month())
	cases := []lossCase{
		{"enabled", "enabled=no", eachMinute, "quick"},
		{"tz", "tz=Asia/Shanghai", hours, "quick"},
		{"dst-literal", "dst=literal", inGap, "quick"},
		{"dst-second", "dst=second", inGap, "quick"},
		{"sec", "sec=*/10", eachMinute, "quick"},
		{"from", "from=2099-01-01", eachMinute, "quick"},
		{"until", "until=2020-01-01", eachMinute, "quick"},
		{"count", "count=1 from=2020-01-01", eachMinute, "quick"},
		{"every", "every=2h", eachMinute, "quick"},
		{"phase", "every=2h phase=1h", eachMinute, "quick"},
		{"delay", "delay=2h", eachMinute, "quick"},
		{"at", "at=" + utc.AddDate(4, 0, 0).Format("2006-01-02T15:04:05Z"), today, "quick"},
		{"on", "on=job:never", eachMinute, "quick"},
		{"on-never", "on=job:never", never, "quick"},
		{"trigger", "trigger=manual", eachMinute, "quick"},
		{"trigger-never", "trigger=manual", never, "quick"},
		{"day", "day=last", eachMinute, "quick"},
		{"year", "year=2199", eachMinute, "quick"},
		{"weeks", "weeks=520 from=2020-01-06", eachMinute, "quick"},
		{"calendar", "calendar=weekend", eachMinute, "quick"},
		{"except", "except=weekend", eachMinute, "quick"},
		{"shift", "except=weekend shift=next", eachMinute, "quick"},
		{"window", "window=" + utc.AddDate(0, 0, 3).Format("Mon") + "/00:00-00:01", eachMinute, "quick"},
		{"blackout", "blackout=" + utc.AddDate(0, 0, 4).Format("Mon-") + utc.AddDate(0, 0, 2).Format("Mon") + "/00:00-24:00", eachMinute, "quick"},
		{"outside", "window=" + utc.AddDate(0, 0, 3).Format("Mon") + "/00:00-00:01 outside=wait", eachMinute, "quick"},
		{"jitter", "jitter=30s", eachMinute, "quick"},
		{"spread", "spread=12h", eachMinute, "quick"},

		{"grace", "grace=1s catchup=skip", eachMinute, "quick"},
		{"catchup", "catchup=all", eachMinute, "quick"},
		{"deadline", "deadline=1s", eachMinute, "quick"},
		{"pause-counts", "pause-counts=yes", eachMinute, "quick"},
		{"overlap", "overlap=skip", eachMinute, "live"},
		{"max-instances", "max-instances=1", eachMinute, "live"},

		{"once-per", "once-per=day", eachMinute, "quick"},

		{"never", "", never, "quick"},
		{"after", "after=plain-lose", eachMinute, "quick"},
		{"when", "after=plain-lose when=all-success", eachMinute, "quick"},
		{"wait", "after=plain-live wait=1h", eachMinute, "quick"},
		{"if", "if=false", eachMinute, "quick"},
		{"load", "load='<0.0001' unmet=skip", eachMinute, "quick"},
		{"pressure", "pressure='cpu<0.0001' unmet=skip", eachMinute, "quick"},
		{"need-memory", "need-memory=1024T", eachMinute, "quick"},
		{"need-disk", "need-disk=1024T:/tmp unmet=skip", eachMinute, "quick"},
		{"on-battery", "on-battery=skip", eachMinute, "quick"},
		{"unmet", "need-disk=1024T:/tmp unmet=skip", eachMinute, "quick"},
		{"pool", "pool=one overlap=skip", eachMinute, "live"},
		{"pool-other", "pool=one overlap=skip", eachMinute, "live"},
		{"priority-first", "priority=1 pool=two", eachMinute, "live"},
		{"priority", "priority=10 pool=two", eachMinute, "live"},

		{"preemptible", "preemptible priority=1 pool=three", eachMinute, "live"},
		{"preempt", "preempt pool=three", eachMinute, "live"},

		{"timeout", "timeout=1s", eachMinute, "live"},
		{"watchdog", "watchdog=1s", eachMinute, "live"},
		{"stop-signal", "timeout=1s stop-signal=KILL", eachMinute, "live"},
		{"stop-grace", "timeout=1s stop-grace=1s", eachMinute, "live"},
		{"ok", "ok=1", eachMinute, "lose"},
		{"skip-code", "skip-code=1", eachMinute, "lose"},
		{"retry", "retry=3 backoff=1s", eachMinute, "lose"},
		{"retry-for", "retry=3 backoff=1s retry-for=1h", eachMinute, "lose"},
		{"backoff", "retry=3 backoff=1s..2s", eachMinute, "lose"},
		{"retry-jitter", "retry=3 backoff=1s retry-jitter=50%", eachMinute, "lose"},
		{"retry-on", "retry=3 backoff=1s retry-on=1", eachMinute, "lose"},
		{"no-retry-on", "retry=3 backoff=1s no-retry-on=2", eachMinute, "lose"},
		{"breaker", "breaker=1/1h", eachMinute, "lose"},
		{"on-exhausted", "on-exhausted=pause", eachMinute, "lose"},
		{"if-lost", "if-lost=rerun", eachMinute, "vanish"},

		{"cwd", "cwd=/proc", eachMinute, "quick"},
		{"umask", "umask=077", eachMinute, "quick"},
		{"env", "env=OPTION=set", eachMinute, "quick"},
		{"env-file", "env-file=/lab/env", eachMinute, "quick"},
		{"group", "group=daemon", eachMinute, "quick"},
		{"sandbox", "sandbox=basic", eachMinute, "quick"},
		{"network", "network=no", eachMinute, "quick"},
		{"read-only", "sandbox=strict read-only=/srv", eachMinute, "quick"},
		{"write", "sandbox=strict write=/srv", eachMinute, "quick"},
		{"credential", "credential=db:/lab/env", eachMinute, "quick"},
		{"nice", "nice=5", eachMinute, "quick"},
		{"idle", "idle", eachMinute, "quick"},
		{"io-weight", "io-weight=10", eachMinute, "quick"},
		{"cpu-weight", "cpu-weight=10", eachMinute, "quick"},
		{"memory", "memory=4M", eachMinute, "hog"},
		{"memory-high", "memory-high=4M", eachMinute, "hog"},
		{"cpu", "cpu=1%", eachMinute, "hog"},
		{"tasks", "tasks=2", eachMinute, "hog"},
		{"nofile", "nofile=32", eachMinute, "hog"},
		{"slice", "slice=batch", eachMinute, "quick"},

		{"log", "log=none", eachMinute, "talk"},
		{"log-file", "log=file:/tmp/lost.log", eachMinute, "talk"},
		{"output-max", "output-max=1K", eachMinute, "shout"},
		{"quiet", "quiet", eachMinute, "talk"},
		{"mail", "mail=never", eachMinute, "talk"},
		{"mail-other", "mail=failure", eachMinute, "talk"},
		{"mailto", "mailto=bob", eachMinute, "talk"},
		{"notify", "notify=mail notify-on=success", eachMinute, "talk"},
		{"notify-after", "notify=mail notify-after=2", eachMinute, "cry"},
		{"ping", "ping=http://127.0.0.1:9/x", eachMinute, "cry"},
		{"notify-on", "notify=mail notify-on=start,fail", eachMinute, "cry"},
		{"keep", "keep=5", eachMinute, "talk"},
		{"max-late", "max-late=1s", eachMinute, "quick"},
		{"max-run", "max-run=1s", eachMinute, "live"},
		{"expect", "expect=1s", eachMinute, "lose"},

		{"scope", "scope=ring", eachMinute, "quick"},
		{"need", "need=zone:nowhere", eachMinute, "quick"},
		{"avoid", "scope=ring avoid=zone:here", eachMinute, "quick"},
		{"prefer", "scope=ring prefer=zone:elsewhere*100", eachMinute, "quick"},
		{"route", "scope=ring route=any", eachMinute, "quick"},
		{"shards", "shards=3", eachMinute, "quick"},
		{"if-partitioned", "scope=ring if-partitioned=hold", eachMinute, "quick"},
		{"quorum", "scope=ring quorum=3", eachMinute, "quick"},
		{"host", "host=elsewhere.example.org", eachMinute, "quick"},
	}
	for _, does := range []string{"quick", "live", "lose", "vanish", "hog", "talk", "shout", "cry"} {
		cases = append(cases, lossCase{"plain-" + does, "", eachMinute, does})
	}
	return cases
}

// lossCrontab is the cases as a crontab; who is the account of each entry, and a
// blank, in crontabs that have one.
func lossCrontab(cases []lossCase, cron, who string) string {
	var crontab strings.Builder
	crontab.WriteString("SHELL=/bin/sh\nMAILTO=lab\n")
	for _, c := range cases {
		fmt.Fprintf(&crontab, "#@ name=%s %s\n%s %s/lab/labtool entry %s %s %s\n", c.name, c.options, c.fields, who, cron, c.name, c.does)
	}
	return crontab.String()
}

// atKnownTimes separates the cases from those with times that only the machine can compute.
func atKnownTimes(cases []lossCase) (known, atChange []lossCase) {
	for _, c := range cases {
		if c.fields == inGap {
			atChange = append(atChange, c)
		} else {
			known = append(known, c)
		}
	}
	return known, atChange
}

// loss is the report of `cronring lint --portable` about an option of an entry.
type loss struct {
	entry, option, text string
}

// statedLosses are those of all cases, as lint finds them.
func statedLosses(t *testing.T, cases []lossCase) []loss {
	t.Helper()
	text := strings.ReplaceAll(lossCrontab(cases, "some", "root "), inGap, eachMinute)
	file, diagnostics := crontab.Parse("losses", text, crontab.Config{Format: crontab.System, Owner: "root", Privileged: true, Zone: time.LoadLocation})
	for _, d := range diagnostics {
		if d.Severity != crontab.Note && d.Code != "B106" { // never runs, as is meant
			t.Errorf("got %v (%s), want notices at most", d, d.Code)
		}
	}
	var all []loss
	for _, d := range file.Losses() {
		said, text, ok := strings.Cut(d.Message, ": under a plain cron ")
		option, _, _ := strings.Cut(said, "=")
		if !ok {
			t.Fatalf("lint said %q", d.Message)
		}
		all = append(all, loss{cases[(d.Line-3)/2].name, option, text})
	}
	return all
}

// TestEachLossIsObserved compares the cases with the vocabulary: each option has an entry that
// uses it, and each statement has an observation.
func TestEachLossIsObserved(t *testing.T) {
	stated := statedLosses(t, lossCases(time.Now()))
	for _, spec := range option.Vocabulary() {
		if spec.Loss == "it runs as usual" { // lint does not report it
			continue
		}
		if !slices.ContainsFunc(stated, func(l loss) bool { return l.option == spec.Key && l.text == spec.Loss }) {
			t.Errorf("no entry loses %s=, want one of which lint says %q", spec.Key, spec.Loss)
		}
	}
	for _, l := range stated {
		if observations[l.text] == nil {
			t.Errorf("%s: nobody looks whether it is so that %q", l.option, l.text)
		}
	}
}

// TestNothingIsObservedWithoutRuns shows that who looks sees: of a cron that
// never started anything no statement is true.
func TestNothingIsObservedWithoutRuns(t *testing.T) {
	cases := lossCases(time.Now())
	idle := &cronReport{cron: "debian", cases: cases, moments: moments{
		missed: time.Unix(60, 0), late: time.Unix(180, 0), awake: time.Unix(183, 0),
	}}
	for _, l := range statedLosses(t, cases) {
		if c := idle.caseOf(l.entry); c.fields != never && observations[l.text](idle, l.entry) == nil {
			t.Errorf("%s: seen that %q, though nothing ran", l.entry, l.text)
		}
	}
}

// cronReport is the observed behaviour of a cron with the cases. The cron was down at the start of the first
// minute and stopped at the end of the last one; in between it ran without interruption.
type cronReport struct {
	cron    string
	cases   []lossCase
	runs    map[string][]*lossRun // by entry, in the order of their starts
	daemon  map[string]string     // where the cron itself was placed
	moments moments
	letters map[string][]string // by entry
	log     []string            // of the cron
	found   string              // what has the jobs' output beside the mails
}

type moments struct {
	missed time.Time // the minute that began while the cron was down
	late   time.Time // the run that began while it was stopped
	awake  time.Time // when it continued, seconds later
}

// lossRun is a run in the report of its program.
type lossRun struct {
	start lossEvent
	end   *lossEvent // nil: it did not come to its end
}

// observations are the expected observations of an entry under another cron for each statement of
// lint.
var observations = map[string]func(w *cronReport, entry string) error{
	"it runs":             (*cronReport).steady,
	"there are no pauses": (*cronReport).steady,
	"it always runs":      (*cronReport).steady,
	"it runs on every day that its fields name":           (*cronReport).steady,
	"it runs in every year":                               (*cronReport).steady,
	"it runs in every week":                               (*cronReport).steady,
	"its days stay as they are":                           (*cronReport).steady,
	"it runs as often as its fields name a time":          (*cronReport).steady,
	"it starts at any time that its fields name":          (*cronReport).steady,
	"it starts at the times that its fields name":         (*cronReport).steady,
	"it also runs before that":                            (*cronReport).steady,
	"it continues to run after that":                      (*cronReport).steady,
	"it runs without limit":                               (*cronReport).steady,
	"it follows its time fields":                          (*cronReport).steady,
	"it follows its time fields, each year":               (*cronReport).steady,
	"its fields are read in the host's zone":              (*cronReport).steady,
	"it runs on every host that has the file":             (*cronReport).steady,
	"it starts at its time, independent of other jobs":    (*cronReport).steady,
	"it runs once per minute, at second 0":                (*cronReport).steady,
	"it starts on the minute":                             (*cronReport).steady,
	"it runs once":                                        (*cronReport).steady,
	"there is one attempt":                                (*cronReport).steady,
	"it continues to run after failures":                  (*cronReport).steady,
	"it runs again at its next time":                      (*cronReport).steady,
	"it follows its time fields; 31 February means never": (*cronReport).steadyOrNever,
	"changes of the clock follow the rules of that cron":  (*cronReport).sameAtChange,

	"the limit for lateness is that cron's, about 5 minutes": (*cronReport).startedLate,
	"it has no deadline": (*cronReport).startedLate,
	"a missed run is caught up only within minutes, or not at all": (*cronReport).notMadeUp,

	"a new run starts beside a running one; busybox skips it": (*cronReport).besideItself,
	"any number of runs at the same time; in busybox, one":    (*cronReport).besideItself,
	"a run can last forever":                                  (*cronReport).unstopped,
	"nothing stops a run":                                     (*cronReport).unstopped,
	"it does not wait for other jobs":                         (*cronReport).besideOthers,
	"all due jobs start at the same time":                     (*cronReport).besideOthers,
	"it does not wait":                                        (*cronReport).besideParent,

	"the exit status has no effect": (*cronReport).toldAsPlain,
	"a lost run is not noticed":     (*cronReport).toldAsPlain,
	"there is no warning":           (*cronReport).toldAsPlain,
	"each start is in the log":      (*cronReport).toldAsPlain,

	"it starts in the user's home":             (*cronReport).setAsPlain,
	"it has the mask of cron's other jobs":     (*cronReport).setAsPlain,
	"it has only the variables of the crontab": (*cronReport).setAsPlain,
	"it has the user's own groups":             (*cronReport).setAsPlain,
	"nothing confines it":                      (*cronReport).setAsPlain,
	"it is given no secret":                    (*cronReport).setAsPlain,
	"it runs with the priority of cron":        (*cronReport).placedAsCron,
	"it has cron's share of the disk":          (*cronReport).placedAsCron,
	"it has cron's share of the processors":    (*cronReport).placedAsCron,
	"it runs among cron's own processes":       (*cronReport).placedAsCron,
	"the user's own limit applies":             (*cronReport).unlimited,
	"nothing limits it":                        (*cronReport).unlimited,

	"its output is mailed, and goes nowhere else":           (*cronReport).mailedAlone,
	"all of its output is mailed":                           (*cronReport).mailedAlone,
	"its output is mailed for any exit status":              (*cronReport).mailedAlone,
	"its output is mailed to MAILTO":                        (*cronReport).mailedAlone,
	"there are no notifications, only mail with the output": (*cronReport).mailedAlone,
	"no history is kept":                                    (*cronReport).mailedAlone,
}

// judgeLosses checks, option by option, that an entry under a cron loses the effects that lint
// reports.
func judgeLosses(t *testing.T, r result, cron string, cases []lossCase) {
	t.Helper()
	c := witness(t, r, cron, cases)
	stated := statedLosses(t, cases)
	for _, l := range stated {
		observe := observations[l.text]
		if observe == nil {
			continue // TestEachLossIsObserved reports it
		}
		if err := observe(c, l.entry); err != nil {
			t.Errorf("%s: %s= of %s: want that %s, but %v\n%s", cron, l.option, l.entry, l.text, err, c.tell(l.entry))
		}
	}
	t.Logf("%s: %d losses of %d entries observed", cron, len(stated), len(cases))
}

// witness reads what a machine left of one cron.
func witness(t *testing.T, r result, cron string, cases []lossCase) *cronReport {
	t.Helper()
	c := &cronReport{cron: cron, cases: cases, runs: map[string][]*lossRun{}, letters: map[string][]string{}, found: r.file(t, cron+".found")}
	for line := range strings.Lines(r.file(t, cron+".events")) {
		var e lossEvent
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		c.add(e)
	}
	var missed, asleep, awake int64
	if _, err := fmt.Sscan(r.file(t, "moments"), &missed, &asleep, &awake); err != nil {
		t.Fatal(err)
	}
	c.moments = moments{time.Unix(missed, 0), time.Unix(asleep, 0).Truncate(time.Minute).Add(time.Minute), time.Unix(awake, 0)}
	for _, path := range glob(t, filepath.Join(r.out, "mail", "*")) {
		letter := text(t, path)
		if entry := c.entryOf(letter); entry != "" {
			c.letters[entry] = append(c.letters[entry], letter)
		}
	}
	logs := map[string]string{"debian": "cron.log", "cronie": "cronie.log", "busybox": "busybox.log"}
	c.log = slices.Collect(strings.Lines(r.file(t, logs[cron])))
	return c
}

func (c *cronReport) add(e lossEvent) {
	switch e.What {
	case "daemon":
		c.daemon = e.Place
	case "start":
		c.runs[e.Entry] = append(c.runs[e.Entry], &lossRun{start: e})
	case "end":
		for _, r := range c.runs[e.Entry] {
			if r.start.PID == e.PID {
				r.end = &e
			}
		}
	}
}

// entryOf finds the entry whose command a text names.
func (c *cronReport) entryOf(text string) string {
	_, after, _ := strings.Cut(text, "entry "+c.cron+" ")
	name, _, _ := strings.Cut(after, " ")
	return name
}

func (c *cronReport) caseOf(entry string) lossCase {
	return c.cases[slices.IndexFunc(c.cases, func(x lossCase) bool { return x.name == entry })]
}

// tell describes the observations of an entry for the message of a failed test.
func (c *cronReport) tell(entry string) string {
	said := fmt.Sprintf("down at %v, stopped at %v, awake at %v\n", c.moments.missed.UTC(), c.moments.late.UTC(), c.moments.awake.UTC())
	for _, r := range c.runs[entry] {
		said += fmt.Sprintf("%+v\n", r.start)
		if r.end != nil {
			said += fmt.Sprintf("%+v\n", *r.end)
		}
	}
	return said + strings.Join(c.letters[entry], "\n")
}

// rounds are the runs of an entry before the cron was stopped and after it.
func (c *cronReport) rounds(entry string) (peace, late []*lossRun) {
	for _, r := range c.runs[entry] {
		if r.start.At.Before(c.moments.awake) {
			peace = append(peace, r)
		} else {
			late = append(late, r)
		}
	}
	return peace, late
}

// steady: it ran once in each minute that began while the cron was up.
func (c *cronReport) steady(entry string) error {
	minutes := int(c.moments.late.Sub(c.moments.missed)/time.Minute) - 1
	peace, late := c.rounds(entry)
	if c.cron == "busybox" && c.caseOf(entry).does == "live" { // it starts none beside another
		minutes, late = 1, peace
	}
	if len(peace) != minutes || len(late) == 0 {
		return fmt.Errorf("it started %d times, want %d, and then %d times", len(peace), minutes, len(late))
	}
	return nil
}

func (c *cronReport) steadyOrNever(entry string) error {
	if c.caseOf(entry).fields != never {
		return c.steady(entry)
	}
	if n := len(c.runs[entry]); n > 0 {
		return fmt.Errorf("it started %d times", n)
	}
	return nil
}

// sameAtChange: of two entries with the same time in a gap, one must be skipped and one must run
// at the gap's end; the cron treats both alike.
func (c *cronReport) sameAtChange(string) error {
	want := 1
	if c.cron == "busybox" {
		want = 0 // it ignores gaps
	}
	if literal, second := len(c.runs["dst-literal"]), len(c.runs["dst-second"]); literal != want || second != want {
		return fmt.Errorf("they started %d and %d times", literal, second)
	}
	return nil
}

// startedLate: it started, seconds after its time.
func (c *cronReport) startedLate(entry string) error {
	_, late := c.rounds(entry)
	if len(late) == 0 {
		return errors.New("it did not start")
	}
	if after := late[0].start.At.Sub(c.moments.late); after < 2*time.Second || after > time.Minute {
		return fmt.Errorf("it started %v after its time", after)
	}
	return nil
}

// notMadeUp: what was missed while the cron was down did not run; what it slept
// through did.
func (c *cronReport) notMadeUp(entry string) error {
	if err := c.steady(entry); err != nil {
		return err
	}
	if first := c.runs[entry][0].start.At; first.Before(c.moments.missed.Add(time.Minute)) {
		return fmt.Errorf("it started at %v", first)
	}
	return c.startedLate(entry)
}

// besideItself: its program lived on beside its next run; busybox's cron did
// not start that.
func (c *cronReport) besideItself(entry string) error {
	if err := c.unstopped(entry); err != nil {
		return err
	}
	if _, late := c.rounds(entry); (len(late) == 0) != (c.cron == "busybox") {
		return fmt.Errorf("then it started %d times", len(late))
	}
	return nil
}

// unstopped: its program lived on into the next minute and ended by itself.
func (c *cronReport) unstopped(entry string) error {
	if len(c.runs[entry]) == 0 {
		return errors.New("it did not start")
	}
	return livedAt(c.runs[entry][0], c.moments.awake)
}

func livedAt(r *lossRun, at time.Time) error {
	if r.end == nil {
		return errors.New("the first run was ended")
	}
	if r.end.At.Before(at) {
		return fmt.Errorf("the first run ended at %v", r.end.At)
	}
	return nil
}

// besideOthers: it lived together with the other entry of its pool.
func (c *cronReport) besideOthers(entry string) error {
	pool := regexp.MustCompile(`pool=\w+`).FindString(c.caseOf(entry).options)
	for _, other := range c.cases {
		if other.name != entry && strings.Contains(other.options, pool) {
			return c.together(entry, other.name)
		}
	}
	return errors.New("there is no other")
}

func (c *cronReport) besideParent(entry string) error {
	if err := c.steady(entry); err != nil {
		return err
	}
	return c.together(entry, "plain-live")
}

// together: the first run of the other lived while that of this one started.
func (c *cronReport) together(entry, other string) error {
	if len(c.runs[entry]) == 0 || len(c.runs[other]) == 0 {
		return errors.New("they did not both start")
	}
	return livedAt(c.runs[other][0], c.runs[entry][0].start.At)
}

// toldAsPlain: log and emails about it are the same as for an entry without options.
func (c *cronReport) toldAsPlain(entry string) error {
	if err := c.steady(entry); err != nil {
		return err
	}
	got, want := c.told(entry), c.told("plain-"+c.caseOf(entry).does)
	if len(want) == 0 || !slices.Equal(got, want) {
		return fmt.Errorf("of it is told %q, of a plain one %q", got, want)
	}
	return nil
}

// told are the kinds of log lines and emails about an entry. On a busy machine, busybox may log that the
// run of a minute before has not ended.
func (c *cronReport) told(entry string) []string {
	var said []string
	for _, text := range slices.Concat(c.log, c.letters[entry]) {
		if c.entryOf(text) == entry && !strings.Contains(text, ": process already running: ") {
			text, _, _ = strings.Cut(text, "\n\n") // of a letter its head
			text = strings.ReplaceAll(text, " "+entry+" ", " NAME ")
			said = append(said, regexp.MustCompile(`\d+`).ReplaceAllString(text, "N"))
		}
	}
	slices.Sort(said)
	return slices.Compact(said)
}

// placedAsCron: the kernel treats it as it treats the cron.
func (c *cronReport) placedAsCron(entry string) error {
	if err := c.steady(entry); err != nil {
		return err
	}
	if got := c.runs[entry][0].start.Place; !maps.Equal(got, c.daemon) {
		return fmt.Errorf("it was placed %q, the cron %q", got, c.daemon)
	}
	return nil
}

// setAsPlain: its directory, mask, groups and variables are those of an entry without options.
func (c *cronReport) setAsPlain(entry string) error {
	if err := c.placedAsCron(entry); err != nil {
		return err
	}
	plain := c.runs["plain-"+c.caseOf(entry).does]
	if got := c.runs[entry][0].start.Setting; len(plain) == 0 || got == "" || got != plain[0].start.Setting {
		return fmt.Errorf("it was set up as %q", got)
	}
	return nil
}

// setting describes the directory, mask, groups, variables, network and privileges of this process.
func setting() string {
	dir, _ := os.Getwd() // "" is a difference too
	groups, _ := os.Getgroups()
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	network, _ := os.Readlink("/proc/self/ns/net")
	status, _ := os.ReadFile("/proc/self/status")
	_, privileges, _ := strings.Cut(string(status), "NoNewPrivs:")
	privileges, _, _ = strings.Cut(privileges, "\n")
	return fmt.Sprintf("%s %03o %d %d OPTION=%s %s %s %s", dir, mask, os.Getegid(), groups, os.Getenv("OPTION"), network, privileges, os.Getenv("CREDENTIALS_DIRECTORY"))
}

// unlimited: it got what it asked the kernel for, more than its options allow.
func (c *cronReport) unlimited(entry string) error {
	if err := c.placedAsCron(entry); err != nil {
		return err
	}
	end := c.runs[entry][0].end
	if end == nil {
		return errors.New("it did not come to its end")
	}
	if end.Held != hogged {
		return fmt.Errorf("it held %+v", end.Held)
	}
	return nil
}

// mailedAlone: what it said was mailed to MAILTO, all of that and nothing else,
// and neither file nor log has it.
func (c *cronReport) mailedAlone(entry string) error {
	if err := c.toldAsPlain(entry); err != nil {
		return err
	}
	if n := len(c.letters[entry]); n == 0 || n > len(c.runs[entry]) {
		return fmt.Errorf("%d runs were told of in %d letters", len(c.runs[entry]), n)
	}
	for _, letter := range c.letters[entry] {
		head, body, _ := strings.Cut(letter, "\n\n")
		if !strings.Contains(head, "\nTo: lab") || strings.TrimSpace(body) != strings.TrimSpace(output(entry, c.caseOf(entry).does)) {
			return errors.New("a letter is not to MAILTO, or not what it said")
		}
	}
	if c.found != "" {
		return fmt.Errorf("output is also in %q", c.found)
	}
	return nil
}

// lossEvent is a message of a program of the cases: see entryTool.
type lossEvent struct {
	Entry, What string
	PID         int
	At          time.Time
	Due         string            // the time that cronring started it for
	Place       map[string]string // how the kernel treats it
	Setting     string            // see setting
	Held        held
}

type held struct{ Memory, Tasks, Files, CPU int }

// hogged is the resources that a hog holds: bytes, threads, files, and milliseconds of a
// processor. Each exceeds the limit of the case that has one.
var hogged = held{Memory: 16 << 20, Tasks: 8, Files: 64, CPU: 100}

// output is the output of an entry's program.
func output(entry, does string) string {
	switch does {
	case "talk", "cry":
		return "said by " + entry + "\n"
	case "shout":
		return strings.Repeat("said by "+entry+"\n", 500)
	}
	return ""
}

// entryTool CRON ENTRY DOES is the program of an entry. It tells when it starts
// and when it ends, and meanwhile
//
//	quick, lose, talk, cry, shout   says its output; lose and cry then fail
//	live                            waits until somebody writes to the gate
//	hog                             holds memory, threads, files
//	vanish                          is killed with its group
func entryTool(args []string) error {
	if len(args) != 3 {
		return errors.New("usage: labtool entry CRON ENTRY DOES")
	}
	cron, entry, does := args[0], args[1], args[2]
	self := lossEvent{Entry: entry, PID: os.Getpid()}
	if err := self.record(cron, "start"); err != nil {
		return err
	}
	fmt.Print(output(entry, does))
	switch does {
	case "live":
		if _, err := os.ReadFile("/lab/gate"); err != nil {
			return err
		}
	case "hog":
		self.Held = hold(hogged)
	case "vanish":
		return syscall.Kill(-syscall.Getpgrp(), syscall.SIGKILL)
	}
	if err := self.record(cron, "end"); err != nil {
		return err
	}
	if does == "lose" || does == "cry" {
		os.Exit(1)
	}
	return nil
}

// placeTool CRON PID reports how the kernel limits a cron.
func placeTool(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: labtool place CRON PID")
	}
	pid, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	daemon := lossEvent{PID: pid}
	return daemon.record(args[0], "daemon")
}

// record adds the event to those of the cron, in one write.
func (e *lossEvent) record(cron, what string) error {
	e.What, e.At, e.Due, e.Place = what, time.Now(), os.Getenv("CRONRING_DUE"), place(e.PID)
	e.Setting = setting()
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	f, err := os.OpenFile("/lab/out/"+cron+".events", os.O_WRONLY|os.O_APPEND|os.O_CREATE, 0o666)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write(append(line, '\n'))
	return err
}

// place is the kernel's limits for a process.
func place(pid int) map[string]string {
	proc := fmt.Sprint("/proc/", pid)
	stat := read(proc, "stat")
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	class, _, _ := syscall.Syscall(syscall.SYS_IOPRIO_GET, 1, uintptr(pid), 0)
	facts := map[string]string{
		"nice": fields[16], "policy": fields[38], "disk": fmt.Sprint(class), "groups": read(proc, "cgroup"),
	}
	// The hard one: Go's programs raise the other to it.
	if files := regexp.MustCompile(`Max open files +\S+ +(\S+)`).FindStringSubmatch(read(proc, "limits")); files != nil {
		facts["files"] = files[1]
	}
	return facts
}

// hold takes the requested resources, as far as the kernel allows, and reports how many it had at
// the same time.
func hold(want held) (got held) {
	memory := make([]byte, want.Memory)
	for i := 0; i < len(memory); i += os.Getpagesize() {
		memory[i] = 1
	}
	got.Memory = len(memory)
	for range want.Files {
		if f, err := os.Open("/dev/null"); err == nil {
			defer f.Close()
			got.Files++
		}
	}
	hands, done := make(chan int), make(chan int)
	for range want.Tasks {
		go func() {
			runtime.LockOSThread() // a thread for each
			hands <- 1
			<-done
		}()
	}
	for range want.Tasks {
		got.Tasks += <-hands
	}
	close(done)
	for got.CPU < want.CPU {
		var used syscall.Rusage
		if syscall.Getrusage(syscall.RUSAGE_SELF, &used) != nil {
			return got
		}
		got.CPU = min(want.CPU, int((used.Utime.Nano()+used.Stime.Nano())/1e6))
	}
	runtime.KeepAlive(memory)
	return got
}
