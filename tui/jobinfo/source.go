package jobinfo

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cronring/cronring/daemon/api"
)

// SourceName is a crontab file without its directory.
func SourceName(file string) string {
	return file[strings.LastIndexByte(file, filepath.Separator)+1:]
}

// IsUserCrontab reports whether a crontab belongs to a user, who edits it with crontab
// -e.
func IsUserCrontab(file string) bool { return strings.HasPrefix(file, "/var/spool/") }

// sourceOf returns the place of a job in a few cells: "etl:14", "crontab www:2".
func sourceOf(r *api.Row) string {
	name := SourceName(r.Crontab) + ":" + strconv.Itoa(r.Line)
	if IsUserCrontab(r.Crontab) {
		return "crontab " + name
	}
	return name
}
