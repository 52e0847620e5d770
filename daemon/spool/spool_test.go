package spool

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/filetest"
)

func TestConfigKnowsSystemCrontabsByPlace(t *testing.T) {
	h := Host{Zone: time.UTC, Account: "ann"}
	for path, want := range map[string]crontab.Format{
		"/etc/crontab":        crontab.System,
		"/etc/cron.d/certbot": crontab.System,
		"/etc/cron.d/../x":    crontab.User,
		"/home/ann/crontab":   crontab.User,
		"-":                   crontab.User,
	} {
		c := h.Config(path, false)
		if c.Format != want || c.Privileged != (want == crontab.System) {
			t.Errorf("%s: format %v, privileged %t; want format %v", path, c.Format, c.Privileged, want)
		}
	}
	if h.Config("x", true).Format != crontab.System {
		t.Error("a file that is said to be a system crontab is none")
	}
}

func TestThisHostNamesItsZone(t *testing.T) {
	for tz, want := range map[string]string{
		"Europe/Berlin": "Europe/Berlin", ":Asia/Tokyo": "Asia/Tokyo", "": "UTC",
	} {
		t.Setenv("TZ", tz)
		if got := ThisHost().Zone.String(); got != want {
			t.Errorf("TZ=%q: zone %s, want %s", tz, got, want)
		}
	}
}

func TestReadStopsAfterTheLargestCrontab(t *testing.T) {
	path := filepath.Join(t.TempDir(), "crontab")
	filetest.Write(t, path, strings.Repeat("#", crontab.MaxText+100), 0o600)
	text, err := Read(path)
	if err != nil || len(text) != crontab.MaxText+1 {
		t.Errorf("read %d bytes, error %v; want %d", len(text), err, crontab.MaxText+1)
	}
	if _, err := Read(filepath.Dir(path)); err == nil {
		t.Error("a directory was read as a crontab")
	}
}
