package draft

import (
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/directive"
	"github.com/cronring/cronring/crontab/option"
)

func TestDraftKeepsOtherBytes(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		change     func(d *Draft) error
		want       string
	}{
		{"add to nothing", "", add("0 1 * * * a"), "0 1 * * * a\n"},
		{"add", "# x\n\n\t0 1 * * *  a \n", add("#@ name=n", "0 2 * * * b"), "# x\n\n\t0 1 * * *  a \n#@ name=n\n0 2 * * * b\n"},
		{"add with CR LF", "0 1 * * * a\r\n", add("0 2 * * * b"), "0 1 * * * a\r\n0 2 * * * b\r\n"},
		{"add below a comment without newline", "# x", add("0 2 * * * b"), "# x\n0 2 * * * b\n"},
		{"add below options of nothing", "#@ name=n\n", add("0 2 * * * b"), "#@ name=n\n\n0 2 * * * b\n"},
		{"add after a mark", "\ufeff0 1 * * * a\n", add("0 2 * * * b"), "\ufeff0 1 * * * a\n0 2 * * * b\n"},
		{"remove", "# x\n0 1 * * * a\n# y\n", remove(2), "# x\n# y\n"},
		{"remove with options", "# x\n#@ name=n\n  #@ retry=3\n0 1 * * * a\n0 2 * * * b\n", remove(4), "# x\n0 2 * * * b\n"},
		{"remove leaves defaults and prose", "#@ default retry=3\n#@ these are nice\n0 1 * * * a\n", remove(3), "#@ default retry=3\n#@ these are nice\n"},
		{"remove the last without newline", "A=b\n0 1 * * * a", remove(2), "A=b\n"},
		{"remove several", "0 1 * * * a\n0 2 * * * b\n0 3 * * * c\n", remove(3, 1, 1), "0 2 * * * b\n"},
		{"comment out", "#@ name=n\r\n @daily a\r\n0 2 * * * b\r\n", commentOut(2), "##@ name=n\r\n# @daily a\r\n0 2 * * * b\r\n"},
		{"replace", "#@ name=n\n0 1 * * * a\r\n0 2 * * * b", replace(2, "0 5 * * * a"), "#@ name=n\n0 5 * * * a\r\n0 2 * * * b"},
		{"replace the last without newline", "0 2 * * * b", replace(1, "0 5 * * * b"), "0 5 * * * b"},
		{"set anew", "# x\n0 1 * * * a\n", setOption(2, "overlap", "skip"), "# x\n#@ overlap=skip\n0 1 * * * a\n"},
		{"set anew with CR LF", "0 1 * * * a\r\n", setOption(1, "overlap", "skip"), "#@ overlap=skip\r\n0 1 * * * a\r\n"},
		{"set beside others", "#@ name=n  -- for people\n0 1 * * * a\n", setOption(2, "overlap", "skip"), "#@ name=n overlap=skip  -- for people\n0 1 * * * a\n"},
		{"set where the line is full", "#@ name=n desc=" + strings.Repeat("x", 90) + "\n0 1 * * * a\n", setOption(2, "retry", "3"), "#@ name=n desc=" + strings.Repeat("x", 90) + "\n#@ retry=3\n0 1 * * * a\n"},
		{"set in place", "#@ name=n  retry=3\ttimeout=5m\n0 1 * * * a\n", setOption(2, "retry", "5"), "#@ name=n  retry=5\ttimeout=5m\n0 1 * * * a\n"},
		{"set in place, marked", "#@ ?retry=3\n0 1 * * * a\n", setOption(2, "retry", "5"), "#@ ?retry=5\n0 1 * * * a\n"},
		{"set in place, alias", "#@ concurrencyPolicy=Forbid\n0 1 * * * a\n", setOption(2, "overlap", "queue"), "#@ overlap=queue\n0 1 * * * a\n"},
		{"set what stands twice", "#@ retry=1 name=n\n#@ retry=2\n0 1 * * * a\n", setOption(3, "retry", "5"), "#@ name=n\n#@ retry=5\n0 1 * * * a\n"},
		{"set with blanks", "0 1 * * * a\n", setOption(1, "if", `test "$(date)"`), "#@ if='test \"$(date)\"'\n0 1 * * * a\n"},
		{"set below a default", "#@ default retry=1\n0 1 * * * a\n", setOption(2, "retry", "5"), "#@ default retry=1\n#@ retry=5\n0 1 * * * a\n"},
		{"unset", "#@ name=n retry=3 timeout=5m\n0 1 * * * a\n", setOption(2, "retry", ""), "#@ name=n timeout=5m\n0 1 * * * a\n"},
		{"unset the only one", "#@ retry=3\n0 1 * * * a\n", setOption(2, "retry", ""), "0 1 * * * a\n"},
		{"unset what is not set", "0 1 * * * a\n", setOption(1, "retry", ""), "0 1 * * * a\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := New(tc.text, crontab.User)
			if err := tc.change(d); err != nil {
				t.Fatal(err)
			}
			if got := d.Text(); got != tc.want {
				t.Errorf("of %q: got\n%q, want\n%q", tc.text, got, tc.want)
			}
		})
	}
}

func add(lines ...string) func(*Draft) error {
	return func(d *Draft) error { _, err := d.Append(lines...); return err }
}
func remove(n ...int) func(*Draft) error { return func(d *Draft) error { return d.Remove(n...) } }
func commentOut(n ...int) func(*Draft) error {
	return func(d *Draft) error { return d.CommentOut(n...) }
}
func replace(n int, line string) func(*Draft) error {
	return func(d *Draft) error { return d.Replace(n, line) }
}
func setOption(n int, key, value string) func(*Draft) error {
	return func(d *Draft) error { _, err := d.Set(n, key, value); return err }
}

func TestDraftJoinsAnacronLines(t *testing.T) {
	const text = "1 5 a one\\\n  two\n7 10 b three\n"
	d := New(text, crontab.Anacron)
	if err := d.Remove(1); err != nil {
		t.Fatal(err)
	}
	if got, want := d.Text(), "7 10 b three\n"; got != want {
		t.Errorf("remove a joined line: got %q, want %q", got, want)
	}
}

func TestDraftRefuses(t *testing.T) {
	for _, tc := range []struct {
		name, text string
		change     func(d *Draft) error
	}{
		{"below a line that does not count", "0 1 * * * a", add("0 2 * * * b")},
		{"two lines in one", "", add("0 2 * * * b\n* * * * * c")},
		{"line that is not there", "0 1 * * * a\n", remove(2)},
		{"line 0", "0 1 * * * a\n", remove(0)},
		{"value of two lines", "0 1 * * * a\n", setOption(1, "if", "a\nb")},
		{"value with all quotes", "0 1 * * * a\n", setOption(1, "if", `a 'b' "c"`)},
		{"key with a blank", "0 1 * * * a\n", setOption(1, "a b", "c")},
	} {
		t.Run(tc.name, func(t *testing.T) {
			d := New(tc.text, crontab.User)
			if err := tc.change(d); err == nil {
				t.Errorf("of %q: got %q, want an error", tc.text, d.Text())
			}
		})
	}
}

// FuzzDraft checks that Parse reads the values that were set, and that all other entries stay the
// same.
func FuzzDraft(f *testing.F) {
	for _, text := range []string{
		"#@ name=a retry=3\n0 1 * * * a\n0 2 * * * b\n", "#@ retry=1 retry=2\r\n0 1 * * * a\r\n",
		"#@ x -- y\n#@ tz=\"a b\n0 1 * * * a", "\ufeff #@ ?retry=2\n\t@daily x\n", "#@ default retry=1\n#@ \n* * * * * c\n",
		"#@ retry 0 retry \n0 1 * * * a\n", "#@ tz=\"\n0 1 * * * a\n",
	} {
		f.Add(text, "7")
		f.Add(text, "")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		c := crontab.Config{Local: time.UTC}
		before, _ := crontab.Parse("t", text, c)
		for i := range before.Entries {
			d := New(text, crontab.User)
			if d.Text() != text {
				t.Fatalf("a draft of %q says %q", text, d.Text())
			}
			line, err := d.Set(before.Entries[i].Line(), "retry", value)
			if err != nil {
				return
			}
			after, _ := crontab.Parse("t", d.Text(), c)
			if len(after.Entries) != len(before.Entries) {
				t.Fatalf("set retry=%q for line %d of %q: got %q with %d entries, want %d", value, before.Entries[i].Line(), text, d.Text(), len(after.Entries), len(before.Entries))
			}
			for k := range after.Entries {
				a, b := &after.Entries[k], &before.Entries[k]
				if a.Raw() != b.Raw() {
					t.Fatalf("set retry=%q for line %d of %q: entry %d is %q, want %q", value, b.Line(), text, k, a.Raw(), b.Raw())
				}
				if k != i {
					continue
				}
				if a.Line() != line {
					t.Fatalf("set retry=%q for line %d of %q: it is in line %d of %q, want %d", value, b.Line(), text, a.Line(), d.Text(), line)
				}
				var got string
				for _, it := range a.Options().Items {
					if it.Key == "retry" && it.Origin == option.FromDirective {
						got = it.Value
					}
				}
				if n := len(itemsAbove(b)); n < directive.MaxItems && value == "7" && got != value {
					t.Fatalf("set retry=%q for line %d of %q: got %q with %q", value, b.Line(), text, d.Text(), got)
				}
			}
		}
	})
}

func itemsAbove(e *crontab.Entry) []option.Option { return e.Options().Items }
