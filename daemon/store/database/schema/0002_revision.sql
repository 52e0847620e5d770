-- Every version of every crontab file, as far as it is kept: revision.go says
-- how long. Numbers are never given again, as people write them down.
CREATE TABLE revision (
    id   INTEGER PRIMARY KEY AUTOINCREMENT,
    file TEXT    NOT NULL,
    user TEXT    NOT NULL,          -- whose table it is
    at   INTEGER NOT NULL,
    by   TEXT    NOT NULL,          -- who did it; '' is not known
    how  TEXT    NOT NULL,
    size INTEGER NOT NULL,          -- of the text, in bytes
    sum  BLOB,                      -- SHA-256 of the text; NULL: the file was not there
    text BLOB                       -- compressed (DEFLATE); NULL: the file was not there
) STRICT;
CREATE INDEX revision_file ON revision (file, id);
CREATE INDEX revision_user ON revision (user, id);
