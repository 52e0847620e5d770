package crontabs

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/draft"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/spool"
)

func TestAddedCommandIsWhatWasTyped(t *testing.T) {
	for _, tc := range []struct {
		words []string
		line  string
		want  string // what the shell gets
	}{
		{[]string{"echo hi | wc"}, "echo hi | wc", "echo hi | wc"},
		{[]string{"echo", "a b", "c"}, "echo 'a b' c", "echo 'a b' c"},
		{[]string{"echo", "it's"}, `echo 'it'\''s'`, `echo 'it'\''s'`},
		{[]string{"date +%F"}, `date +\%F`, "date +%F"},
		{[]string{`date +\%F`}, `date +\%F`, "date +%F"},
		{[]string{`sed 's/\\/%/'`}, `sed 's/\\/\%/'`, `sed 's/\\/%/'`},
		{[]string{`100%`}, `100\%`, "100%"},
	} {
		line := escapePercent(joinWords(tc.words))
		if line != tc.line {
			t.Errorf("%q is written %q, want %q", tc.words, line, tc.line)
		}
		file, _ := crontab.Parse("t", "0 5 * * * "+line+"\n", crontab.Config{})
		if len(file.Entries) != 1 {
			t.Fatalf("%q is no entry", line)
		}
		if got := file.Entries[0].Command(); got != tc.want {
			t.Errorf("%q: the shell gets %q, want %q", tc.words, got, tc.want)
		}
	}
}

func TestSetRefusesWhatIsNoOption(t *testing.T) {
	for setting, ok := range map[string]bool{
		"overlap=skip": true, "x-team=etl": true, "overlap=": true, "nonsense=": true,
		"overlap": false, "overlp=skip": false, "=x": false,
	} {
		if err := checkOption(setting); (err == nil) != ok {
			t.Errorf("set JOB %s: got %v, want it taken: %t", setting, err, ok)
		}
	}
}

// The argument of a flag of add is one value, even if it contains spaces and quotes: no part of it
// becomes another option or another user.
func TestAddedOptionsAreWhatWasTyped(t *testing.T) {
	for _, tc := range []struct {
		flags addFlags
		line  string
		want  string // of the draft; "": refused
	}{
		{addFlags{name: "a", zone: "Europe/Paris", user: "ann"}, "echo", "#@ name=a tz=Europe/Paris\n0 5 * * * ann echo\n"},
		{addFlags{user: "ann", name: "a enabled=no"}, "echo", ""},
		{addFlags{user: "ann", zone: "UTC overlap=skip"}, "echo", ""},
		{addFlags{user: "ann", zone: "UTC\n* * * * * root evil"}, "echo", ""},
		{addFlags{user: "root evil"}, "echo", ""},
		{addFlags{user: "ann"}, "echo\n* * * * * root evil", ""},
		{addFlags{user: "ann"}, "#@ name=b", "0 5 * * * ann #@ name=b\n"},
	} {
		config := crontab.Config{Format: crontab.System, Privileged: true, Zone: spool.LoadZone}
		c := &Change{Old: api.CrontabText{CrontabFile: api.CrontabFile{File: "t"}}, config: config, draft: draft.New("", crontab.System)}
		c.file, _ = crontab.Parse("t", "", config)
		err := c.append("0 5 * * *", tc.line, &tc.flags)
		if err == nil {
			_, err = c.review(time.Now())
		}
		if got := c.draft.Text(); (err == nil) != (tc.want != "") || err == nil && got != tc.want {
			t.Errorf("%+v %q: got %q, %v, want %q", tc.flags, tc.line, got, err, tc.want)
		}
	}
}

// A directory to apply has files alone: a pipe in it would keep apply for ever.
func TestApplyReadsOnlyFiles(t *testing.T) {
	dir := t.TempDir()
	pipe, file, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, file, "", 0o600)
	if err := os.Symlink("/dev/zero", link); err != nil {
		t.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	a := cli.New(null, null, null)
	for path, ok := range map[string]bool{pipe: false, link: false, dir: false, filepath.Join(dir, "gone"): false, file: true} {
		if err := onlyRegular(path); (err == nil) != ok {
			t.Errorf("%s: %v, want it read: %t", path, err, ok)
		}
	}
	if _, err := planApply(t.Context(), a, nil, []applied{{source: pipe, user: "ann"}}); err == nil {
		t.Error("a pipe is applied")
	}
}
