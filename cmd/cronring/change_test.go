package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
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
		table, _ := crontab.Parse("t", "0 5 * * * "+line+"\n", crontab.Config{})
		if len(table.Entries) != 1 {
			t.Fatalf("%q is no entry", line)
		}
		if got := table.Entries[0].Command(); got != tc.want {
			t.Errorf("%q: the shell gets %q, want %q", tc.words, got, tc.want)
		}
	}
}

func TestSetRefusesWhatIsNoOption(t *testing.T) {
	for setting, ok := range map[string]bool{
		"overlap=skip": true, "x-team=etl": true, "overlap=": true, "nonsense=": true,
		"overlap": false, "overlp=skip": false, "sandbox=strict": false, "=x": false,
	} {
		if err := checkOption(setting); (err == nil) != ok {
			t.Errorf("set JOB %s: got %v, want it taken: %t", setting, err, ok)
		}
	}
}

// conversation is a person before a terminal.
type conversation struct {
	t       *testing.T
	outside *os.File
	inside  *os.File
}

// hear reads until a text comes.
func (c *conversation) hear(until string) string {
	c.t.Helper()
	var all strings.Builder
	for part := make([]byte, 4096); !strings.Contains(all.String(), until); {
		n, err := c.outside.Read(part)
		if err != nil {
			c.t.Fatalf("%v after %q, want %q", err, all.String(), until)
		}
		all.Write(part[:n])
	}
	return all.String()
}

func (c *conversation) say(text string) {
	c.t.Helper()
	if _, err := c.outside.WriteString(text + "\n"); err != nil {
		c.t.Fatal(err)
	}
}

// begin runs a command on the terminal; the exit code comes when it has ended.
func (c *conversation) begin(args ...string) <-chan int {
	code := make(chan int, 1)
	go func() { code <- runApp(cli.New(c.inside, c.inside, c.inside), args) }()
	return code
}

func TestChangesAskOnATerminal(t *testing.T) {
	h := newCrontabHost(t, crontab.Debian)
	h.call(annUID, "0 5 * * * one\n")
	outside, inside := clitest.OpenTerminal(t)
	c := &conversation{t, outside, inside}
	table := filepath.Join(h.places.Users, ann)
	text := func() string {
		r := h.call(annUID, "", "-l")
		return r.out
	}
	t.Setenv("TMPDIR", h.temp())
	socket := []string{"--socket", h.socket, table}

	code := c.begin(append([]string{"edit", "--editor", h.script(`echo "0 6 * * * two" >>"$1"`)}, socket...)...)
	c.hear("install, edit again, or give up? (i/e/g) ")
	c.say("e")
	c.hear("(i/e/g) ")
	c.say("i")
	if got := <-code; got != 0 || text() != "0 5 * * * one\n0 6 * * * two\n0 6 * * * two\n" {
		t.Errorf("edited twice: exit %d, %q", got, text())
	}
	c.hear("undo: cronring undo")

	before := text()
	code = c.begin(append([]string{"edit", "--editor", h.script(`echo "61 6 * * * bad" >>"$1"`)}, socket...)...)
	c.hear("edit again, or give up? (e/g) ")
	c.say("g")
	if got := <-code; got != 0 || text() != before {
		t.Errorf("given up: exit %d, %q", got, text())
	}
	c.hear("stays as it is")

	code = c.begin(append([]string{"edit", "--editor", h.script(`echo "0 7 * * * three" >>"$1"`)}, socket...)...)
	c.hear("(i/e/g) ")
	h.call(annUID, "# meanwhile\n")
	c.say("i")
	c.hear("install yours over it, or give up? (i/g) ")
	c.say("i")
	if got := <-code; got != 0 || text() != before+"0 7 * * * three\n" {
		t.Errorf("installed over another version: exit %d, %q", got, text())
	}
}

// What is given to a flag of add is one value, whatever is in it: none of it
// becomes another option or another account.
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
		c := &tableChange{old: api.TableText{Table: api.Table{File: "t"}}, config: config, draft: crontab.NewDraft("", crontab.System)}
		c.table, _ = crontab.Parse("t", "", config)
		err := c.append("0 5 * * *", tc.line, &tc.flags)
		if err == nil {
			_, _, err = c.review(time.Now())
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
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
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
	if _, err := planApply(a, t.Context(), nil, []applied{{source: pipe, user: "ann"}}); err == nil {
		t.Error("a pipe is applied")
	}
}

// What is typed into the dashboard of another host is asked of that host.
func TestTypedCommandsGoToTheHostThatIsShown(t *testing.T) {
	dir := t.TempDir()
	asked := filepath.Join(dir, "asked")
	if err := os.WriteFile(filepath.Join(dir, "ssh"), []byte("#!/bin/sh\necho \"$*\" >>"+asked+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	a := cli.New(null, null, null)
	a.Host = "far"
	(&plainTop{a: a}).command([]string{"list"})
	if text, err := os.ReadFile(asked); err != nil || !strings.Contains(string(text), "-- far cronring bridge") {
		t.Errorf("ssh was called with %q, %v, want the host far", text, err)
	}
}

// The files of a directory go to the places of the host whose daemon is asked.
func TestApplyAsksForThePlacesOfTheHost(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "cron.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"crontab", "cron.d/etl"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("0 5 * * * root true\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	places := &api.Places{Crontab: "/srv/etc/crontab", Anacrontab: "/srv/etc/anacrontab", CronD: "/srv/etc/cron.d"}
	var asked []string
	socket := clitest.Served(t, func(w http.ResponseWriter, r *http.Request) {
		var answer any = api.Health{V: 1}
		switch r.URL.Path {
		case "/v1/tables":
			answer = api.Tables{V: 1, Places: places, Tables: []api.Table{{File: "/srv/etc/cron.d/old"}, {File: "/etc/cron.d/mine"}}}
		case "/v1/table":
			file := r.URL.Query().Get("file")
			asked = append(asked, file)
			answer = api.TableText{V: 1, Table: api.Table{File: file}, Format: api.FormatSystem, Account: "root", Zone: "UTC"}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	})
	stdout, stderr, code := called(t, "", "apply", dir, "-n", "--prune", "--socket", socket)
	want := []string{"/srv/etc/cron.d/etl", "/srv/etc/crontab", "/srv/etc/cron.d/old"}
	if code != cli.ExitDone || !slices.Equal(asked, want) {
		t.Errorf("apply -n --prune: got exit %d and the tables %q, want 0 and %q\n%s%s", code, asked, want, stdout, stderr)
	}
	places = nil
	if _, stderr, code := called(t, "", "apply", dir, "-n", "--socket", socket); code != 6 || !strings.Contains(stderr, "does not tell where") {
		t.Errorf("apply to a daemon without places: got exit %d and %q, want 6 and a refusal", code, stderr)
	}
}
