package job

// Rename maps the ID of a job in a database of version 0.7 or before, which does not contain the
// owner, to its current ID.
type Rename struct {
	Old, New ID
	User     string // that it runs as
}

// Renames maps IDs of version 0.7 or before to current ones. Several users' jobs can have had the
// same old ID, one after the other.
type Renames struct {
	All   []Rename
	byOld map[ID]Rename
	known map[ID]bool // the new IDs
}

// NewRenames makes Renames from a list in which each Old and each New is unique.
func NewRenames(all []Rename) *Renames {
	r := &Renames{All: all, byOld: make(map[ID]Rename, len(all)), known: make(map[ID]bool, len(all))}
	for _, x := range all {
		r.byOld[x.Old], r.known[x.New] = x, true
	}
	return r
}

// Settle corrects the list by the history: last is the user that each of its jobs last ran as, or
// "". If the crontab that claims a name is newer than the history, the name still belongs to the
// user whose job it was.
func (r *Renames) Settle(last map[ID]string) {
	at := make(map[ID]int, len(r.All)) // by New
	for i, x := range r.All {
		at[x.New] = i
	}
	for i, x := range r.All {
		user := last[x.Old]
		if user == "" || user == x.User {
			continue
		}
		k, ok := at[NewID(user, string(x.Old))]
		if !ok {
			continue // that user's job no longer exists
		}
		if _, written := last[r.All[k].Old]; written {
			continue // it has used another ID since then
		}
		own, other := &r.All[i], &r.All[k]
		own.New, other.New, own.User, other.User = other.New, own.New, other.User, own.User
		at[own.New], at[other.New] = i, k
		r.byOld[own.Old], r.byOld[other.Old] = *own, *other
	}
}

// Of returns the current ID for an old ID of a user's job. If user is "", it is the ID for the last
// user whose job had the old ID.
func (r *Renames) Of(id ID, user string) ID {
	x, ok := r.byOld[id]
	if ok && (user == "" || user == x.User) {
		return x.New
	}
	if own := NewID(user, string(id)); r.known[own] { // another user's job had the name meanwhile
		return own
	}
	return id
}

// Run updates the ID in a run.
func (r *Renames) Run(x *Run) {
	x.Job = r.Of(x.Job, x.User)
	for i := range x.Parents {
		x.Parents[i].Job = r.Of(x.Parents[i].Job, x.User)
	}
}

// Record updates the IDs in a record.
func (r *Renames) Record(x *Record) {
	user := x.User
	if x.Hold != nil {
		user = x.Hold.User
	}
	if x.Backfill != nil {
		user = x.Backfill.User
		x.Backfill.Job = r.Of(x.Backfill.Job, user)
	}
	if x.Run != nil {
		user = x.Run.User
		r.Run(x.Run)
	}
	x.Job = r.Of(x.Job, user)
}
