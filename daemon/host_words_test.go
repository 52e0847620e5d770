package daemon

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/journal"
	"github.com/cronring/cronring/daemon/runlog"
)

// cronSink keeps cron's own lines.
type cronSink struct {
	journal.Sink
	lines []string
}

func (s *cronSink) Cron(l *journal.CronLine) {
	text := l.Text
	if l.Word != "" {
		text = fmt.Sprintf("(%s) %s (%s)", l.Who, l.Word, l.Text)
	}
	s.lines = append(s.lines, text)
}

func (s *cronSink) Flush() {}

// TestAnnounceSaysWhatCronWouldOfItsCrontabs holds our lines to those of the
// family's cron.
func TestAnnounceSaysWhatCronWouldOfItsCrontabs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		family crontab.Family
		want   []string
	}{
		{"Debian", crontab.Debian, []string{
			"(*system*pkg) INSECURE MODE (group/other writable) (ROOT/etc/cron.d/pkg)",
			"(*system*) RELOAD (ROOT/etc/crontab)", "(*system*pkg) RELOAD (ROOT/etc/cron.d/pkg)", "(ann) RELOAD (crontabs/ann)",
		}},
		{"RHEL", crontab.RHEL, []string{
			"(root) BAD FILE MODE (ROOT/etc/cron.d/pkg)",
			"(*system*) RELOAD (ROOT/etc/crontab)", "(*system*) RELOAD (ROOT/etc/cron.d/pkg)", "(ann) RELOAD (ROOT/var/spool/cron/ann)",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			h := newTestHost(t)
			h.Family = c.family
			for name, text := range map[string]string{"etc/crontab": "1", "etc/cron.d/pkg": "2"} {
				h.write(name, text+" 0 * * * root true\n")
			}
			if err := errors.Join(os.Remove(h.path("var/spool/cron/crontabs")), os.MkdirAll(filepath.Dir(h.path("var/spool/cron/crontabs/x")), 0o755)); err != nil {
				t.Fatal(err)
			}
			h.userCrontab("ann", annID, "3 0 * * * true\n")
			sink := &cronSink{}
			d := &shared{
				options: Options{Root: h.Root, Family: c.family}, logWriter: runlog.New(sink, false), log: slog.New(slog.DiscardHandler),
				accounts: account.New(account.Options{Root: h.Root}), config: &configuration{},
			}
			if err := d.openCrontabs(t.Context(), 1, false); err != nil {
				t.Fatal(err)
			}
			d.announce(d.crontabs.current())
			look := func() { d.announce(d.crontabs.read(t.Context())) }
			look() // nothing happened; cron logs nothing about files that it reads for the first time
			pkg := h.path("etc/cron.d/pkg")
			if err := os.Chmod(pkg, 0o666); err != nil {
				t.Fatal(err)
			}
			look()
			look()
			if err := errors.Join(os.Chmod(pkg, 0o644), os.WriteFile(pkg, []byte("4 0 * * * root true\n"), 0o644)); err != nil {
				t.Fatal(err)
			}
			h.write("etc/crontab", "5 0 * * * root true\n")
			h.userCrontab("ann", annID, "6 0 * * * true\n")
			look()
			d.logWriter.WriteAll()
			var got []string
			for _, line := range sink.lines {
				if !strings.Contains(line, "no passwd entry") { // of Debian's directory in RHEL's
					got = append(got, strings.ReplaceAll(line, h.Root, "ROOT"))
				}
			}
			if diff := cmp.Diff(c.want, slices.Clip(got)); diff != "" {
				t.Errorf("the lines (-want +got):\n%s", diff)
			}
		})
	}
}
