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

// IsUsersTable tells the crontab of an account, which crontab -e edits, from a
// file of the system.
func IsUsersTable(table string) bool { return strings.HasPrefix(table, "/var/spool/") }

// sourceOf names where a job stands, in a few cells: "etl:14", "crontab www:2".
func sourceOf(r *api.Row) string {
	name := SourceName(r.Table) + ":" + strconv.Itoa(r.Line)
	if IsUsersTable(r.Table) {
		return "crontab " + name
	}
	return name
}
