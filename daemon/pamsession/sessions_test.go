package pamsession

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/spawn"
)

func TestSessionsAsThePAMFileRequires(t *testing.T) {
	const line = "/etc/pam.d/cron:5: account required pam_access.so"
	var log strings.Builder
	pam := account.PAM{Service: "cron"}
	s := New(Options{PAM: func() account.PAM { return pam }, Systemd: true, Log: slog.New(slog.NewTextHandler(&log, nil))})
	takes := func(user, text string) bool { return s.Takes(&job.Job{User: user, Crontab: text}) }
	health := func() (h api.Health) { s.Health(&h); return h }

	if takes("alice", "alice") || takes("root", "/etc/crontab") {
		t.Error("a session is opened although the file requires none")
	}
	if h := health(); *h.Session != (api.Session{Service: "cron"}) || h.Problems != nil {
		t.Errorf("status %+v, %+v", h.Session, h.Problems)
	}
	pam.Needs = line
	if !takes("alice", "alice") || !takes("root", "/etc/crontab") {
		t.Error("no session is opened after the file was changed")
	}
	if h := health(); *h.Session != (api.Session{PAM: true, Service: "cron", Why: line}) || h.Problems != nil {
		t.Errorf("status %+v, %+v", h.Session, h.Problems)
	}
	if s.Family = crontab.RHEL; takes("root", "/etc/crontab") || !takes("root", "root") {
		t.Error("cronie opens sessions for root's own crontab, and not for entries of system crontabs")
	}
	s.Systemd = false
	if takes("root", "root") || !takes("alice", "alice") {
		t.Error("without systemd only root's jobs can start")
	}
	if _, _, err := s.Start(t.Context(), spawn.Session{}); err == nil || err.Error() != noSessions.Why {
		t.Errorf("started without systemd: %v", err)
	}
	if h := health(); len(h.Problems) != 1 || h.Problems[0] != noSessions {
		t.Errorf("problems %+v", h.Problems)
	}
	for _, want := range []string{"jobs start without PAM", account.PAMCost} {
		if strings.Count(log.String(), want) != 1 {
			t.Errorf("want %q once in the log:\n%s", want, log.String())
		}
	}
}
