package crontab

// Sidecar is what the daemon's configuration says of entries: options beside
// those that stand in the tables. It must not be changed while it is in use.
type Sidecar struct {
	Default []Setting            // of each entry; below all that its table says
	Jobs    map[string]JobConfig // by name=; above all that its table says
	Matches []Match              // likewise; a later one wins over an earlier one, and Jobs over both
}

// Setting is one option of a Sidecar.
type Setting struct {
	Key, Value string
	File       string // where it stands
	Line       int
}

// JobConfig is the options of one job. A table that is not root's may name an
// entry as it likes: such an entry gets only what is meant for its account.
type JobConfig struct {
	User string // account whose entries are meant; "": those of root's tables
	Set  []Setting
}

// Match gives options to entries that have no name. Its empty fields match
// all; at least one is not empty.
type Match struct {
	File    string // the table's name, or a pattern as path.Match has it
	User    string // the account that the entry runs as
	Command string // the whole command, or a pattern with * for any text
	Set     []Setting
}
