package inventory

import (
	"context"
	"os"
	"path/filepath"
	"slices"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/spool"
)

// SourceOptions are those with which the host's crontabs are read as the daemon reads them.
func (m *Machine) SourceOptions() spool.SourceOptions {
	return spool.SourceOptions{Host: m.Host, Paths: m.Paths(), Accounts: accounts(m.Find), LSBNames: m.LSBNames()}
}

// LSBNames reports whether the old cron accepts the LSB's names in /etc/cron.d. The daemon
// then does the same.
func (m *Machine) LSBNames() bool {
	return m.Host.Family == crontab.Debian && slices.ContainsFunc(m.Settings(), func(s Setting) bool { return s.Setting == "-l" })
}

// accounts is a function that finds accounts.
type accounts func(ctx context.Context, name string) (account.Account, error)

// Find calls the function.
func (f accounts) Find(ctx context.Context, name string) (account.Account, error) {
	return f(ctx, name)
}

// Crontabs reads the crontabs of the host in the daemon's order, followed by refused and
// ignored files.
func (m *Machine) Crontabs(ctx context.Context) []Crontab {
	list := m.crontabsOf(spool.OpenSource(m.SourceOptions()).Scan(ctx))
	if m.AnacronInstalled() {
		list = append(list, m.ownAnacrontab()...)
	}
	return list
}

// ownAnacrontab reads the anacrontab of an anacron that is installed. The daemon
// leaves it alone then.
func (m *Machine) ownAnacrontab() []Crontab {
	path := m.Paths().Anacrontab
	text, err := m.readUpTo(m.HostPath(path), crontab.MaxText+1)
	if os.IsNotExist(err) {
		return nil
	}
	t := Crontab{Path: m.HostPath(path), Text: text}
	if err != nil {
		t.Refused, t.Why = "CAN'T OPEN", spool.Reason(err)
		return []Crontab{t}
	}
	c := m.Host.Config(path, false)
	c.Format, c.Privileged = crontab.Anacron, true
	t.File, t.Diagnostics = crontab.Parse(t.Path, text, c)
	return []Crontab{t}
}

func (m *Machine) crontabsOf(scan spool.Snapshot) []Crontab {
	texts := map[string]string{}
	for _, c := range scan.Changes {
		texts[c.Path] = c.Text
	}
	diagnostics := map[string][]crontab.Diagnostic{}
	for _, d := range scan.Diagnostics {
		path := d.File
		d.File = m.HostPath(path)
		diagnostics[path] = append(diagnostics[path], d)
	}
	var list []Crontab
	for _, file := range scan.Crontabs {
		list = append(list, Crontab{Path: m.HostPath(file.Name), File: file, Text: texts[file.Name], Diagnostics: diagnostics[file.Name]})
	}
	for _, r := range scan.Refused {
		list = append(list, Crontab{
			Path: m.HostPath(r.Path), Refused: r.Word, Why: r.Why, Fix: r.Fix,
			Denied: r.Code == spool.CodeDirectory || r.Code == spool.CodeOpen,
		})
	}
	for _, i := range scan.Ignored {
		list = append(list, Crontab{Path: m.HostPath(i.Path), Why: i.Why, Ignored: true})
	}
	return list
}

// Anacrontab returns the anacrontab among the host's crontabs, or nil. Its lines have another format
// than those of a crontab. If anacron is installed, it runs them itself.
func Anacrontab(crontabs []Crontab) *Crontab {
	for i := range crontabs {
		if crontabs[i].Anacron() {
			return &crontabs[i]
		}
	}
	return nil
}

// Anacron reports whether the crontab is an anacrontab.
func (t *Crontab) Anacron() bool { return t.File != nil && t.File.Format == crontab.Anacron }

// Base is the last element of the crontab's path.
func (t *Crontab) Base() string { return filepath.Base(t.Path) }
