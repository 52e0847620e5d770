package timetable

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// TestParseScheduleReadsAsCronDoes has, for valid spellings, a simpler spelling with the same
// meaning, and the codes of the warnings.
func TestParseScheduleReadsAsCronDoes(t *testing.T) {
	for _, test := range []struct{ spec, same, codes string }{
		{"* * * * *", "0-59 0-23 1-31 1-12 0-7", ""},
		{" \t0\t0  * * *  ", "0 0 * * *", ""},
		{"007 * * * *", "7 * * * *", ""},
		{"*/2 * * * *", "*/2,58 * * * *", ""},
		{"0 0 */2 * *", "0 0 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31 * *", "B108"},
		{"*/7 * * * *", "0,7,14,21,28,35,42,49,56 * * * *", "B108"},
		{"*/45 * * * *", "0,45 * * * *", "B108"},
		{"0 */5 * * *", "0 0,5,10,15,20 * * *", "B108"},
		{"0 0 1 */5 *", "0 0 1 1,6,11 *", "B108"},
		{"0 0 * * */2", "0 0 * * 0,2,4,6", "B108"},
		{"*/15 */6 * */3 */7", "0,15,30,45 0,6,12,18 * 1,4,7,10 0", ""},
		{"0-59/7 * * * *", "0,7,14,21,28,35,42,49,56 * * * *", ""},
		{"3-20/5 * * * *", "3,8,13,18 * * * *", ""},
		{"*/5,*/7 * * * *", "0,5,7,10,14,15,20,21,25,28,30,35,40,42,45,49,50,55,56 * * * *", ""},
		{"*,1 * * * *", "* * * * *", ""},
		{"1,* * * * *", "0-59 * * * *", ""},
		{"0 0 1 JAN,Mar *", "0 0 1 1,3 *", ""},
		{"0 0 * * mon-5", "0 0 * * 1-5", ""},
		{"0 0 * * 7,1", "0 0 * * 0,1", ""},
		{"0 0 * * sun,mon", "0 0 * * 0,1", ""},
		{"0 0 * * 5-7", "0 0 * * 0,5,6", ""},
		{"0 0 * * 1-7", "0 0 * * 0-6", ""},
		{"0 0 * * 0-7", "0 0 * * 0-6", ""},
		{"0 0 * * 0-0", "0 0 * * 0", ""},
		{"@hourly", "0 * * * *", ""},
		{" @midnight ", "@daily", ""},
		{"@annually", "@yearly", ""},

		{"*/60 * * * *", "0 * * * *", "B103"},
		{"*/61 * * * *", "0 * * * *", "B103"},
		{"*/100000 * * * *", "0 * * * *", "B103"},
		{"0 0-23/24 * * *", "0 0 * * *", "B103"},
		{"0 0 */32 * *", "0 0 1 * *", "B103"},

		{"0 22-2 * * *", "", "B101"},
		{"0 22-2,5 * * *", "0 5 * * *", "B101"},
		{"5-0 * * * *", "", "B101"},
		{"0 0 31-1 * *", "", "B101"},
		{"0 0 1 dec-feb *", "", "B101"},
		{"0 0 * * 6-1", "", "B101"},
		{"0 0 * * 7-1", "", "B101"},
		{"0 0 30 2 *", "", "B106"},
		{"0 0 31 4,6,9,11 *", "", "B106"},
		{"0 0 30,31 2 */2", "", "B108 B106"},
		{"0 0 30 2 1", "0 0 * 2 1", "B102"},

		{"0 0 * * 6-0", "0 0 * * 0,6", "B107"},
		{"0 0 * * sat-sun", "0 0 * * 0,6", "B107"},
		{"0 0 * * fri-sun", "0 0 * * 0,5,6", "B107"},
		{"0 0 * * 1-0", "0 0 * * 0-6", "B107"},
		{"0 0 * * 3-0/2", "0 0 * * 3,5,0", "B107"},

		{"5# * * * *", "5 * * * *", "B104"},
		{"5.0 * * * *", "5 * * * *", "B104"},
		{"5.0,7 * * * *", "5 * * * *", "B104"},
		{"5* * * * *", "5 * * * *", "B104"},
		{"*5 * * * *", "* * * * *", "B104"},
		{"** * * * *", "* * * * *", "B104"},
		{"*-5 * * * *", "* * * * *", "B104"},
		{"5-10-15 * * * *", "5-10 * * * *", "B104"},
		{"5-10/2/3 * * * *", "5-10/2 * * * *", "B104"},
		{"0 0 * * 1#2", "0 0 * * 1", "B104"},

		{"7~7 * * * *", "7 * * * *", "B105"},
		{"59~ * * * *", "59 * * * *", "B105"},
		{"~0 * * * *", "0 * * * *", "B105"},
		{"1 2 13 * 5", "1 2 13 * 5", "B102"},
	} {
		got, diagnostics := ParseSchedule(test.spec, nil, 1)
		if got == nil {
			t.Errorf("%q: refused: %v", test.spec, diagnostics)
			continue
		}
		if codes := codesOf(diagnostics, diagnostic.Warning); codes != test.codes {
			t.Errorf("%q: got warnings %q, want %q", test.spec, codes, test.codes)
		}
		if test.same == "" {
			if !got.Never() || !got.Next(benchStart).IsZero() {
				t.Errorf("%q: runs, want never", test.spec)
			}
			continue
		}
		same := mustSchedule(t, test.same, nil)
		a, b := benchStart, benchStart
		for range 100 {
			if a, b = got.Next(a), same.Next(b); !a.Equal(b) {
				t.Errorf("%q: got %s, want %s as %q", test.spec, a, b, test.same)
				break
			}
		}
	}
}

func codesOf(diagnostics []diagnostic.Diagnostic, sev diagnostic.Severity) string {
	var codes []string
	for _, r := range diagnostics {
		if r.Severity == sev {
			codes = append(codes, string(r.Code))
		}
	}
	return strings.Join(codes, " ")
}

// TestParseScheduleRefuses marks the bytes that each error is about.
func TestParseScheduleRefuses(t *testing.T) {
	for _, test := range []struct{ spec, marks, code, fix string }{
		{"60 * * * *", "^^", "B001", "write `0`: the minute after 59 is 0"},
		{"0-60 * * * *", "  ^^", "B001", "write `0`: the minute after 59 is 0"},
		{"0 24 * * *", "  ^^", "B001", "write `0`: the hour after 23 is 0"},
		{"0 30 * * *", "  ^^", "B001", "the hour is 0 to 23; the minute comes first"},
		{"0 0 32 * *", "    ^^", "B001", "the day is 1 to 31"},
		{"0 0 1 13 *", "      ^^", "B001", "the month is 1 to 12"},
		{"0 0 * * 8", "        ^", "B001", "the weekday is 0 to 7; 0 and 7 are both Sunday"},
		{"0 0 0 * *", "    ^", "B002", "days count from 1"},
		{"0 0 1 0 *", "      ^", "B002", "months count from 1"},
		{"0x10 * * * *", "^^^^", "B003", "write `16`"},
		{"+5 * * * *", "^^", "B003", "write `5`"},
		{"9-17h * * * *", "  ^^^", "B003", "write `17`"},
		{"[ * * * *", "^", "B003", "the minute is 0 to 59"},
		{"0 0 1 january *", "      ^^^^^^^", "B004", "did you mean `jan`?"},
		{"0 0 1 sept *", "      ^^^^", "B004", "did you mean `sep`?"},
		{"0 0 1 jna *", "      ^^^", "B004", "did you mean `jan`?"},
		{"0 0 * * sunday", "        ^^^^^^", "B004", "did you mean `sun`?"},
		{"0 0 * * mon-thurs", "            ^^^^^", "B004", "did you mean `thu`?"},
		{"0 0 * mon *", "      ^^^", "B004", "`mon` belongs in the weekday field, which is number 5"},
		{"0 noon * * *", "  ^^^^", "B004", "the hour is 0 to 23"},
		{"1,,2 * * * *", " ^", "B005", "write `1,2`"},
		{",1 * * * *", "^", "B005", "write `1`"},
		{"1, * * * *", " ^", "B005", "write `1`"},
		{"5-* * * * *", "^^^", "B006", "write `5-59`"},
		{"0 5- * * *", "  ^^", "B006", "write `5-23`"},
		{"5/10 * * * *", "^^^^", "B007", "write `5-59/10`"},
		{"0 0 * * mon/2", "        ^^^^^", "B007", "write `mon-7/2`"},
		{"/5 * * * *", "^^", "B007", "write `*/5`"},
		{"*/0 * * * *", "  ^", "B008", "write `*`"},
		{"*/0,5 * * * *", "  ^", "B008", "write `*`"},
		{"*/,5 * * * *", "^^", "B008", "write `*`"},
		{"7,5-,9 * * * *", "  ^^", "B006", "write `5-59`"},
		{"7,5/2,9 * * * *", "  ^^^", "B007", "write `5-59/2`"},
		{"7,+5,9 * * * *", "  ^^", "B003", "write `5`"},
		{"7,~/2,9 * * * *", "  ^^^", "B011", "write `~`"},
		{"*/-5 * * * *", "  ^^", "B008", "write `*/5`"},
		{"1-5/ * * * *", "^^^^", "B008", "write `1-5`"},
		{"*/ * * * *", "^^", "B008", "write `*`"},
		{"4294967301 * * * *", "^^^^^^^^^^", "B009", "the minute is 0 to 59"},
		{"99999999999 * * * *", "^^^^^^^^^^^", "B009", "the minute is 0 to 59"},
		{"*/4294967301 * * * *", "  ^^^^^^^^^^", "B009", "write `*/N`"},
		{"0 0 L * *", "    ^", "B010", "write `*`, and `#@ day=last` on the line above"},
		{"0 0 LW * *", "    ^^", "B010", "write `*`, and `#@ day=last-workday` on the line above"},
		{"0 0 15W * *", "    ^^^", "B010", "write `*`, and `#@ day=15W` on the line above"},
		{"0 0 W * *", "    ^", "B010", "write `*`, and `1-5` in the weekday field"},
		{"0 0 * * 5L", "        ^^", "B010", "write `*`, and `#@ day=fri#last` on the line above"},
		{"H * * * *", "^", "B010", "write `~` for a value that is chosen once"},
		{"H/15 * * * *", "^", "B010", "write `*/15`"},
		{"0 0 ? * *", "    ^", "B010", "write `*`"},
		{"30~0 * * * *", "^^^^", "B011", "write `0~30`"},
		{"~/10 * * * *", "^^^^", "B011", "write `~`"},
		{"0~59/10 * * * *", "^^^^^^^", "B011", "write `0~59`"},
		{"* * *", "     ^", "B012", "write five fields: minute hour day month weekday"},
		{"@Daily", "^^^^^^", "B013", "did you mean `@daily`?"},
		{"@every 5m", "^^^^^^", "B013", "write `#@ every=5m` on a line above five fields"},
		{"@5", "^^", "B013", "the nicknames are @reboot @yearly @annually @monthly @weekly @daily @midnight @hourly"},
		{"@reboot", "^^^^^^^", "B014", ""},
		{"0 0 12 * * ?", "           ^", "B015", "write five fields: minute hour day month weekday; cron has no seconds"},
	} {
		s, diagnostics := ParseSchedule(test.spec, nil, 1)
		if s != nil || len(diagnostics) == 0 {
			t.Errorf("%q: got %v with diagnostics %v, want an error", test.spec, s, diagnostics)
			continue
		}
		last := diagnostics[len(diagnostics)-1]
		marks := strings.Repeat(" ", last.Column-1) + strings.Repeat("^", last.Length)
		got := fmt.Sprintf("%s\n%s\n%s %s", test.spec, marks, last.Code, last.Fix)
		want := fmt.Sprintf("%s\n%s\n%s %s", test.spec, test.marks, test.code, test.fix)
		if got != want || last.Severity != diagnostic.Error {
			t.Errorf("%s\ngot:\n%s\nwant:\n%s", last.Message, got, want)
		}
	}
}

func TestParseScheduleDiagnostics(t *testing.T) {
	for _, test := range []struct{ spec, message, fix string }{
		{"61 * * * *", "minute 61 is above 59", "the minute is 0 to 59"},
		{"0 22-2 * * *", `"22-2" never runs`, "write `22-23,0-2`"},
		{"0 23-0 * * *", `"23-0" never runs`, "write `23,0`"},
		{"0 0 1 dec-feb *", `"dec-feb" never runs`, "write `dec,jan-feb`"},
		{"0 0 * * fri-mon", `"fri-mon" never runs`, "write `fri-sat,sun-mon`"},
		{"0 0 * * 7-1", `"7-1" never runs`, "write `0-1`"},
		{"0 0 * * sat-sun", `"sat-sun" ends on Sunday here and in cronie, but Debian's cron never ran it`, "write `sat-7`"},
		{"*/90 * * * *", "step 90 is beyond the range 0-59: only minute 0 matches", "write `0`, or `#@ every=90m` above the line for every 90 minutes"},
		{"0 0 * * 1#2", `cron ignores "#2", which is syntax of Quartz: the entry runs on every weekday 1`, "write `*`, and `#@ day=mon#2` on the line above"},
		{"7~7 * * * *", `minute 7 was chosen for "7~7" and stays; Debian's cron reads 7`, "write `7` if the line is shared with Debian's cron"},
		{"0 0 13 * 5", "day 13 or weekday 5: either one is enough, about 62 runs a year", "write `*` in one of the two; if both must match, test the other in the command"},
		{"0 0 31 2 *", "none of the given months has a day 31: never runs", "write a day that the month has"},
		{"* * *", "the line ends after minute, hour, day: month is missing", "write five fields: minute hour day month weekday"},
	} {
		_, diagnostics := ParseSchedule(test.spec, nil, 1)
		if len(diagnostics) != 1 || diagnostics[0].Message != test.message || diagnostics[0].Fix != test.fix {
			t.Errorf("%q:\n got %+v\nwant %s\n     %s", test.spec, diagnostics, test.message, test.fix)
		}
	}
}

// TestStarFlagsDecideBetweenAndAndOr counts days in 400 from 2026-01-01, as
// measured with Debian's cron.
func TestStarFlagsDecideBetweenAndAndOr(t *testing.T) {
	for days, want := range map[string]int{
		"1 * 1": 69, "*/2 * 1": 29, "1-31/2 * 1": 232, "1-31 * 1": 400, "1 * 0-6": 400, "1 * */2": 8,
		"1 * */1": 14, "*,1 * 1": 57, "1,* * 1": 400, "1-7 * */7": 13, "1-7 * 1": 138,
	} {
		s := mustSchedule(t, "0 0 "+days, nil)
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		got := 0
		for at := s.Next(start.Add(-1)); at.Before(start.AddDate(0, 0, 400)); at = s.Next(at) {
			got++
		}
		if got != want {
			t.Errorf("%q: got %d days in 400, want %d", days, got, want)
		}
	}
}

func TestWildcardIsAStarInMinuteOrHour(t *testing.T) {
	for spec, want := range map[string]bool{
		"*/20 2 * * *": true, "0 */2 * * *": true, "*,1 2 * * *": true, "0 * * * *": true, "@hourly": true,
		"0-59/20 2 * * *": false, "0 0-23 * * *": false, "1,* 2 * * *": false, "0 0 * * *": false,
		"@daily": false, "@weekly": false, "@monthly": false, "@yearly": false,
	} {
		s := mustSchedule(t, spec, nil)
		if s.Wildcard() != want || FixedTime(s) == want {
			t.Errorf("%q: got wildcard %v, fixed-time %v, want wildcard %v", spec, s.Wildcard(), FixedTime(s), want)
		}
	}
}

func TestRandomValueIsStableAndInRange(t *testing.T) {
	seen := map[int]bool{}
	for seed := range uint64(400) {
		s, _ := ParseSchedule("10~14 ~ * * 5~7", nil, seed)
		again, _ := ParseSchedule("10~14 ~ * * 5~7", nil, seed)
		if s.FieldSet != again.FieldSet {
			t.Fatalf("seed %d: chosen twice", seed)
		}
		at := s.Next(benchStart)
		seen[at.Minute()] = true
		if at.Minute() < 10 || at.Minute() > 14 {
			t.Fatalf("seed %d: minute %d is not in 10~14", seed, at.Minute())
		}
	}
	if len(seen) != 5 {
		t.Errorf("400 seeds chose only the minutes %v of 10~14", seen)
	}
}

func TestEveryFieldCodeIsExplained(t *testing.T) {
	for _, code := range diagnostic.Codes() {
		text := code.Meaning()
		if len(code) != 4 || code[0] != 'B' || text == "" {
			t.Errorf("code %q: %q", code, text)
		}
	}
}
