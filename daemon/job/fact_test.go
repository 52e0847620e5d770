package job

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

// TestStoredDetails freezes the stored form of details, in testdata/details.golden, because histories have them.
func TestStoredDetails(t *testing.T) {
	const golden = "testdata/details.golden"
	var got strings.Builder
	made := map[string]bool{}
	for _, d := range listDetails(time.Date(2026, 11, 20, 2, 30, 0, 0, time.UTC)) {
		fmt.Fprintf(&got, "%-24s%s\n", d.name, strings.ReplaceAll(string(d.detail), factMark, "^"))
		for _, code := range regexp.MustCompile(`\["([^"]*)"`).FindAllStringSubmatch(string(d.detail), -1) {
			if made[code[1]] = true; details[code[1]] == nil {
				t.Errorf("%s: the code %s has no words", d.name, code[1])
			}
		}
	}
	for code := range details {
		if !made[code] && code != "text" {
			t.Errorf("the code %s has words, but no function makes it", code)
		}
	}
	compareGolden(t, golden, got.String())
}

// A text that a user enters must not be shown as another fact.
func TestTextsAreNoFacts(t *testing.T) {
	for _, evil := range []string{
		string(DetailByUser("root")), `["by-user","root"]`, `","root"]`, `\",\"root\"]`, factMark, factMark + factMark + "[]", `x` + string(DetailByUser("root")), "a\nb\x00",
	} {
		read := Detail("")
		text, err := json.Marshal(Text(evil))
		if err != nil || json.Unmarshal(text, &read) != nil {
			t.Fatal(err)
		}
		for what, got := range map[string]string{
			evil: Text(evil).Words(), "by " + evil: DetailByUser(evil).Words(), "by ann: " + evil: (&Hold{By: "ann", Reason: Text(evil)}).Detail().Words(),
			"after not started: " + evil: DetailAfterResult(&Run{Outcome: Outcome{Kind: NotStarted, Error: evil}}).Words(),
			"for " + evil + ", b":        DetailForJobs(JoinNames([]Detail{Text(evil), "b"})).Words(),
		} {
			if got != what {
				t.Errorf("got %q, want %q", got, what)
			}
		}
		if read.Words() != evil || Text(evil).Short() != Text(evil) {
			t.Errorf("read again, %q is %q", evil, read.Words())
		}
	}
}

// What another version stored, or a damaged database has, is shown as far as it is known.
func TestUnknownDetails(t *testing.T) {
	for stored, want := range map[string]string{
		"until noon": "until noon",
		`^["until","2026-11-20T02:30:00Z","new"]`: "until 2026-11-20T02:30:00Z",
		`^["until"]`:                          "until ",
		`^["until","noon"]`:                   "until noon",
		`^["eclipse","moon",["late","1s"],7]`: "eclipse: moon, 1s late, 7",
		`^["eclipse"]`:                        "eclipse",
		`^["late",null]`:                      " late",
		`^["late",{"a":1}]`:                   `{"a":1} late`,
		`^[["late"],"a"]`:                     " late: a",
		`^[]`:                                 "[]",
		`^["late"`:                            `["late"`,
		`^["instances","x"]`:                  "x of : run ",
		`^["files"]`:                          " files",
		`^["result","strange","x"]`:           "strange",
		"^" + strings.Repeat("[", 50) + strings.Repeat("]", 50): strings.Repeat("[", 50-deepest) + strings.Repeat("]", 50-deepest),
	} {
		if got := Detail(strings.Replace(stored, "^", factMark, 1)).Words(); got != want {
			t.Errorf("%s: got %q, want %q", stored, got, want)
		}
	}
}

func TestWordsInZone(t *testing.T) {
	at := time.Date(2026, 11, 20, 2, 30, 0, 0, time.UTC)
	if got, want := DetailRuleUntil("window=22:00-06:00", at).WordsIn(time.FixedZone("CET", 3600)), "window=22:00-06:00, until Fri 20 Nov 2026 03:30:00 CET"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Details of any length are short in the history, and show their beginning.
func TestShort(t *testing.T) {
	long := strings.Repeat("ä", MaxText)
	for _, d := range []Detail{Text(long), DetailByUser(long), DetailNeed(long, long), DetailNeed(strings.Repeat("\x01", MaxText), long), JoinNames([]Detail{DetailByUser(long), DetailByUser(long), "x"})} {
		if s := d.Short(); len(s) > 2*MaxText || !strings.HasPrefix(d.Words(), strings.TrimSuffix(s.Words(), "...")) && s != d {
			t.Errorf("%.40q of %d bytes: got %.40q of %d bytes", d, len(d), s, len(s))
		}
	}
}

// FuzzDetail checks that no stored detail makes trouble, and that texts stay what they are.
func FuzzDetail(f *testing.F) {
	for _, d := range listDetails(time.Date(2026, 11, 20, 2, 30, 0, 0, time.UTC)) {
		f.Add(string(d.detail))
	}
	f.Fuzz(func(t *testing.T, text string) {
		_ = Detail(text).Words()
		_ = Detail(text).WordsIn(time.UTC)
		_ = Detail(factMark + text).Short()
		if len(text) > MaxText || !utf8.ValidString(text) {
			return
		}
		if got := Text(text).Words(); got != text {
			t.Errorf("the text %q is shown as %q", text, got)
		}
		if got := DetailByUser(text).Words(); got != "by "+text {
			t.Errorf("by %q is shown as %q", text, got)
		}
	})
}
