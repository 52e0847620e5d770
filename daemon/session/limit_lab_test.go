package session

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab/option"
)

func limitedTo(r option.Resources) func(*Spec) { return func(s *Spec) { s.Resources = &r } }

func TestInLimits(t *testing.T) {
	l := newMachineManager(t)
	nice := 7
	r := l.start("ulimit -Sn; ulimit -Hn; nice; cat /proc/self/cgroup",
		limitedTo(option.Resources{NoFile: 33, Nice: &nice, Slice: "jobs.slice", Tasks: 50}))
	stdout, stderr, e := l.finish(r)
	if !e.Outcome.OK() || !strings.HasPrefix(stdout, "33\n33\n7\n") || !strings.Contains(stdout, "/jobs.slice/"+r.Unit) {
		t.Errorf("ended %+v, said %q, %q", e.Outcome, stdout, stderr)
	}
	if stdout, _, _ = l.finish(l.start("grep ^policy /proc/self/sched | tr -dc 0-9", limitedTo(option.Resources{Idle: true}))); stdout != "5" {
		t.Errorf("scheduled by policy %q, want 5", stdout)
	}
	stdout, _, e = l.finish(l.start("head -c 300M /dev/zero | tail -n 1 | wc -c; exit 3", limitedTo(option.Resources{Memory: 64 << 20})))
	if stdout != "0\n" && e.Outcome.Signal != int(syscall.SIGKILL) {
		t.Errorf("300 MB under a limit of 64: ended %+v, said %q", e.Outcome, stdout)
	}
	_, stderr, _ = l.finish(l.start("for i in $(seq 40); do sleep 1 & done; wait", limitedTo(option.Resources{Tasks: 12})))
	if !strings.Contains(stderr, "fork") {
		t.Errorf("40 processes where 12 are allowed: said %q", stderr)
	}
	// systemd has no figures of the processor where cpu and cpuacct are apart.
	_, _, e = l.finish(l.start("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done", limitedTo(option.Resources{Tasks: 12})))
	t.Logf("used %+v", e.Usage)
	if e.Usage.CPU < 0 || e.Usage.CPU > time.Minute || e.Usage.Memory < 0 {
		t.Errorf("used %+v", e.Usage)
	}
}

func TestInLimitsThatCannotBeSet(t *testing.T) {
	l := newMachineManager(t)
	up := -5
	for want, edit := range map[string]func(*Spec){
		"set nofile=": limitedTo(option.Resources{NoFile: 100000}), // above the account's hard limit
		"set nice=":   limitedTo(option.Resources{Nice: &up}),
		"PAM moved the session out of its unit": func(s *Spec) {
			s.PAMName = "lab-logind"
			s.Resources = &option.Resources{Memory: 1 << 30}
		},
	} {
		_, err := l.try(spec("echo it runs", edit))
		var not *NotStartedError
		if !errors.As(err, &not) || !strings.Contains(not.Reason, want) {
			t.Errorf("got %v, want not started: %s", err, want)
		}
	}
}

// What left the process group does not survive the last signal.
func TestInKillOfAll(t *testing.T) {
	l := newMachineManager(t)
	r := l.start("setsid sh -c 'echo ready; exec sleep 1000' & wait")
	if _, err := r.stdout.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	if err := l.Kill(t.Context(), r.Unit, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	l.finish(r) // when the child is gone too, as it has standard output open
}

// What left the process group does not survive the last signal after the end of its
// process either.
func TestInKillOfAllAfterTheEnd(t *testing.T) {
	l := newMachineManager(t)
	r := l.start("setsid sh -c 'echo ready; exec sleep 1000' &")
	if _, err := r.stdout.Read(make([]byte, 6)); err != nil {
		t.Fatal(err)
	}
	l.await(r.Unit)
	if err := l.Kill(t.Context(), r.Unit, syscall.SIGKILL); !errors.Is(err, ErrEnded) {
		t.Errorf("Kill after the end: %v, want %v", err, ErrEnded)
	}
	l.finish(r) // as above
}

// BenchmarkUnits starts jobs in units of systemd, four at a time, as package
// spawn has them started: what control groups of our own are measured against
// in its BenchmarkGroups500. It needs a host with systemd that may be spoilt,
// such as the machine that TestLab boots.
func BenchmarkUnits(b *testing.B) {
	if os.Getenv("SESSION_LAB") == "" {
		b.Skip("SKIPPED, NOT TESTED: runs in a machine that may be spoilt, with SESSION_LAB set")
	}
	if err := furnish(); err != nil {
		b.Fatal(err)
	}
	m := New("/lab/lab.test", "become")
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	const n, callers = 100, 4
	var took time.Duration
	for b.Loop() {
		specs := make(chan Spec, n)
		var units []string
		for range n {
			s := spec("true", limitedTo(option.Resources{Tasks: 50}), func(s *Spec) { s.Files = [3]*os.File{null, null, null} })
			specs <- s
			units = append(units, s.Name)
		}
		close(specs)
		var tasks sync.WaitGroup
		begun := time.Now()
		for range callers {
			tasks.Go(func() {
				for s := range specs {
					if _, err := m.Start(b.Context(), s); err != nil {
						b.Error(err)
					}
				}
			})
		}
		tasks.Wait()
		took += time.Since(begun)
		for _, unit := range units {
			_, err := m.Wait(b.Context(), unit)
			if err = errors.Join(err, m.Release(b.Context(), unit)); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(n*float64(b.N)/took.Seconds(), "starts/s")
	b.ReportMetric(0, "ns/op")
}

// BenchmarkSession starts one job after the other in a session with the modules
// of Debian's file for cron, and compares that with a process without any. It
// runs where BenchmarkUnits does.
func BenchmarkSession(b *testing.B) {
	if os.Getenv("SESSION_LAB") == "" {
		b.Skip("SKIPPED, NOT TESTED: runs in a machine that may be spoilt, with SESSION_LAB set")
	}
	if err := furnish(); err != nil {
		b.Fatal(err)
	}
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	m := New("/lab/lab.test", "become")
	var bare, session time.Duration
	for b.Loop() {
		begun := time.Now()
		if err := exec.Command("/bin/true").Run(); err != nil {
			b.Fatal(err)
		}
		bare += time.Since(begun)
		s := spec("true", func(s *Spec) { s.PAMName, s.Files = "cron", [3]*os.File{null, null, null} })
		begun = time.Now()
		if _, err := m.Start(b.Context(), s); err != nil {
			b.Fatal(err)
		}
		session += time.Since(begun)
		_, err := m.Wait(b.Context(), s.Name)
		if err = errors.Join(err, m.Release(b.Context(), s.Name)); err != nil {
			b.Fatal(err)
		}
	}
	n := float64(b.N) * float64(time.Millisecond)
	b.ReportMetric(float64(session)/n, "ms/session")
	b.ReportMetric(float64(bare)/n, "ms/bare")
	b.ReportMetric(float64(session)/float64(bare), "times")
	b.ReportMetric(0, "ns/op")
}
