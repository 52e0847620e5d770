package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
)

// conversation is a person before a terminal.
type conversation struct {
	t       *testing.T
	outside *os.File
	inside  *os.File
}

// expect reads until a text appears.
func (c *conversation) expect(until string) string {
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

func (c *conversation) enter(text string) {
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
	h := clitest.NewHost(t, crontab.Debian)
	h.CallAs(clitest.AnnUID, "0 5 * * * one\n", nil)
	outside, inside := clitest.OpenTerminal(t)
	c := &conversation{t, outside, inside}
	crontab := filepath.Join(h.Places.Users, clitest.Ann)
	text := func() string {
		r := h.CallAs(clitest.AnnUID, "", nil, "-l")
		return r.Out
	}
	t.Setenv("TMPDIR", h.Temp())
	socket := []string{"--socket", h.Socket, crontab}

	code := c.begin(append([]string{"edit", "--editor", h.Script(`echo "0 6 * * * two" >>"$1"`)}, socket...)...)
	c.expect("install, edit again, or give up? (i/e/g) ")
	c.enter("e")
	c.expect("(i/e/g) ")
	c.enter("i")
	if got := <-code; got != 0 || text() != "0 5 * * * one\n0 6 * * * two\n0 6 * * * two\n" {
		t.Errorf("edited twice: exit %d, %q", got, text())
	}
	c.expect("undo: cronring undo")

	before := text()
	code = c.begin(append([]string{"edit", "--editor", h.Script(`echo "61 6 * * * bad" >>"$1"`)}, socket...)...)
	c.expect("edit again, or give up? (e/g) ")
	c.enter("g")
	if got := <-code; got != 0 || text() != before {
		t.Errorf("given up: exit %d, %q", got, text())
	}
	c.expect("stays as it is")

	code = c.begin(append([]string{"edit", "--editor", h.Script(`echo "0 7 * * * three" >>"$1"`)}, socket...)...)
	c.expect("(i/e/g) ")
	h.CallAs(clitest.AnnUID, "# meanwhile\n", nil)
	c.enter("i")
	c.expect("install yours over it, or give up? (i/g) ")
	c.enter("i")
	if got := <-code; got != 0 || text() != before+"0 7 * * * three\n" {
		t.Errorf("installed over another version: exit %d, %q", got, text())
	}
}

// The files of a directory go to the places of the host whose daemon is asked.
func TestApplyAsksForThePlacesOfTheHost(t *testing.T) {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "cron.d"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"crontab", "cron.d/etl"} {
		filetest.Write(t, filepath.Join(dir, name), "0 5 * * * root true\n", 0o600)
	}
	places := &api.Places{Crontab: "/srv/etc/crontab", Anacrontab: "/srv/etc/anacrontab", CronD: "/srv/etc/cron.d"}
	var asked []string
	socket := clitest.Served(t, func(w http.ResponseWriter, r *http.Request) {
		var answer any = api.Health{V: 1}
		switch r.URL.Path {
		case "/v1/crontabs":
			answer = api.CrontabFiles{V: 1, Places: places, Crontabs: []api.CrontabFile{{File: "/srv/etc/cron.d/old"}, {File: "/etc/cron.d/mine"}}}
		case "/v1/crontab":
			file := r.URL.Query().Get("file")
			asked = append(asked, file)
			answer = api.CrontabText{V: 1, CrontabFile: api.CrontabFile{File: file}, Format: api.FormatSystem, Account: "root", Zone: "UTC"}
		}
		if err := json.NewEncoder(w).Encode(answer); err != nil {
			t.Error(err)
		}
	})
	stdout, stderr, code := Called(t, "", "apply", dir, "--dry-run", "--prune", "--socket", socket)
	want := []string{"/srv/etc/cron.d/etl", "/srv/etc/crontab", "/srv/etc/cron.d/old"}
	if code != cli.ExitDone || !slices.Equal(asked, want) {
		t.Errorf("apply --dry-run --prune: got exit %d and the crontabs %q, want 0 and %q\n%s%s", code, asked, want, stdout, stderr)
	}
	places = nil
	if _, stderr, code := Called(t, "", "apply", dir, "--dry-run", "--socket", socket); code != 6 || !strings.Contains(stderr, "does not manage") {
		t.Errorf("apply to a daemon without places: got exit %d and %q, want 6 and a refusal", code, stderr)
	}
}
