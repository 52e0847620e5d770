package proc

import (
	"bufio"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
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
