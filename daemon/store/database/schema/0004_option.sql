-- What a run meant for its occurrence, used, depended on and was a part of.
-- Runs from before have no verdict: their outcome says as much.
ALTER TABLE run ADD COLUMN verdict  TEXT    NOT NULL DEFAULT '';
ALTER TABLE run ADD COLUMN cpu      INTEGER NOT NULL DEFAULT 0; -- nanoseconds; 0: not known
ALTER TABLE run ADD COLUMN memory   INTEGER NOT NULL DEFAULT 0; -- bytes, as the next two
ALTER TABLE run ADD COLUMN read     INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN write    INTEGER NOT NULL DEFAULT 0;
ALTER TABLE run ADD COLUMN parents  TEXT;                       -- JSON of []job.Parent; NULL: none
ALTER TABLE run ADD COLUMN backfill INTEGER NOT NULL DEFAULT 0; -- 0: of none
ALTER TABLE run ADD COLUMN lost     INTEGER NOT NULL DEFAULT 0; -- attempts before it that were lost and run again
DROP INDEX run_failed;
CREATE INDEX run_failed ON run (id)
    WHERE outcome <> '' AND verdict NOT IN ('ok', 'skip', 'left') AND (verdict <> '' OR outcome <> 'exited' OR code <> 0);

-- What the engine remembers of a job from run to run: job.Ledger.
CREATE TABLE ledger (
    job     INTEGER NOT NULL REFERENCES job (n),
    user    TEXT    NOT NULL,
    verdict TEXT    NOT NULL,
    run     INTEGER NOT NULL,       -- 0: no occurrence is over yet
    due     INTEGER,
    ended   INTEGER,
    success INTEGER,
    bad     INTEGER NOT NULL,
    told    INTEGER NOT NULL,
    open    INTEGER,
    watched INTEGER,
    PRIMARY KEY (job, user)
) STRICT, WITHOUT ROWID;

CREATE TABLE backfill (
    id       INTEGER PRIMARY KEY,   -- given by the engine
    job      TEXT NOT NULL,
    user     TEXT NOT NULL,
    asked    INTEGER NOT NULL,
    state    TEXT NOT NULL,
    backfill TEXT NOT NULL          -- JSON of job.Backfill
) STRICT;
CREATE INDEX backfill_going ON backfill (id) WHERE state = 'going';

-- The dead letters: runs that failed for good and that somebody should look at.
CREATE TABLE dead (
    run  INTEGER PRIMARY KEY REFERENCES run (id) ON DELETE CASCADE,
    user TEXT    NOT NULL,
    at   INTEGER NOT NULL,
    why  TEXT    NOT NULL
) STRICT;

-- What jobs keep for themselves from run to run.
CREATE TABLE state (
    job   INTEGER NOT NULL REFERENCES job (n),
    user  TEXT    NOT NULL,
    key   TEXT    NOT NULL,
    at    INTEGER NOT NULL,
    value BLOB    NOT NULL,
    UNIQUE (job, user, key)
) STRICT;
CREATE INDEX state_user ON state (user);

-- A fact may be about a backfill, or about a run that was over before.
ALTER TABLE record ADD COLUMN backfill TEXT; -- JSON of job.Backfill
ALTER TABLE record ADD COLUMN run INTEGER;
