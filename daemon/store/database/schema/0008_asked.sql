-- What a person wanted of a run, beside that it runs.
ALTER TABLE run ADD COLUMN asked TEXT; -- JSON of env and stop of job.Run; NULL: nothing
