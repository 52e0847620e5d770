package cli

import (
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

// Parse reads a source in the zone loc.
func (f *FormatFlags) Parse(s Source, loc *time.Location) (*crontab.File, []crontab.Diagnostic) {
	c := config.ThisHost().Config(s.Name, f.System)
	c.Local = loc
	return crontab.Parse(s.Name, s.Text, c)
}
