package beats

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/simulated"
)

// beSender makes the test binary a program that sends what it reads to a socket.
const beSender = "BEATS_TEST_SOCKET"

func TestMain(m *testing.M) {
	path := os.Getenv(beSender)
	if path == "" {
		os.Exit(m.Run())
	}
	if err := send(path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// send connects at the first line of its input. Each line is a message in quotes; an empty line sends
// descriptor 3 and closes it, like systemd-notify.
func send(path string) error {
	conn, err := unix.Socket(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	lines := bufio.NewScanner(os.Stdin)
	for first := true; lines.Scan(); first = false {
		text, rights := "BARRIER=1", unix.UnixRights(3)
		if lines.Text() != "" {
			rights = nil
			if text, err = strconv.Unquote(lines.Text()); err != nil {
				return err
			}
		}
		if first {
			if err := unix.Connect(conn, &unix.SockaddrUnix{Name: path}); err != nil {
				return fmt.Errorf("connect: %w", err)
			}
		}
		if err := unix.Sendmsg(conn, []byte(text), rights, nil, 0); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		if rights != nil {
			if err := syscall.Close(3); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// sender is a process that sends messages, and the leader of a session.
type sender struct {
	t     *testing.T
	cmd   *exec.Cmd
	input io.WriteCloser
	read  *os.File // it ends when the receiver has read everything
}

func startSender(t *testing.T, path string, as *syscall.Credential) *sender {
	t.Helper()
	read, barrier, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env, cmd.Stderr, cmd.ExtraFiles = []string{beSender + "=" + path}, os.Stderr, []*os.File{barrier}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: as}
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	barrier.Close()
	s := &sender{t, cmd, input, read}
	t.Cleanup(func() {
		input.Close()
		if cmd.ProcessState == nil && cmd.Wait() != nil {
			t.Error("the sender failed")
		}
		read.Close()
	})
	return s
}

func (s *sender) send(messages ...string) {
	s.t.Helper()
	for _, m := range messages {
		if _, err := io.WriteString(s.input, strconv.Quote(m)+"\n"); err != nil {
			s.t.Fatal(err)
		}
	}
}

// await returns when the receiver has read everything that was sent. It is called once.
func (s *sender) await() {
	s.t.Helper()
	if _, err := io.WriteString(s.input, "\n"); err != nil {
		s.t.Fatal(err)
	}
	if err := s.read.SetReadDeadline(time.Now().Add(hosttest.Patience)); err != nil {
		s.t.Fatal(err)
	}
	if _, err := s.read.Read(make([]byte, 1)); err != io.EOF {
		s.t.Fatalf("waiting for the receiver: %v", err)
	}
}

// host is a daemon with one run with watchdog=.
type host struct {
	*simulated.World
	beats atomic.Int32
	asked chan struct{} // receives a value for each beat
}

func (h *host) Ask(ctx context.Context, e event.Event) (effect.Answer, error) {
	h.beats.Add(1)
	h.asked <- struct{}{}
	return h.World.Ask(ctx, e)
}

func newHost(t *testing.T, pid int) (h *host, run job.RunID) {
	t.Helper()
	h = &host{World: simulated.New("2026-11-20T08:00:00Z"), asked: make(chan struct{}, 1000)}
	h.Load("#@ name=feed watchdog=2m trigger=manual\n0 0 1 1 * ann true\n")
	for _, e := range h.Step(event.RunNow{Job: "feed", By: "root"}) {
		if start, ok := e.(effect.Start); ok {
			run = start.Run.ID
		}
	}
	h.Step(event.Started{Run: run, PID: pid})
	if run == 0 {
		t.Fatal("the run did not start")
	}
	return h, run
}

func (h *host) want(t *testing.T, least, most int) {
	t.Helper()
	if got := int(h.beats.Load()); got < least || got > most {
		t.Errorf("%d signs of life reached the loop, want %d to %d", got, least, most)
	}
}

// dirPath is a directory for sockets that everybody can reach.
func dirPath(t *testing.T) string {
	t.Helper()
	base, err := os.MkdirTemp("", "beats-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(base, "notify")
}

func open(t *testing.T, b *Receiver, run job.RunID, uid int) {
	t.Helper()
	if err := b.Open(run, "ann", uint32(uid)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Shut)
}

func TestMessages(t *testing.T) {
	long := strings.Repeat("x", maxMessage)
	for _, tt := range []struct {
		name, message string
		want          int
	}{
		{"alone", "WATCHDOG=1", 1},
		{"with a newline", "WATCHDOG=1\n", 1},
		{"among others", "READY=1\nSTATUS=half\nWATCHDOG=1\nMAINPID=1", 1},
		{"of greatest length", "WATCHDOG=1\n" + long[11:], 1},
		{"too long", "WATCHDOG=1\n" + long, 0},
		{"ready", "READY=1", 0},
		{"trigger", "WATCHDOG=trigger", 0},
		{"longer", "WATCHDOG=10", 0},
		{"inside of a line", "STATUS=WATCHDOG=1", 0},
		{"empty", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			dir := dirPath(t)
			s := startSender(t, filepath.Join(dir, "1"), nil)
			h, run := newHost(t, s.cmd.Process.Pid)
			b := New(h, dir)
			open(t, b, run, os.Geteuid())
			s.send(tt.message)
			s.await()
			h.want(t, tt.want, tt.want)
		})
	}
}

// TestMessagesOfAnother: only a process of the run gives signs of life for it, and what others of the same
// user send does not keep its own from counting.
func TestMessagesOfAnother(t *testing.T) {
	dir := dirPath(t)
	own, other := startSender(t, filepath.Join(dir, "1"), nil), startSender(t, filepath.Join(dir, "1"), nil)
	h, run := newHost(t, own.cmd.Process.Pid)
	b := New(h, dir)
	open(t, b, run, os.Geteuid())
	other.send("WATCHDOG=1", "WATCHDOG=1")
	other.await()
	h.want(t, 0, 0)
	own.send("WATCHDOG=1")
	own.await()
	h.want(t, 1, 1)
}

// TestMessagesOfAnotherUser: nobody but the user of the run can send.
func TestMessagesOfAnotherUser(t *testing.T) {
	hosttest.Root(t, "only root can become another user")
	dir := dirPath(t)
	const ann, bob = 4321, 4322
	for _, uid := range []uint32{ann, bob} {
		s := startSender(t, filepath.Join(dir, "1"), &syscall.Credential{Uid: uid, Gid: uid})
		h, run := newHost(t, s.cmd.Process.Pid)
		b := New(h, dir)
		open(t, b, run, ann)
		s.send("WATCHDOG=1")
		if uid == ann {
			s.await()
			h.want(t, 1, 1)
			continue
		}
		s.input.Close()
		if err := s.cmd.Wait(); err == nil {
			t.Error("another user can send")
		}
		h.want(t, 0, 0)
	}
	var status unix.Stat_t
	if err := unix.Lstat(filepath.Join(dir, "1"), &status); err != nil || status.Uid != ann || status.Mode != unix.S_IFSOCK|0o600 {
		t.Errorf("socket of user %d with mode %o, error %v; want user %d and 0600", status.Uid, status.Mode, err, ann)
	}
}

// TestFloodOfOneRun: a run that sends all the time reaches the loop 10 times in a second.
func TestFloodOfOneRun(t *testing.T) {
	dir := dirPath(t)
	s := startSender(t, filepath.Join(dir, "1"), nil)
	h, run := newHost(t, s.cmd.Process.Pid)
	b := New(h, dir)
	begun := time.Now()
	open(t, b, run, os.Geteuid())
	s.send(slices.Repeat([]string{"WATCHDOG=1"}, messagesPerSecond-1)...)
	s.await()
	h.want(t, 1, 2+int(time.Since(begun)/spacing))
}

// TestEndedRun: the socket of a run goes with it.
func TestEndedRun(t *testing.T) {
	h, run := newHost(t, os.Getpid())
	b := New(h, dirPath(t))
	open(t, b, run, os.Geteuid())
	if b.Count() != 1 {
		t.Errorf("%d sockets, want 1", b.Count())
	}
	if !b.Close(run) || b.Close(run) || b.Count() != 0 {
		t.Error("a run has one socket")
	}
	if _, err := os.Lstat(b.Path(run)); !os.IsNotExist(err) {
		t.Errorf("the socket of an ended run: %v", err)
	}
}

// TestDescriptors: the end of a run waits for no descriptor that one of its processes has sent.
func TestDescriptors(t *testing.T) {
	for _, read := range []bool{false, true} {
		t.Run(fmt.Sprint("read ", read), func(t *testing.T) {
			h, run := newHost(t, os.Getpid())
			b := New(h, dirPath(t))
			open(t, b, run, os.Geteuid())
			c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: b.Path(run), Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			b.admission.mu.Lock() // the reader waits for it after the first message
			if _, err := c.Write([]byte("x")); err != nil {
				t.Fatal(err)
			}
			hosttest.SendLingering(t, c)
			if read {
				b.admission.mu.Unlock()
				if _, err := c.Write([]byte("WATCHDOG=1")); err != nil {
					t.Fatal(err)
				}
			}
			closed := make(chan bool, 1)
			go func() {
				if read {
					<-h.asked
				}
				closed <- b.Close(run)
			}()
			select {
			case <-closed:
			case <-time.After(hosttest.Patience):
				t.Error("the end of the run waits for a descriptor")
			}
			if !read {
				b.admission.mu.Unlock()
			}
		})
	}
}

// TestNextDaemon: a daemon that takes over opens the sockets of running runs again, at the same path, and
// removes all others.
func TestNextDaemon(t *testing.T) {
	for _, handedOver := range []bool{false, true} {
		t.Run(fmt.Sprint("handed over ", handedOver), func(t *testing.T) {
			dir := dirPath(t)
			s := startSender(t, filepath.Join(dir, "1"), nil)
			h, run := newHost(t, s.cmd.Process.Pid)
			before := New(h, dir)
			open(t, before, run, os.Geteuid())
			open(t, before, 77, os.Geteuid())
			if err := os.WriteFile(filepath.Join(dir, "other"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			var kept map[job.RunID]int
			want := 1
			if handedOver {
				s.send("WATCHDOG=1") // and stays connected
				<-h.asked
				want++
				if kept = before.Handover(); len(kept) != 2 {
					t.Fatalf("handed over: %v", kept)
				}
			}
			before.Shut()
			after := New(h, dir)
			t.Cleanup(after.Shut)
			if err := after.Restore(map[job.RunID]string{run: "ann", 78: "ann"}, kept); err != nil {
				t.Fatal(err)
			}
			if left, err := os.ReadDir(dir); err != nil || len(left) != 1 || left[0].Name() != run.String() || after.Count() != 1 {
				t.Errorf("left are %v, %d of them open, error %v; want the socket of run %d", left, after.Count(), err, run)
			}
			if !after.Takes(run) || after.Takes(78) {
				t.Errorf("run %d can give signs of life: %t, and run 78, which has no socket: %t", run, after.Takes(run), after.Takes(78))
			}
			s.send("WATCHDOG=1")
			s.await()
			h.want(t, want, want)
		})
	}
}

// TestNoDirectory: without a directory the daemon works, without sockets.
func TestNoDirectory(t *testing.T) {
	h, _ := newHost(t, os.Getpid())
	b := New(h, "")
	if err := b.Restore(map[job.RunID]string{1: "ann"}, nil); err != nil {
		t.Error(err)
	}
	if kept := b.Handover(); len(kept) != 0 || !b.Takes(1) {
		t.Errorf("handed over: %v; run 1 can give signs of life: %t", kept, b.Takes(1))
	}
}

// FuzzSign reads any message with any control data.
func FuzzSign(f *testing.F) {
	control := unix.UnixCredentials(&unix.Ucred{Pid: 77, Uid: 4321, Gid: 4321})
	f.Add([]byte("WATCHDOG=1"), control)
	f.Add([]byte("READY=1\nSTATUS=half\nWATCHDOG=1\nMAINPID=1\n"), append(control, control...))
	f.Add([]byte("STATUS=WATCHDOG=1\nWATCHDOG=trigger\n\n"), unix.UnixRights(0, 1))
	f.Add([]byte("WATCHDOG=1\r\n\x00"), control[:len(control)-1])
	f.Add([]byte{}, []byte("\x10\x00\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x02\x00\x00\x00")) // credentials without content
	f.Fuzz(func(t *testing.T, text, control []byte) {
		if got, want := isSign(text), slices.Contains(strings.Split(string(text), "\n"), "WATCHDOG=1"); got != want {
			t.Errorf("%q is a sign of life: %t, want %t", text, got, want)
		}
		if isSign(slices.Concat([]byte("STATUS="), text)) && !bytes.Contains(text, []byte("\nWATCHDOG=1")) {
			t.Errorf("the end of a line of %q is a sign of life", text)
		}
		pid := senderOf(control)
		if pid == 0 {
			return
		}
		messages, err := unix.ParseSocketControlMessage(control)
		if err != nil || messages[0].Header.Level != unix.SOL_SOCKET || messages[0].Header.Type != unix.SCM_CREDENTIALS {
			t.Fatalf("%q names the sender %d without credentials (%v)", control, pid, err)
		}
		again := unix.UnixCredentials(&unix.Ucred{Pid: int32(pid)})
		if got := senderOf(again); got != pid {
			t.Errorf("the sender %d is read as %d", pid, got)
		}
	})
}
