-- That a job is skipped is its user's business alone: the user that it ran as
-- then. '' is not known, and shown to root alone; of a decision with a run the
-- run tells the user. Of rows from before, it is the only user that ever ran the
-- job.
ALTER TABLE occurrence ADD COLUMN user TEXT NOT NULL DEFAULT '';
UPDATE occurrence SET user = coalesce((SELECT CASE WHEN count(*) = 1 THEN max(user) END FROM ledger WHERE ledger.job = occurrence.job), '')
    WHERE run IS NULL;

-- Whether the IDs of jobs contain their owner: rename.go brings those from before
-- up to date, as soon as the crontabs are read.
ALTER TABLE host ADD COLUMN owners INTEGER NOT NULL DEFAULT 0;
UPDATE host SET owners = 1 WHERE NOT EXISTS (SELECT 1 FROM job);
