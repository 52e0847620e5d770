package actions

import (
	"cmp"
	"fmt"
	"time"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/engine/event"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// note records for the audit log what an event did that the engine did not refuse.
func note(c *call.Call, e event.Event, a effect.Answer) {
	did := func(what string, id job.ID, user, why, before, after string) {
		c.Did(job.Action{What: what, Subject: string(id), Owner: user, Why: why, Before: before, After: after})
	}
	ofJob := func(what string, id job.ID, why, before, after string) {
		user := ""
		if i, ok := c.View.Find(id); ok {
			user = c.View.Entry(i).User()
		}
		did(what, id, user, why, before, after)
	}
	switch e := e.(type) {
	case event.RunNow:
		after := ""
		if len(a.Runs) > 0 {
			after = "run " + a.Runs[0].ID.String()
		}
		if e.Force {
			after += ", forced"
		}
		ofJob("run", e.Job, "", "", after)
	case event.Emit:
		did("emit", job.ID(e.Name), e.User, "", "", display.Count(len(a.Runs), "run"))
	case event.Stop:
		for i := range a.Runs {
			r := &a.Runs[i]
			did("stop", r.Job, r.User, "", "run "+r.ID.String()+", "+r.ResultOrState(), stopText(r.Stop))
		}
	case event.Pause:
		what := "pause"
		if e.Hold.Skips {
			what = "skip"
		}
		ofJob(what, e.Job, e.Hold.Reason.Words(), pauseText(c, e.Job), holdText(&e.Hold))
	case event.Resume:
		ofJob("resume", e.Job, "", pauseText(c, e.Job), "not paused")
	case event.Ack:
		ofJob("ack", e.Job, e.Seen.Reason, "failing", fmt.Sprintf("run %d acknowledged", e.Seen.Run))
	case event.Unack:
		ofJob("unack", e.Job, "", "acknowledged", "failing")
	case event.Redrive:
		after := ""
		if len(a.Runs) > 0 {
			after = "run " + a.Runs[0].ID.String()
		}
		did("retry", e.Dead.Job, e.Dead.User, "", "run "+e.Dead.ID.String()+", "+e.Dead.ResultOrState(), after)
	case event.Bury:
		did("drop", e.Dead.Job, e.Dead.User, "", "run "+e.Dead.ID.String()+", "+e.Dead.ResultOrState(), "no dead letter")
	case event.Backfill:
		did("backfill", a.Backfill.Job, a.Backfill.User, "", "", fmt.Sprintf("backfill %d, from %s to %s",
			a.Backfill.ID, a.Backfill.From.Format(time.RFC3339), a.Backfill.To.Format(time.RFC3339)))
	case event.StopBackfill:
		did("stop", a.Backfill.Job, a.Backfill.User, "", fmt.Sprintf("backfill %d", a.Backfill.ID), "stopped")
	}
}

func stopText(s *job.Stop) string {
	if s == nil {
		return "stopped"
	}
	return "stopped " + s.Detail().Words()
}

// pauseText describes the pause of a job at the beginning of the request.
func pauseText(c *call.Call, id job.ID) string {
	i, ok := c.View.Find(id)
	if !ok {
		return ""
	}
	if h := cmp.Or(c.View.Hold(i), c.View.PlannedPause(i)); h != nil {
		return holdText(h) + ", by " + h.By
	}
	return "not paused"
}

func holdText(h *job.Hold) string {
	text := "paused"
	if h.Skips {
		text = "skips occurrences"
	}
	if !h.From.IsZero() {
		text += " from " + h.From.Format(time.RFC3339)
	}
	if !h.Until.IsZero() {
		text += " until " + h.Until.Format(time.RFC3339)
	}
	return text
}
