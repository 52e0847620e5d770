package cli

import (
	"cmp"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/spool"
)

// Source is one crontab file as read from disk.
type Source struct {
	Name string // as given; "-" is stdin
	Text string
}

// FormatFlags are the flags for the format of a crontab file.
type FormatFlags struct {
	System bool
}

// Add adds the flags to a command.
func (f *FormatFlags) Add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.System, "system", false, "the entries have a user column (/etc/crontab and /etc/cron.d/* always do)")
}

// ReadSource reads a file, or standard input for "-".
func (a *App) ReadSource(name string) (Source, error) {
	if name == "-" {
		text, err := io.ReadAll(a.In)
		if err != nil {
			return Source{}, FileError(name, err)
		}
		return Source{name, string(text)}, nil
	}
	text, err := spool.Read(name)
	if err != nil {
		return Source{}, FileError(name, err)
	}
	return Source{name, text}, nil
}

// Config returns the settings for parsing the file name. If the caller is not root, a file outside
// cron's directories is read as if the caller had installed it with crontab(1).
func (f *FormatFlags) Config(source spool.SourceOptions, name string) crontab.Config {
	c := source.Config(name, f.System)
	if c.Format == crontab.User && !c.Privileged {
		c.Owner = cmp.Or(c.Owner, c.User)
	}
	return c
}

// Parse reads a source of this host in the zone loc.
func (f *FormatFlags) Parse(s Source, loc *time.Location) (*crontab.File, []crontab.Diagnostic) {
	c := f.Config(config.ThisSource(), s.Name)
	c.Local = loc
	return crontab.Parse(s.Name, s.Text, c)
}
