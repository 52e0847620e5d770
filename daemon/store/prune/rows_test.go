package prune

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/store/database"
)

// A step of Prune must not look at the rows of other jobs and users, or sort: with
// many of them it would take ever longer.
func TestPruneUsesIndexes(t *testing.T) {
	db, err := database.Open(t.Context(), t.TempDir(), func(context.Context, *database.Writer) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	queries := map[string][]any{
		moreRuns: {1, 2, 3, 1, "ann"}, allRuns: {1, 2, 3, 1}, moreSkips: {1, 2, 3, 1, 1, 1}, oldRecords: {1, 2, 3},
		moreRunsOfUser: {1, 2, 3, "ann"}, moreSkipsOfUser: {1, 2, 3, "ann"}, moreFillsOfUser: {1, 2, 3, "ann"}, moreFactsOfUser: {1, 2, 3, "ann"},
		usersOf("run", "user", "root"): nil, usersOf("occurrence", "user", "root"): nil, usersOf("backfill", "user", "root"): nil,
		usersOf("record", "share", ""): nil, usersOf("job", "owner", ""): nil,
	}
	for _, drop := range []string{dropRun, dropSkip, dropRecord, dropLife, dropBackfill, dropDeadLetter, dropOutput} {
		queries[drop] = []any{1, 2, 3}[:strings.Count(drop, "?")]
	}
	for query, args := range queries {
		err := db.Each(t.Context(), func(rows *sql.Rows) error {
			var id, parent, unused int
			var detail string
			err := rows.Scan(&id, &parent, &unused, &detail)
			if strings.HasPrefix(detail, "SCAN") && detail != "SCAN users" || strings.Contains(detail, "TEMP B-TREE") {
				t.Errorf("%s: %s", query, detail)
			}
			return err
		}, "EXPLAIN QUERY PLAN "+query, args...)
		if err != nil {
			t.Errorf("%s: %v", query, err)
		}
	}
}
