package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/user"
	"path/filepath"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/sandbox"
)

// TestScripts runs the online scripts of testdata/script: both programs, as
// they are shipped, on a real daemon.
func TestScripts(t *testing.T) {
	bin := hosttest.Programs(t)
	scripts, err := filepath.Glob("../../testdata/script/online_*.txtar")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	me, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Files:         scripts,
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", bin+string(os.PathListSeparator)+e.Getenv("PATH"))
			e.Setenv("ME", me.Username)
			e.Setenv("TZ", "UTC")
			e.Setenv("LANG", "C.UTF-8")
			e.Setenv("LOOPBACK", fmt.Sprintf("127.%d.%d.%d", 1+rand.N(250), 1+rand.N(250), 1+rand.N(250))) // whose ports no other test has
			e.Setenv("CRONRING_SOCKET", filepath.Join(e.WorkDir, "state", "cronring.sock"))
			return nil
		},
		Condition: func(name string) (bool, error) {
			if name != "sandbox" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return sandbox.Missing(option.SandboxStrict) == "", nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"ready": awaitAnswer,
			"await": awaitFile,
		},
	})
}

// awaitFile is the script command "await": it waits until there is a file.
func awaitFile(ts *testscript.TestScript, _ bool, args []string) {
	path := ts.MkAbs(args[0])
	for end := time.Now().Add(hosttest.Patience); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if _, err := os.Stat(path); err == nil {
			return
		}
	}
	ts.Fatalf("%s was not created", path)
}

// awaitAnswer is the script command "ready": it waits until the daemon that
// was started in the background answers.
func awaitAnswer(ts *testscript.TestScript, _ bool, _ []string) {
	client := api.Dial(ts.Getenv("CRONRING_SOCKET"))
	defer client.Close()
	var err error
	for end := time.Now().Add(hosttest.Patience); time.Now().Before(end); {
		var s api.Status
		if s, err = client.Status(context.Background()); err == nil && s.Jobs > 0 {
			return
		}
	}
	ts.Fatalf("no daemon answers: %v", err)
}
