package proc

import (
	"bufio"
	"math"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// group starts a shell as the leader of a session, with a child that begins another session. It
// returns both.
func group(t *testing.T) (leader, child int) {
	t.Helper()
	cmd := exec.Command("sh", "-c", `setsid sh -c 'echo $$; read x' <&0; true`)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	child, err = strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	return cmd.Process.Pid, child
}

func TestProcessOfARun(t *testing.T) {
	leader, child := group(t)
	other, stranger := group(t)
	for _, tt := range []struct {
		pid, leader int
		want        bool
	}{
		{leader, leader, true}, {child, leader, true}, {other, leader, false}, {stranger, leader, false},
		{os.Getpid(), leader, false}, {0, leader, false}, {-1, leader, false}, {leader, 1, false}, {leader, 0, false}, {1 << 30, leader, false},
	} {
		if got := IsOf(tt.pid, tt.leader); got != tt.want {
			t.Errorf("IsOf(%d, %d) = %v, want %v", tt.pid, tt.leader, got, tt.want)
		}
	}
}

// TestStartAfterYears: a host runs for years without a restart.
func TestStartAfterYears(t *testing.T) {
	s := make(stat, statExit+1)
	s[statStart] = "31536000000" // ten years
	if up := s.start(); up != 10*365*24*time.Hour {
		t.Errorf("a process began at %s, want 87600h", up)
	}
}

// FuzzStat holds that the name of a process, which the process chooses, changes nothing of the rest.
func FuzzStat(f *testing.F) {
	const seen = " S 1 77 78 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 123456 9 10 18446744073709551615 1 2 3 4 5 6 7 8 9 1 1 1 17 0 0 0 0 0 0 1 2 3 4 5 6 7 256\n"
	f.Add("sh", seen)
	f.Add("a) Z 1 1 1 (b", seen)
	f.Add("\n) S ", seen)
	f.Add(")", strings.Replace(seen, "S", "Z", 1))
	f.Add("", " R 99999999999999999999 -1")
	f.Fuzz(func(t *testing.T, name, rest string) {
		got := parseStat([]byte("4711 (" + name + ")" + rest))
		if strings.Contains(rest, ")") { // none of the kernel's other fields has one
			return
		}
		if want := parseStat([]byte("4711 (sh)" + rest)); !slices.Equal(got, want) {
			t.Fatalf("with the name %q the fields are %q, want %q", name, got, want)
		}
		if got == nil {
			return
		}
		ticks, err := strconv.ParseInt(got[statStart], 10, 64)
		if up := got.start(); err == nil && ticks >= 0 && ticks <= math.MaxInt64/int64(10*time.Millisecond) && up != time.Duration(ticks)*10*time.Millisecond {
			t.Errorf("%d ticks are %s", ticks, up)
		}
	})
}

// FuzzControlGroup holds that only the first line of version 2 matters.
func FuzzControlGroup(f *testing.F) {
	f.Add("12:pids:/x\n1:name=systemd:/user.slice\n", "/system.slice/a.service", "")
	f.Add("", "/user.slice/0::", "0::/other\n")
	f.Add("3:cpu,cpuacct:0::/", "/ (deleted)", "\x00")
	f.Fuzz(func(t *testing.T, before, path, after string) {
		if strings.Contains(path, "\n") || strings.Contains("\n"+before, "\n0::") {
			return
		}
		if before != "" && !strings.HasSuffix(before, "\n") {
			before += "\n"
		}
		if got := parseControlGroup([]byte(before + "0::" + path + "\n" + after)); got != path {
			t.Errorf("the group is %q, want %q", got, path)
		}
		if got := parseControlGroup([]byte(before)); got != "" {
			t.Errorf("without version 2 the group is %q", got)
		}
	})
}
