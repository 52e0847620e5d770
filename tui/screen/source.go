package screen

import (
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cronring/cronring/daemon/api"
)

// sourceName is a crontab file without its directory.
func sourceName(table string) string {
	return table[strings.LastIndexByte(table, filepath.Separator)+1:]
}

// isUsersTable tells the crontab of an account, which crontab -e edits, from a
// file of the system.
func isUsersTable(table string) bool { return strings.HasPrefix(table, "/var/spool/") }

// sourceOf names where a job stands, in a few cells: "etl:14", "crontab www:2".
func sourceOf(r *api.Row) string {
	name := sourceName(r.Table) + ":" + strconv.Itoa(r.Line)
	if isUsersTable(r.Table) {
		return "crontab " + name
	}
	return name
}
