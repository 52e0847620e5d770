package account

import "github.com/cronring/cronring/crontab"

type environment struct{}

// Environment is what PAM gives to jobs, as NAME=value: /etc/environment and,
// on Debian's family, the locale of /etc/default/locale.
func (d *Directory) Environment(family crontab.Family) []string { return nil }

// Remarks are what is wrong in the files that Limits and Environment read,
// each with its file and line.
func (d *Directory) Remarks() []error { return nil }
