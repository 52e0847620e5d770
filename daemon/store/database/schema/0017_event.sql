-- How often each user emitted each event, and when last.
CREATE TABLE event (
    user  TEXT NOT NULL,
    name  TEXT NOT NULL,
    times INTEGER NOT NULL,
    last  INTEGER NOT NULL, -- Unix nanoseconds
    PRIMARY KEY (user, name)
) WITHOUT ROWID;
