package cronview

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spool"
)

// shown is a view of a host below a directory, and its client.
type shown struct {
	*api.Client
	root string
}

// show serves the view of a host with these files to its client. Paths of crontab(1) are below the
// root too.
func show(t *testing.T, files map[string]string) shown {
	t.Helper()
	hosttest.Root(t, "cron reads only crontabs of root in /etc")
	root := t.TempDir()
	for path, text := range files {
		filetest.Write(t, filepath.Join(root, path), text, 0o644)
	}
	h := newHost(root, spool.Host{Family: crontab.Debian, Zone: time.UTC, Account: "root", Root: true, Processors: 1})
	s := h.server()
	h.read(t.Context())
	socket := filepath.Join(root, "socket")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, l) }()
	h.readStarts(ctx, time.Now())
	go h.live(ctx)
	client := api.Through("the view", func(ctx context.Context) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	})
	t.Cleanup(func() {
		client.Close()
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
	})
	return shown{client, root}
}

// syslog returns the lines that cron logs for jobs of root that started at a time.
func syslog(at time.Time, commands ...string) (lines string) {
	for _, c := range commands {
		lines += fmt.Sprintf("%s db CRON[7]: (root) CMD (%s)\n", at.UTC().Format(time.Stamp), c)
	}
	return lines
}

func TestViewShowsCrontabsAndLoggedStarts(t *testing.T) {
	started := time.Now().Add(-time.Hour).Truncate(time.Minute).Add(time.Second)
	v := show(t, map[string]string{
		"/etc/crontab":    "#@ name=tick\n* * * * * root true\n#@ name=boot\n@reboot root once\n61 * * * * root broken\n",
		"/etc/anacrontab": "1 5 daily run-parts /etc/cron.daily\n",
		"/var/log/syslog": syslog(started, "true", "no job of a crontab"),
		"/run/crond.pid":  "7\n",
		"/proc/7/comm":    "cron\n",
	})
	status, err := v.Status(t.Context())
	if err != nil || status.NoDaemon != "no daemon: from the crontabs; cron runs them. Take over: cronring import" || status.Jobs != 2 || status.Errors != 1 {
		t.Errorf("got %+v, error %v", status, err)
	}
	jobs, err := v.List(t.Context(), api.Query{})
	if err != nil || len(jobs) != 2 {
		t.Fatalf("got %d jobs, error %v, want 2: anacron's are not cron's", len(jobs), err)
	}
	for _, j := range jobs {
		switch last := j.Last; {
		case len(j.Running) > 0:
			t.Errorf("%s runs", j.Job.ID)
		case j.Job.ID == "boot" && last != nil:
			t.Errorf("boot: got the last run %+v, want none", last)
		case j.Job.ID == "tick" && (last == nil || !last.Started.Equal(started) || last.Failed() || last.OK() || last.Ending() != "started"):
			t.Errorf("tick: got the last run %+v, want the logged start", last)
		}
	}
	past, err := v.Past(t.Context(), []job.ID{"tick"}, 12)
	if err != nil || len(past) != 1 || len(past[0].Cells) != 1 || past[0].Cells[0].Kind != api.CellStarted || past[0].OK != 0 {
		t.Errorf("got the past %+v, error %v, want one start with an unknown end", past, err)
	}
	why, err := v.Why(t.Context(), "tick", started.Truncate(time.Minute))
	if err != nil || !strings.HasPrefix(why.Verdict, "Cron started it at ") {
		t.Errorf("got %q, error %v", why.Verdict, err)
	}
	why, err = v.Why(t.Context(), "tick", started.Add(-time.Hour).Truncate(time.Minute))
	if err != nil || !strings.HasPrefix(why.Verdict, "It is not known whether it ran") {
		t.Errorf("got %q, error %v", why.Verdict, err)
	}
	diagnostics, err := v.Diagnostics(t.Context())
	if err != nil || len(diagnostics) != 1 || diagnostics[0].Line != 5 {
		t.Errorf("got %v, error %v, want one of line 5", diagnostics, err)
	}
}

func TestViewRunsNothing(t *testing.T) {
	v := show(t, map[string]string{"/etc/crontab": "#@ name=tick\n* * * * * root true\n"})
	_, run := v.Run(t.Context(), api.RunRequest{Refs: []string{"tick"}})
	_, pause := v.Pause(t.Context(), api.PauseRequest{Refs: []string{"tick"}})
	for _, err := range []error{run, pause} {
		if e, ok := errors.AsType[*api.Error](err); !ok || e.Kind != api.Conflict || !strings.Contains(e.What, "needs cronringd") {
			t.Errorf("got %v, want that it needs cronringd", err)
		}
	}
}

func TestViewReadsChangedCrontabs(t *testing.T) {
	v := show(t, map[string]string{"/etc/crontab": "#@ name=old\n* * * * * root true\n"})
	filetest.Write(t, filepath.Join(v.root, "/etc/cron.d/more"), "#@ name=new\n* * * * * root true\n", 0o644)
	if _, err := v.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	if jobs, err := v.List(t.Context(), api.Query{Refs: []string{"new"}}); err != nil || len(jobs) != 1 {
		t.Errorf("got %v, error %v", jobs, err)
	}
}

// crontab1 is a crontab(1) that keeps one crontab in a file.
const crontab1 = `#!/bin/sh
echo "$*" >>%[1]s/calls
case "$3" in
-) cat >%[1]s/var/spool/cron/crontabs/$2;;
-r) rm %[1]s/var/spool/cron/crontabs/$2;;
esac
`

func TestViewChangesUsersCrontabsThroughCrontab1(t *testing.T) {
	v := show(t, map[string]string{"/etc/crontab": "* * * * * root true\n", "/etc/passwd": "root:x:0:0::/root:/bin/sh\n", "/var/spool/cron/crontabs/.keep": ""})
	filetest.Write(t, filepath.Join(v.root, "bin/crontab"), fmt.Sprintf(crontab1, v.root), 0o755)
	t.Setenv("PATH", filepath.Join(v.root, "bin")+":"+os.Getenv("PATH"))
	done, err := v.InstallCrontabFile(t.Context(), api.CrontabFileRequest{User: "root", Text: []byte("@daily backup\n")})
	if err != nil || done.Entries != 1 || done.Before != 0 {
		t.Errorf("got %+v, error %v", done, err)
	}
	if text, err := os.ReadFile(filepath.Join(v.root, "/var/spool/cron/crontabs/root")); err != nil || string(text) != "@daily backup\n" {
		t.Errorf("got %q, error %v, want the text without a header", text, err)
	}
	if _, err := v.InstallCrontabFile(t.Context(), api.CrontabFileRequest{User: "root", Gone: true}); err != nil {
		t.Error(err)
	}
	calls, _ := os.ReadFile(filepath.Join(v.root, "calls"))
	if want := "-u root -\n-u root -r\n"; string(calls) != want {
		t.Errorf("got the calls %q, want %q", calls, want)
	}
	_, err = v.InstallCrontabFile(t.Context(), api.CrontabFileRequest{File: filepath.Join(v.root, "/etc/crontab"), Text: []byte("@daily root x\n")})
	if err == nil || !strings.Contains(err.Error(), "only users' crontabs are changed") {
		t.Errorf("got %v, want that /etc/crontab is not changed", err)
	}
}
