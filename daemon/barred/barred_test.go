package barred

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/job"
)

func TestBarsFollowTheAccounts(t *testing.T) {
	root := t.TempDir()
	passwd := "root:x:0:0::/root:/bin/sh\nann:x:1001:1001::/home/ann:/bin/sh\nold:x:1002:1002::/home/old:/bin/sh\n"
	filetest.Write(t, filepath.Join(root, "etc/passwd"), passwd, 0o644)
	filetest.Write(t, filepath.Join(root, "etc/group"), "root:x:0:\n", 0o644)
	filetest.Write(t, filepath.Join(root, "etc/shadow"), "ann:*:19000:0:99999:7:::\nold:*:19000:0:99999:7::19001:\n", 0o600)
	file, _ := crontab.Parse("x", "* * * * * ann true\n* * * * * old true\n* * * * * later true\n", crontab.Config{Format: crontab.System})
	crontabs := []*crontab.File{file}
	b := &Users{Accounts: account.New(account.Options{Root: root})}
	now := time.Date(2026, 11, 21, 0, 0, 0, 0, time.UTC)

	barred, changed := b.Find(t.Context(), crontabs, now)
	if !changed || len(barred) != 2 || barred["old"].Reason != job.AccountRefused || barred["old"].Detail == "" {
		t.Errorf("at first: changed %t, %v", changed, barred)
	}
	if diff := cmp.Diff(event.Barred{Reason: job.NoUser, Detail: "unknown user later"}, barred["later"]); diff != "" {
		t.Errorf("an account that does not exist (-want +got):\n%s", diff)
	}
	if _, changed := b.Find(t.Context(), crontabs, now); changed {
		t.Error("nothing happened, and the answer is said to differ")
	}
	filetest.Write(t, filepath.Join(root, "etc/passwd"), passwd+"later:x:1003:1003::/:/bin/sh\n", 0o644)
	if barred, changed := b.Find(t.Context(), crontabs, now); !changed || len(barred) != 1 {
		t.Errorf("after it was made: changed %t, %v", changed, barred)
	}
}
