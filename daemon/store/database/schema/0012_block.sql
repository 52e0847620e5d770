-- What statistics need of the runs n * 1024 to n * 1024 + 1023 once all of these are
-- over, in little room: see block.go. Prune adds blocks. One is removed with any
-- change of its runs.
CREATE TABLE block (
    n    INTEGER PRIMARY KEY,
    runs BLOB                       -- NULL: Prune is about to write it
) STRICT;
CREATE TRIGGER run_added AFTER INSERT ON run BEGIN DELETE FROM block WHERE n = new.id >> 10; END;
CREATE TRIGGER run_changed AFTER UPDATE ON run WHEN old.state IN ('ended', 'dropped') BEGIN DELETE FROM block WHERE n = old.id >> 10; END;
CREATE TRIGGER run_removed AFTER DELETE ON run BEGIN DELETE FROM block WHERE n = old.id >> 10; END;

-- Skips are counted and chosen without reading their rows.
DROP INDEX occurrence_skip;
CREATE INDEX occurrence_skip ON occurrence (job, due, first, at, run) WHERE run IS NULL;
DROP INDEX occurrence_skipped;
CREATE INDEX occurrence_skipped ON occurrence (at, count, user, run) WHERE run IS NULL;
