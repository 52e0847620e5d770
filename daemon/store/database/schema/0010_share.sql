-- What the history keeps of each user other than root is limited: the oldest rows
-- of a user are found through these indexes, which root's rows are not in.
CREATE INDEX run_user ON run (user, id) WHERE user <> 'root';
CREATE INDEX occurrence_user ON occurrence (user, due) WHERE run IS NULL AND user <> 'root';
CREATE INDEX backfill_user ON backfill (user, id) WHERE user <> 'root';

-- Whose crontab a job is of: 'USER/', or '' for root's.
ALTER TABLE job ADD COLUMN owner TEXT AS (substr(id, 1, instr(id, '/'))) VIRTUAL;
CREATE INDEX job_owner ON job (owner, n) WHERE owner <> '';

-- A fact of a user's job takes the share of that user, one of root's the share of
-- that job, as root may let a user pause it. Others are the daemon's own.
ALTER TABLE record ADD COLUMN share TEXT AS (CASE WHEN instr(job, '/') > 0 THEN substr(job, 1, instr(job, '/')) ELSE job END) VIRTUAL;
CREATE INDEX record_share ON record (share, id) WHERE share <> '';
