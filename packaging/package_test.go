package packaging

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/packaging/machinetest"
)

// newer is a version that upgrades the shipped one, and reset what "sed" does to
// have it come with other settings.
const (
	newer = "999.0"
	reset = "s/^#max-running = 0$/max-running = 77/"
)

// shipped is the folder with what "make packages" makes for this machine, and
// with a newer .rpm.
var shipped = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs("../bin/lab/packages")
	if err != nil {
		return "", err
	}
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	if err := makePackages("..", dir); err != nil {
		return "", err
	}
	source, err := os.MkdirTemp("", "newer-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(source)
	if err := copySource(source); err != nil {
		return "", err
	}
	if said, err := exec.Command("sed", "-i", reset, filepath.Join(source, "packaging/cronring.toml")).CombinedOutput(); err != nil {
		return "", fmt.Errorf("edit the settings: %w\n%s", err, said)
	}
	return dir, makePackages(source, dir, "VERSION="+newer, "FORMATS=rpm")
})

// copySource copies what packages are made of to an empty folder.
func copySource(to string) error {
	pack := exec.Command("sh", "-c", `tar -C .. --exclude=./bin --exclude=./dist --exclude=./.git -cf - . | tar -C "$1" -xmf -`, "sh", to)
	if said, err := pack.CombinedOutput(); err != nil {
		return fmt.Errorf("copy the source: %w\n%s", err, said)
	}
	return nil
}

func makePackages(source, dir string, words ...string) error {
	words = append([]string{"-s", "-C", source, "packages", "ARCHES=" + runtime.GOARCH, "DIST=" + dir, "BIN=" + dir}, words...)
	if said, err := exec.Command("make", words...).CombinedOutput(); err != nil {
		return fmt.Errorf("make packages: %w\n%s", err, said)
	}
	return nil
}

// aPackage is the only shipped file that matches the pattern.
func aPackage(t *testing.T, pattern string) string {
	t.Helper()
	dir, err := shipped()
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, pattern))
	if err != nil || len(found) != 1 {
		t.Fatalf("make packages made %v (%v), want one that is %s", found, err, pattern)
	}
	return found[0]
}

// need skips, loudly, where a program is not installed; CI installs all.
func need(t *testing.T, programs ...string) {
	t.Helper()
	for _, name := range programs {
		if _, err := exec.LookPath(name); err != nil {
			hosttest.Missing(t, "%s is not installed", name)
		}
	}
}

func TestPackagesAreTheSameFromAnotherFolder(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: -short leaves out the building of packages")
	}
	copied, made := filepath.Join(t.TempDir(), "elsewhere"), t.TempDir()
	if err := os.Mkdir(copied, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := copySource(copied); err != nil {
		t.Fatal(err)
	}
	if err := makePackages(copied, made, "TZ=Asia/Tokyo"); err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{"*.deb", "cronring-[^9]*.rpm"} {
		want := aPackage(t, pattern)
		got, err := os.ReadFile(filepath.Join(made, filepath.Base(want)))
		if err != nil {
			t.Error(err)
		} else if string(got) != text(t, want) {
			t.Errorf("%s differs where its source lies in another folder", filepath.Base(want))
		}
	}
}

// A line of the changelog of the .deb has at most 80 characters, with two blanks before it.
func TestChangelogIsNarrow(t *testing.T) {
	for i, line := range strings.Split(text(t, "changelog.yaml"), "\n") {
		if line = strings.TrimSpace(line); len(line) > 76 {
			t.Errorf("line %d is too long: %s", i+1, line)
		}
	}
}

// The changelog contains the version, and programs and packages report the same.
func TestPackagesAgreeAboutTheVersion(t *testing.T) {
	t.Parallel()
	need(t, "dpkg-deb", "rpm")
	_, rest, _ := strings.Cut(text(t, "changelog.yaml"), "\n- semver: ")
	want, _, _ := strings.Cut(rest, "\n")
	deb := aPackage(t, "*.deb")
	tree := t.TempDir()
	output := func(name string, args ...string) string {
		t.Helper()
		out, err := exec.Command(name, args...).Output()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		return strings.TrimSpace(string(out))
	}
	output("dpkg-deb", "-x", deb, tree)
	bare, _, _ := strings.Cut(want, "-")
	for what, got := range map[string]string{
		"the .deb":           output("dpkg-deb", "-f", deb, "Version"),
		"its changelog":      strings.Trim(strings.Fields(output("zcat", filepath.Join(tree, "usr/share/doc/cronring/changelog.Debian.gz")))[1], "()"),
		"the .rpm":           output("rpm", "-qp", "--qf", "%{VERSION}-%{RELEASE}", aPackage(t, "cronring-[^9]*.rpm")),
		"cronringd":          strings.Fields(output(filepath.Join(tree, "usr/sbin/cronringd"), "--version"))[1] + strings.TrimPrefix(want, bare),
		"cronring --version": strings.Fields(output(filepath.Join(tree, "usr/bin/cronring"), "--version"))[1] + strings.TrimPrefix(want, bare),
	} {
		if got != want {
			t.Errorf("%s says %s, want %s as the changelog does", what, got, want)
		}
	}
}

// TestPackagesHaveThePageOfCron follows the names under which "man" finds the page of
// the host's cron.
func TestPackagesHaveThePageOfCron(t *testing.T) {
	t.Parallel()
	need(t, "dpkg-deb", "rpm")
	tree := t.TempDir()
	command(t, nil, "dpkg-deb", "-x", aPackage(t, "*.deb"), tree)
	if got := command(t, nil, "zcat", filepath.Join(tree, "usr/share/man/man8/cron.8.gz")); !strings.Contains(got, ".Nm cronringd") {
		t.Errorf("the .deb has another page of cron:\n%s", got)
	}
	links := command(t, nil, "rpm", "-qp", "--qf", "[%{FILENAMES} %{FILELINKTOS}\n]", aPackage(t, "cronring-[^9]*.rpm"))
	for _, page := range []string{"cron", "crond"} {
		if want := "/usr/share/man/man8/" + page + ".8.gz cronringd.8.gz\n"; !strings.Contains(links, want) {
			t.Errorf("the .rpm has no %q", want)
		}
	}
}

// The licences in packages are those of the modules, and the package's own field names each of
// them.
func TestPackagesTellLicences(t *testing.T) {
	t.Parallel()
	need(t, "dpkg-deb")
	tree := t.TempDir()
	if said, err := exec.Command("dpkg-deb", "-x", aPackage(t, "*.deb"), tree).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, said)
	}
	told := text(t, filepath.Join(tree, "usr/share/doc/cronring/copyright"))
	var kinds []string
	for _, found := range regexp.MustCompile(`(?m)^-{72}\n(\S+) (\S+): (\S+)$`).FindAllStringSubmatch(told, -1) {
		kinds = append(kinds, found[3])
	}
	if len(kinds) < 50 {
		t.Errorf("licences of %d modules are told, want at least those of Go and 50 others:\n%s", len(kinds), told)
	}
	slices.Sort(kinds)
	want := "license: MIT AND " + strings.Join(slices.DeleteFunc(slices.Compact(kinds), func(kind string) bool { return kind == "MIT" }), " AND ") + "\n"
	if !strings.Contains(text(t, "nfpm.yaml"), want) {
		t.Errorf("nfpm.yaml does not say %q", want)
	}
}

func TestLintianHasNothingToSay(t *testing.T) {
	t.Parallel()
	need(t, "lintian")
	said, err := exec.Command("lintian", "--allow-root", "--fail-on", "error,warning", aPackage(t, "*.deb")).CombinedOutput()
	if err != nil || len(said) > 0 {
		t.Errorf("lintian (%v):\n%s", err, said)
	}
}

func TestRpmlintHasNothingToSay(t *testing.T) {
	t.Parallel()
	need(t, "rpmlint", "cpio")
	// rpmlint unpacks with cpio, and names in packages that nfpm makes are absolute: without this
	// option the files would be written to this host.
	programs := t.TempDir()
	cpio, err := exec.LookPath("cpio")
	if err != nil {
		t.Fatal(err)
	}
	filetest.Write(t, filepath.Join(programs, "cpio"), "#!/bin/sh\nexec "+cpio+" --no-absolute-filenames \"$@\"\n", 0o755)
	rpmlint := exec.Command("rpmlint", "-c", "rpmlint.toml", aPackage(t, "cronring-[^9]*.rpm"))
	rpmlint.Env = append(os.Environ(), "PATH="+programs+":"+os.Getenv("PATH"))
	said, err := rpmlint.CombinedOutput()
	if err != nil || !strings.Contains(string(said), "1 packages and 0 specfiles checked; 0 errors, 0 warnings") {
		t.Errorf("rpmlint (%v):\n%s", err, said)
	}
}

func TestRpmScripts(t *testing.T) {
	t.Parallel()
	machinetest.Need(t)
	r := machine{packages: "rpm", proof: "rpm", debian: true, limit: 15 * time.Minute, files: map[string]string{
		"first.rpm":  text(t, aPackage(t, "cronring-[^9]*.rpm")),
		"second.rpm": text(t, aPackage(t, "cronring-9*.rpm")),
	}}.run(t)
	runs := decodeRuns(t, r.file(t, "pulse"))
	if len(runs) == 0 {
		t.Error("no run of the job of each second is known")
	}
}
