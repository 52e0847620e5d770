package packaging

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/packaging/machinetest"
)

// Limits for the attacks: the delay of root's job of every second, compared with its delay beside
// as many busy processes of the same user that do not use cronring.
const (
	moreMedian = 10 * time.Millisecond
	moreP95    = 50 * time.Millisecond
	mostMemory = 300 << 20        // bytes of the daemon during an attack
	mostAfter  = 150 << 20        // and after it
	missedTime = 10 * time.Second // a start of root's job with a longer delay counts as missed
)

// assault is one attack as the tests run it.
type assault struct {
	Name string
	Busy int  // processes that the attack keeps busy, and so those of its control
	CI   bool // it is part of the short version
}

var assaults = []assault{
	{"stop-jobs", 2, true},
	{"stop-checks", 2, false},
	{"stop-mail", 8, false},
	{"lease-stop", 1, true},
	{"lease", 1, false},
	{"home", 1, true},
	{"huge", 1, true},
	{"requests", 2, true},
	{"reasons", 2, false},
	{"output", 8, false},
	{"rows", 8, false},
	{"hogs", 16, false},
}

// overflows are lines whose values are beyond what the arithmetic of time can hold.
var overflows = []string{
	"#@ name=o1 at=2300-01-01\n* * * * * true\n",
	"#@ name=o2 expect=106751d23h47m\n* * * * * true\n",
	"#@ name=o3 every=106751d\n* * * * * true\n",
	"#@ name=o4 every=1s jitter=52w\n* * * * * true\n",
	"#@ name=o5 jitter=106751d\n* * * * * true\n",
	"#@ name=o6 sec=* timeout=106751d\n* * * * * true\n",
	"#@ name=o7 sec=* stop-grace=106751d timeout=1s\n* * * * * true\n",
	"#@ name=o8 sec=* retry=1000 backoff=106751d\n* * * * * false\n",
}

// suffered is the effect of one attack.
type suffered struct {
	Name             string
	Control, Attack  delays
	Missed           int   // seconds of root's job that started 10 s late or never
	Beside           int   // such seconds beside the control's processes
	Memory, Settled  int64 // of the daemon in bytes: the most during the attack, and after it
	SameDaemon       bool
	After, Restarted bool   // root's job starts after the attack, and after a restart
	Bob              bool   // another user's job runs after the attack
	Attacker, Failed string // the last that the attacker printed, and why it failed
}

type delays struct{ Median, P95, Max time.Duration }

func (s suffered) row() string {
	ms := func(d time.Duration) string { return fmt.Sprintf("%.1f", float64(d)/float64(time.Millisecond)) }
	return fmt.Sprintf("%-14s %8s %8s %8s %8s %8s %8s %6d %6d %6d", s.Name, ms(s.Control.Median), ms(s.Control.P95), ms(s.Attack.Median), ms(s.Attack.P95), ms(s.Attack.Max),
		ms(s.Attack.Median-s.Control.Median), s.Missed, s.Memory>>20, s.Settled>>20)
}

// TestAttacks has an ordinary user try to stop or slow down a booted host. In CI some of the
// attacks run for seconds, and must not stop anything; "make attacks" runs all of them for half a
// minute each, and also checks the delays of root's job: it requires an otherwise idle machine.
func TestAttacks(t *testing.T) {
	// Not parallel: attacks take the processors from every other machine.
	machinetest.Need(t)
	during, limit := "4", 10*time.Minute
	if long() {
		during, limit = "30", time.Hour
	}
	args := []string{during}
	only := os.Getenv("CRONRING_ATTACKS")
	for _, a := range assaults {
		if only == "" && (a.CI || long()) || slices.Contains(strings.Fields(only), a.Name) {
			args = append(args, fmt.Sprintf("%s:%d", a.Name, a.Busy))
		}
	}
	if only == "" || slices.Contains(strings.Fields(only), "overflows") {
		args = append(args, "overflows")
	}
	r := machine{packages: machinetest.Packages, proof: "attacks", args: args, limit: limit, files: map[string]string{
		"sendmail":         text(t, filepath.Join(lab, "sendmail")),
		"tables/cron.d/1":  "SHELL=/bin/bash\n#@ name=clock every=1s catchup=all:1000\n* * * * * root echo \"$CRONRING_DUE $EPOCHREALTIME\" >>/lab/out/ticks\n",
		"tables/users/bob": "#@ name=bobs\n" + leapDay,
	}}.run(t)
	t.Logf("delays of root's job in ms, memory of the daemon in MiB\n%-14s %8s %8s %8s %8s %8s %8s %6s %6s %6s", "attack", "control", "p95", "attack", "p95", "max", "more", "missed", "most", "after")
	if len(args) == 2 && args[1] == "overflows" {
		return
	}
	for line := range strings.Lines(r.file(t, "attacks.jsonl")) {
		var s suffered
		if err := json.Unmarshal([]byte(line), &s); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		t.Log(s.row())
		if median, p95 := s.Attack.Median-s.Control.Median, s.Attack.P95-s.Control.P95; long() && (median > moreMedian || p95 > moreP95) {
			t.Errorf("%s delays root's job by %v (median) and %v (p95) more than its control, want at most %v and %v", s.Name, median, p95, moreMedian, moreP95)
		}
	}
}

// ticks are the starts of root's job by their due second, as the job itself wrote them down.
func ticks() (map[int64]time.Time, error) {
	f, err := os.Open("/lab/out/ticks")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all := map[int64]time.Time{}
	for lines := bufio.NewScanner(f); lines.Scan(); {
		due, at, _ := strings.Cut(lines.Text(), " ")
		second, err := time.Parse(time.RFC3339, due)
		if err != nil {
			return nil, err
		}
		seconds, err := strconv.ParseFloat(at, 64)
		if err != nil {
			continue // it is being written
		}
		if _, twice := all[second.Unix()]; twice {
			return nil, fmt.Errorf("the second %v has two starts", second)
		}
		all[second.Unix()] = time.UnixMicro(int64(seconds * 1e6))
	}
	return all, nil
}

// started waits until root's job of each of n seconds has started, or is missed.
func started(from time.Time, n int) (delay []time.Duration, missed int, err error) {
	first := from.Unix() + 1
	for {
		all, err := ticks()
		if err != nil {
			return nil, 0, err
		}
		delay, missed = nil, 0
		for s := first; s < first+int64(n); s++ {
			if at, ok := all[s]; !ok || at.Sub(time.Unix(s, 0)) > missedTime {
				missed++
			} else {
				delay = append(delay, at.Sub(time.Unix(s, 0)))
			}
		}
		if missed == 0 || time.Since(time.Unix(first+int64(n), 0)) > missedTime {
			return delay, missed, nil
		}
		time.Sleep(50 * time.Millisecond) // a poll of a file that the job appends to
	}
}

func summary(delay []time.Duration) delays {
	if len(delay) == 0 {
		return delays{}
	}
	slices.Sort(delay)
	return delays{delay[len(delay)/2], delay[len(delay)*95/100], delay[len(delay)-1]}
}

// driveAttacks runs each attack against the machine it is on, and writes what it did.
func driveAttacks(args []string) error {
	if len(args) < 2 {
		return errors.New("usage: labtool attacks SECONDS NAME:BUSY...|overflows")
	}
	seconds, err := strconv.Atoi(args[0])
	if err != nil {
		return err
	}
	out, err := os.Create("/lab/out/attacks.jsonl")
	if err != nil {
		return err
	}
	defer out.Close()
	controls := map[int]suffered{}
	for _, word := range args[1:] {
		if word == "overflows" {
			if err := driveOverflows(); err != nil {
				return err
			}
			continue
		}
		name, number, _ := strings.Cut(word, ":")
		busy, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		if _, ok := controls[busy]; !ok {
			if controls[busy], err = control(busy, seconds); err != nil {
				return err
			}
		}
		s, err := suffer(name, seconds)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.Control, s.Beside = controls[busy].Attack, controls[busy].Missed
		s.judge()
		if err := json.NewEncoder(out).Encode(s); err != nil {
			return err
		}
	}
	return nil
}

// asUser starts a tool as a user. The daemon under attack is already running.
func asUser(user string, args ...string) *exec.Cmd {
	cmd := exec.Command("setpriv", append([]string{"--reuid=" + user, "--regid=" + user, "--init-groups", "--reset-env", "--"}, args...)...)
	cmd.Dir = "/home/" + user
	return cmd
}

// control is the effect of busy processes of alice on root's job.
func control(busy, seconds int) (s suffered, err error) {
	var all []*exec.Cmd
	for range busy {
		cmd := asUser("alice", "/lab/labtool", "attacker", "busy", fmt.Sprint(time.Duration(seconds+2)*time.Second))
		if err := cmd.Start(); err != nil {
			return s, err
		}
		all = append(all, cmd)
	}
	delay, missed, err := started(time.Now(), seconds)
	for _, cmd := range all {
		err = errors.Join(err, cmd.Wait())
	}
	s.Attack, s.Missed = summary(delay), missed
	return s, err
}

// suffer runs one attack, and looks at the daemon during it and after it, before root has
// ended any process of the attacker.
func suffer(name string, seconds int) (s suffered, err error) {
	s.Name = name
	pid := daemonPID()
	if name == "home" {
		release, err := hangHome()
		if err != nil {
			return s, err
		}
		defer release()
	}
	cmd := asUser("alice", "/lab/labtool", "attacker", name, fmt.Sprint(time.Duration(seconds+1)*time.Second))
	said, err := cmd.StdoutPipe()
	if err != nil {
		return s, err
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return s, err
	}
	lines := bufio.NewScanner(said)
	if !lines.Scan() || lines.Text() != "begun" && !lines.Scan() {
		return s, errors.Join(errors.New("the attacker did not begin"), cmd.Wait())
	}
	watched := watchMemory(pid)
	delay, missed, err := started(time.Now(), seconds)
	if err != nil {
		return s, err
	}
	s.Attack, s.Missed = summary(delay), missed
	for lines.Scan() {
		s.Attacker = lines.Text()
	}
	if err := cmd.Wait(); err != nil {
		s.Failed = err.Error()
	}
	_, after, err := started(time.Now(), 2)
	if err != nil {
		return s, err
	}
	s.After = after == 0
	s.Bob = asUser("bob", "timeout", "30", "cronring", "run", "bobs", "--wait").Run() == nil
	s.Settled = memory(pid)
	s.Memory = watched()
	s.SameDaemon = daemonPID() == pid
	restarted := exec.Command("timeout", "30", "systemctl", "restart", "cronring").Run()
	_, after, err = started(time.Now(), 2)
	s.Restarted = restarted == nil && after == 0
	return s, errors.Join(err, cleanUp(s.Restarted))
}

// judge writes a claim for each thing that no attack may do.
func (s suffered) judge() {
	for what, holds := range map[string]bool{
		fmt.Sprintf("%s: root's job misses no second (%d, beside the control %d)", s.Name, s.Missed, s.Beside): s.Missed <= s.Beside,
		fmt.Sprintf("%s: the daemon is still the same process", s.Name):                                        s.SameDaemon,
		fmt.Sprintf("%s: root's job starts after it", s.Name):                                                  s.After,
		fmt.Sprintf("%s: bob's job runs after it", s.Name):                                                     s.Bob,
		fmt.Sprintf("%s: the daemon starts again", s.Name):                                                     s.Restarted,
		fmt.Sprintf("%s: the daemon's memory stays bounded (%d MiB during it)", s.Name, s.Memory>>20):          s.Memory <= mostMemory,
		fmt.Sprintf("%s: the daemon's memory stays bounded (%d MiB afterwards)", s.Name, s.Settled>>20):        s.Settled <= mostAfter,
		fmt.Sprintf("%s: the attacker carried it out (%s%s)", s.Name, s.Attacker, s.Failed):                    s.Failed == "",
	} {
		claimed(what, holds)
	}
}

func claimed(what string, holds bool) {
	if holds {
		fmt.Println("ok     ", what)
	} else {
		fmt.Println("NOT OK ", what)
	}
}

// cleanUp ends all that alice has, and if need be all that the daemon has left.
func cleanUp(healthy bool) error {
	_ = exec.Command("pkill", "-KILL", "-u", "alice").Run() // 1: she has no process
	if err := os.Remove("/var/spool/cron/crontabs/alice"); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if healthy {
		return nil
	}
	_ = exec.Command("systemctl", "kill", "-s", "KILL", "cronring").Run()
	_ = exec.Command("pkill", "-KILL", "-x", "cronringd").Run()
	if said, err := exec.Command("systemctl", "restart", "cronring").CombinedOutput(); err != nil {
		return fmt.Errorf("the daemon does not start again: %w: %s", err, said)
	}
	_, missed, err := started(time.Now(), 2)
	if missed > 0 {
		err = cmp.Or(err, errors.New("root's job does not start after the attack was cleaned up"))
	}
	return err
}

func daemonPID() int {
	said, _ := exec.Command("systemctl", "show", "-P", "MainPID", "cronring").Output()
	pid, _ := strconv.Atoi(strings.TrimSpace(string(said)))
	return pid
}

// memory is the size of the daemon's memory in bytes; 0 if the daemon has ended.
func memory(pid int) int64 {
	var pages, resident int64
	_, _ = fmt.Sscan(read(fmt.Sprint("/proc/", pid), "statm"), &pages, &resident)
	return resident * int64(os.Getpagesize())
}

// watchMemory looks at the daemon's memory until the function that it returns is called,
// which returns the most that it saw.
func watchMemory(pid int) func() int64 {
	stop, most := make(chan struct{}), make(chan int64)
	go func() {
		var peak int64
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			peak = max(peak, memory(pid))
			select {
			case <-tick.C:
			case <-stop:
				most <- peak
				return
			}
		}
	}()
	return func() int64 { close(stop); return <-most }
}

const deadHome = "/home/alice/dead"

// hangHome mounts a file system there whose server never answers, as a dead server of a
// network does.
func hangHome() (release func(), err error) {
	const device = "/lab/fuse"
	if err := unix.Mknod(device, unix.S_IFCHR|0o600, int(unix.Mkdev(10, 229))); err != nil {
		return nil, err
	}
	fuse, err := os.OpenFile(device, os.O_RDWR, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", device, err)
	}
	if err := os.Mkdir(deadHome, 0o755); err != nil {
		return nil, err
	}
	options := fmt.Sprintf("fd=%d,rootmode=40000,user_id=2001,group_id=2001,allow_other", fuse.Fd())
	if err := unix.Mount("dead", deadHome, "fuse", unix.MS_NOSUID|unix.MS_NODEV, options); err != nil {
		return nil, fmt.Errorf("mount: %w", err)
	}
	return func() {
		fuse.Close() // waiting requests are rejected
		_ = unix.Unmount(deadHome, unix.MNT_DETACH)
	}, nil
}

// driveOverflows installs the lines with values that overflow, and if that harms the host each
// of them alone, to name the guilty ones.
func driveOverflows() error {
	harmless, err := overflow(strings.Join(overflows, ""))
	if harmless || err != nil {
		return err
	}
	for _, line := range overflows {
		if _, err := overflow(line); err != nil {
			return err
		}
	}
	return nil
}

// overflow installs a crontab for alice, without crontab(1) if it rejects the crontab, like one
// that an earlier version accepted. Root's job continues, and the daemon is not busy.
func overflow(crontab string) (harmless bool, err error) {
	cmd := asUser("alice", "crontab", "-")
	cmd.Stdin = strings.NewReader(crontab)
	if cmd.Run() != nil {
		draft := "/var/spool/cron/crontabs/.alice"
		if err := os.WriteFile(draft, []byte(crontab), 0o600); err != nil {
			return false, err
		}
		if said, err := exec.Command("chown", "alice:crontab", draft).CombinedOutput(); err != nil {
			return false, fmt.Errorf("chown: %w: %s", err, said)
		}
		if err := os.Rename(draft, "/var/spool/cron/crontabs/alice"); err != nil {
			return false, err
		}
	}
	pid := daemonPID()
	delay, missed, err := started(time.Now(), 2)
	if err != nil {
		return false, err
	}
	used, begun := cpu(pid), time.Now()
	_, after, err := started(time.Now(), 1)
	share := float64(cpu(pid)-used) / float64(time.Since(begun))
	claimed(fmt.Sprintf("overflow %.60q: root's job misses no second (%d; %v)", crontab, missed+after, summary(delay)), missed+after == 0)
	claimed(fmt.Sprintf("overflow %.60q: the daemon does not spin (%.0f %% of a core)", crontab, 100*share), share < 0.5)
	return missed+after == 0 && share < 0.5, errors.Join(err, cleanUp(missed+after == 0))
}

// cpu is the time that a process has used.
func cpu(pid int) time.Duration {
	stat := read(fmt.Sprint("/proc/", pid), "stat")
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(f) < 13 {
		return 0
	}
	user, _ := strconv.ParseInt(f[11], 10, 64)
	system, _ := strconv.ParseInt(f[12], 10, 64)
	return time.Duration(user+system) * 10 * time.Millisecond
}
