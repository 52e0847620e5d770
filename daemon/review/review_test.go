package review

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
)

var noon = time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)

func parse(text string) (*crontab.File, []crontab.Diagnostic) {
	return crontab.Parse("/etc/cron.d/etl", text, crontab.Config{Format: crontab.System, Zone: time.LoadLocation})
}

func version(text string) Version {
	file, _ := parse(text)
	return NewVersion(file)
}

func TestCompareTellsWhatChanges(t *testing.T) {
	const base = "#@ name=orders\n*/5 * * * * etl /opt/etl/run\n0 5 * * * root tmp-clean\n"
	for _, tc := range []struct{ name, text, want string }{
		{"nothing", base, ""},
		{"comments and blanks", "# x\n" + strings.Replace(base, "root tmp", "root   tmp", 1), ""},
		{"schedule", strings.Replace(base, "*/5", "*/10", 1), "changed orders schedule 2016->1008 dropped 12:05"},
		{"option", strings.Replace(base, "orders\n", "orders overlap=skip\n", 1), "changed orders options 2016->2016"},
		{"environment", "A=b\n" + base, "changed orders environment 2016->2016; changed etl.root.99feddfc environment 7->7"},
		{"user and command", strings.Replace(base, "etl /opt/etl/run", "root /bin/true", 1), "changed orders user,command 2016->2016"},
		{"added", base + "30 2 * * * root vault-sync\n", "added etl.root.779a0622 7"},
		{"removed", strings.Replace(base, "0 5", "# 0 5", 1), "removed etl.root.99feddfc 7"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var got []string
			found := Compare(version(base), version(tc.text))
			Count(found, noon, Week(noon))
			for _, d := range found {
				text := d.Kind + " " + string(d.Job)
				switch d.Kind {
				case Added:
					text += fmt.Sprint(" ", d.New.Runs)
				case Removed:
					text += fmt.Sprint(" ", d.Old.Runs)
				default:
					text += fmt.Sprintf(" %s %d->%d", strings.Join(d.Changed, ","), d.Old.Runs, d.New.Runs)
				}
				if d.First != nil {
					text += map[bool]string{true: " added ", false: " dropped "}[d.IsNew()] + d.First.Format("15:04")
				}
				got = append(got, text)
			}
			if strings.Join(got, "; ") != tc.want {
				t.Errorf("got %q, want %q", strings.Join(got, "; "), tc.want)
			}
		})
	}
}

func TestNewErrorsLeaveOldOnesAlone(t *testing.T) {
	const bad = "61 * * * * root a\n"
	for _, tc := range []struct {
		old, now string
		want     []int
	}{
		{bad, bad, nil},
		{bad, "# x\n" + bad, nil},
		{bad, bad + bad, []int{2}},
		{bad, "62 * * * * root a\n", []int{1}},
		{"", bad, []int{1}},
		{bad, "", nil},
		{"", "0 0 13 * 5 root a\n", nil}, // a warning
	} {
		text := func(s string) Text { _, diagnostics := parse(s); return Text{s, diagnostics} }
		var got []int
		for _, d := range NewErrors(text(tc.old), text(tc.now)) {
			got = append(got, d.Line)
		}
		if !slices.Equal(got, tc.want) {
			t.Errorf("%q to %q: got new errors in lines %v, want %v", tc.old, tc.now, got, tc.want)
		}
	}
}

// BenchmarkKey measures one keystroke in a crontab of 2,000 lines: parsing it again and describing
// the effect of saving.
func BenchmarkKey(b *testing.B) {
	var text strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&text, "#@ name=job-%d overlap=skip\n%d %d * * * root /usr/bin/run --job %d\n", i, i%60, i/60%24, i)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		b.Fatal(err)
	}
	read := func(text string) Version {
		file, _ := crontab.Parse("/etc/cron.d/etl", text, crontab.Config{Format: crontab.System, Local: berlin})
		return NewVersion(file)
	}
	old := read(text.String())
	for b.Loop() {
		if n := len(Compare(old, read(text.String()+"* * * * * root new\n"))); n != 1 {
			b.Fatal(n)
		}
	}
}
