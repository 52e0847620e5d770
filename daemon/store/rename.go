package store

import (
	"context"
	"fmt"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/store/database"
)

// Rename replaces the IDs of jobs in a history of version 0.7 or before, which had no owner, by
// their current IDs. It changes r, the result of Restore, and the database in one transaction.
// After an error, such as on a full disk, each Commit first tries to change the database again.
func (s *Store) Rename(ctx context.Context, renames *job.Renames, r *Restored) error {
	renames.Settle(r.LastUsers)
	r.rename(renames)
	return s.First(ctx, func(w *database.Writer) error {
		if err := rename(ctx, w, renames); err != nil {
			return fmt.Errorf("rename jobs: %w", err)
		}
		return nil
	})
}

// rename renames what a start reads.
func (r *Restored) rename(renames *job.Renames) {
	for i := range r.Marks {
		r.Marks[i].Job = renames.Of(r.Marks[i].Job, "")
	}
	for i := range r.Live {
		renames.Run(&r.Live[i])
	}
	for i := range r.Summaries {
		r.Summaries[i].Job = renames.Of(r.Summaries[i].Job, r.Summaries[i].User)
	}
	for i := range r.Backfills {
		r.Backfills[i].Job = renames.Of(r.Backfills[i].Job, r.Backfills[i].User)
	}
	holds := job.Holds{}
	for id, all := range r.Holds {
		for _, h := range all {
			holds.Put(renames.Of(id, h.User), h)
		}
	}
	r.Holds = holds
}

// The steps of rename, in this order. A row of job keeps its number, which is all that
// most tables have of it, so that renaming takes no longer for a long history.
const (
	listRenames = "CREATE TEMP TABLE renaming (old TEXT PRIMARY KEY, new TEXT NOT NULL UNIQUE, user TEXT NOT NULL) WITHOUT ROWID"
	addRename   = "INSERT INTO renaming VALUES (?, ?, ?)"
	renameJobs  = `UPDATE job SET id = (SELECT new FROM renaming WHERE old = id) WHERE id IN (SELECT old FROM renaming)`

	// Others had the name before: what is theirs goes to their job of that name, or
	// to the old ID if they have none.
	listOthers = `CREATE TEMP TABLE others AS SELECT DISTINCT job.n AS n, past.user AS user,
			CASE WHEN past.user || '/' || renaming.old IN (SELECT new FROM renaming) THEN past.user || '/' || renaming.old ELSE renaming.old END AS id
		FROM renaming CROSS JOIN job ON job.id = renaming.new CROSS JOIN
			(SELECT job, user FROM ledger UNION SELECT job, user FROM hold UNION SELECT job, user FROM state) AS past
			ON past.job = job.n AND past.user NOT IN ('', renaming.user)`
	addOthers = `INSERT INTO job (id) SELECT DISTINCT id FROM others WHERE id NOT IN (SELECT id FROM job);
		ALTER TABLE others ADD COLUMN own INTEGER;
		UPDATE others SET own = (SELECT n FROM job WHERE job.id = others.id);`
	moveOthers = `
		UPDATE OR IGNORE occurrence SET job = others.own FROM others CROSS JOIN run ON run.job = others.n AND run.user = others.user
			WHERE occurrence.due = run.due AND occurrence.job = others.n AND occurrence.era = run.era AND occurrence.run = run.id;
		UPDATE run SET job = others.own FROM others WHERE run.job = others.n AND run.user = others.user;
		UPDATE OR IGNORE ledger SET job = others.own FROM others WHERE ledger.job = others.n AND ledger.user = others.user;
		UPDATE OR IGNORE hold SET job = others.own FROM others WHERE hold.job = others.n AND hold.user = others.user;
		UPDATE OR IGNORE state SET job = others.own FROM others WHERE state.job = others.n AND state.user = others.user;`

	renameTexts = `
		UPDATE record SET job = renaming.new, backfill = json_set(backfill, '$.job', renaming.new) FROM renaming
			WHERE record.job = renaming.old AND coalesce(hold ->> '$.user', backfill ->> '$.user', renaming.user) IN ('', renaming.user);
		UPDATE backfill SET job = renaming.new, backfill = json_set(backfill, '$.job', renaming.new) FROM renaming
			WHERE backfill.job = renaming.old AND backfill.user = renaming.user;`

	// If a job ran for no other user, its skips are this user's.
	assignSkips = `UPDATE occurrence SET user = renaming.user FROM renaming CROSS JOIN job ON job.id = renaming.new
		WHERE occurrence.job = job.n AND occurrence.run IS NULL AND occurrence.user = ''
			AND NOT EXISTS (SELECT 1 FROM ledger WHERE ledger.job = job.n)
			AND NOT EXISTS (SELECT 1 FROM run WHERE run.job = job.n AND run.user <> renaming.user)`
	endRename = "DROP TABLE renaming; DROP TABLE others; UPDATE host SET owners = 1"
)

// rename renames in the database, within a transaction.
func rename(ctx context.Context, w *database.Writer, renames *job.Renames) error {
	w.ForgetJobs()
	if err := w.Script(ctx, listRenames); err != nil {
		return err
	}
	for _, x := range renames.All {
		if err := w.Once(ctx, addRename, string(x.Old), string(x.New), x.User); err != nil {
			return err
		}
	}
	for _, step := range []string{renameJobs, listOthers, addOthers, moveOthers, renameTexts, assignSkips, endRename} {
		if err := w.Script(ctx, step); err != nil {
			return err
		}
	}
	return nil
}
