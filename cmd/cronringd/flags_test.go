package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
)

func TestFlagsOfTheHostsOwnCron(t *testing.T) {
	for _, c := range []struct {
		family crontab.Family
		args   string
		want   daemon.Cron
	}{
		{crontab.Debian, "-f", daemon.Cron{LogLevel: 1}},
		{crontab.Debian, "-L 15 -l -n", daemon.Cron{LogLevel: 15, LSBNames: true, FullHost: true}},
		{crontab.Debian, "-fL5", daemon.Cron{LogLevel: 5}},
		{crontab.RHEL, "-n", daemon.Cron{}},
		{crontab.RHEL, "-s -P -i -p -m off", daemon.Cron{ToSyslog: true, InheritPath: true, NoWatch: true, Permissive: true, Mailer: "off"}},
		{crontab.RHEL, "-f -m /usr/bin/mailer", daemon.Cron{Mailer: "/usr/bin/mailer"}},
	} {
		var o daemon.Options
		_, err := parse(&o, append(strings.Fields(c.args), "FILE"), c.family)
		if err != nil {
			t.Errorf("%s: %v", c.args, err)
		}
		if diff := cmp.Diff(c.want, o.Cron); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.args, diff)
		}
	}
}

func TestFlagsThatMakeNoSense(t *testing.T) {
	for args, want := range map[string]string{
		"--nonsense FILE":   "nonsense",
		"--log paper FILE":  "expected auto, text, json, journal, syslog",
		"--grace soon FILE": "invalid argument",
		"-P FILE":           "unknown shorthand",
		"-L x FILE":         "invalid argument",

		"--check-config DIR": "--check-config does not accept the argument DIR: name a directory with --config DIRECTORY",
	} {
		var o daemon.Options
		if _, err := parse(&o, strings.Fields(args), crontab.Debian); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q in it", args, err, want)
		}
	}
	var o daemon.Options
	if _, err := parse(&o, []string{"-c", "FILE"}, crontab.RHEL); err == nil || !strings.Contains(err.Error(), "scope=ring") {
		t.Errorf("cronie's cluster: error %v", err)
	}
}

// A directory that was named must exist, also the default one; without --config it is optional.
func TestCheckConfigNeedsTheNamedDirectory(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "missing")
	var stdout, stderr strings.Builder
	want := "cronringd: cannot check the configuration in " + missing + "\n  why   no such file or directory\n  fix   name an existing directory: --config DIRECTORY\n"
	if code := run([]string{"--check-config", "--config", missing}, &stdout, &stderr); code != 1 || stdout.String() != "" || stderr.String() != want {
		t.Errorf("got exit %d, %q and the error %q, want 1 and %q", code, stdout.String(), stderr.String(), want)
	}
	for args, want := range map[string]verb{"--check-config": checkConfig, "--check-config --config /etc/cronring": checkNamedConfig} {
		var o daemon.Options
		if got, err := parse(&o, strings.Fields(args), crontab.Debian); err != nil || got != want {
			t.Errorf("%s: got the verb %d and %v, want %d", args, got, err, want)
		}
	}
	stderr.Reset()
	file := filepath.Join(t.TempDir(), "file")
	filetest.Write(t, file, "", 0o600)
	want = "cronringd: cannot check the configuration in " + file + "/below\n  why   not a directory\n"
	if code := run([]string{"--check-config", "--config", file + "/below"}, &stdout, &stderr); code != 1 || stderr.String() != want {
		t.Errorf("below a file: got exit %d and %q, want 1 and %q", code, stderr.String(), want)
	}
	stderr.Reset()
	if code := run([]string{"--check-config", "--config", filepath.Dir(missing)}, &stdout, &stderr); code != 0 {
		t.Errorf("an empty directory: got exit %d and %q, want 0", code, stderr.String())
	}
}

func TestFlagsPlaceTheHostsDaemon(t *testing.T) {
	hosttest.Root(t, "only root takes over the crontabs of the host")
	var o daemon.Options
	if _, err := parse(&o, nil, crontab.Debian); err != nil {
		t.Fatal(err)
	}
	if o.State != "/var/lib/cronring" || o.Socket != "/run/cronring/cronring.sock" || o.Runtime != "/run/cronring" {
		t.Errorf("state %s, socket %s, runtime %s", o.State, o.Socket, o.Runtime)
	}
	o = daemon.Options{}
	if _, err := parse(&o, []string{"--state", "/x", "FILE"}, crontab.Debian); err != nil || o.State != "/x" || o.Socket != "" || o.Runtime != "" {
		t.Errorf("with a FILE: state %s, socket %s, runtime %s, error %v", o.State, o.Socket, o.Runtime, err)
	}
}
