package packaging

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/packaging/machinetest"
)

// unreachable returns the URL of a server that refuses connections.
func unreachable(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String()
}

// download is one run of a command that downloads something.
type download struct {
	dir, name string
	args, env []string
	on        func(line string) // is called with each line of the command's error output; nil: the output is ignored
	kill      <-chan struct{}   // when it is closed, the command and all its children are killed
}

// run returns what the command prints, and all that it writes to its error output.
func (d download) run(t *testing.T) (out, messages string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, d.name, d.args...)
	cmd.Dir, cmd.Env = d.dir, append(os.Environ(), "LAB_RETRY_WAIT=0")
	cmd.Env = append(cmd.Env, d.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	var stdout, seen bytes.Buffer
	stderr, writer := io.Pipe()
	cmd.Stdout, cmd.Stderr = &stdout, writer
	read := make(chan struct{})
	go func() {
		defer close(read)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			fmt.Fprintln(&seen, lines.Text())
			if d.on != nil {
				d.on(lines.Text())
			}
		}
	}()
	ended := make(chan struct{})
	if d.kill != nil {
		go func() {
			select {
			case <-d.kill:
				cancel()
			case <-ended:
			}
		}()
	}
	err = cmd.Run()
	close(ended)
	writer.Close()
	<-read
	return strings.TrimSpace(stdout.String()), seen.String(), err
}

// wantGivenUp checks that a command failed after three attempts and reports what it could not do.
func wantGivenUp(t *testing.T, messages string, err error, what string) {
	t.Helper()
	if err == nil {
		t.Errorf("the command succeeded without a server:\n%s", messages)
	}
	if n := strings.Count(messages, "retry: attempt "); n != 2 || !strings.Contains(messages, "retry: cannot "+what) {
		t.Errorf("got %d messages about a further attempt, want 2, and then \"cannot %s\":\n%s", n, what, messages)
	}
}

// wantNothingComplete checks that a cache of the lab holds nothing that a later run would use.
func wantNothingComplete(t *testing.T, cache string) {
	t.Helper()
	entries, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if ext := filepath.Ext(e.Name()); ext != ".lock" && ext != ".new" {
			t.Errorf("the cache holds %s", e.Name())
		}
	}
}

// aptSource writes an apt sources file for LAB_SOURCES.
func aptSource(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sources")
	filetest.Write(t, path, text, 0o755)
	return path
}

func script(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(lab, name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Without a mirror each download fails after three attempts with a message, and the
// caches of roots and packages hold nothing that the next run would take for complete.
func TestDownloadsWithoutServer(t *testing.T) {
	t.Parallel()
	machinetest.Need(t)
	need(t, "apt-get")
	server := unreachable(t)
	debian := aptSource(t, "deb "+server+" bookworm main\n")
	for _, args := range [][]string{{"root"}, {"run", "--", script(t, "proof-boot.sh")}} {
		t.Run("boot-systemd.sh "+strings.Join(args, " "), func(t *testing.T) {
			t.Parallel() // apt has attempts of its own, and waits between them
			cache := t.TempDir()
			_, messages, err := download{name: script(t, "boot-systemd.sh"), args: args, env: []string{"LAB_CACHE=" + cache, "LAB_SOURCES=" + debian}}.run(t)
			wantGivenUp(t, messages, err, "make a root of bookworm")
			wantNothingComplete(t, cache)
		})
	}
	t.Run("debs.sh", func(t *testing.T) {
		t.Parallel()
		cache := t.TempDir()
		_, messages, err := download{name: script(t, "debs.sh"), args: []string{"bookworm", "cron", "anacron"}, env: []string{"LAB_CACHE=" + cache, "LAB_SOURCES=" + debian}}.run(t)
		wantGivenUp(t, messages, err, "download cron anacron of bookworm")
		wantNothingComplete(t, cache)
	})
	for _, target := range []string{"build", "test"} {
		t.Run("make "+target, func(t *testing.T) {
			modules := t.TempDir()
			_, messages, err := download{dir: "..", name: "make", args: []string{target, "BIN=" + t.TempDir()}, env: []string{"GOPROXY=" + server, "GOMODCACHE=" + modules}}.run(t)
			wantGivenUp(t, messages, err, "download the Go modules")
			if got := contents(t, modules); slices.ContainsFunc(slices.Collect(maps.Keys(got)), func(name string) bool { return strings.HasSuffix(name, ".zip") }) {
				t.Errorf("the module cache holds %v", slices.Sorted(maps.Keys(got)))
			}
		})
	}
	t.Run(".ci/run", func(t *testing.T) {
		t.Parallel()
		// An apt that has installed nothing yet, and a make that records that it was reached.
		apt, programs := t.TempDir(), t.TempDir()
		for _, dir := range []string{"lists/partial", "archives/partial", "etc"} {
			if err := os.MkdirAll(filepath.Join(apt, dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		filetest.Write(t, filepath.Join(apt, "status"), "", 0o755)
		filetest.Write(t, filepath.Join(apt, "conf"), fmt.Sprintf("Dir::Etc \"%[1]s/etc\";\nDir::Etc::sourcelist \"%[2]s\";\nDir::State \"%[1]s\";\nDir::State::status \"%[1]s/status\";\nDir::Cache \"%[1]s\";\n", apt, debian), 0o755)
		filetest.Write(t, filepath.Join(programs, "make"), "#!/bin/sh\ntouch "+programs+"/reached\n", 0o755)
		_, messages, err := download{dir: "..", name: ".ci/run", env: []string{"APT_CONFIG=" + filepath.Join(apt, "conf"), "PATH=" + programs + ":" + os.Getenv("PATH")}}.run(t)
		wantGivenUp(t, messages, err, "install the packages that the tests use")
		if _, err := os.Stat(filepath.Join(programs, "reached")); err == nil {
			t.Error(".ci/run ran make without the packages that it needs")
		}
	})
}

// gate fails every request until it is opened.
type gate struct {
	open atomic.Bool
	http.Handler
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !g.open.Load() {
		http.Error(w, "the server is being repaired", http.StatusServiceUnavailable)
		return
	}
	g.Handler.ServeHTTP(w, r)
}

// afterTwo opens the gate when two attempts have failed.
func (g *gate) afterTwo(line string) {
	if strings.HasPrefix(line, "retry: attempt 2 ") {
		g.open.Store(true)
	}
}

// wantThird checks that a command succeeded at its third attempt.
func wantThird(t *testing.T, messages string, err error) {
	t.Helper()
	if err != nil || strings.Count(messages, "retry: attempt ") != 2 {
		t.Fatalf("got %v, want success at the third attempt:\n%s", err, messages)
	}
}

// serve starts a server that fails until two attempts have failed.
func serve(t *testing.T, h http.Handler) (*gate, string) {
	t.Helper()
	g := &gate{Handler: h}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	return g, server.URL
}

func TestModulesFromServerThatFailsTwice(t *testing.T) {
	t.Parallel()
	cache := strings.TrimSpace(command(t, nil, "go", "env", "GOMODCACHE"))
	version := strings.TrimSpace(command(t, nil, "go", "list", "-m", "-f", "{{.Version}}", "golang.org/x/sys"))
	g, server := serve(t, http.FileServer(http.Dir(filepath.Join(cache, "cache/download"))))
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "go.mod"), "module example.com/m\n\ngo 1.26\n\nrequire golang.org/x/sys "+version+"\n", 0o755)
	filetest.Write(t, filepath.Join(dir, "go.sum"), text(t, "../go.sum"), 0o755)
	modules := t.TempDir()
	_, messages, err := download{
		dir: dir, name: script(t, "retry.sh"), args: []string{"download the Go modules", "go", "mod", "download"},
		env: []string{"GOPROXY=" + server, "GOMODCACHE=" + modules, "GOSUMDB=off", "GOFLAGS=-modcacherw"}, on: g.afterTwo,
	}.run(t)
	wantThird(t, messages, err)
	if _, err := os.Stat(filepath.Join(modules, "golang.org/x/sys@"+version)); err != nil {
		t.Error(err)
	}
}

// packageServer serves a package "sample" of 1 MB as apt expects it.
func packageServer(t *testing.T) (dir string, h http.Handler) {
	t.Helper()
	dir, tree := t.TempDir(), t.TempDir()
	filetest.Write(t, filepath.Join(tree, "DEBIAN/control"), "Package: sample\nVersion: 1\nArchitecture: all\nMaintainer: nobody <nobody@example.com>\nDescription: sample\n", 0o755)
	filetest.Write(t, filepath.Join(tree, "big"), strings.Repeat("x", 1<<20), 0o755)
	command(t, nil, "dpkg-deb", "-Znone", "--root-owner-group", "--build", tree, filepath.Join(dir, "sample.deb"))
	deb := text(t, filepath.Join(dir, "sample.deb"))
	filetest.Write(t, filepath.Join(dir, "Packages"), fmt.Sprintf("%sFilename: ./sample.deb\nSize: %d\nSHA256: %x\n\n",
		text(t, filepath.Join(tree, "DEBIAN/control")), len(deb), sha256.Sum256([]byte(deb))), 0o755)
	return dir, http.FileServer(http.Dir(dir))
}

func TestPackagesFromServerThatFailsTwice(t *testing.T) {
	t.Parallel()
	need(t, "apt-get", "dpkg-deb")
	_, files := packageServer(t)
	g, server := serve(t, files)
	cache := t.TempDir()
	d := download{
		name: script(t, "debs.sh"), args: []string{"bookworm", "sample"}, on: g.afterTwo,
		env: []string{"LAB_CACHE=" + cache, "LAB_SOURCES=" + aptSource(t, "deb [trusted=yes] "+server+" ./\n")},
	}
	out, messages, err := d.run(t)
	wantThird(t, messages, err)
	wantPackage(t, out)
}

func wantPackage(t *testing.T, dir string) {
	t.Helper()
	debs := glob(t, filepath.Join(dir, "*.deb"))
	if len(debs) != 1 || !strings.Contains(text(t, filepath.Join(dir, "Packages")), "Package: sample\n") {
		t.Fatalf("%s has %v, want the package and its index", dir, debs)
	}
	command(t, nil, "dpkg-deb", "--info", debs[0])
}

// stall serves half of the nth file whose name ends in ".deb", and then nothing until the
// test ends. It closes reached there.
func stall(t *testing.T, h http.Handler, nth int64) (_ http.Handler, reached chan struct{}) {
	reached = make(chan struct{})
	var debs atomic.Int64
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, ".deb") || debs.Add(1) != nth {
			h.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Length", "1000000")
		_, _ = w.Write(make([]byte, 500000))
		_ = http.NewResponseController(w).Flush()
		close(reached)
		<-t.Context().Done() // apt pipelines requests, so r's context does not end with the client
	}), reached
}

func TestPackagesAfterKill(t *testing.T) {
	t.Parallel()
	need(t, "apt-get", "dpkg-deb")
	_, files := packageServer(t)
	stalling, reached := stall(t, files, 1)
	server := httptest.NewServer(stalling)
	t.Cleanup(server.Close)
	cache := t.TempDir()
	d := download{
		name: script(t, "debs.sh"), args: []string{"bookworm", "sample"}, kill: reached,
		env: []string{"LAB_CACHE=" + cache, "LAB_SOURCES=" + aptSource(t, "deb [trusted=yes] "+server.URL+" ./\n")},
	}
	if _, messages, err := d.run(t); err == nil {
		t.Fatalf("it was not killed:\n%s", messages)
	}
	wantNothingComplete(t, cache)
	d.kill = nil
	out, messages, err := d.run(t)
	if err != nil {
		t.Fatalf("the run after the killed one: %v\n%s", err, messages)
	}
	wantPackage(t, out)
}

// mirrors forwards /SCHEME/HOST/PATH to this machine's mirrors, and rewrites its apt sources to that.
func mirrors(t *testing.T) (h http.Handler, sources func(server string) string) {
	t.Helper()
	list, err := os.ReadFile("/etc/apt/sources.list.d/debian.sources")
	if errors.Is(err, os.ErrNotExist) {
		list, err = os.ReadFile("/etc/apt/sources.list")
	}
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		part := strings.SplitN(r.In.URL.Path, "/", 4)
		r.Out.URL = &url.URL{Scheme: part[1], Host: part[2], Path: "/" + part[3]}
		r.Out.Host = part[2]
	}}
	return proxy, func(server string) string {
		return regexp.MustCompile(`(https?)://`).ReplaceAllString(string(list), server+"/$1/")
	}
}

// A mirror fails twice, and then the run is killed while it downloads packages: nothing of the
// root is kept, and no process that the next run waits for. The next run succeeds, which only
// make long waits for: other tests make roots, too.
func TestRootAfterFailuresAndKill(t *testing.T) {
	t.Parallel()
	machinetest.Need(t)
	forward, sources := mirrors(t)
	stalling, reached := stall(t, forward, 5)
	g, server := serve(t, stalling)
	cache := t.TempDir()
	d := download{
		name: script(t, "boot-systemd.sh"), args: []string{"root"}, on: g.afterTwo, kill: reached,
		env: []string{"LAB_CACHE=" + cache, "LAB_SOURCES=" + aptSource(t, sources(server))},
	}
	_, messages, err := d.run(t)
	if err == nil || strings.Count(messages, "retry: attempt ") != 2 {
		t.Fatalf("got %v, want that it is killed in the third attempt:\n%s", err, messages)
	}
	wantNothingComplete(t, cache)
	d.kill = nil
	if !long() {
		g.open.Store(false)
		d.on = nil
		_, messages, err := d.run(t)
		wantGivenUp(t, messages, err, "make a root of bookworm")
		wantNothingComplete(t, cache)
		return
	}
	out, messages, err := d.run(t)
	if err != nil {
		t.Fatalf("the run after the killed one: %v\n%s", err, messages)
	}
	for _, path := range []string{"proc", "usr/lib/systemd/systemd", "etc/systemd/system/default.target"} {
		if _, err := os.Lstat(filepath.Join(out, path)); err != nil {
			t.Error(err)
		}
	}
}
