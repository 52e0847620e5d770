package timetable

import "time"

// Blackout is a time in which a host starts no jobs: on certain hours of the week,
// from one instant until another, or both.
type Blackout struct {
	Name    string
	Reason  string // for people
	Allowed *Hours // times outside of it; nil: none
	From    time.Time
	Until   time.Time // zero: no end
}

// Ends returns t if it is not in b, else the end of b; the zero Time if it has none.
func (b *Blackout) Ends(t time.Time) time.Time {
	if t.Before(b.From) || !b.Until.IsZero() && !t.Before(b.Until) {
		return t
	}
	if b.Allowed == nil {
		return b.Until
	}
	ends := b.Allowed.Opens(t)
	if !b.Until.IsZero() && (ends.IsZero() || b.Until.Before(ends)) {
		return b.Until
	}
	return ends
}

// String returns the name and the reason.
func (b *Blackout) String() string {
	if b.Reason == "" {
		return "blackout." + b.Name
	}
	return "blackout." + b.Name + ": " + b.Reason
}

// Blackouts are those of a host.
type Blackouts []Blackout

// mostTurns limits the search for a time that hours and all blackouts allow.
const mostTurns = 1000

// Opens returns t if it is in hours, where nil means any time, and in no blackout;
// else the next such instant, and the blackout or hours that t is against. It is the
// zero Time if there is none.
func (all Blackouts) Opens(hours *Hours, t time.Time) (opens time.Time, against string) {
	opens = t
	for range mostTurns {
		before := opens
		for i := range all {
			if ends := all[i].Ends(opens); !ends.Equal(opens) {
				if opens = ends; against == "" {
					against = all[i].String()
				}
			}
			if opens.IsZero() {
				return opens, against
			}
		}
		if hours != nil {
			if next := hours.Opens(opens); !next.Equal(opens) {
				if opens = next; against == "" {
					against = hours.String()[1:]
				}
			}
		}
		if opens.Equal(before) || opens.IsZero() {
			return opens, against
		}
	}
	return time.Time{}, against
}
