package cgroup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
)

// testTree is a tree of control groups of this machine.
type testTree struct {
	t     *testing.T
	tree  *Tree
	place place
}

// newTestTree skips, loudly, where no group can be made.
func newTestTree(t *testing.T) *testTree {
	t.Helper()
	tree, err := Open(Options{Name: fmt.Sprintf("cronring-test-%d", os.Getpid())})
	if err != nil {
		t.Fatal(err)
	}
	p, err := tree.place(t.Context(), "")
	if err != nil {
		t.Skip("SKIPPED, NOT TESTED: ", err)
	}
	t.Cleanup(func() {
		p.sweep()
		for _, dir := range p {
			if !removeTree(dir) {
				t.Errorf("%s is left", dir)
			}
		}
	})
	return &testTree{t, tree, p}
}

func (r *testTree) make(name string, resources *option.Resources) *Group {
	r.t.Helper()
	if why := r.tree.Missing(r.t.Context(), resources); why != "" {
		r.t.Skip("SKIPPED, NOT TESTED: ", why)
	}
	g, err := r.tree.Make(r.t.Context(), name, resources)
	if err != nil {
		r.t.Fatal(err)
	}
	return g
}

// start runs a shell that enters the group before it does anything else.
func (r *testTree) start(g *Group, script string) *exec.Cmd {
	r.t.Helper()
	enter := ""
	for _, file := range g.ProcsFiles() {
		enter += "echo 0 >" + file + "; "
	}
	cmd := exec.Command("/bin/sh", "-c", enter+script)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	return cmd
}

func TestMemoryLimitEndsTheRun(t *testing.T) {
	r := newTestTree(t)
	g := r.make("1", &option.Resources{Memory: 32 << 20})
	err := r.start(g, "head -c 200M /dev/zero | tail -n 1 >/dev/null").Wait()
	if err == nil || g.Limit() != job.OverMemory {
		t.Errorf("200 MB under a limit of 32: %v, limit %q; want a failure, %q", err, g.Limit(), job.OverMemory)
	}
	if used := g.Usage().Memory; used < 16<<20 || used > 33<<20 {
		t.Errorf("peak memory %d, want about 32 MiB", used)
	}
	r.awaitEmpty(g)
}

func TestTasksLimitIsCounted(t *testing.T) {
	r := newTestTree(t)
	g := r.make("1", &option.Resources{Tasks: 3})
	if g.Limit() != "" {
		t.Errorf("limit %q before anything happened", g.Limit())
	}
	err := r.start(g, "for i in 1 2 3 4 5 6; do sleep 1000 & done; wait").Wait()
	if err == nil || g.Limit() != job.OverTasks {
		t.Errorf("7 processes where 3 are allowed: %v, limit %q; want a failure, %q", err, g.Limit(), job.OverTasks)
	}
	if g.Remove() {
		t.Error("a group with processes in it was removed")
	}
	r.killUntilEmpty(g)
}

// awaitEmpty waits until the kernel has removed ended processes from a group. It polls, because
// there is no event for it.
func (r *testTree) awaitEmpty(g *Group) {
	r.t.Helper()
	for late := time.Now().Add(hosttest.Patience); !g.Remove(); runtime.Gosched() {
		if time.Now().After(late) {
			r.t.Fatalf("processes %q are left", g.inside())
		}
	}
}

// killUntilEmpty kills the processes of a group until none is left: see Group.Kill.
func (r *testTree) killUntilEmpty(g *Group) {
	r.t.Helper()
	for late := time.Now().Add(hosttest.Patience); !g.Remove(); runtime.Gosched() {
		if g.Kill(); time.Now().After(late) {
			r.t.Fatalf("processes %q are left", g.inside())
		}
	}
}

// awaitInside waits for as many processes to have entered a group.
func (r *testTree) awaitInside(g *Group, n int) {
	r.t.Helper()
	for late := time.Now().Add(hosttest.Patience); len(strings.Fields(g.inside())) < n; runtime.Gosched() {
		if time.Now().After(late) {
			r.t.Fatalf("processes %q are inside, want %d", g.inside(), n)
		}
	}
}

func TestKillTakesWhoeverLeftTheSession(t *testing.T) {
	r := newTestTree(t)
	g := r.make("1", nil)
	cmd := r.start(g, "setsid sleep 1000 & setsid sh -c 'sleep 1000 & sleep 1000' & exec sleep 1000")
	r.awaitInside(g, 4)
	g.Kill()
	if err := cmd.Wait(); err == nil {
		t.Error("the first process ended well, want it killed")
	}
	r.killUntilEmpty(g)
}

func (g *Group) inside() string {
	dir, _ := g.watched()
	return read(dir, procs)
}

func TestGroupIsFoundAgain(t *testing.T) {
	r := newTestTree(t)
	g := r.make("7", &option.Resources{Tasks: 5})
	text, err := json.Marshal(g)
	if err != nil {
		t.Fatal(err)
	}
	again := &Group{}
	if err := json.Unmarshal(text, again); err != nil {
		t.Fatal(err)
	}
	if !maps.Equal(again.dirs, g.dirs) || len(again.ProcsFiles()) == 0 {
		t.Errorf("%s is %v again, want %v", text, again.dirs, g.dirs)
	}
	if !again.Remove() {
		t.Error("it cannot be removed")
	}
	for _, dir := range g.dirs {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v, want it gone", dir, err)
		}
	}
}

func TestSweepLeavesWhatLives(t *testing.T) {
	r := newTestTree(t)
	alive, dead := r.make("1", nil), r.make("2", nil)
	cmd := r.start(alive, "exec sleep 1000")
	r.awaitInside(alive, 1)
	if !r.place.sweep() {
		t.Error("nothing is left, want the group with a process")
	}
	if len(existing(alive)) == 0 || len(existing(dead)) != 0 {
		t.Errorf("left are %v of the living one and %v of the dead one", existing(alive), existing(dead))
	}
	alive.Kill()
	_ = cmd.Wait() // it was killed
	r.awaitEmpty(alive)
}

func existing(g *Group) (dirs []string) {
	for _, dir := range g.dirs {
		if exists(dir, procs) {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// files is a place made of ordinary files: what is written where.
func files(t *testing.T, names ...string) place {
	t.Helper()
	dir := t.TempDir()
	for _, name := range names {
		filetest.Write(t, filepath.Join(dir, name), "", 0o600)
	}
	return place{v2: dir}
}

func TestWhatOptionsWrite(t *testing.T) {
	all := []string{"memory.max", "memory.high", "memory.swap.max", "memory.oom.group", "cpu.max", "cpu.weight", "pids.max", "io.weight"}
	p := files(t, all...)
	for _, l := range needed(&option.Resources{
		Memory: 1 << 30, MemoryHigh: 1 << 29, CPU: 1500, Tasks: 7, IOWeight: 50, CPUWeight: 20,
	}) {
		hierarchy, files := p.of(l)
		if err := set(p[hierarchy], l, files); err != nil {
			t.Error(err)
		}
	}
	for i, want := range []string{"1073741824", "536870912", "0", "1", "150000 100000", "20", "7", "default 50"} {
		if got := read(p[v2], all[i]); got != want {
			t.Errorf("%s is %q, want %q", all[i], got, want)
		}
	}
}

func TestQuotaOfLittle(t *testing.T) {
	for thousandths, want := range map[int]string{500: "50000/100000", 10: "1000/100000", 5: "5000/1000000", 1: "1000/1000000", 32000: "3200000/100000"} {
		if quota, of := quota(thousandths); quota+"/"+of != want {
			t.Errorf("%d thousandths: got %s/%s, want %s", thousandths, quota, of, want)
		}
	}
}

func TestMissingNamesTheOption(t *testing.T) {
	one := place{"memory": t.TempDir()}
	if got := one.missing(&option.Resources{MemoryHigh: 1}); !strings.Contains(got, "memory-high= needs control groups of version 2") {
		t.Errorf("memory-high= under version 1: %q", got)
	}
	if got := files(t, "memory.max").missing(&option.Resources{Memory: 1, Tasks: 1}); !strings.Contains(got, "cannot enforce tasks=") {
		t.Errorf("tasks= without pids: %q", got)
	}
	tree := &Tree{places: map[string]place{}, silent: map[string]openFailure{}}
	if got := tree.Missing(t.Context(), &option.Resources{Slice: "a.slice"}); !strings.Contains(got, "slice= needs systemd") {
		t.Errorf("slice= without systemd: %q", got)
	}
	if got := tree.Missing(t.Context(), &option.Resources{NoFile: 1, Idle: true}); got != "" {
		t.Errorf("nofile= and idle need no group: %q", got)
	}
	tree.options.Delegate = func(context.Context, string) (Unit, error) { return Unit{}, errors.New("silence") }
	if got := tree.Missing(t.Context(), &option.Resources{Tasks: 1}); got != "" {
		t.Errorf("systemd is silent now, and the entry held for ever: %q", got)
	}
	if _, err := tree.Make(t.Context(), "1", &option.Resources{Tasks: 1}); err == nil {
		t.Error("a group was made although systemd is silent")
	}
}

func TestParseMounts(t *testing.T) {
	const mounts = "30 23 0:26 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n" +
		"31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n" +
		"32 30 0:28 /docker/7 /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n" +
		"33 30 0:29 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n"
	const own = "4:cpu,cpuacct:/docker/7/sub\n1:name=systemd:/a/b.service\n0::/a/b.service\n"
	all := parse([]byte(mounts), []byte(own))
	var got []string
	for name, h := range all {
		got = append(got, name+" "+h.dir(h.own))
	}
	slices.Sort(got)
	want := []string{
		" /sys/fs/cgroup/unified/a/b.service", "cpu /sys/fs/cgroup/cpu,cpuacct/sub",
		"cpuacct /sys/fs/cgroup/cpu,cpuacct/sub", "name=systemd /sys/fs/cgroup/systemd/a/b.service",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if group, ok := all.group("b.service"); group != "/a/b.service" || !ok {
		t.Errorf("the group of b.service is %q, %t", group, ok)
	}
	if group, ok := all.group("a"); ok {
		t.Errorf("a holder of another unit would sweep %q", group)
	}
}

// FuzzParse holds that a mount of any user, whose directory and source have any name, changes nothing.
func FuzzParse(f *testing.F) {
	const mounts = "31 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw,nsdelegate\n" +
		"32 30 0:28 /docker/7 /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
	const own = "4:cpu,cpuacct:/docker/7/sub\n1:name=systemd:/a/b.service\n0::/a/b.service\n"
	want := parse([]byte(mounts), []byte(own))
	f.Add("/home/ann/x", "sshfs#ann@b:/", own)
	f.Add(`/home/ann/\040-\040cgroup2\012`, "cgroup2", "0::/user.slice:0::/x\n\n:\n")
	f.Add("\x1b", "-", "2:pids,memory:/x (deleted)")
	f.Fuzz(func(t *testing.T, directory, source, groups string) {
		if strings.ContainsFunc(directory+source, unicode.IsSpace) || !utf8.ValidString(directory+source) || len(directory+source) > 1<<14 { // the kernel escapes blanks
			return
		}
		line := "99 23 0:50 / " + directory + " rw,nosuid,nodev shared:7 - fuse.sshfs " + source + " rw,user_id=1000\n"
		if got := parse([]byte(line+mounts+line), []byte(own)); !maps.Equal(got, want) {
			t.Errorf("with the mount %q the hierarchies are %v, want %v", line, got, want)
		}
		for name, h := range parse([]byte(mounts), []byte(groups)) {
			if strings.Contains(h.own, "\n") || h.mount != want[name].mount {
				t.Errorf("%q: the hierarchy %q is %+v", groups, name, h)
			}
		}
	})
}
