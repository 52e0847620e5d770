package job

import (
	"strings"
	"testing"
)

func TestDeriveIDLeavesTimeAndPlaceOut(t *testing.T) {
	for _, c := range []struct {
		owner, crontab, user, command string
		twin                          int
		want                          ID
	}{
		{"root", "/etc/cron.d/etl", "root", "true", 1, "etl.root.b5bea41b"},
		{"root", "/etc/cron.d/etl", "root", "true", 2, "etl.root.b5bea41b-2"},
		{"root", "/etc/cron.d/etl", "ann", "true", 1, "etl.ann.b5bea41b"},
		{"root", "/etc/cron.d/ann", "ann/x", "true", 1, "ann.ann_x.b5bea41b"},
		{"root", "my table.crontab", "ann", "true", 1, "my_table.ann.b5bea41b"},
		{"root", "-", "ann", "true", 1, "stdin.ann.b5bea41b"},
		{"root", ".hidden", "ann", "", 1, ".hidden.ann.e3b0c442"},
		{"ann", "/var/spool/cron/crontabs/ann", "ann", "true", 1, "ann/b5bea41b"},
		{"ann", "/var/spool/cron/crontabs/ann", "ann", "true", 3, "ann/b5bea41b-3"},
	} {
		if got := DeriveID(c.owner, c.crontab, c.user, c.command, c.twin); got != c.want {
			t.Errorf("DeriveID(%q, %q, %q, %q, %d) = %q, want %q", c.owner, c.crontab, c.user, c.command, c.twin, got, c.want)
		}
	}
}

func TestIDHasOwnerAndName(t *testing.T) {
	for _, c := range []struct {
		owner, name, full string
		want              ID
	}{
		{"root", "backup", "root/backup", "backup"},
		{"alice", "backup", "alice/backup", "alice/backup"},
		{"bob@example.org", "c15ea7ed-2", "bob@example.org/c15ea7ed-2", "bob@example.org/c15ea7ed-2"},
	} {
		id := NewID(c.owner, c.name)
		if id != c.want || id.Owner() != c.owner || id.Name() != c.name || id.Full() != c.full {
			t.Errorf("NewID(%q, %q) = %q of %q named %q, in full %q; want %q", c.owner, c.name, id, id.Owner(), id.Name(), id.Full(), c.want)
		}
		if parsed, ok := ParseID(c.full); !ok || parsed != id {
			t.Errorf("ParseID(%q) = %q, %t; want %q", c.full, parsed, ok, id)
		}
	}
	if id, ok := ParseID("backup"); ok {
		t.Errorf("ParseID of a bare name = %q, want none", id)
	}
}

func TestIDMatchesGlob(t *testing.T) {
	for _, c := range []struct {
		id   ID
		glob string
		want bool
	}{
		{"alice/backup", "b*", true},
		{"alice/backup", "a*", false}, // the owner is not part of the name
		{"alice/backup", "alice/*", true},
		{"alice/backup", "*/backup", true},
		{"alice/backup", "bob/*", false},
		{"backup", "b*", true},
		{"backup", "root/b*", true},
		{"backup", "*/backup", true},
		{"backup", "b[", false},
	} {
		if got := c.id.Matches(c.glob); got != c.want || !IsGlob(c.glob) {
			t.Errorf("%s matches %s: %t, want %t", c.id, c.glob, got, c.want)
		}
	}
}

// FuzzDeriveID checks that no file, user column or command of root's crontabs
// makes an ID that belongs to another owner, and none of a user's leaves his own.
func FuzzDeriveID(f *testing.F) {
	f.Add("ann", "/etc/cron.d/alice", "alice/x", "true", 2)
	f.Fuzz(func(t *testing.T, owner, file, user, command string, twin int) {
		if owner == "" || strings.Contains(owner, "/") { // not the name of a file in the spool
			return
		}
		if id := DeriveID("root", file, user, command, twin); id.Owner() != "root" {
			t.Errorf("the ID %q of a root crontab has the owner %q", id, id.Owner())
		}
		if id := DeriveID(owner, file, user, command, twin); id.Owner() != owner {
			t.Errorf("the ID %q of the crontab of %q has the owner %q", id, owner, id.Owner())
		}
	})
}
