-- What few of many runs are is found without reading all runs: those that live,
-- those that ran nothing, and those that the clock did not start.
CREATE INDEX run_live ON run (id) WHERE state NOT IN ('ended', 'dropped');
CREATE INDEX run_skipped ON run (id) WHERE state = 'dropped' AND attempt <= 1 OR verdict = 'skip';
CREATE INDEX run_trigger ON run (trigger, id) WHERE trigger <> 'clock';
