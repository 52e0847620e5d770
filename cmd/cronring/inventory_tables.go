package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/spool"
)

// source reads the host's tables as the daemon does.
func (m *machine) source() *spool.Source {
	return spool.OpenSource(spool.SourceOptions{
		Host: m.host, Places: m.places(), Accounts: finder(m.find), LSBNames: m.lsbNames(),
	})
}

// lsbNames reports whether the old cron was told to take other names in
// /etc/cron.d, as the daemon then does, too.
func (m *machine) lsbNames() bool {
	if m.host.Family != crontab.Debian {
		return false
	}
	for _, s := range m.settings() {
		if s.Setting == "-l" {
			return true
		}
	}
	return false
}

// finder is a function that finds accounts.
type finder func(ctx context.Context, name string) (account.Account, error)

// Find calls the function.
func (f finder) Find(ctx context.Context, name string) (account.Account, error) { return f(ctx, name) }

// tables reads the crontabs of the host, in the order in which the daemon
// loads them, and after them what is refused or ignored.
func (m *machine) tables(ctx context.Context) []hostTable {
	list := m.tablesOf(m.source().Scan(ctx))
	if m.anacronInstalled() {
		list = append(list, m.ownAnacrontab()...)
	}
	return list
}

// ownAnacrontab reads the table of an anacron that is installed. The daemon
// leaves it alone then.
func (m *machine) ownAnacrontab() []hostTable {
	path := m.places().Anacrontab
	text, err := m.readUpTo(m.shown(path), crontab.MaxText+1)
	if os.IsNotExist(err) {
		return nil
	}
	t := hostTable{path: m.shown(path), text: text}
	if err != nil {
		t.refused, t.why = "CAN'T OPEN", reason(err)
		return []hostTable{t}
	}
	c := m.host.Config(path, false)
	c.Format, c.Privileged = crontab.Anacron, true
	t.table, t.remarks = crontab.Parse(t.path, text, c)
	return []hostTable{t}
}

func (m *machine) tablesOf(scan spool.Snapshot) []hostTable {
	texts := map[string]string{}
	for _, c := range scan.Changes {
		texts[c.Path] = c.Text
	}
	remarks := map[string][]crontab.Diagnostic{}
	for _, d := range scan.Remarks {
		path := d.File
		d.File = m.shown(path)
		remarks[path] = append(remarks[path], d)
	}
	var list []hostTable
	for _, table := range scan.Tables {
		list = append(list, hostTable{path: m.shown(table.Name), table: table, text: texts[table.Name], remarks: remarks[table.Name]})
	}
	for _, r := range scan.Refused {
		list = append(list, hostTable{
			path: m.shown(r.Path), refused: r.Word, why: r.Why, fix: r.Fix,
			denied: r.Code == spool.CodeDirectory || r.Code == spool.CodeOpen,
		})
	}
	for _, i := range scan.Ignored {
		list = append(list, hostTable{path: m.shown(i.Path), why: i.Why, ignored: true})
	}
	return list
}

// anacrontab finds the table of anacron among those of the host. Its lines are
// no crontab's, and where anacron is installed they are its own.
func anacrontab(tables []hostTable) *hostTable {
	for i := range tables {
		if tables[i].anacron() {
			return &tables[i]
		}
	}
	return nil
}

// anacron reports whether the table has anacron's lines.
func (t *hostTable) anacron() bool { return t.table != nil && t.table.Format == crontab.Anacron }

// debianName is run-parts's rule for names of scripts.
var debianName = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

// unknown reports that there is certainly no such account: a directory service
// that does not answer is something else.
func unknown(err error) bool {
	none, ok := errors.AsType[*account.UnknownError](err)
	return ok && none != nil
}

// base is the last element of the table's path.
func (t *hostTable) base() string { return filepath.Base(t.path) }
