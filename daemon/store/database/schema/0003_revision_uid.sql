-- Whose table a version was, by number: a name may be given to somebody else
-- once its account is deleted. Of versions from before, root alone sees those
-- of the users' tables.
ALTER TABLE revision ADD COLUMN uid INTEGER NOT NULL DEFAULT 0;
