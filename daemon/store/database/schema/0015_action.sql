-- The audit log: who did what, from where, and what it changed. Each caller has a
-- share of it; '' has no limit.
CREATE TABLE action (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    who     TEXT    NOT NULL,       -- '': not known
    uid     INTEGER,
    origin  TEXT    NOT NULL,
    what    TEXT    NOT NULL,
    subject TEXT    NOT NULL,
    owner   TEXT    NOT NULL,       -- the user whose job or crontab the subject is
    why     TEXT    NOT NULL,
    before  TEXT    NOT NULL,
    after   TEXT    NOT NULL,
    refused TEXT    NOT NULL,       -- why it was not permitted
    share   TEXT    NOT NULL
) STRICT;
CREATE INDEX action_at ON action (at);
CREATE INDEX action_share ON action (share, id) WHERE share <> '';
CREATE INDEX action_owner ON action (owner, id) WHERE owner <> '';
CREATE INDEX action_subject ON action (subject, id);
