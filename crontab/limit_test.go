package crontab

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
)

func TestCrontabBeyondTheLimitIsReadAsFarAsThat(t *testing.T) {
	entry := "0 1 * * * job\n"
	for _, test := range []struct {
		name, text string
		entries    int
		line       int // of the diagnostic; 0: there is none
		message    string
	}{
		{"at the limit", strings.Repeat(entry, 10), 10, 0, ""},
		{"one more", strings.Repeat(entry, 11), 10, 11, "the crontab has 11 jobs, and the limit of a user is 10"},
		{"many more", strings.Repeat(entry, 1500) + "A=b\n# comment\n\n" + entry, 10, 11, "the crontab has 1,501 jobs"},
		{"a byte order mark", lex.ByteOrderMark + strings.Repeat(entry, 11), 10, 11, "11 jobs"},
		{"shards count", "#@ shards=5\n" + entry + entry + "#@ shards=4\n" + entry + entry, 3, 6, "11 jobs"},
		{"too many shards in one entry", entry + "#@ shards=11\n" + entry + entry, 1, 3, "13 jobs"},
		{"comments count", entry + strings.Repeat("# comment\n", 200) + entry, 1, 201, "more than 200 lines and options"},
		{"assignments count", entry + strings.Repeat("A=b\n", 200) + entry, 1, 201, "more than 200 lines and options"},
		{"options count", "#@ default " + options(40) + "\n" + strings.Repeat("#@ x-own=1\n"+entry, 8), 4, 11, "more than 200 lines and options"},
		{"bytes count", entry + "# " + strings.Repeat("x", minLimitedBytes) + "\n" + entry, 1, 2, "and the limit of a user who may have 10 entries is 1,048,576"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file, diagnostics := Parse("t", test.text, Config{MaxEntries: 10})
			if len(file.Entries) != test.entries {
				t.Errorf("got %d entries, want %d", len(file.Entries), test.entries)
			}
			if got := file.Truncated(); got != (test.line > 0) {
				t.Errorf("Truncated() is %t", got)
			}
			if test.line == 0 {
				return
			}
			last := diagnostics[len(diagnostics)-1]
			if last.Code != diagnostic.CodeLimit || last.Severity != diagnostic.Error || last.Line != test.line || !strings.Contains(last.Message, test.message) || last.Fix == "" {
				t.Errorf("got %+v, want %s in line %d with %q", last, diagnostic.CodeLimit, test.line, test.message)
			}
			if unlimited, _ := Parse("t", test.text, Config{}); unlimited.Truncated() || len(unlimited.Entries) <= test.entries {
				t.Error("a crontab without a limit is cut, too")
			}
		})
	}
}

func options(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "x-%d=1 ", i)
	}
	return b.String()
}

// What is beyond the limit takes no memory, and neither do assignments above
// entries in a crontab within it.
func TestCrontabBeyondTheLimitTakesLittleMemory(t *testing.T) {
	many := strings.Repeat("0 1 * * * job\n", 1_150_000)
	alternating := strings.Repeat("A=1\nB=2\n0 1 * * * job\n", 10_000)
	for name, text := range map[string]string{"entries": many, "assignments": alternating} {
		before := heapInUse()
		file, _ := Parse("t", strings.Clone(text), Config{MaxEntries: 10_000})
		if got := (heapInUse() - before) >> 20; got > 8 {
			t.Errorf("%s: the crontab takes %d MiB, want at most 8", name, got)
		}
		if len(file.Entries) != 10_000 {
			t.Errorf("%s: got %d entries", name, len(file.Entries))
		}
	}
}

func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestEnvironmentStaysTheSameWhenItIsCompacted(t *testing.T) {
	var text strings.Builder
	for i := range 200 {
		fmt.Fprintf(&text, "V%d=%d\n", i*7%13, i)
	}
	text.WriteString("MAILTO=ann\n0 1 * * * job\n")
	file, _ := Parse("t", text.String(), Config{})
	want := "[V0=195"
	env := fmt.Sprint(file.Entries[0].Env())
	if !strings.HasPrefix(env, want) || !strings.HasSuffix(env, "MAILTO=ann]") || strings.Count(env, "=") != 14 {
		t.Errorf("got %s", env)
	}
	for i := range 13 {
		name := fmt.Sprint("V", i)
		value, ok := file.Entries[0].Lookup(name)
		if !ok || !strings.Contains(env, name+"="+value) {
			t.Errorf("%s is %q in Lookup, and Env is %s", name, value, env)
		}
	}
	if n := chainLength(file.Entries[0].section.env); n > 16+2*14+1 {
		t.Errorf("the environment of 14 names is a chain of %d settings", n)
	}
}

func chainLength(s *setting) (n int) {
	for ; s != nil; s = s.above {
		n++
	}
	return n
}

func TestEnvironmentOfAUserIsLimited(t *testing.T) {
	var names strings.Builder
	for i := range maxVariables + 5 {
		fmt.Fprintf(&names, "V%d=x\n", i)
	}
	long := strings.Repeat("x", 50_000)
	for name, text := range map[string]string{
		"names": names.String(),
		"bytes": "A=" + long + "\nB=" + long + "\nA=1" + long + "\nC=" + long + "\n",
	} {
		text += "0 1 * * * job\n"
		file, diagnostics := Parse("t", text, Config{MaxEntries: 10_000})
		all, _ := Parse("t", text, Config{})
		got, want := len(file.Entries[0].Env()), len(all.Entries[0].Env())
		if got >= want || len(diagnostics) == 0 || diagnostics[0].Code != "B202" {
			t.Errorf("%s: got %d of %d variables and %v", name, got, want, diagnostics)
		}
	}
}
