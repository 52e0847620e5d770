package spawn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/sandbox"
)

// needSandbox skips a test if the kernel cannot enforce a sandbox.
func needSandbox(t *testing.T, level option.Sandbox) {
	t.Helper()
	needRoot(t, "become another account")
	if why := sandbox.Missing(level); why != "" {
		hosttest.Missing(t, "%s", why)
	}
}

// homeAccounts gives every user the same home directory.
type homeAccounts struct {
	*account.Directory
	home string
}

func (a homeAccounts) Known(string) (account.Account, bool) { return account.Account{}, false }

func (a homeAccounts) Find(ctx context.Context, name string) (account.Account, error) {
	who, err := a.Directory.Find(ctx, name)
	who.Home = a.home
	return who, err
}

// sandboxDir makes a directory outside of all directories that a sandbox allows, with directories of
// a user in it: home, out and other. Each has a file with a text.
func sandboxDir(t *testing.T) string {
	t.Helper()
	base, err := os.MkdirTemp("/var/lib", "cronring-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(base) })
	if err := os.Chmod(base, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"home", "out", "other"} {
		dir := filepath.Join(base, name)
		filetest.Write(t, filepath.Join(dir, "file"), "text\n", 0o644)
		for _, path := range []string{dir, filepath.Join(dir, "file")} {
			if err := os.Chown(path, int(accountOf(t, somebody()).UID), -1); err != nil {
				t.Fatal(err)
			}
		}
	}
	return base
}

// tries runs commands one by one as a user and returns those that succeed.
func (r *testSpawner) tries(items string, commands ...string) (succeeded []string) {
	r.t.Helper()
	script := "set +e\n"
	for i, command := range commands {
		script += fmt.Sprintf("( %s\n) >/dev/null 2>&1 && echo %d\n", command, i)
	}
	e := r.do(script+"exit 0", as(somebody()), with(r.t.(*testing.T), items))
	wantOutcome(r.t.(*testing.T), e, exited(0))
	for _, line := range strings.Fields(text(e, job.Stdout)) {
		var i int
		if _, err := fmt.Sscan(line, &i); err != nil {
			r.t.Fatalf("%s: got output %q", items, text(e, job.Stdout))
		}
		succeeded = append(succeeded, commands[i])
	}
	return succeeded
}

// TestSandboxConfinesChanges: what a sandbox promises holds against each way around it, and the same
// commands succeed without a sandbox, so that it is the sandbox that prevents them.
func TestSandboxConfinesChanges(t *testing.T) {
	needSandbox(t, option.SandboxBasic)
	base := sandboxDir(t)
	suid := filepath.Join(base, "suid")
	if out, err := os.ReadFile("/usr/bin/id"); err != nil || os.WriteFile(suid, out, 0o755) != nil || os.Chmod(suid, 0o755|os.ModeSetuid) != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(base, "other"), filepath.Join(base, "out", "link")); err != nil {
		t.Fatal(err)
	}
	r := newTestSpawner(t, Options{Accounts: homeAccounts{account.New(account.Options{}), filepath.Join(base, "home")}})
	in := strings.NewReplacer("B/", base+"/", "BASE", strings.TrimPrefix(base, "/")).Replace
	commands := func(all ...string) (out []string) {
		for _, command := range all {
			out = append(out, in(command))
		}
		return out
	}
	allowed := commands(
		"echo x >B/out/new", "echo x >>B/out/file", "mkdir B/out/d && mv B/out/new B/out/d/ && rm -r B/out/d",
		"cat B/other/file", "cat /etc/passwd", "echo x >/dev/null", "echo x >/dev/stderr", "echo x >/dev/stdout",
	)
	usual := commands("echo x >B/home/new && rm B/home/new", "f=$(mktemp) && rm $f", "f=$(mktemp -p /var/tmp) && rm $f")
	denied := commands(
		"echo x >B/other/new && rm B/other/new", "echo x >>B/other/file", ": >B/other/file", "truncate -s 0 B/other/file",
		"mkdir B/other/d && rmdir B/other/d", "ln -s x B/other/s && rm B/other/s", "mkfifo B/other/p && rm B/other/p",
		"mv B/other/file B/other/file2 && mv B/other/file2 B/other/file",
		"echo x >B/out/link/new && rm B/out/link/new", "echo x >B/out/../other/new && rm B/other/new",
		"cd B/other && echo x >new && rm new", "echo x >/proc/self/root/BASE/other/new && rm B/other/new",
		"cd B/other && echo x >/proc/self/cwd/new && rm new",
		"ln B/other/file B/out/hard && echo x >>B/out/hard && rm B/out/hard",
		"cp /etc/hostname B/out/move && mv -T B/out/move B/other/move && rm B/other/move",
		"[ $(B/suid -u) = 0 ]",
		"unshare -Ur true && unshare -Urm mount -t tmpfs none B/other",
	)
	if got, want := r.tries("", append(append(allowed, usual...), denied...)...), len(allowed)+len(usual)+len(denied); len(got) < want-1 { // some hosts forbid user namespaces
		t.Errorf("without a sandbox %d of %d commands succeed:\n%s", len(got), want, strings.Join(got, "\n"))
	}
	got := r.tries(in("sandbox=basic write=B/out"), append(append(allowed, usual...), denied...)...)
	if want := append(allowed, usual...); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("basic: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}

	needSandbox(t, option.SandboxStrict)
	readable := commands("cat B/other/file", "ls B/other", "cat B/other/../other/file")
	hidden := commands("cat B/home/file", "ls B/", "cat /proc/self/root/BASE/home/file", "ls /var", "cat B/out/../home/file")
	got = r.tries(in("sandbox=strict write=B/out read-only=B/other"), append(append(append(allowed, readable...), append(usual, denied...)...), hidden...)...)
	if want := append(allowed, readable...); strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("strict: got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if got := r.tries("sandbox=strict", commands("cat B/other/file", "echo x >B/out/new", "ls /usr/bin")...); len(got) != 1 {
		t.Errorf("strict alone: got %q, want the last", got)
	}
}

// TestSandboxKeepsFromOtherProcesses: files outside cannot be reached through another process of the
// same user, and a strict sandbox cannot signal it.
func TestSandboxKeepsFromOtherProcesses(t *testing.T) {
	needSandbox(t, option.SandboxStrict)
	base := sandboxDir(t)
	r := newTestSpawner(t, Options{})
	outside := r.start("exec sleep 1000", as(somebody()))
	r.until("the start", func() bool { return r.started[outside] != 0 })
	pid := r.started[outside]
	signal, root := fmt.Sprintf("kill -0 %d", pid), fmt.Sprintf("echo x >/proc/%d/root%s/other/new", pid, base)
	for _, tt := range []struct {
		items string
		want  int
	}{{"", 2}, {"sandbox=basic", 1}, {"sandbox=strict", 0}} {
		if got := r.tries(tt.items, signal, root); len(got) != tt.want {
			t.Errorf("%q: got %q, want %d of them", tt.items, got, tt.want)
		}
	}
}

// TestSandboxDoesNotStartWithoutItsPaths: a path that a link could lead elsewhere, or that does not
// exist, does not make the sandbox another one.
func TestSandboxDoesNotStartWithoutItsPaths(t *testing.T) {
	needSandbox(t, option.SandboxStrict)
	base := sandboxDir(t)
	if err := os.Symlink("other", filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	r := newTestSpawner(t, Options{})
	for _, tt := range []struct{ items, want string }{
		{"sandbox=basic write=/no/where", "sandbox=basic: write=/no/where: no such file or directory"},
		{"sandbox=basic write=" + base + "/link", "there is a symbolic link in the path"},
		{"sandbox=strict read-only=" + base + "/link/file", "there is a symbolic link in the path"},
		{"sandbox=basic write=/proc/self/root/srv", "there is a symbolic link in the path"},
	} {
		e := r.do("echo it runs", as(somebody()), with(t, tt.items))
		if e.Outcome.Kind != job.NotStarted || !strings.Contains(e.Outcome.Error, tt.want) || text(e, job.Stdout) != "" {
			t.Errorf("%s: got %+v %q, want %q", tt.items, e.Outcome, text(e, job.Stdout), tt.want)
		}
	}
}

// TestSandboxHoldsCheckAndRoot: the command of if= is confined like the job, and root's job is too.
func TestSandboxHoldsCheckAndRoot(t *testing.T) {
	needSandbox(t, option.SandboxBasic)
	base := sandboxDir(t)
	r := newTestSpawner(t, Options{})
	for _, user := range []string{somebody(), "root"} {
		e := r.do("echo x >>"+base+"/other/file", as(user), with(t, "sandbox=basic"))
		wantOutcome(t, e, job.Outcome{Kind: job.Exited, Code: e.Outcome.Code})
		if e.Outcome.Code == 0 {
			t.Errorf("the job of %s changed a file", user)
		}
		if got := r.check("echo x >>"+base+"/other/file", as(user), with(t, "sandbox=basic")); got.Kind != job.Exited || got.Code == 0 {
			t.Errorf("the check of %s: got %+v, want that it cannot change a file", user, got)
		}
		if got := r.check("true", as(user), with(t, "sandbox=basic")); got != exited(0) {
			t.Errorf("the check of %s: got %+v, want success", user, got)
		}
	}
	if got := r.tries("sandbox=basic network=no", "true"); len(got) != 1 {
		t.Errorf("with both: got %q", got)
	}
}

func init() {
	helpers["reach"] = func() error {
		if os.Getenv("UDP") != "" { // the answer comes back through the same network
			conn, err := net.Dial("udp", os.Getenv("UDP"))
			if err == nil {
				_, err = conn.Write([]byte("x"))
			}
			if err == nil {
				_, err = conn.Read(make([]byte, 1))
			}
			if err == nil {
				fmt.Println("udp")
			}
		}
		if _, err := net.Dial("tcp", os.Getenv("TCP")); err == nil {
			fmt.Println("tcp")
		}
		if l, err := net.Listen("tcp", "127.0.0.1:0"); err == nil {
			if _, err := net.Dial("tcp", l.Addr().String()); err == nil {
				fmt.Println("own loopback")
			}
		}
		interfaces, err := net.Interfaces()
		if err == nil && len(interfaces) == 1 {
			fmt.Println("alone")
		}
		return err
	}
}

// TestNetworkIsCutOff has a job try to reach servers of this host over TCP and UDP.
func TestNetworkIsCutOff(t *testing.T) {
	needRoot(t, "make a network")
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tcp.Close()
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer udp.Close()
	go func() {
		for buffer := make([]byte, 1); ; {
			_, from, err := udp.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = udp.WriteTo(buffer, from) // a lost answer fails the test
		}
	}()
	r := newTestSpawner(t, Options{})
	shell := env("SHELL="+publicBinary(t), "TCP="+tcp.Addr().String(), "UDP="+udp.LocalAddr().String())
	for _, user := range []string{"root", somebody()} {
		if got := text(r.do("reach", as(user), shell, with(t, "network=yes")), job.Stdout); !strings.Contains(got, "udp\ntcp\nown loopback") {
			t.Errorf("%s, network=yes: got %q", user, got)
		}
		if got, want := text(r.do("reach", as(user), shell, with(t, "network=no")), job.Stdout), "own loopback\nalone\n"; got != want {
			t.Errorf("%s, network=no: got %q, want %q", user, got, want)
		}
	}
	if got := r.tries("network=no", "grep -q 'NoNewPrivs:.1' /proc/self/status", "[ $(readlink /proc/self/ns/net) = "+mustRead(t, "/proc/self/ns/net")+" ]"); len(got) != 1 {
		t.Errorf("got %q, want the first only", got)
	}
}

func mustRead(t *testing.T, link string) string {
	t.Helper()
	target, err := os.Readlink(link)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// TestSandboxKeepsFromTerminals: a strict sandbox opens no terminal of its user, where passwords are
// typed.
func TestSandboxKeepsFromTerminals(t *testing.T) {
	needSandbox(t, option.SandboxStrict)
	ptmx, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		hosttest.Missing(t, "no terminal: %v", err)
	}
	defer ptmx.Close()
	number, err := unix.IoctlGetInt(int(ptmx.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = errors.Join(unix.IoctlSetPointerInt(int(ptmx.Fd()), unix.TIOCSPTLCK, 0),
			os.Chown(fmt.Sprintf("/dev/pts/%d", number), int(accountOf(t, somebody()).UID), -1))
	}
	if err != nil {
		t.Fatal(err)
	}
	r := newTestSpawner(t, Options{})
	write, read := fmt.Sprintf("echo x >/dev/pts/%d", number), fmt.Sprintf("exec 3</dev/pts/%d", number)
	for items, want := range map[string]int{"": 2, "sandbox=basic": 2, "sandbox=strict": 0} {
		if got := r.tries(items, write, read); len(got) != want {
			t.Errorf("%q: got %q, want %d of them", items, got, want)
		}
	}
}
