package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/man/mantest"
)

// tutorialShows has the expected output of commands of the tutorial.
var tutorialShows = map[string]string{
	// A job that runs is first: slow may have started already.
	"cronring list":                    `(?:\t(?:backup|greet|slow)\t(?s:.*)){3}`,
	"cronring next backup":             `at 02:30 every day`,
	"cronring status":                  `backup`,
	"cronring logs backup@last":        `cp: .*copies.*`,
	"cronring why backup":              `It ran, and failed\.(?s:.*)cronring logs`,
	"cronring history backup":          `\tok\t(?s:.*)\texit 1\t`,
	"cronring history slow --skipped":  `overlapping`,
	"cronring why slow":                `slow at`,
	"cronring show backup":             `30 2 \* \* \*`,
	"cronring undo list":               `(?m)^2\t.*my\.crontab`,
	"cronring undo 1":                  `^restored my\.crontab`,
	"cronring next greet --until +10m": `every minute\n 1  `,
	"cronring help retry=":             `further attempts after a failure`,
}

// TestTutorial follows cronring-tutorial(7), one command after the other.
func TestTutorial(t *testing.T) {
	const dir = "/tmp/cronring-tutorial"
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatalf("the tutorial needs its directory: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	pages, err := mantest.Pages("../../man")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := mantest.Examples("cronring-tutorial.7", pages["cronring-tutorial.7"])
	if err != nil {
		t.Fatal(err)
	}
	s := &session{dir: dir, bin: hosttest.Programs(t)}
	tried := map[string]bool{}
	for _, e := range examples {
		if name, ok := strings.CutPrefix(e.More, "as "); ok {
			filetest.Write(t, filepath.Join(dir, name), e.Text, 0o644)
			continue
		}
		if e.Kind != mantest.Tutorial {
			continue
		}
		lines := linesOf(e)
		for i, line := range lines {
			tried[line] = true
			out, err := s.run(t, line)
			if fails := e.More == "fails" && i == len(lines)-1; (err != nil) != fails || !regexp.MustCompile(tutorialShows[line]).MatchString(out) {
				t.Errorf("%v: %s: got %v and\n%s\nwant %q, failed: %t", e, line, err, out, tutorialShows[line], fails)
			}
		}
	}
	for line := range tutorialShows {
		if !tried[line] {
			t.Errorf("the tutorial has no %q", line)
		}
	}
	if _, err := os.Stat(dir); err == nil {
		t.Errorf("the tutorial leaves %s behind", dir)
	}
}

// session is the terminals of a reader of the tutorial.
type session struct {
	dir, bin string
	env      []string
	daemon   *exec.Cmd
}

// run carries out a line as the reader would.
func (s *session) run(t *testing.T, line string) (string, error) {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = s.dir
	cmd.Env = append(os.Environ(), append(s.env, "PATH="+s.bin+":"+os.Getenv("PATH"), "TZ=UTC", "LC_ALL=C.UTF-8", "NO_COLOR=1")...)
	words := strings.Fields(line)
	switch words[0] {
	case "mkdir":
		if words[1] == s.dir {
			return "", nil
		}
	case "export":
		s.env = append(s.env, words[1])
		return "", nil
	case "rm":
		s.stop(t)
	case "cronringd":
		cmd.Args[2] = "exec " + line
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		s.daemon = cmd
		t.Cleanup(func() { s.stop(t) })
		client := api.Dial(filepath.Join(s.dir, "state/cronring.sock"))
		await(t, "the daemon answers", func() bool {
			_, err := client.Health(t.Context())
			return err == nil
		})
		return "", nil
	}
	if line == "cronring history slow --skipped" || line == "cronring why slow" {
		client := api.Dial(filepath.Join(s.dir, "state/cronring.sock"))
		await(t, "an occurrence is skipped", func() bool {
			skipped, err := client.History(t.Context(), api.Filter{Refs: []string{"slow"}, Skipped: true, Limit: 1})
			return err == nil && len(skipped.Skipped) > 0
		})
	}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// stop ends the daemon as Ctrl-C does.
func (s *session) stop(t *testing.T) {
	t.Helper()
	if s.daemon == nil {
		return
	}
	_ = s.daemon.Process.Signal(syscall.SIGINT)
	if err := s.daemon.Wait(); err != nil {
		t.Errorf("the daemon ended with %v", err)
	}
	s.daemon = nil
}
