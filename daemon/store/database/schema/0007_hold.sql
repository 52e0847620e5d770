-- A name may pass to another account and back: each has a pause of its own.
CREATE TABLE held (
    job  INTEGER NOT NULL REFERENCES job (n),
    user TEXT    NOT NULL,          -- '': whoever has the job
    hold TEXT    NOT NULL,          -- JSON of job.Hold
    PRIMARY KEY (job, user)
) STRICT, WITHOUT ROWID;
INSERT INTO held SELECT job, coalesce(hold ->> '$.user', ''), hold FROM hold;
DROP TABLE hold;
ALTER TABLE held RENAME TO hold;
