package migration

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/inventory"
	"github.com/cronring/cronring/cmd/cronring/inventory/inventorytest"
	"github.com/cronring/cronring/crontab"
)

func reported(t *testing.T, m *inventory.Machine, strict bool, form string, sources ...string) (stdout string, err error) {
	t.Helper()
	stdout, _, err = inventorytest.Spoken(t, func(a *cli.App) error {
		out := &cli.Output{Choice: cli.Choice{Value: form}}
		return importHost(context.Background(), a, m, sources, &importFlags{strict: strict, out: out})
	})
	return stdout, err
}

func TestImportReportsStockHosts(t *testing.T) {
	inventorytest.NeedRoot(t)
	for _, tc := range []struct {
		name   string
		files  inventorytest.Files
		family crontab.Family
		zone   string
	}{
		{"debian.want", stockDebian(t), crontab.Debian, "Europe/Berlin"},
		{"rhel.want", stockRHEL(t), crontab.RHEL, "America/New_York"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got, err := reported(t, inventorytest.Machine(t, inventorytest.Plant(t, tc.files), tc.family, tc.zone), false, cli.FormText)
			if err != nil {
				t.Errorf("got %v, want exit 0 without --strict", err)
			}
			golden(t, tc.name, got)
		})
	}
}

func TestImportStrictOnlyForDifferences(t *testing.T) {
	inventorytest.NeedRoot(t)
	plain := inventorytest.Files{"/etc/crontab": "0 4 * * * root true\n"}
	if _, err := reported(t, inventorytest.Machine(t, inventorytest.Plant(t, plain), crontab.Debian, "UTC"), true, cli.FormText); err != nil {
		t.Errorf("nothing differs: got %v", err)
	}
	differs := inventorytest.Files{"/etc/crontab": "CRON_TZ=Asia/Tokyo\n0 4 * * * root true\n"}
	if _, err := reported(t, inventorytest.Machine(t, inventorytest.Plant(t, differs), crontab.Debian, "UTC"), true, cli.FormText); err != cli.ExitCode(cli.ExitProblems) {
		t.Errorf("CRON_TZ on Debian: got %v, want exit 8", err)
	}
	if _, err := reported(t, inventorytest.Machine(t, inventorytest.Plant(t, differs), crontab.RHEL, "UTC"), true, cli.FormText); err != nil {
		t.Errorf("CRON_TZ with cronie: got %v", err)
	}
}

func TestImportTellsHowPAMDecides(t *testing.T) {
	inventorytest.NeedRoot(t)
	files := inventorytest.Files{"/etc/pam.d/cron": "account required pam_unix.so\naccount required pam_access.so\n"}
	for rules, want := range map[string]string{
		"":               "PAM: jobs start without PAM: cronring itself does what the file requires",
		"-:alice:cron\n": "account required pam_access.so: jobs get a PAM session (service cron); each start takes",
	} {
		files["/etc/security/access.conf"] = rules
		got, err := reported(t, inventorytest.Machine(t, inventorytest.Plant(t, files), crontab.Debian, "UTC"), true, cli.FormText, "cron")
		if err != nil || !strings.Contains(got, "/etc/pam.d/cron  settings\n") || !strings.Contains(got, want) {
			t.Errorf("%q: got %q, %v; want %q", rules, got, err, want)
		}
	}
}

// TestImportChanges checks that import reports each difference between cronring and Debian's cron
// or cronie.
func TestImportChanges(t *testing.T) {
	inventorytest.NeedRoot(t)
	for _, tc := range []struct{ text, debian, rhel string }{
		{"0 4 * * * root true\n", "", ""},
		{"0 4 * * * root sed 's/\\\\\\\\/x/'\n", "one \\ of it", ""},
		{"CRON_TZ=Asia/Tokyo\n0 4 * * * root true\n", "ignored CRON_TZ", ""},
		{"RANDOM_DELAY=5\n0 4 * * * root true\n", "ignored RANDOM_DELAY", ""},
		{"5# 4 * * * root true\n", "", "rejected the line"},
		{"0~30 4 * * * root true\n", "chosen at random", "chose a new one"},
		{"~ 4 * * * root true\n", "~ without a number", "chose a new one"},
		{"0 4 * * fri-sun root true\n", "never started it", ""},
		{"-0 4 * * * root true\n", "begins with -", ""},
		{"0 4 * * * root -n true\n", "read as a flag", ""},
		{"A=\n0 4 * * * root true\n", "assigns nothing", ""},
		{"A=\"\"\n0 4 * * * root true\n", "", ""},
		{"0 4 * * * root true\n61 4 * * * root true\n", "ignored the whole crontab: line 2", ""},
		{"\ufeff0 4 * * * root true\n", "ignored the whole crontab: line 1", ""},
		{"0 4 * * * root true\n0 5 * * * root\n", "an empty command", ""},
		{"0 4 * * * root " + strings.Repeat("x", 999) + "\n", "more than 998 bytes", ""},
		{"0 4 * * * root true\n0 5 * * * root true", "no newline", ""},
		{"0 4 * * * root true\r\n", "CR at the line's end", "CR at the line's end"},
		{"0-59/20 2 * * * root true\n", "runs once, not 3 times", "runs once, not 3 times"},
		{"0 1-3 * * * root true\n", "runs once, not 2 times", "runs once, not 2 times"},
		{"*/20 2 * * * root true\n", "", ""},
		{"30 2 * * * root true\n", "", ""},
		{"#@ timeout=5m\n0 4 * * * root true\n", "timeout=5m", "timeout=5m"},
		{"0 4 * * * stranger true\n0 5 * * * root true\n", "unknown user", ""},
		{"USER=evil\n0 4 * * * root true\n", "let the crontab set USER", ""},
	} {
		root := inventorytest.Plant(t, inventorytest.Files{"/etc/crontab": tc.text})
		for family, want := range map[crontab.Family]string{crontab.Debian: tc.debian, crontab.RHEL: tc.rhel} {
			m := inventorytest.Machine(t, root, family, "America/New_York")
			r := report(context.Background(), m, []string{"cron"})
			var all []string
			for _, imported := range r.Cron.Crontabs {
				for _, c := range append(imported.Changes, imported.NotRun...) {
					all = append(all, c.Text)
				}
				for _, e := range imported.Entries {
					for _, c := range e.Changes {
						all = append(all, c.Text)
					}
				}
			}
			got := strings.Join(all, "\n")
			if want == "" && got != "" || !strings.Contains(got, want) {
				t.Errorf("family %d, %q: got %q, want %q", family, tc.text, got, want)
			}
		}
	}
}

func TestImportJSONIsComplete(t *testing.T) {
	inventorytest.NeedRoot(t)
	got, err := reported(t, inventorytest.Machine(t, inventorytest.Plant(t, stockDebian(t)), crontab.Debian, "Europe/Berlin"), false, cli.FormJSON)
	var r imported
	if err != nil || json.Unmarshal([]byte(got), &r) != nil {
		t.Fatalf("got %v, %s", err, got)
	}
	if r.V != 1 || r.Cron == nil || len(r.Cron.Crontabs) != 17 || r.Anacron == nil || len(r.Anacron.Jobs) != 3 || len(r.Timers) != 1 {
		t.Errorf("got version %d, %d crontabs, anacron %v, %d timers\n%s", r.V, len(r.Cron.Crontabs), r.Anacron, len(r.Timers), got)
	}
}

func TestImportAnacronInstalledGoesOn(t *testing.T) {
	inventorytest.NeedRoot(t)
	root := inventorytest.Plant(t, stockDebian(t), inventorytest.Files{"/usr/sbin/anacron": "program"})
	if err := os.Chmod(filepath.Join(root, "/usr/sbin/anacron"), 0o755); err != nil {
		t.Fatal(err)
	}
	got, _ := reported(t, inventorytest.Machine(t, root, crontab.Debian, "UTC"), false, cli.FormText, "anacron")
	if !strings.Contains(got, "which is installed and keeps running them") {
		t.Errorf("got %s", got)
	}
}

func TestImportShowsNoEscapes(t *testing.T) {
	inventorytest.NeedRoot(t)
	m := inventorytest.Machine(t, inventorytest.Plant(t, inventorytest.Hostile), crontab.Debian, "UTC")
	for _, form := range []string{cli.FormText, formCrontab, cli.FormJSON} {
		if got, _ := reported(t, m, false, form); strings.ContainsAny(got, "\x1b\x07") {
			t.Errorf("-o %s: got an escape in %q", form, got)
		}
	}
}
