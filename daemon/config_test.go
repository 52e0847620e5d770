package daemon

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func writeFile(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, mode); err != nil {
		t.Fatal(err)
	}
}

func TestConfigOfAHostWithoutOne(t *testing.T) {
	c, err := ReadConfig(t.TempDir())
	if err != nil || c.Session != "none" || c.Log.CronLines != nil {
		t.Errorf("got %+v, error %v", c, err)
	}
}

func TestConfigDropInsCountOverTheMainFile(t *testing.T) {
	dir := t.TempDir()
	writeFile(t, filepath.Join(dir, "cronring.toml"), "session = \"pam\"\n[mail]\noff = true\n[log]\nto = \"syslog\"\n", 0o644)
	writeFile(t, filepath.Join(dir, "conf.d/10-a.toml"), "[log]\ncron-lines = false\n", 0o644)
	writeFile(t, filepath.Join(dir, "conf.d/20-b.toml"), "[log]\nto = \"journal\"\n", 0o644)
	c, err := ReadConfig(dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.Session != "pam" || !c.Mail.Off || c.Log.To != "journal" || c.Log.CronLines == nil || *c.Log.CronLines {
		t.Errorf("got %+v", c)
	}
}

func TestConfigSaysWhatIsWrongAndKeepsTheRest(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":     {"session = \"pam\"\n[mail]\nofff = true\n", ":3: unknown key mail.offf"},
		"syntax":          {"session = \"pam\"\nmail = [\n", ":"},
		"session":         {"session = \"ldap\"\n", `session is "ldap", want "none" or "pam"`},
		"log":             {"[log]\nto = \"printer\"\n", `log.to is "printer"`},
		"an unknown room": {"session = \"pam\"\n\n[pool.wan]\nsize = 2\n", ":3: unknown key pool.wan"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, filepath.Join(dir, "cronring.toml"), c.text, 0o644)
			got, err := ReadConfig(dir)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
			if name == "unknown key" && got.Session != "pam" {
				t.Errorf("session is %q: what was right does not count", got.Session)
			}
		})
	}
}

func TestConfigOfAnybodyElseIsRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "cronring.toml")
	writeFile(t, file, "session = \"pam\"\n", 0o666)
	if c, err := ReadConfig(dir); err == nil || c.Session != "none" || !strings.Contains(err.Error(), "chmod go-w") {
		t.Errorf("a file that everybody may write counts: session %q, error %v", c.Session, err)
	}
	if os.Geteuid() != 0 {
		t.Skip("SKIPPED: only root can give a file away")
	}
	writeFile(t, file, "session = \"pam\"\n", 0o644)
	if err := os.Chown(file, 12345, 0); err != nil {
		t.Fatal(err)
	}
	if c, err := ReadConfig(dir); err == nil || c.Session != "none" || !strings.Contains(err.Error(), "uid 12345") {
		t.Errorf("a stranger's file counts: session %q, error %v", c.Session, err)
	}
}
