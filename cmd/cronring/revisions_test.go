package main

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/clitest"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
)

func TestRevisionsCommand(t *testing.T) {
	h := clitest.NewHost(t, crontab.Debian)
	h.CallAs(clitest.AnnUID, "# 1\n", nil)
	h.CallAs(clitest.AnnUID, "# 2\n", nil)
	h.CallAs(clitest.AnnUID, "", nil, "-r")
	stdout, _, code := Called(t, "", "undo", "list", "--user", clitest.Ann, "--socket", h.Socket, "--utc")
	lines := strings.Split(stdout, "\n")
	if code != 0 || len(lines) != 6 || !strings.HasPrefix(lines[1], "4\t") || !strings.Contains(lines[1], "\tremove\t"+clitest.Ann+"\tnone\t") || !strings.Contains(lines[3], "\tinstall\t"+clitest.Ann+"\t4\t"+h.Places.Users+"/"+clitest.Ann) {
		t.Errorf("cronring undo list: %d\n%s", code, stdout)
	}
	for args, want := range map[string]clitest.Result{
		"undo show 2":                {Out: "# 1\n", Err: "", Code: 0},
		"undo show 99":               {Out: "", Err: "cronring: cannot read revision 99: there is none", Code: 3},
		"undo show x":                {Out: "", Err: "cronring: cannot find revision \"x\"", Code: 2},
		"undo 1 --user x":            {Out: "", Err: "cronring: cannot undo to revision 1 of x", Code: 2},
		"undo --user " + clitest.Bob: {Out: "", Err: "cronring: cannot undo: no older version of the crontab of " + clitest.Bob + " is known\n  fix   cronring undo list --user " + clitest.Bob, Code: 6},
		"undo show 4":                {Out: "", Err: "revision 4: from then on there was no " + h.Places.Users + "/" + clitest.Ann, Code: 0},
	} {
		stdout, stderr, code := Called(t, "", append(strings.Fields(args), "--socket", h.Socket)...)
		if stdout != want.Out || !strings.HasPrefix(stderr, want.Err) || code != want.Code {
			t.Errorf("cronring %s: %d, %q, %q; want %d, %q, %q", args, code, stdout, stderr, want.Code, want.Out, want.Err)
		}
	}
	for _, undo := range []struct{ revision, want string }{{"2", "restored "}, {"5", "nothing changed: "}} {
		stdout, stderr, code := Called(t, "", "undo", undo.revision, "--socket", h.Socket)
		if code != 0 || !strings.HasPrefix(stdout, undo.want) {
			t.Errorf("cronring undo %s: %d, %q, %q; want %q", undo.revision, code, stdout, stderr, undo.want)
		}
	}
}

func TestRevisionTextIsCleaned(t *testing.T) {
	const evil = "x\x1b[2J\u202e\x07\ny"
	socket := clitest.Scripted(t, map[string][]any{
		"GET /v1/revisions": {api.Revisions{V: 1, Revisions: []api.Revision{{ID: 1, File: evil, User: evil, By: evil, How: evil}}}},
		"POST /v1/undo":     {api.Installed{V: 1, User: evil, File: evil, Notice: evil, Diagnostics: []api.Diagnostic{{File: evil, Severity: "error", Message: evil}}}},
	})
	for _, line := range []string{"undo list", "undo list -o table", "undo", "undo 1"} {
		stdout, stderr, code := Called(t, "", append(strings.Fields(line), "--socket", socket)...)
		if all := stdout + stderr; code != cli.ExitDone || !strings.Contains(all, "x") || strings.ContainsAny(all, "\x1b\x07") || strings.Contains(all, "\u202e") {
			t.Errorf("cronring %s: got exit %d and what can steer a terminal: %q", line, code, all)
		}
	}
}
