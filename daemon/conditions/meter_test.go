package conditions

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn"
)

// TestDeadFileSystemHasOneProcess: while a process of a user hangs in a file system, no other one is
// started for that user. Once it has ended, the user's file systems are measured again.
func TestDeadFileSystemHasOneProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started, release := 0, make(chan struct{})
		m := New(Options{
			Find: func(_ context.Context, user string) (account.Account, error) { return account.Account{Name: user}, nil },
			Exec: func(context.Context, spawn.Tool) (spawn.Result, error) {
				started++
				<-release
				return spawn.Result{Output: []byte("1 4096\n"), Outcome: job.Outcome{Kind: job.Exited}}, nil
			},
		})
		measure := func(run job.RunID) string {
			m.Measure(t.Context(), effect.Measure{Run: run, User: "ann", Conditions: &option.Conditions{Disks: []option.Space{{Bytes: 4096, Path: "/dead"}}}})
			return (<-m.Results()).Unmet.Detail.Words()
		}
		for run, want := range []string{"did not answer within 10s", "does not answer", "does not answer"} {
			if got := measure(job.RunID(run)); !strings.Contains(got, want) {
				t.Errorf("run %d: got %q, want %q", run, got, want)
			}
		}
		if started != 1 {
			t.Errorf("%d processes were started, want 1", started)
		}
		close(release)
		synctest.Wait()
		if got := measure(9); got != "" {
			t.Errorf("after the end of the process: got %q, want that the run may start", got)
		}
	})
}

// TestDeadFileSystemDelaysItsUserAlone: while a file system does not answer one user, others are
// answered; that user's other runs wait, and all end with the daemon.
func TestDeadFileSystemDelaysItsUserAlone(t *testing.T) {
	asked := make(chan string)
	m := New(Options{
		Find: func(_ context.Context, user string) (account.Account, error) { return account.Account{Name: user}, nil },
		Exec: func(ctx context.Context, tool spawn.Tool) (spawn.Result, error) {
			path := tool.Argv[len(tool.Argv)-1]
			if path == "/dead" {
				asked <- path
				<-ctx.Done()
				return spawn.Result{}, context.Cause(ctx)
			}
			return spawn.Result{Output: []byte("1 4096\n"), Outcome: job.Outcome{Kind: job.Exited}}, nil
		},
	})
	ctx, cancel := context.WithCancel(t.Context())
	measure := func(run job.RunID, user, path string) {
		m.Measure(ctx, effect.Measure{Run: run, User: user, Conditions: &option.Conditions{Disks: []option.Space{{Bytes: 4096, Path: path}}}})
	}
	measure(1, "ann", "/dead")
	<-asked
	measure(2, "ann", "/srv")
	measure(3, "bob", "/srv")
	if got := <-m.Results(); got.Run != 3 || got.Unmet.Options != "" {
		t.Errorf("got %+v, want that bob's run 3 may start", got)
	}
	cancel()
	for busy := true; busy; {
		m.mu.Lock()
		busy = len(m.lanes) > 0
		m.mu.Unlock()
	}
}

// TestWaitingIsBounded: the runs that began to wait while a file system did not answer are
// reported without a measurement, until mostWaiting are left.
func TestWaitingIsBounded(t *testing.T) {
	asked, answer := make(chan bool), make(chan bool)
	measured := 0
	m := New(Options{
		Find: func(_ context.Context, user string) (account.Account, error) { return account.Account{Name: user}, nil },
		Exec: func(context.Context, spawn.Tool) (spawn.Result, error) {
			if measured++; measured == 1 {
				asked <- true
				<-answer
			}
			return spawn.Result{Output: []byte("1 4096\n"), Outcome: job.Outcome{Kind: job.Exited}}, nil
		},
	})
	const all, unmeasured = 1 + mostWaiting + 5, 5
	what := effect.Measure{User: "ann", Conditions: &option.Conditions{Disks: []option.Space{{Bytes: 4096, Path: "/srv"}}}}
	for what.Run = 1; what.Run <= all; what.Run++ {
		m.Measure(t.Context(), what)
		if what.Run == 1 {
			<-asked
		}
	}
	close(answer)
	for run := job.RunID(1); run <= all; run++ {
		got := <-m.Results()
		if want := run > 1 && run <= 1+unmeasured; got.Run != run || (got.Unmet.Options != "") != want {
			t.Fatalf("got %+v, want run %d, unmeasured: %v", got, run, want)
		}
	}
	if measured != all-unmeasured {
		t.Errorf("measured %d runs, want %d", measured, all-unmeasured)
	}
}

// TestConditionsWithoutDisksDoNotQueue: a run that needs no disk is answered while a file system
// does not answer its user.
func TestConditionsWithoutDisksDoNotQueue(t *testing.T) {
	asked := make(chan bool)
	m := New(Options{
		Find: func(_ context.Context, user string) (account.Account, error) { return account.Account{Name: user}, nil },
		Exec: func(ctx context.Context, _ spawn.Tool) (spawn.Result, error) {
			close(asked)
			<-t.Context().Done()
			return spawn.Result{}, ctx.Err()
		},
	})
	m.Measure(t.Context(), effect.Measure{Run: 1, User: "ann", Conditions: &option.Conditions{Disks: []option.Space{{Bytes: 1, Path: "/dead"}}}})
	<-asked
	m.Measure(t.Context(), effect.Measure{Run: 2, User: "ann", Conditions: &option.Conditions{}})
	select {
	case got := <-m.Results():
		if got.Run != 2 || got.Unmet.Options != "" {
			t.Errorf("got %+v, want that run 2 may start", got)
		}
	case <-time.After(hosttest.Patience):
		t.Error("run 2 waits for the disk of run 1")
	}
}
