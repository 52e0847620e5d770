package editor

import (
	"context"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/edit"
	"github.com/cronring/cronring/tui/screen"
)

// looked holds what takes a while to compute for an entry.
type looked struct {
	key     string
	outlook edit.Outlook
}

// consider finds out about the entry under the cursor, if that is another one.
func (e *Editor) consider(w *screen.World) []screen.Effect {
	e.about = e.entry()
	key := ""
	if e.about != nil {
		key = timetable.Identity(e.about.Schedule) + "\n" + e.about.Spec()
	}
	if key == e.look {
		return nil
	}
	e.look, e.outlook, e.clash, e.clashed = key, nil, nil, false
	if e.about == nil {
		return []screen.Effect{screen.Forget{Slot: slotLook}, screen.Forget{Slot: slotClash}}
	}
	entry, checked, now := e.about, e.checked, w.Now
	effects := []screen.Effect{screen.Ask{Slot: slotLook, Call: func(context.Context, screen.Daemon) (any, error) {
		return looked{key, checked.LookAhead(entry, now)}, nil
	}}}
	next := entry.Schedule.Next(now)
	if next.IsZero() || next.After(now.AddDate(0, 0, 7)) {
		return append(effects, screen.Forget{Slot: slotClash})
	}
	from := next.Truncate(time.Minute)
	return append(effects, screen.Ask{Slot: slotClash, Call: func(ctx context.Context, d screen.Daemon) (any, error) {
		return d.Clashes(ctx, api.ClashQuery{From: from, To: from.Add(time.Minute), Least: 1, Limit: 1})
	}})
}

// entry returns the entry at the cursor, or nil.
func (e *Editor) entry() *crontab.Entry {
	return e.checked.About(e.buffer.Cursor().Line+1, func(line int) (string, bool) {
		if line > e.buffer.Len() {
			return "", false
		}
		return e.buffer.Line(line - 1), true
	})
}

func (e *Editor) tookClash(a screen.Answer) {
	clashes, ok := a.Value.(api.Clashes)
	if e.clashed = ok && a.Err == nil; e.clashed && len(clashes.Clashes) > 0 {
		e.clash = &clashes.Clashes[0]
	}
}
