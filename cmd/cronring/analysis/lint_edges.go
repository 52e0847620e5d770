package analysis

import (
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/dependency"
	"github.com/cronring/cronring/daemon/engine/catalog"
)

// addEdges adds errors in after= and on= across all crontabs. An unknown name may be in a
// file that lint was not given; if all is set, there is no such file.
func (l *linted) addEdges(crontabs []*crontab.File, all bool) {
	for _, d := range slices.Compact(catalog.New(crontabs, nil, nil).Diagnostics()) { // once for all shards
		if d.Code == dependency.CodeNobody && !all {
			d.Severity = crontab.Warning
			d.Message = strings.TrimSuffix(d.Message, ": the entry is held") + " in these files: if none is elsewhere, the entry is held"
		}
		l.diagnostics = append(l.diagnostics, d)
	}
}
