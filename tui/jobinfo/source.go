package jobinfo

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cronring/cronring/daemon/api"
)

// SourceName is a crontab file without its directory.
func SourceName(table string) string {
	return table[strings.LastIndexByte(table, filepath.Separator)+1:]
}

// IsUsersTable reports whether a crontab belongs to a user, who edits it with crontab
// -e.
func IsUsersTable(table string) bool { return strings.HasPrefix(table, "/var/spool/") }

// sourceOf returns the place of a job in a few cells: "etl:14", "crontab www:2".
func sourceOf(r *api.Row) string {
	name := SourceName(r.Table) + ":" + strconv.Itoa(r.Line)
	if IsUsersTable(r.Table) {
		return "crontab " + name
	}
	return name
}
