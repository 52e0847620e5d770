package main

import (
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/spool"
)

// source is one crontab file as read from disk.
type source struct {
	name string // as given; "-" is stdin
	text string
}

// formatFlags are the flags that say how a crontab file is to be read.
type formatFlags struct {
	system bool
}

func (f *formatFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.system, "system", false, "the lines have a column for the account (/etc/crontab and /etc/cron.d/* always do)")
}

func (a *app) read(name string) (source, error) {
	if name == "-" {
		text, err := io.ReadAll(a.in)
		if err != nil {
			return source{}, fileError(name, err)
		}
		return source{name, string(text)}, nil
	}
	text, err := spool.Read(name)
	if err != nil {
		return source{}, fileError(name, err)
	}
	return source{name, text}, nil
}

// parse reads a source in the zone loc.
func (f *formatFlags) parse(s source, loc *time.Location) (*crontab.Table, []crontab.Diagnostic) {
	c := spool.ThisHost().Config(s.name, f.system)
	c.Local = loc
	return crontab.Parse(s.name, s.text, c)
}
