package store

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Children of the tests are this binary again; a variable contains the operation and the
// directory.
const childVariable = "CRONRING_STORE_CHILD"

func TestMain(m *testing.M) {
	what, dir, _ := strings.Cut(os.Getenv(childVariable), " ")
	switch what {
	case "commit":
		commitForEver(dir)
	case "measure":
		measure(dir)
	default:
		os.Exit(m.Run())
	}
}

// child is the command that does what in dir.
func child(ctx context.Context, what, dir string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+what+" "+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

const crashJobs = 7

// commitForEver continues at the end of the history, step by step: all jobs are due once a second,
// the runs of the previous step end with some output, and a record contains the number of the
// step. It prints each step when it is written.
func commitForEver(dir string) {
	s, err := Open(context.Background(), dir)
	if err != nil {
		panic(err)
	}
	r, err := s.Restore(context.Background())
	if err != nil || s.Notice != "" || len(r.Live) != min(len(r.Marks), crashJobs) {
		panic(fmt.Sprintf("restored %d marks and %d live runs: %v %s", len(r.Marks), len(r.Live), err, s.Notice))
	}
	live := r.Live
	for step := int(r.NextRun-1) / crashJobs; ; step++ {
		b := Batch{At: noon.Add(time.Duration(step) * time.Second), BootID: "boot"}
		for _, run := range live {
			run.State, run.Ended, run.Outcome.Kind = job.RunEnded, b.At, job.Exited
			b.Records = append(b.Records, recordOf(job.Ended, "", run))
			b.Outputs = append(b.Outputs, Output{run.ID, []job.Chunk{{Stream: job.Stdout, Data: make([]byte, 3000)}}})
		}
		live = nil
		for n := range crashJobs {
			rec := decided(job.RunID(step*crashJobs+n+1), jobName(n), b.At)
			b.Records = append(b.Records, rec)
			live = append(live, *rec.Run)
		}
		b.Records = append(b.Records, job.Record{At: b.At, Kind: job.Loaded, Detail: job.Text(fmt.Sprint(step))})
		if err := s.Commit(context.Background(), b); err != nil {
			panic(err)
		}
		fmt.Println(step)
	}
}

func TestKilledWhileCommittingLeavesWholeSteps(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	dir := t.TempDir()
	said, rounds := -1, 25
	if testing.Short() {
		rounds = 4
	}
	for round := range rounds {
		said = max(said, killAfter(t, dir, 1+random.IntN(60)))
		s := open(t, dir)
		if s.Notice != "" {
			t.Fatalf("round %d: %s", round, s.Notice)
		}
		if steps := checkSteps(t, s); steps <= said {
			t.Fatalf("round %d: %d steps are written, but step %d was said to be", round, steps, said)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if t.Failed() {
			t.Fatalf("round %d failed, database is broken", round)
		}
	}
	t.Logf("%d steps", said)
}

// killAfter lets a child write until it has said n steps, and kills it
// wherever it is then. It returns the last step that was said.
func killAfter(t *testing.T, dir string, n int) (said int) {
	cmd := child(t.Context(), "commit", dir)
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewScanner(out)
	for i := 0; lines.Scan(); i++ {
		if _, err := fmt.Sscan(lines.Text(), &said); err != nil {
			t.Fatalf("the child said %q", lines.Text())
		}
		if i == n {
			cmd.Process.Kill()
		}
	}
	cmd.Wait()
	if got := cmd.ProcessState.String(); got != "signal: killed" {
		t.Fatalf("the child ended otherwise than by SIGKILL: %s", got)
	}
	return said
}

// checkSteps holds that the history is made of whole steps, and counts them.
func checkSteps(t *testing.T, s *Store) int {
	t.Helper()
	steps := count(t, s, "record")
	runs := steps * crashJobs
	for file, want := range map[string]int{
		"run": runs, "occurrence": runs,
		"run WHERE state = 'ended'": runs - crashJobs,
		"output":                    runs - crashJobs,
		"(SELECT DISTINCT job, due, era FROM run)": runs,
	} {
		if got := count(t, s, file); got != want {
			t.Errorf("%d rows of %s after %d steps, want %d", got, file, steps, want)
		}
	}
	last := noon.Add(time.Duration(steps-1) * time.Second)
	for _, m := range restore(t, s).Marks {
		if !m.Due.Equal(last) {
			t.Errorf("mark of %s is %s, want %s", m.Job, m.Due, last)
		}
	}
	return steps
}
