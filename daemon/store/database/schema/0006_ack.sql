-- That a person has seen a job's failures.
ALTER TABLE ledger ADD COLUMN ack TEXT; -- JSON of job.Ack; NULL: nobody has
