package starter

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/daemon/hosttest"
)

func TestMain(m *testing.M) {
	Serve()
	if len(os.Args) == 1 && os.Args[0] == printKeyring {
		id, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false)
		fmt.Print(id, " ", err)
		os.Exit(0)
	}
	// What runs the tests may have left files open, as the daemon does not.
	if err := unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC); err != nil {
		fmt.Fprintln(os.Stderr, "mark open files:", err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// run has the starter run a command, waits for its end, and returns what it
// printed.
func run(t *testing.T, s *Starter, c Command) (output string, status syscall.WaitStatus, progress Progress) {
	t.Helper()
	out, reports := pipe(t), pipe(t)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	c.Files, c.Status = []int{int(null.Fd()), int(out[1].Fd()), int(out[1].Fd())}, int(reports[1].Fd())
	pid, err := s.Start(&c)
	out[1].Close()
	reports[1].Close()
	if err != nil {
		t.Fatal(err)
	}
	var text, told bytes.Buffer
	if _, err := text.ReadFrom(out[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := told.ReadFrom(reports[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		t.Fatal(err)
	}
	progress = Progress{Command: c.Path, Dir: c.Dir}
	progress.Add(told.Bytes())
	return text.String(), status, progress
}

func pipe(t *testing.T) (ends [2]*os.File) {
	t.Helper()
	var err error
	if ends[0], ends[1], err = os.Pipe(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ends[0].Close(); ends[1].Close() })
	return ends
}

func shell(script string) Command {
	return Command{Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Env: []string{"PATH=/usr/bin:/bin"}}
}

func starter(t *testing.T) *Starter {
	s := new(Starter)
	t.Cleanup(s.Close)
	return s
}

func TestStartIsACleanProcess(t *testing.T) {
	s := starter(t)
	// No pipe behind ls: the shell would have the pipe's end open itself for a moment.
	c := shell(`printf '%s ' "$X" "$(pwd)" "$(umask)"; ls /proc/$$/fd; grep -E '^Sig(Blk|Ign)' /proc/$$/status | cut -f2 | tr '\n' ' '; exit 7`)
	c.Env = append(c.Env, "X=\xff \n")
	c.Dir = "/usr"
	output, status, progress := run(t, s, c)
	if want := "\xff \n /usr 0022 0\n1\n2\n0000000000000000 0000000000000000 "; output != want {
		t.Errorf("output %q, want %q", output, want)
	}
	if status.ExitStatus() != 7 || progress.Failure() != nil || progress.Warnings() != nil {
		t.Errorf("status %v, failure %v, warnings %q", status, progress.Failure(), progress.Warnings())
	}
	if s.Peak() <= 0 {
		t.Error("the starter's memory is not known")
	}
}

func TestStartSetsUmaskAndLogin(t *testing.T) {
	s := starter(t)
	c := shell("umask; cat /proc/self/loginuid")
	umask := uint32(0o007)
	c.Umask, c.Login = &umask, "1234"
	output, _, _ := run(t, s, c)
	if output != "0007\n1234" {
		own, err := os.ReadFile("/proc/self/loginuid")
		if output != "0007\n"+string(own) || err != nil {
			t.Errorf("output %q, want umask 0007 and the login of 1234, or, if the kernel refuses it, %q", output, own)
		}
		t.Log("the kernel refuses another login")
	}
}

// printKeyring is argv[0] of a program that prints the ID of its session keyring.
const printKeyring = "print-keyring"

// TestUsersShareNoKeyring: a process can read and revoke what is in its session keyring.
func TestUsersShareNoKeyring(t *testing.T) {
	hosttest.Root(t, "only root can start a process of another user")
	if _, err := unix.KeyctlGetKeyringID(unix.KEY_SPEC_SESSION_KEYRING, false); err != nil {
		t.Skipf("SKIPPED, NOT TESTED without keys: %v", err)
	}
	s := starter(t)
	known := map[string]bool{}
	for range 2 {
		c := Command{Path: "/proc/self/exe", Argv: []string{printKeyring}, User: &syscall.Credential{Uid: 65534, Gid: 65534}}
		id, _, progress := run(t, s, c)
		if !strings.HasSuffix(id, " <nil>") || known[id] {
			t.Errorf("got session keyring %q after %v, %v, want one that no other run has", id, known, progress.Failure())
		}
		known[id] = true
	}
}

func TestStartReportsWhyNot(t *testing.T) {
	s := starter(t)
	c := shell("pwd")
	c.Path = "/nonexistent/sh"
	_, status, progress := run(t, s, c)
	var failed *ExecError
	if !errors.As(progress.Failure(), &failed) || failed.Errno != syscall.ENOENT || status.ExitStatus() != ExitFailed {
		t.Errorf("failure %v, status %v; want one of the program that does not exist", progress.Failure(), status)
	}
	c = shell("pwd")
	c.Dir = "/nonexistent/home"
	if _, _, progress = run(t, s, c); !errors.Is(progress.Failure(), syscall.ENOENT) || !strings.Contains(progress.Failure().Error(), c.Dir) {
		t.Errorf("failure %v, want one of the directory", progress.Failure())
	}
	c.DirOptional = true
	output, _, progress := run(t, s, c)
	if want := []string{"cannot enter /nonexistent/home: no such file or directory; running in /"}; output != "/\n" || !slices.Equal(progress.Warnings(), want) {
		t.Errorf("output %q, warnings %q; want %q", output, progress.Warnings(), want)
	}
}

func TestStartRejects(t *testing.T) {
	s := starter(t)
	for name, c := range map[string]Command{
		"NUL in an argument": {Path: "/bin/sh", Argv: []string{"a\x00b"}, Files: []int{0, 1, 2}},
		"no arguments":       {Path: "/bin/sh", Files: []int{0, 1, 2}},
		"two files":          {Path: "/bin/sh", Argv: []string{"sh"}, Files: []int{0, 1}},
	} {
		if _, err := s.Start(&c); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%s: error %v, want EINVAL", name, err)
		}
	}
	c := shell("true")
	c.Files = []int{0, 1, 2}
	c.Env = []string{strings.Repeat("x", maxMessage)}
	if _, err := s.Start(&c); !errors.Is(err, syscall.E2BIG) {
		t.Errorf("error %v, want E2BIG", err)
	}
	if output, _, _ := run(t, s, shell("echo well")); output != "well\n" {
		t.Errorf("output %q after that", output)
	}
}

// TestServeIsNoWayUp runs the starter without privileges, and requests root's.
func TestServeIsNoWayUp(t *testing.T) {
	hosttest.Root(t, "only root can become another user")
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := os.NewFile(uintptr(pair[1]), "socket")
	cmd := exec.Command("/proc/self/exe")
	cmd.Args = []string{Name}
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirs.Close()
	s := &Starter{conn: pair[0]}
	for name, user := range map[string]*syscall.Credential{"as it is": nil, "as root": {}} {
		c := shell("id -u")
		c.User = user
		null, out, reports := int(os.Stdin.Fd()), pipe(t), pipe(t)
		c.Files, c.Status = []int{null, int(out[1].Fd()), int(out[1].Fd())}, int(reports[1].Fd())
		if _, err := s.Start(&c); err != nil {
			t.Fatal(err)
		}
		out[1].Close()
		reports[1].Close()
		var text bytes.Buffer
		if _, err := text.ReadFrom(out[0]); err != nil {
			t.Fatal(err)
		}
		if want := map[string]string{"as it is": "65534\n", "as root": ""}[name]; text.String() != want {
			t.Errorf("%s: output %q, want %q", name, text.String(), want)
		}
	}
	s.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the starter ended with %v when its socket was closed", err)
	}
}

// FuzzPrepare sends malformed requests to the starter: it must reject them, and must stay within
// the request.
func FuzzPrepare(f *testing.F) {
	for _, c := range []Command{
		{Path: "/bin/sh", Argv: []string{"sh", "-c", "true"}, Env: []string{"A=b"}, Dir: "/", Files: []int{0, 1, 2}, Status: 4, Group: 5},
		{
			Path: "/bin/sh", Argv: []string{"sh"}, Files: []int{0, 1, 2, 3},
			User: &syscall.Credential{Uid: 1, Gid: 2, Groups: []uint32{3, 4}}, Limits: []Limit{{Resource: 7, Soft: 1, Hard: 2}},
			Nice: []Nice{{Value: -3}}, GroupFiles: []string{"/sys/fs/cgroup/a"},
		},
	} {
		request, err := c.encode()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(request, len(c.descriptors()))
		var p process
		if errno := p.prepare(request, make([]int, len(c.descriptors()))); errno != 0 {
			f.Fatalf("a valid request is rejected: %v", errno)
		}
	}
	f.Fuzz(func(t *testing.T, request []byte, n int) {
		if n < 0 || n > maxFiles+2 {
			return
		}
		var p process
		if p.prepare(request, make([]int, n)) != 0 {
			return
		}
		for _, list := range [][]*byte{p.argv, p.env, p.groupFiles} {
			if len(list) == 0 || slices.Index(list, nil) != len(list)-1 {
				t.Fatalf("list %v does not end at its only nil", list)
			}
		}
		if p.path == nil || p.dir == nil || len(p.files) < 3 {
			t.Fatal("accepted without path, directory or files")
		}
	})
}

// TestStartOfCommandsOfAnySize has the starter use different memory for each: a new process must
// receive all that its command needs.
func TestStartOfCommandsOfAnySize(t *testing.T) {
	s := starter(t)
	long := strings.Repeat("x", 100_000)
	sizes := []int{0, 1, 15, 3, 18, 0}
	for range maxShared {
		sizes = append(sizes, 1, 2, 0)
	}
	for _, n := range sizes {
		c := shell(`printf '%s %s' "$#" "$LAST"`)
		for i := range n {
			c.Argv = append(c.Argv, "argument")
			c.Env = append(c.Env, fmt.Sprintf("LONG%02d=%s", i, long))
		}
		c.Env = append(c.Env, "LAST=one")
		want := fmt.Sprintf("%d one", max(n-1, 0)) // the first is $0
		if output, _, progress := run(t, s, c); output != want {
			t.Errorf("%d long variables: output %q, failure %v; want %q", n, output, progress.Failure(), want)
		}
	}
	if os.Geteuid() != 0 {
		return
	}
	c := shell("id -G | wc -w")
	c.User = &syscall.Credential{Uid: 65534, Gid: 65534}
	for gid := range uint32(5000) {
		c.User.Groups = append(c.User.Groups, 100_000+gid)
		c.Limits = append(c.Limits, Limit{Resource: unix.RLIMIT_CORE})
	}
	if output, _, progress := run(t, s, c); output != "5001\n" {
		t.Errorf("output %q, failure %v; want the user's group and 5000 others", output, progress.Failure())
	}
}

// TestStartCopiesLittleMemory compares what a new process receives with what the starter has.
func TestStartCopiesLittleMemory(t *testing.T) {
	if testing.CoverMode() != "" {
		t.Skip("SKIPPED, NOT TESTED: the counters of coverage are in memory that a new process would have to receive")
	}
	s := starter(t)
	if output, _, _ := run(t, s, shell("echo well")); output != "well\n" {
		t.Fatalf("output %q", output)
	}
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps", s.PID()))
	if err != nil {
		hosttest.Missing(t, "no map of a process: %v", err)
	}
	var size, received, all int // KiB
	for line := range strings.Lines(string(text)) {
		switch fields := strings.Fields(line); fields[0] {
		case "Anonymous:":
			fmt.Sscan(fields[1], &size)
			all += size
		case "VmFlags:":
			if !slices.Contains(fields, "dc") { // do not copy
				received += size
			}
		}
	}
	if cLibrary {
		if received < all {
			t.Errorf("a new process with the C library receives %d of %d KiB, want everything", received, all)
		}
		return
	}
	if most := 128; received > most || all < 4*received || received == 0 {
		t.Errorf("a new process receives %d of %d KiB; want at most %d", received, all, most)
	}
}

// TestStartInADirectoryThatNeverAnswers has a file system without a server, as one on a dead
// network.
func TestStartInADirectoryThatNeverAnswers(t *testing.T) {
	hosttest.Root(t, "only root can mount a file system")
	dir := t.TempDir()
	fuse, err := os.OpenFile("/dev/fuse", os.O_RDWR, 0)
	if err == nil {
		defer fuse.Close()
		err = unix.Mount("fuse", dir, "fuse", 0, fmt.Sprintf("fd=%d,rootmode=40000,user_id=0,group_id=0", fuse.Fd()))
	}
	if err != nil {
		hosttest.Missing(t, "no file system in user space: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	c := shell("echo it runs")
	c.Dir, c.DirPatience = dir+"/dir", time.Second
	output, status, progress := run(t, starter(t), c)
	if why := progress.Failure(); why == nil || why.Error() != "enter the directory of cwd=: "+c.Dir+": it does not answer" || status.Signal() != syscall.SIGALRM || output != "" {
		t.Errorf("got %q, %v, %v", output, status, why)
	}
	c.Dir, c.DirPatience = "/tmp", hosttest.Patience
	output, status, progress = run(t, starter(t), c)
	if why := progress.Failure(); why != nil || status != 0 || output != "it runs\n" {
		t.Errorf("a directory that answers: got %q, %v, %v", output, status, why)
	}
}

// A starter whose daemon is killed before it reads the answer has marked the process.
func TestMarkWithoutAReaderOfTheAnswer(t *testing.T) {
	mark := t.TempDir() + "/mark"
	if err := os.Symlink("of an older process", mark); err != nil {
		t.Fatal(err)
	}
	s := starter(t)
	if err := s.open(); err != nil {
		t.Fatal(err)
	}
	c := shell("sleep 1000")
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	c.Files, c.Mark, c.MarkText = []int{int(null.Fd()), int(null.Fd()), int(null.Fd())}, mark, "a text"
	request, err := c.encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := unix.SendmsgN(s.conn, request, unix.UnixRights(c.descriptors()...), nil, 0); err != nil {
		t.Fatal(err)
	}
	if err := unix.Shutdown(s.conn, unix.SHUT_RDWR); err != nil {
		t.Fatal(err)
	}
	if _, err := syscall.Wait4(s.pid, nil, 0, nil); err != nil { // it handles the request, then sees the end
		t.Fatal(err)
	}
	s.pid = 0
	text, err := os.Readlink(mark)
	if err != nil {
		t.Fatal(err)
	}
	var pid, up int
	if n, _ := fmt.Sscanf(text, "a text %d %d", &pid, &up); n != 2 || up == 0 {
		t.Fatalf("the mark has the text %q", text)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil { // our child
		t.Fatal(err)
	}
	if _, err := syscall.Wait4(pid, nil, 0, nil); err != nil {
		t.Fatal(err)
	}
}

// TestProgressIgnoresAnIncompleteReport: a process of the user wrote a part of a report after a whole one.
func TestProgressIgnoresAnIncompleteReport(t *testing.T) {
	var p Progress
	p.Add([]byte{stepUID, 0, byte(syscall.EPERM), 0, 0, 0, stepDir, 0})
	if err, warnings := p.Failure(), p.Warnings(); err == nil || err.Error() != "become user: operation not permitted" || len(warnings) > 0 {
		t.Errorf("got the failure %v and the warnings %q, want that of the whole report and none", err, warnings)
	}
}

// FuzzProgress reads what a process of the user wrote to the pipe for reports, in two pieces.
func FuzzProgress(f *testing.F) {
	report := func(step byte, errno syscall.Errno) []byte {
		return binary.LittleEndian.AppendUint32([]byte{step, 7}, uint32(errno))
	}
	f.Add(slices.Concat(report(stepDir, syscall.ENOENT), report(stepLimit, syscall.EPERM), report(stepNice, syscall.EACCES)), 4)
	f.Add(append(report(stepLimit, syscall.EPERM), EncodeFailure(syscall.ENOENT)...), 6)
	f.Add(append(report(stepNice, syscall.EPERM), EncodeFailure(errors.New("sandbox=: \x1b[31m"))...), 12)
	f.Add(bytes.Repeat(report(stepDir, 0), mostReports), mostReports-1)
	f.Add(append(report(stepNice, 0), EncodeFailure(errors.New(strings.Repeat("\x80", 200)))...), 44) // each byte becomes three
	for _, step := range "GguhwexcofpiNs" {
		f.Add(report(byte(step), syscall.EPERM), 0)
	}
	f.Fuzz(func(t *testing.T, reports []byte, first int) {
		if first < 0 || first > len(reports) {
			return
		}
		whole := Progress{Command: "/bin/x", Dir: "/home/x"}
		pieces := whole
		whole.Add(reports)
		pieces.Add(reports[:first])
		pieces.Add(reports[first:])
		if len(whole.Reports) > mostReports || !bytes.Equal(whole.Reports, pieces.Reports) {
			t.Fatalf("%d bytes were kept, %d in two pieces; want at most %d", len(whole.Reports), len(pieces.Reports), mostReports)
		}
		texts := whole.Warnings()
		if len(texts) > mostReports/reportSize {
			t.Errorf("%d warnings", len(texts))
		}
		if err := whole.Failure(); err != nil {
			texts = append(texts, err.Error())
		}
		for _, text := range texts {
			if text != diagnostic.Harmless(text) {
				t.Errorf("%q is not harmless", text)
			}
		}
		why := string(reports)
		var told Progress
		told.Add(EncodeFailure(errors.New(why)))
		if err := told.Failure(); why != "" && (err == nil || err.Error() != diagnostic.Harmless(why[:min(len(why), mostReports-reportSize)])) {
			t.Errorf("the failure %q is read as %v", why, err)
		}
	})
}
