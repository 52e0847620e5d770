package database

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"modernc.org/sqlite"
)

// Peek calls f with the database as it is now, without writing to it, also if it is of an older
// version: then it looks like one of this version. It does not call f if no history exists.
func (db *DB) Peek(ctx context.Context, f func(as *DB) error) error {
	if info, err := os.Stat(db.path); errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0 {
		return nil
	}
	c, err := sqlite.NewConnector(peekSource(db.path, db.lock == nil))
	if err != nil {
		return err
	}
	as := &DB{path: db.path, read: sql.OpenDB(c)}
	defer as.read.Close()
	as.read.SetMaxOpenConns(1)
	var version int
	if err := as.Row(ctx, "PRAGMA user_version").Scan(&version); err != nil || version == 0 {
		return err
	}
	if steps, err := schemaSteps(); err != nil || version > len(steps) {
		return cmp.Or(err, error(&NewerError{Path: db.path, Schema: version, Known: len(steps)}))
	}
	if err := as.seeAsNew(ctx, version); err != nil {
		return err
	}
	return f(as)
}

// peekSource returns a source that opens the database without writing. An exclusive reader needs
// no shared memory file, for which there may be no space either, but a lock that a read-only disk
// does not allow. On such a disk SQLite reads the files of the last writer; if that closed the
// database, all of the history is in the database itself.
func peekSource(path string, readOnly bool) string {
	if !readOnly {
		return source(path, "locking_mode(exclusive)", "temp_store(memory)")
	}
	options := "&mode=ro"
	if _, err := os.Stat(path + suffixes[1]); err != nil {
		options += "&immutable=1"
	}
	return source(path, "temp_store(memory)") + options
}

// seeAsNew makes a database of an older version look like one of this version on this connection,
// without writing to it: names of the temporary database, which is in memory, precede those of the
// file.
func (db *DB) seeAsNew(ctx context.Context, version int) error {
	var text string
	switch {
	case version < 4:
		text = `CREATE TEMP VIEW run AS SELECT *, '' AS verdict, 0 AS cpu, 0 AS memory, 0 AS read, 0 AS write,
			NULL AS parents, 0 AS backfill, 0 AS lost, NULL AS asked FROM main.run;`
	case version < 8:
		text = "CREATE TEMP VIEW run AS SELECT *, NULL AS asked FROM main.run;"
	}
	switch {
	case version < 5:
		ledgers, err := schemas.ReadFile("schema/0005_ledger.sql")
		if err != nil {
			return err
		}
		text += `CREATE TEMP TABLE ledger (job, user, verdict, run, due, ended, success, bad, told, open, watched, ack, success_due, since);
			CREATE TEMP TABLE backfill (id, state, backfill);` + string(ledgers) + "UPDATE ledger SET success_due = due WHERE verdict = 'ok';"
	case version < 6:
		text += "CREATE TEMP VIEW ledger AS SELECT *, NULL AS ack, CASE verdict WHEN 'ok' THEN due END AS success_due, NULL AS since FROM main.ledger;"
	case version < 14:
		text += "CREATE TEMP VIEW ledger AS SELECT *, CASE verdict WHEN 'ok' THEN due END AS success_due, NULL AS since FROM main.ledger;"
	case version < 18:
		text += "CREATE TEMP VIEW ledger AS SELECT *, NULL AS since FROM main.ledger;"
	}
	if version < 9 {
		text += "CREATE TEMP VIEW host AS SELECT *, 0 AS owners FROM main.host;"
	}
	if _, err := db.read.ExecContext(ctx, text); err != nil {
		return fmt.Errorf("look at an older database: %w", err)
	}
	return nil
}
