package packaging

import (
	"debug/buildinfo"
	"debug/macho"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/hosttest"
)

// command runs a program at the root of the repository and returns its output.
func command(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// contents are the files below a directory: what is in each, or where it leads.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if d.Type()&os.ModeSymlink != 0 {
			files[name], err = os.Readlink(path)
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		files[name] = fmt.Sprintf("%v %s", info.Mode(), data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// sameFiles returns the files that differ between two directories.
func sameFiles(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s: %s is missing or differs", what, name)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s is too much", what, name)
		}
	}
}

// TestRelease makes the other files of a release from one set of programs: the same bytes for
// every builder and directory, a tarball that installs the same files without Go as "make install"
// here, valid checksums, and bills of materials with every module of the programs. The long form, "make macos",
// also makes a tarball with the client for macOS, which takes minutes to compile.
func TestRelease(t *testing.T) {
	t.Parallel()
	bin, first, second := t.TempDir(), t.TempDir(), t.TempDir()
	programs := filepath.Join(bin, "linux-"+runtime.GOARCH)
	if err := errors.Join(os.Mkdir(programs, 0o755), hosttest.PutPrograms(programs)); err != nil {
		t.Fatal(err)
	}
	systems, files := []string{"linux-" + runtime.GOARCH}, 3
	mac := filepath.Join(bin, "darwin-arm64")
	if long() {
		command(t, []string{"GOOS=darwin", "GOARCH=arm64"}, "go", "build", "-gcflags=all=-N -l", "-o", mac+"/", "./cmd/cronring") // optimized it takes twice as long
		systems, files = append(systems, "darwin-arm64"), 5
	}
	release := func(dist string, env ...string) {
		t.Helper()
		env = append(env, "VERSION=1.2.3", "SOURCE_DATE_EPOCH=1700000000", "BIN="+bin, "DIST="+dist, "SELF="+filepath.Join(programs, "cronring"))
		command(t, env, "packaging/release/build", systems...)
	}
	release(first, "TZ=Asia/Tokyo", "LC_ALL=C")
	release(second, "TZ=America/Lima", "LC_ALL=C.UTF-8")
	sameFiles(t, "made twice", contents(t, second), contents(t, first))

	sums := exec.Command("sha256sum", "--check", "--strict", "SHA256SUMS")
	sums.Dir = first
	if out, err := sums.CombinedOutput(); err != nil || strings.Count(string(out), ": OK") != files {
		t.Errorf("the checksums: %v\n%s", err, out)
	}
	for _, program := range []string{"cronring", "cronringd"} {
		checkMaterials(t, filepath.Join(first, program+"_1.2.3_linux_"+runtime.GOARCH+".cdx.json"), filepath.Join(programs, program))
	}
	checkTarball(t, filepath.Join(first, "cronring_1.2.3_linux_"+runtime.GOARCH+".tar.gz"), programs)
	if long() {
		checkMaterials(t, filepath.Join(first, "cronring_1.2.3_darwin_arm64.cdx.json"), filepath.Join(mac, "cronring"))
		checkMacTarball(t, filepath.Join(first, "cronring_1.2.3_darwin_arm64.tar.gz"), mac)
	}
}

// checkTarball installs from it without Go on PATH.
func checkTarball(t *testing.T, tarball, programs string) {
	t.Helper()
	dir, installed, want := t.TempDir(), t.TempDir(), t.TempDir()
	command(t, nil, "tar", "-xzf", tarball, "-C", dir, "--strip-components=1")
	command(t, []string{"PATH=/usr/bin:/bin"}, "make", "-s", "-C", dir, "install", "GO=false", "FAMILY=rhel", "DESTDIR="+installed)
	command(t, nil, "make", "-s", "install", "BIN="+programs, "FAMILY=rhel", "DESTDIR="+want)
	sameFiles(t, "installed from the tarball", contents(t, installed), contents(t, want))
	for _, name := range []string{"INSTALL", "LICENSE", "README.md", "packaging/copyright", "man/cronring-list.1", "man/cronring-why.7", "completions/cronring.zsh"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("the tarball's %s: %v", name, err)
		}
	}
}

// checkMacTarball compares the program with the built one: nothing here can run it.
func checkMacTarball(t *testing.T, tarball, programs string) {
	t.Helper()
	dir := t.TempDir()
	command(t, nil, "tar", "-xzf", tarball, "-C", dir, "--strip-components=1")
	sameFiles(t, "the program for macOS", contents(t, filepath.Join(dir, "bin")), contents(t, programs))
	if _, err := macho.Open(filepath.Join(dir, "bin", "cronring")); err != nil {
		t.Errorf("the program for macOS: %v", err)
	}
	for _, name := range []string{"LICENSE", "README.md", "packaging/copyright", "man/cronring.1"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("the tarball's %s: %v", name, err)
		}
	}
}

// checkMaterials reads a bill of materials as CycloneDX 1.5 has it.
func checkMaterials(t *testing.T, path, program string) {
	t.Helper()
	type component struct{ Type, Name, Version, PURL string }
	var bom struct {
		BOMFormat, SpecVersion string
		Version                int
		Metadata               struct {
			Timestamp string
			Component component
		}
		Components []component
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &bom); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	if bom.BOMFormat != "CycloneDX" || bom.SpecVersion != "1.5" || bom.Version != 1 || bom.Metadata.Timestamp != "2023-11-14T22:13:20Z" ||
		bom.Metadata.Component.Type != "application" || bom.Metadata.Component.Version != "v1.2.3" {
		t.Errorf("%s begins with %+v", path, bom)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	if len(bom.Components) != len(info.Deps)+1 { // and the standard library
		t.Errorf("%s has %d components, the program %d modules", path, len(bom.Components), len(info.Deps))
	}
	for _, m := range info.Deps {
		want := component{"library", m.Path, m.Version, ""}
		if !slices.ContainsFunc(bom.Components, func(c component) bool {
			purl := c.PURL
			c.PURL = ""
			return c == want && strings.HasPrefix(purl, "pkg:golang/"+m.Path+"@")
		}) {
			t.Errorf("%s does not name %s %s", path, m.Path, m.Version)
		}
	}
}
