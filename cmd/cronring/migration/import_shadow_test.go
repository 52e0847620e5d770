package migration

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/inventory/inventorytest"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
)

// virtual is a clock that advances to the next wake-up of a shadow. at receives each time before
// the shadow wakes.
func virtual(s *shadow, at func(time.Time)) {
	now := inventorytest.Noon
	s.Now = func() time.Time { return now }
	s.up = func() time.Duration { return time.Hour + now.Sub(inventorytest.Noon) }
	s.wait = func(_ context.Context, until time.Time) error {
		if !until.After(now) {
			until = now.Add(time.Millisecond)
		}
		now = until
		if at != nil {
			at(now)
		}
		return nil
	}
}

func shadowed1(t *testing.T, root string, length time.Duration, at func(time.Time)) []string {
	t.Helper()
	s := newShadow(inventorytest.Machine(t, root, crontab.Debian, "UTC"))
	virtual(s, at)
	var got []string
	s.seen = func(one shadowed) error {
		got = append(got, one.At.UTC().Format(time.TimeOnly)+" "+one.User+" "+one.Command)
		return nil
	}
	if err := s.run(context.Background(), inventorytest.Noon.Add(length)); err != nil {
		t.Fatal(err)
	}
	return got
}

func TestShadowStartsWhatIsDue(t *testing.T) {
	inventorytest.NeedRoot(t)
	root := inventorytest.Plant(t, inventorytest.Files{
		"/etc/cron.d/a":                "*/2 * * * * root a\n0 12 * * * root not at the moment of the load\n@reboot root never\n* * * * * stranger never\n* * * * * eve never\n",
		"/var/spool/cron/crontabs/ann": "3 12 * * * b%input\n#@ overlap=skip\n* * * * * c\n",
	})
	want := []string{
		"12:01:00 ann c", "12:02:00 root a", "12:02:00 ann c", "12:03:00 ann b", "12:03:00 ann c", "12:04:00 root a", "12:04:00 ann c",
	}
	if diff := cmp.Diff(want, shadowed1(t, root, 5*time.Minute, nil)); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
}

func TestShadowSeesEdits(t *testing.T) {
	inventorytest.NeedRoot(t)
	root := inventorytest.Plant(t, inventorytest.Files{"/etc/cron.d/a": "* * * * * root old\n"})
	edited := false
	got := shadowed1(t, root, 3*time.Minute+time.Second, func(now time.Time) {
		if !edited && !now.Before(inventorytest.Noon.Add(61*time.Second)) {
			edited = true
			if err := os.WriteFile(filepath.Join(root, "/etc/cron.d/a"), []byte("* * * * * root newer\n"), 0o644); err != nil {
				t.Error(err)
			}
		}
	})
	if diff := cmp.Diff([]string{"12:01:00 root old", "12:02:00 root newer", "12:03:00 root newer"}, got); diff != "" {
		t.Errorf("starts (-want +got):\n%s", diff)
	}
}

func TestShadowEndsWhenInterrupted(t *testing.T) {
	s := newShadow(inventorytest.Machine(t, inventorytest.Plant(t), crontab.Debian, "UTC"))
	ctx, cancel := context.WithCancel(context.Background())
	s.seen = func(shadowed) error { return nil }
	waited := false
	s.wait = func(ctx context.Context, _ time.Time) error {
		waited = true
		cancel()
		return ctx.Err()
	}
	if err := s.run(ctx, time.Time{}); err != nil || !waited {
		t.Errorf("got %v, waited %t; want a good end after the first wait", err, waited)
	}
}

// against runs a shadow for five minutes over one crontab, and compares it with
// a log.
func against(t *testing.T, log string) (stdout string, err error) {
	t.Helper()
	inventorytest.NeedRoot(t)
	root := inventorytest.Plant(t, inventorytest.Files{"/etc/cron.d/a": "*/2 * * * * root a  \n3 12 * * * ann say \"\xc3\xa9\"\tx \\%\n-* * * * * root quiet\n"})
	path := filepath.Join(t.TempDir(), "syslog")
	filetest.Write(t, path, log, 0o600)
	stdout, _, err = inventorytest.Spoken(t, func(a *cli.App) error {
		s := newShadow(inventorytest.Machine(t, root, crontab.Debian, "UTC"))
		virtual(s, nil)
		f := &importFlags{length: cli.Duration(5*time.Minute + 30*time.Second), against: path, out: &cli.Output{Choice: cli.Choice{Value: cli.FormText}}}
		return recordShadow(context.Background(), a, s, f)
	})
	_, after, _ := strings.Cut(stdout, "2026-11-21 12:05:00: ")
	return after, err
}

func TestShadowAgreesWithLog(t *testing.T) {
	for name, log := range map[string]string{
		"rsyslog's new form": "2026-11-21T12:00:01.5+00:00 db CRON[1]: (root) CMD (before the first whole minute)\n" +
			"2026-11-21T12:02:01.123456+00:00 db CRON[1]: (root) CMD (a)\n" +
			"2026-11-21T12:03:02.000001+00:00 db CRON[2]: (ann) CMD (   say \"\\303\\251\"^Ix %)\n" +
			"2026-11-21T13:04:01.000001+01:00 db CRON[3]: (root) CMD (a)\n" +
			"2026-11-21T12:04:01.000001+00:00 db CRON[3]: pam_unix(cron:session): session opened\n",
		"the old form":  "Nov 21 12:02:01 db CRON[1]: (root) CMD (a)\nNov 21 12:03:01 db CROND[1]: (ann) CMD ([77] say \"\\303\\251\"^Ix %)\nNov 21 12:04:59 db CRON[1]: (root) CMD (a)\n",
		"the journal's": "1795262521.25 db CRON[1]: (root) CMD (a)\n1795262581.000001 db CRON[1]: (ann) CMD (say \"\\303\\251\"^Ix %)\n1795262641.5 db CRON[1]: (root) CMD (a)\n",
	} {
		got, err := against(t, log)
		if want := "3 starts alike, 0 starts not\n"; err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, want)
		}
	}
}

func TestShadowDiffersFromLog(t *testing.T) {
	got, err := against(t, "Nov 21 12:01:01 db CRON[1]: (bob) CMD (mail)\nNov 21 12:02:01 db CRON[1]: (root) CMD (a)\nNov 21 12:02:05 db CRON[1]: (root) CMD (a)\nNov 21 12:04:01 db CRON[1]: (bob) CMD (a)\n")
	want := "1 start alike, 5 starts not\n" +
		"  2026-11-21 12:01:01  (bob) CMD (mail)  only the host's cron\n" +
		"  2026-11-21 12:02:05  (root) CMD (a)  only the host's cron\n" +
		"  2026-11-21 12:03:00  (ann) CMD (say \"é\"\\x09x %)  only cronring\n" +
		"  2026-11-21 12:04:00  (root) CMD (a)  only cronring\n" +
		"  2026-11-21 12:04:01  (bob) CMD (a)  only the host's cron\n"
	if err != cli.ExitCode(cli.ExitFailed) {
		t.Errorf("got %v, want exit 1", err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestShadowReadsTheJournal(t *testing.T) {
	m := inventorytest.Machine(t, inventorytest.Plant(t), crontab.Debian, "UTC")
	m.Exec = func(_ context.Context, argv ...string) (string, int, error) {
		if all := strings.Join(argv, " "); !strings.Contains(all, "--since @1795262400 --until @1795262460 -t CRON -t CROND") {
			t.Errorf("got %s", all)
		}
		return "1795262401.000001 db CRON[1]: (root) CMD (a)\n", 0, nil
	}
	got, err := readLog(context.Background(), m, "journal", inventorytest.Noon, inventorytest.Noon.Add(time.Minute))
	if err != nil || len(got) != 1 || got[0].Command != "a" || got[0].At.Unix() != 1795262401 {
		t.Errorf("got %v, %v", got, err)
	}
	m.Exec = func(context.Context, ...string) (string, int, error) { return "", 1, nil }
	if got, err := readLog(context.Background(), m, "journal", inventorytest.Noon, inventorytest.Noon.Add(time.Minute)); err != nil || len(got) != 0 {
		t.Errorf("an empty journal: got %v, %v", got, err)
	}
}

func TestShadowTooShortToCompare(t *testing.T) {
	path := filepath.Join(t.TempDir(), "syslog")
	filetest.Write(t, path, "", 0o600)
	_, _, err := inventorytest.Spoken(t, func(a *cli.App) error {
		s := newShadow(inventorytest.Machine(t, inventorytest.Plant(t), crontab.Debian, "UTC"))
		virtual(s, nil)
		return recordShadow(context.Background(), a, s, &importFlags{length: cli.Duration(time.Minute), against: path, out: &cli.Output{Choice: cli.Choice{Value: cli.FormText}}})
	})
	if e, ok := errors.AsType[*api.Error](err); !ok || !strings.Contains(e.Why, "no whole minute") {
		t.Errorf("got %v, want a word about the time watched", err)
	}
}

func TestImportHelpListsTheFieldsOfAShadow(t *testing.T) {
	var fields []string
	for f := range reflect.TypeFor[shadowed]().Fields() {
		if name := f.Tag.Get("json"); name != "" {
			fields = append(fields, name)
		}
	}
	help := strings.ReplaceAll(NewImport(cli.New(os.Stdin, os.Stdout, os.Stderr)).Long, "\n", " ")
	if want := ": " + strings.Join(fields, ", ") + "."; !strings.Contains(help, want) {
		t.Errorf("got help %q, want the fields %q in it", help, want)
	}
}
