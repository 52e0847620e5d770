package migration

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/inventory/inventorytest"
	"github.com/cronring/cronring/crontab"
)

// oneTimer returns the result of import for x.timer and x.service.
func oneTimer(t *testing.T, timerText, service string, more ...inventorytest.Files) timer {
	t.Helper()
	files := append(more, inventorytest.Files{"/usr/lib/systemd/system/x.timer": timerText, "/usr/lib/systemd/system/x.service": service})
	list := timers(context.Background(), inventorytest.Machine(t, inventorytest.Plant(t, files...), crontab.Debian, "UTC"))
	if len(list) != 1 {
		t.Fatalf("got %d timers, want 1: %+v", len(list), list)
	}
	return list[0]
}

func TestTimersTranslate(t *testing.T) {
	const plain = "[Unit]\nDescription=X\n[Service]\nType=oneshot\nUser=ann\nExecStart=/usr/bin/x  --all\n"
	for _, tc := range []struct{ name, timer, service, want string }{
		{"a plain service is its command", "OnCalendar=daily", plain, "0 0 * * * ann /usr/bin/x --all"},
		{"options", "OnCalendar=*:0/15\nPersistent=yes\nRandomizedDelaySec=1h 30min", plain, "#@ catchup=once jitter=14m59s\n*/15 * * * * ann /usr/bin/x --all"},
		{"a zone", "OnCalendar=daily Europe/Berlin", plain, "#@ tz=Europe/Berlin\n0 0 * * * ann /usr/bin/x --all"},
		{"two expressions", "OnCalendar=05:00\nOnCalendar=Mon 06:00", plain, "0 5 * * * ann /usr/bin/x --all\n0 6 * * 1 ann /usr/bin/x --all"},
		{"an empty assignment resets", "OnCalendar=05:00\nOnCalendar=\nOnCalendar=06:00", plain, "0 6 * * * ann /usr/bin/x --all"},
		{"a sandbox stays in force", "OnCalendar=daily", plain + "PrivateTmp=yes\n", "0 0 * * * root systemctl start x.service"},
		{"a condition stays in force", "OnCalendar=daily", "[Unit]\nConditionACPower=true\n" + plain, "0 0 * * * root systemctl start x.service"},
		{"a specifier stays systemd's", "OnCalendar=daily", "[Service]\nExecStart=/usr/bin/x %i\n", "0 0 * * * root systemctl start x.service"},
		{"a variable stays systemd's", "OnCalendar=daily", "[Service]\nExecStart=/usr/bin/x $Y\n", "0 0 * * * root systemctl start x.service"},
		{"a prefix stays systemd's", "OnCalendar=daily", "[Service]\nExecStart=-/usr/bin/x\n", "0 0 * * * root systemctl start x.service"},
		{"another unit", "OnCalendar=daily\nUnit=y.target", plain, "0 0 * * * root systemctl start y.target"},
		{"since boot", "OnBootSec=5min\nOnUnitActiveSec=1h", plain, ""},
		{"seconds", "OnCalendar=*:*:30", plain, ""},
		{"one of two cannot", "OnCalendar=daily\nOnCalendar=*:*:30", plain, ""},
		{"a delay with fractions", "OnCalendar=daily\nRandomizedDelaySec=500ms", plain, ""},
		{"it wakes the machine", "OnCalendar=daily\nWakeSystem=yes", plain, ""},
		{"nothing at all", "", plain, ""},
		{"a name that would be two commands", "OnCalendar=daily\nUnit=x;reboot", plain, ""},
	} {
		got := oneTimer(t, "[Timer]\n"+tc.timer+"\n", tc.service)
		if lines := strings.Join(got.Lines, "\n"); lines != tc.want || (tc.want == "") == (len(got.WhyNot) == 0) {
			t.Errorf("%s: got %q, why not %q; want %q", tc.name, lines, got.WhyNot, tc.want)
		}
		// What is offered must be read back without a diagnostic of lint.
		if _, diagnostics := crontab.Parse("x", tc.want+"\n", crontab.Config{Format: crontab.System, Zone: time.LoadLocation}); cli.ErrorsIn(diagnostics) > 0 {
			t.Errorf("%s: lint says %v", tc.name, diagnostics)
		}
	}
}

func TestTimersReadDropInsInTheirOrder(t *testing.T) {
	got := oneTimer(t, "[Timer]\nOnCalendar=daily\n", "[Service]\nExecStart=/x\n", inventorytest.Files{
		"/etc/systemd/system/x.timer.d/20-b.conf":         "[Timer]\nOnCalendar=07:00\n",
		"/etc/systemd/system/x.timer.d/10-a.conf":         "[Timer]\n# none so far\nOnCalendar=\nOnCalendar=\\\n; a comment in between\n06:00\n",
		"/usr/lib/systemd/system/x.timer.d/10-a.conf":     "[Timer]\nOnCalendar=never\n",
		"/etc/systemd/system/timers.target.wants/x.timer": "-> /usr/lib/systemd/system/x.timer",
	})
	if diff := cmp.Diff([]string{"06:00", "07:00"}, got.Calendar); diff != "" || !got.Enabled {
		t.Errorf("enabled %t, calendar (-want +got):\n%s", got.Enabled, diff)
	}
}

func TestTimersLeaveOutMaskedAndAliases(t *testing.T) {
	root := inventorytest.Plant(t, inventorytest.Files{
		"/usr/lib/systemd/system/gone.timer":  "[Timer]\nOnCalendar=daily\n",
		"/etc/systemd/system/gone.timer":      "-> /dev/null",
		"/etc/systemd/system/second.timer":    "-> /usr/lib/systemd/system/first.timer",
		"/usr/lib/systemd/system/first.timer": "[Timer]\nOnCalendar=daily\n",
		"/usr/lib/systemd/system/own.timer":   "[Timer]\nOnCalendar=daily\n",
		"/etc/systemd/system/own.timer":       "[Timer]\nOnCalendar=weekly\n",
	})
	var got []string
	for _, tm := range timers(context.Background(), inventorytest.Machine(t, root, crontab.Debian, "UTC")) {
		got = append(got, tm.Path)
	}
	if diff := cmp.Diff([]string{"/usr/lib/systemd/system/first.timer", "/etc/systemd/system/own.timer"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestTimersAskWhenTheyElapse(t *testing.T) {
	m := inventorytest.Machine(t, inventorytest.Plant(t, inventorytest.Files{"/run/systemd/system/": "", "/usr/lib/systemd/system/x.timer": "[Timer]\nOnCalendar=daily\n"}), crontab.Debian, "UTC")
	m.Exec = func(context.Context, ...string) (string, int, error) {
		return `[{"next":1795305600000000,"left":1,"last":0,"passed":0,"unit":"x.timer","activates":"x.service"},{"next":null,"unit":"y.timer"}]`, 0, nil
	}
	got := timers(context.Background(), m)
	if want := time.Unix(1795305600, 0); !got[0].Next.Equal(want) || !got[0].Last.IsZero() {
		t.Errorf("got next %s, last %s; want %s and none", got[0].Next, got[0].Last, want)
	}
	for _, broken := range []string{"", "{", `[{"next":"soon"}]`} {
		m.Exec = func(context.Context, ...string) (string, int, error) { return broken, 0, nil }
		if got := timers(context.Background(), m); len(got) != 1 || !got[0].Next.IsZero() {
			t.Errorf("systemctl prints %q: got %+v", broken, got)
		}
	}
}
