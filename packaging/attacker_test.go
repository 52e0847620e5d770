package packaging

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// attacks are attempts of an ordinary user to stop or slow down the host's jobs. Each is a process
// of that user: it prepares, calls begun, and continues until the end.
var attacks = map[string]func(begun func(), end time.Time) error{
	// SIGSTOP for every process of the user, while the daemon starts some.
	"stop-jobs": func(begun func(), end time.Time) error {
		return stopAll(begun, end, secondly("victim", 2, "", "true"), 0)
	},
	"stop-checks": func(begun func(), end time.Time) error {
		return stopAll(begun, end, secondly("victim", 2, " if=true", "true"), 0)
	},
	// Most jobs must come to their end for the mail program to start.
	"stop-mail": func(begun func(), end time.Time) error {
		return stopAll(begun, end, strings.ReplaceAll(secondly("victim", 20, "", "echo hello"), `MAILTO=""`, "MAILTO=alice"), 5*time.Millisecond)
	},
	// The exec of the user's shell blocks, and is stopped there for good.
	"lease-stop": func(begun func(), end time.Time) error { return leaseShells(begun, end, true) },
	// The exec of the user's shells blocks, again and again.
	"lease": func(begun func(), end time.Time) error { return leaseShells(begun, end, false) },
	// Changing to the home directory blocks: see hangHome.
	"home": func(begun func(), end time.Time) error {
		return wait(begun, end, "HOME="+deadHome+"\n"+secondly("dead", 2, "", "true"))
	},
	"huge":     hugeCrontabs,
	"requests": requestLists,
	"reasons":  longReasons,
	"output": func(begun func(), end time.Time) error {
		return wait(begun, end, secondly("loud", 200, " output-max=1M", "head -c 5M /dev/zero"))
	},
	"rows": func(begun func(), end time.Time) error {
		return wait(begun, end, secondly("row", 200, " keep=100000", ":"))
	},
	"hogs": func(begun func(), end time.Time) error {
		return wait(begun, end, secondly("hog", 16, " overlap=skip", "while :; do :; done"))
	},
}

// attacker runs one attack as the calling user, and writes "begun" when it is in force.
func attacker(args []string) error {
	if len(args) != 2 || attacks[args[0]] == nil && args[0] != "busy" {
		return errors.New("usage: labtool attacker NAME DURATION")
	}
	during, err := time.ParseDuration(args[1])
	if err != nil {
		return err
	}
	begun := sync.OnceFunc(func() { fmt.Println("begun") })
	if args[0] == "busy" {
		begun()
		for end := time.Now().Add(during); time.Now().Before(end); {
		}
		return nil
	}
	return attacks[args[0]](begun, time.Now().Add(during))
}

// secondly is a crontab of n jobs that start every second.
func secondly(name string, n int, options, command string) string {
	var crontab strings.Builder
	crontab.WriteString("MAILTO=\"\"\n")
	for i := range n {
		fmt.Fprintf(&crontab, "#@ name=%s%d sec=*%s\n* * * * * %s\n", name, i, options, command)
	}
	return crontab.String()
}

// installCrontab installs a crontab. The attacker's own signals can stop crontab(1) for good.
func installCrontab(crontab string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "crontab", "-")
	cmd.Stdin = strings.NewReader(crontab)
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("crontab: %w: %.300s", err, said)
	}
	return nil
}

// wait installs a crontab and leaves the attack to its jobs.
func wait(begun func(), end time.Time, crontab string) error {
	if err := installCrontab(crontab); err != nil {
		return err
	}
	begun()
	time.Sleep(time.Until(end)) // the attack's duration
	return nil
}

// stopAll repeatedly stops every process of the user, with a pause between. The daemon starts some
// each second.
func stopAll(begun func(), end time.Time, crontab string, pause time.Duration) error {
	if err := installCrontab(crontab); err != nil {
		return err
	}
	begun()
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for time.Now().Before(end) {
				stopEverything()
				time.Sleep(pause)
			}
		})
	}
	all.Wait()
	return nil
}

// stopEverything stops each process of the user but this one, some hundred times.
func stopEverything() {
	for range 500 {
		everyone := -1
		_, _, _ = syscall.RawSyscall(syscall.SYS_KILL, uintptr(everyone), uintptr(syscall.SIGSTOP), 0)
	}
}

// leaseShells makes the exec of the user's shells block with write leases on them. The kernel
// takes such a lease away after /proc/sys/fs/lease-break-time.
func leaseShells(begun func(), end time.Time, stop bool) error {
	signal.Ignore(syscall.SIGIO)
	home, err := os.UserHomeDir()
	if err != nil {
		return err
	}
	shell, err := os.ReadFile("/bin/dash")
	if err != nil {
		return err
	}
	var crontab strings.Builder
	var holders sync.WaitGroup
	n := 3
	if stop {
		n = 1
	}
	failed := make(chan error, n+1)
	installed := make(chan struct{})
	var leased sync.WaitGroup
	for i := range n {
		path := filepath.Join(home, fmt.Sprint("shell", i))
		if err := os.WriteFile(path, shell, 0o755); err != nil {
			return err
		}
		fmt.Fprintf(&crontab, "SHELL=%s\n%s", path, secondly(fmt.Sprint("leased", i, "-"), 1, "", "true"))
		leased.Add(1)
		first := sync.OnceFunc(leased.Done)
		holders.Go(func() {
			defer first()
			for time.Now().Before(end) {
				blocked, err := leaseUntilBroken(path, first, installed, end)
				if err != nil {
					failed <- err
					return
				}
				if blocked && stop {
					return
				}
			}
		})
	}
	leased.Wait()
	if err := installCrontab(crontab.String()); err != nil {
		failed <- err
	}
	close(installed)
	begun()
	holders.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

// leaseUntilBroken holds a write lease until a process opens the file and a further 46 seconds (or
// end) have passed. It calls leased when it has the lease. If the lease is broken, all of the user's
// processes are stopped once, as soon as crontab(1) is not one of them.
func leaseUntilBroken(path string, leased func(), installed <-chan struct{}, end time.Time) (broken bool, err error) {
	f, err := os.Open(path)
	if err != nil {
		return false, err
	}
	defer f.Close()
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_WRLCK); err != nil {
		time.Sleep(time.Millisecond) // it is being executed
		return false, nil
	}
	leased()
	until := end
	for time.Now().Before(until) {
		if kind, err := unix.FcntlInt(f.Fd(), unix.F_GETLEASE, 0); err != nil {
			return false, err
		} else if kind != unix.F_WRLCK && !broken {
			broken = true
			if until = time.Now().Add(46 * time.Second); until.After(end) {
				until = end
			}
			<-installed
			stopEverything()
		}
		time.Sleep(5 * time.Millisecond)
	}
	_, err = unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	return broken, err
}

const leapDay = "0 0 29 2 * :\n"

// hugeCrontabs installs the largest crontab that crontab(1) could once take, again and again.
func hugeCrontabs(begun func(), end time.Time) error {
	huge := strings.Repeat(leapDay, 1_280_000)
	begun()
	for time.Now().Before(end) {
		if err := installCrontab(huge); err != nil && time.Now().Before(end) {
			fmt.Printf("refused: %.200v\n", err)
			time.Sleep(100 * time.Millisecond) // the attack's rate
		}
	}
	return nil
}

// requestLists lists as many jobs as a user may have on 48 connections at a time.
func requestLists(begun func(), end time.Time) error {
	err := errors.New("no size was tried")
	for _, n := range []int{100_000, 10_000, 1_000} {
		if err = installCrontab(strings.Repeat(leapDay, n)); err == nil {
			fmt.Println(n, "entries")
			break
		}
	}
	if err != nil {
		return err
	}
	begun()
	return listMany(48, end)
}

// listMany sends GET /v1/jobs on n connections until end, and reads slowly.
func listMany(n int, end time.Time) error {
	var all sync.WaitGroup
	for range n {
		all.Go(func() {
			for time.Now().Before(end) {
				if err := listSlowly(end); err != nil {
					time.Sleep(50 * time.Millisecond) // it was refused
				}
			}
		})
	}
	all.Wait()
	return nil
}

func listSlowly(end time.Time) error {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(end); err != nil {
		return err
	}
	if _, err := io.WriteString(c, "GET /v1/jobs HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); err != nil {
		return err
	}
	buffer := make([]byte, 64<<10)
	for {
		if _, err := c.Read(buffer); err != nil {
			return err
		}
		runtime.Gosched()
	}
}

// longReasons pauses 200 jobs with a reason of 1 MB each, and lists them.
func longReasons(begun func(), end time.Time) error {
	var crontab, names strings.Builder
	for i := range 200 {
		fmt.Fprintf(&crontab, "#@ name=reason%d\n%s", i, leapDay)
		fmt.Fprintf(&names, ",%q", fmt.Sprint("reason", i))
	}
	if err := installCrontab(crontab.String()); err != nil {
		return err
	}
	begun()
	text := post("/v1/pause", fmt.Sprintf(`{"jobs":[%s],"reason":%q}`, names.String()[1:], bytes.Repeat([]byte("x"), 1_000_000)))
	answer, err := knock(text, time.Until(end))
	fmt.Printf("the pause was answered %q, %v\n", answer, err)
	return listMany(10, end)
}
