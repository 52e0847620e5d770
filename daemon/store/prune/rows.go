package prune

// cut is one way that rows leave the history. Readers find the rows and the writer only removes
// them, so that commits wait for removals, but not for searches.
type cut struct {
	find  string // rows between the keys ?1 and ?2 in their order, ?3 at most: key, what names the row, whether it goes
	to    int64  // rows with this key and later ones stay
	args  []any  // of find, from ?4 on
	drop  string // removes the row of that name
	count *int
}

// over selects the runs that Prune may remove: no live run, not a job's newest, not the run that
// ended its newest occurrence, and no dead letter. A run that is over never becomes any of these
// again.
const over = `state IN ('ended', 'dropped') AND run.id < (SELECT max(id) FROM run AS newest WHERE newest.job = run.job)
	AND NOT EXISTS (SELECT 1 FROM ledger WHERE ledger.job = run.job AND ledger.run = run.id)
	AND NOT EXISTS (SELECT 1 FROM dead WHERE dead.run = run.id)`

// trimmable selects the runs whose variables and parents may be removed: a live run needs them, and so
// does a dead letter, which can be run again.
const trimmable = "state IN ('ended', 'dropped') AND NOT EXISTS (SELECT 1 FROM dead WHERE dead.run = run.id)"

// page selects the rows of one step, in the order of an index; gone is an expression for whether
// they are removed.
func page(key, name, gone, from string) string {
	return "SELECT " + key + ", " + name + ", " + gone + " " + from + " AND " + key + " > ?1 AND " + key + " < ?2 ORDER BY " + key + " LIMIT ?3"
}

// Where rows are found. The first value of each is a job or a user.
const (
	runsOfJob  = "FROM run WHERE job = ?4"
	skipsOfJob = "FROM occurrence WHERE job = ?4 AND run IS NULL"

	runsOfUser  = "FROM run WHERE user = ?4 AND user <> 'root'"
	skipsOfUser = "FROM occurrence WHERE user = ?4 AND user <> 'root' AND run IS NULL"
	fillsOfUser = "FROM backfill WHERE user = ?4 AND user <> 'root'"
	factsOfUser = "FROM record WHERE share = ?4 AND share <> ''"
)

const skipName = "due, job, era"

// fillOver is over for backfills: it excludes running ones and the newest.
const fillOver = "state <> 'going' AND id < (SELECT max(id) FROM backfill)"

var (
	moreRuns  = page("id", "id", "("+over+") AND (?5 = '' OR user = ?5)", runsOfJob)
	allRuns   = page("id", "id", "state IN ('ended', 'dropped')", runsOfJob)
	moreSkips = page("due", skipName, "due < ?5 OR at < ?6", skipsOfJob)

	oldRecords   = page("at", "id", "1", "FROM record WHERE true")
	oldLives     = page("seen", "id", "id < (SELECT max(id) FROM life)", "FROM life WHERE true")
	oldBackfills = page("asked", "id", fillOver, "FROM backfill WHERE true")
	letters      = `SELECT dead.run, dead.user, coalesce(octet_length(asked), 0) + coalesce(octet_length(parents), 0)
		FROM dead CROSS JOIN run ON run.id = dead.run WHERE dead.run < ? ORDER BY dead.run DESC LIMIT ?`

	moreRunsOfUser  = page("id", "id", over, runsOfUser)
	moreSkipsOfUser = page("due", skipName, "1", skipsOfUser)
	moreFillsOfUser = page("id", "id", fillOver, fillsOfUser)
	moreFactsOfUser = page("id", "id", "1", factsOfUser)
)

const (
	dropRun        = "DELETE FROM run WHERE id = ?"
	dropSkip       = "DELETE FROM occurrence WHERE due = ? AND job = ? AND era = ?"
	dropRecord     = "DELETE FROM record WHERE id = ?"
	dropLife       = "DELETE FROM life WHERE id = ?"
	dropBackfill   = "DELETE FROM backfill WHERE id = ?"
	dropDeadLetter = "DELETE FROM dead WHERE run = ?"
	dropOutput     = "DELETE FROM output WHERE run = ?"

	trim = `UPDATE run SET parents = NULL, asked = json_set(json_remove(coalesce(asked, '{}'), '$.env'), '$.trimmed', json('true'))
		WHERE id = ? AND (parents IS NOT NULL OR asked -> '$.env' IS NOT NULL) AND ` + trimmable
)
