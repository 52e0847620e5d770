package packaging

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/filetest"
)

// TestFailedTestsRunTwice runs the tests of small packages with the script that the Makefile uses.
func TestFailedTestsRunTwice(t *testing.T) {
	const (
		passes = "func TestA(t *testing.T) {}\n"
		once   = `func TestB(t *testing.T) {
	if f, err := os.OpenFile("marker", os.O_CREATE|os.O_EXCL, 0o600); err == nil {
		f.Close()
		t.Run("part", func(t *testing.T) { t.Error("for the first time") })
	}
}
`
		always  = "func TestC(t *testing.T) { t.Error(os.Args) }\n"
		example = "func ExampleX() {\n\tprintln()\n\t// Output: 1\n}\n"
		leaves  = "func TestMain(m *testing.M) {\n\tm.Run()\n\tos.Exit(1)\n}\n"
	)
	for i, c := range []struct {
		name     string
		packages []string
		ok       bool
		unstable []string // tests
	}{
		{"all pass", []string{passes, passes}, true, nil},
		{"one fails once", []string{passes, passes + once, passes}, true, []string{"^(TestB)$"}},
		{"one of each of two packages", []string{once, passes + once}, true, []string{"^(TestB)$", "^(TestB)$"}},
		{"one fails always", []string{passes + always}, false, nil},
		{"one always, one once", []string{always + once}, false, nil},
		{"four fail once", []string{once, once, once, once}, false, nil},
		{"one is not built", []string{once, "func TestD() { x }\n"}, false, nil},
		{"one leaves", []string{once + "func TestD(t *testing.T) { os.Exit(1) }\n"}, false, nil},
		{"the package fails", []string{once + leaves}, false, nil},
		{"an example fails", []string{once + example}, false, nil},
		{"one fails behind other output", []string{once + "func TestD(t *testing.T) { os.Stdout.WriteString(\"x\"); t.Fail() }\n"}, false, nil},
		{"one panics", []string{once, "func TestE(t *testing.T) { panic(os.Args) }\n"}, false, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			filetest.Write(t, filepath.Join(dir, "go.mod"), "module m\n", 0o600)
			args := []string{"go", "test", "-vet=off", "-count=1", fmt.Sprintf("-v=%t", i%2 == 1), "--"}
			for i, text := range c.packages {
				name := string(rune('a' + i))
				if err := os.Mkdir(filepath.Join(dir, name), 0o700); err != nil {
					t.Fatal(err)
				}
				filetest.Write(t, filepath.Join(dir, name, "x_test.go"), "package x\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Args\n\n"+text, 0o600)
				args = append(args, "./"+name)
			}
			cmd := exec.CommandContext(t.Context(), script(t, "twice.sh"), args...)
			cmd.Dir = dir
			out, err := cmd.CombinedOutput()
			if (err == nil) != c.ok {
				t.Errorf("the command ended with %v, want success: %t", err, c.ok)
			}
			var unstable []string
			for line := range strings.Lines(string(out)) {
				if rest, ok := strings.CutPrefix(line, "UNSTABLE: m/"); ok {
					unstable = append(unstable, strings.Fields(rest)[3])
				}
			}
			if got, want := strings.Join(unstable, " "), strings.Join(c.unstable, " "); got != want {
				t.Errorf("reported as unstable: %q, want %q", got, want)
			}
			if t.Failed() {
				t.Logf("%s", out)
			}
		})
	}
}
