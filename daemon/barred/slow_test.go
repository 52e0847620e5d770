package barred

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/job"
)

func TestBarsDoNotWaitForADeadDirectoryService(t *testing.T) {
	root := t.TempDir()
	filetest.Write(t, filepath.Join(root, "etc/passwd"), "root:x:0:0::/root:/bin/sh\n", 0o644)
	filetest.Write(t, filepath.Join(root, "etc/group"), "root:x:0:\n", 0o644)
	filetest.Write(t, filepath.Join(root, "etc/nsswitch.conf"), "passwd: files sss\ngroup: files sss\n", 0o644)
	var text strings.Builder
	text.WriteString("* * * * * root true\n")
	for i := range 50 {
		fmt.Fprintf(&text, "* * * * * user%d true\n", i)
	}
	file, _ := crontab.Parse("x", text.String(), crontab.Config{Format: crontab.System})
	const absent = 2 // getent(1)
	synctest.Test(t, func(t *testing.T) {
		dead := false
		b := &Users{Accounts: account.New(account.Options{Root: root, Exec: func(ctx context.Context, _ ...string) ([]byte, int, error) {
			if dead {
				<-ctx.Done()
				return nil, 0, ctx.Err()
			}
			return nil, absent, nil
		}})}
		find := func(what string) {
			t.Helper()
			before := time.Now()
			barred, _ := b.Find(t.Context(), []*crontab.File{file}, before)
			if took := time.Since(before); took > lookupTimeout {
				t.Errorf("%s: it took %v, want %v at most", what, took, lookupTimeout)
			}
			if n := len(barred); n != 50 || barred["user7"].Reason != job.NoUser {
				t.Errorf("%s: %d accounts are barred, user7 for %q; want 50, as unknown", what, n, barred["user7"].Reason)
			}
		}
		find("a service that knows nobody")
		dead = true
		find("and that does not answer any more")
		b.Previous = nil
		before := time.Now()
		if barred, _ := b.Find(t.Context(), []*crontab.File{file}, before); len(barred) != 0 {
			t.Errorf("nothing is known of the accounts, and %d are barred", len(barred))
		}
		if took := time.Since(before); took > lookupTimeout {
			t.Errorf("at first: it took %v, want %v at most", took, lookupTimeout)
		}
	})
}
