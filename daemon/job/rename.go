package job

// Rename is a job whose ID does not contain its owner yet, as in a database of
// version 0.7 or before, and its ID of today.
type Rename struct {
	Old, New ID
	User     string // that it runs as
}

// Renames finds the IDs of today for those of version 0.7 or before. An ID of
// then can have been that of several users' jobs, one after the other.
type Renames struct {
	All   []Rename
	byOld map[ID]Rename
	known map[ID]bool // the new IDs
}

// NewRenames makes Renames of a list in which no Old and no New occurs twice.
func NewRenames(all []Rename) *Renames {
	r := &Renames{All: all, byOld: make(map[ID]Rename, len(all)), known: make(map[ID]bool, len(all))}
	for _, x := range all {
		r.byOld[x.Old], r.known[x.New] = x, true
	}
	return r
}

// Settle corrects what the crontabs say by what the history knows: the user that
// each of its jobs ran as last, or "". If a crontab that claims a name is younger
// than the history, the name still belongs to the user whose job it was.
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
			continue // that user has no such job any more
		}
		if _, written := last[r.All[k].Old]; written {
			continue // it went by another ID since
		}
		own, other := &r.All[i], &r.All[k]
		own.New, other.New, own.User, other.User = other.New, own.New, other.User, own.User
		at[own.New], at[other.New] = i, k
		r.byOld[own.Old], r.byOld[other.Old] = *own, *other
	}
}

// Of returns the ID of what a user's job with the ID id left behind. If user is
// "", it belongs to whose job had the ID last.
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

// Run renames the job of a run.
func (r *Renames) Run(x *Run) {
	x.Job = r.Of(x.Job, x.User)
	for i := range x.Parents {
		x.Parents[i].Job = r.Of(x.Parents[i].Job, x.User)
	}
}

// Record renames the job of a record, and of what it is about.
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
