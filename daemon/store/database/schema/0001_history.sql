-- Times are nanoseconds since 1970 UTC; NULL is a time that is not known (yet).
-- Words (state, reason, ...) are stored as the words of package job.

CREATE TABLE host (
    seed INTEGER NOT NULL
) STRICT;
INSERT INTO host VALUES (random());

-- One row for each time the store was opened, kept up to date by each commit.
CREATE TABLE life (
    id   INTEGER PRIMARY KEY,
    boot TEXT    NOT NULL,
    era  INTEGER NOT NULL,
    up   INTEGER NOT NULL,
    seen INTEGER NOT NULL,
    down INTEGER
) STRICT;

-- Jobs are numbered when they are first written of, so that jobs that fire
-- together are neighbours here: their marks move on few pages.
CREATE TABLE job (
    n   INTEGER PRIMARY KEY,
    id  TEXT    NOT NULL UNIQUE,
    due INTEGER,                    -- the mark
    era INTEGER
) STRICT;

CREATE TABLE hold (
    job  INTEGER PRIMARY KEY REFERENCES job (n),
    hold TEXT    NOT NULL           -- JSON of job.Hold
) STRICT;

CREATE TABLE roster (
    part  INTEGER PRIMARY KEY,
    known BLOB    NOT NULL          -- see roster.go
) STRICT;

CREATE TABLE run (
    id         INTEGER PRIMARY KEY,
    job        INTEGER NOT NULL REFERENCES job (n),
    due        INTEGER,
    era        INTEGER NOT NULL,
    attempt    INTEGER NOT NULL,
    trigger    TEXT    NOT NULL,
    by         TEXT    NOT NULL,
    invocation TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    reason     TEXT    NOT NULL,
    not_before INTEGER,
    decided    INTEGER NOT NULL,
    started    INTEGER,
    ended      INTEGER,
    pid        INTEGER NOT NULL,
    user       TEXT    NOT NULL,
    outcome    TEXT    NOT NULL,
    code       INTEGER NOT NULL,
    signal     INTEGER NOT NULL,
    error      TEXT    NOT NULL
) STRICT;
CREATE INDEX run_job ON run (job);
CREATE INDEX run_decided ON run (decided);
CREATE INDEX run_failed ON run (id) WHERE outcome <> '' AND (outcome <> 'exited' OR code <> 0);

-- The ledger against doubles: what the clock, a boot or a catch-up rule named
-- is decided once. The key begins with the time, as what is decided together
-- is due together: new rows go to one place instead of one page for each job.
-- One row may speak for several that were skipped alike: due is the newest,
-- first the oldest, count how many they are at least.
CREATE TABLE occurrence (
    due      INTEGER NOT NULL,
    job      INTEGER NOT NULL REFERENCES job (n),
    era      INTEGER NOT NULL,
    first    INTEGER,               -- NULL: due alone
    count    INTEGER NOT NULL,
    at       INTEGER NOT NULL,
    decision TEXT    NOT NULL,
    reason   TEXT    NOT NULL,
    detail   TEXT    NOT NULL,
    run      INTEGER,               -- NULL: skipped
    PRIMARY KEY (due, job, era)
) STRICT, WITHOUT ROWID;
CREATE INDEX occurrence_skip ON occurrence (job, due, first) WHERE run IS NULL;
CREATE INDEX occurrence_skipped ON occurrence (at, count) WHERE run IS NULL;

-- The decision of a run goes with it.
CREATE TRIGGER run_gone AFTER DELETE ON run BEGIN
    DELETE FROM occurrence WHERE due = old.due AND job = old.job AND era = old.era AND run = old.id;
END;

CREATE TABLE output (
    id     INTEGER PRIMARY KEY,
    run    INTEGER NOT NULL REFERENCES run (id) ON DELETE CASCADE,
    stream TEXT    NOT NULL,
    at     INTEGER,
    cut    INTEGER NOT NULL,
    data   BLOB
) STRICT;
CREATE INDEX output_run ON output (run);

-- Facts that concern no run: paused, resumed, loaded, stepped, up, down.
CREATE TABLE record (
    id     INTEGER PRIMARY KEY,
    at     INTEGER NOT NULL,
    kind   TEXT    NOT NULL,
    job    TEXT    NOT NULL,
    era    INTEGER NOT NULL,
    reason TEXT    NOT NULL,
    detail TEXT    NOT NULL,
    hold   TEXT                     -- JSON of job.Hold
) STRICT;
CREATE INDEX record_at ON record (at);
