-- What on=file: and delay= count from, where the newest occurrence does not say it.
ALTER TABLE ledger ADD COLUMN since INTEGER; -- Unix nanoseconds; NULL: none
