package job

import (
	"fmt"
	"strings"
	"time"
)

// Notice is an event that channels must be notified of. The engine only decides that it happened;
// package notify delivers it.
type Notice struct {
	At       time.Time `json:"at"`
	On       NoticeOn  `json:"on"`
	Job      ID        `json:"job"`
	User     string    `json:"user"`
	Due      time.Time `json:"due,omitzero"`
	Reason   Reason    `json:"reason,omitempty"`
	Text     string    `json:"text"`             // one sentence: what happened
	Desc     string    `json:"desc,omitempty"`   // what the job is for (desc=)
	Contact  string    `json:"owner,omitempty"`  // whom to ask about it (owner=)
	Streak   int       `json:"streak,omitempty"` // failures in a row, this one included
	Run      *Run      `json:"run,omitempty"`
	Channels []string  `json:"channels,omitempty"`
	Ping     string    `json:"ping,omitempty"` // the URL of ping=, instead of channels: no other recipient gets this notice
}

// NoticeOn is the closed list of events that notify-on= names.
type NoticeOn string

// The events.
const (
	OnFail    NoticeOn = "fail"
	OnDead    NoticeOn = "dead"
	OnLost    NoticeOn = "lost"
	OnMissed  NoticeOn = "missed"
	OnLate    NoticeOn = "late"
	OnRecover NoticeOn = "recover"
	OnSuccess NoticeOn = "success"
	OnStart   NoticeOn = "start"
	OnHeld    NoticeOn = "held"
	OnOdd     NoticeOn = "odd"
)

// The words of notices. The engine passes facts to these functions and composes no text itself.

// NoticeText returns the text of a notice about a run of a job: what happened, to which occurrence, and
// an addition, or "".
func NoticeText(id ID, what, occurrence, addition string) string {
	return fmt.Sprintf("%s %s (%s)%s.", id, what, occurrence, addition)
}

// What happened.
const (
	NoticeStarted string = "started"
	NoticeLost    string = "was lost: how its run ended is not known"
)

func NoticeFailed(how string) string            { return "failed: " + how }
func NoticeDead(how string) string              { return NoticeFailed(how) + ", and its run is a dead letter" }
func NoticePaused(how string) string            { return NoticeFailed(how) + ", and the job is paused" }
func NoticeSucceeded(took time.Duration) string { return "succeeded in " + seconds(took) }

func NoticeBehind(by time.Duration) string {
	return "is late by " + seconds(by)
}

func NoticeStartedLate(by time.Duration) string {
	return "is late: it started " + seconds(by) + " after its time"
}

func NoticeNotStarted(maxLate time.Duration) string {
	return fmt.Sprintf("is late: it has not started %s after its time", maxLate)
}

func NoticeRunsLong(maxRun time.Duration) string {
	return fmt.Sprintf("is late: it has been running for %s, as long as max-run= allows", maxRun)
}

// NoticeRecovered describes a success after failures in a row, or after other trouble.
func NoticeRecovered(failures int) string {
	after := ""
	switch {
	case failures == 1:
		after = " after a failure"
	case failures > 1:
		after = fmt.Sprintf(" after %d failures in a row", failures)
	}
	return "recovered: it succeeded" + after
}

// Additions.

func NoticeState(state string) string   { return ": " + state }
func NoticeBreaker(until string) string { return "; breaker= holds it until " + until }

// Texts of notices that are not about a run.

// NoticeHeld describes why a job is held. why is a clause or a sentence.
func NoticeHeld(id ID, why string) string {
	return fmt.Sprintf("%s is held: %s.", id, strings.TrimSuffix(why, "."))
}

// NoticeDegraded describes which option has no effect, and why. why is a clause or a sentence.
func NoticeDegraded(id ID, why string) string {
	return fmt.Sprintf("%s runs without some of its options: %s.", id, strings.TrimSuffix(why, "."))
}

func NoticeMissed(id ID, due, why string) string {
	return fmt.Sprintf("%s will not run as due %s: %s", id, due, why)
}

func NoticeMissedSeveral(id ID, count int, first, last, why string) string {
	return fmt.Sprintf("%s will not run %d times from %s to %s: %s", id, count, first, last, why)
}

func NoticeNoSuccess(id ID, expect time.Duration, since string) string {
	return fmt.Sprintf("%s has had no success within expect=%s, since %s.", id, expect, since)
}

func NoticeLastSuccess(id ID, expect time.Duration, last string) string {
	return fmt.Sprintf("%s has had no success within expect=%s: the last was at %s.", id, expect, last)
}

// Warnings in Status.Problem, until a success or a run on time ends them.
const (
	WarnNoSuccess string = "no success within the time that expect= gives"
	WarnLate      string = "a run was later than max-late= or longer than max-run=, and none has been in time since"
)

// DescribeOccurrence describes the occurrence of a run, with its times in zone: the run's number, when it
// was due, its attempt and its end.
func (r *Run) DescribeOccurrence(zone *time.Location) string {
	text := fmt.Sprintf("run %d, due %s", r.ID, FormatTime(r.Due, zone))
	if r.Attempt > 1 {
		text += fmt.Sprintf(", attempt %d", r.Attempt)
	}
	if !r.Ended.IsZero() {
		text += ", ended " + FormatTime(r.Ended, zone)
	}
	return text
}

// DescribeFailure describes the failure of an occurrence.
func (r *Run) DescribeFailure() string {
	if r.State == RunDropped {
		return "its next attempt was dropped: " + string(r.Reason)
	}
	return r.Result()
}

// FormatTime formats a time in zone.
func FormatTime(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("Mon 2 Jan 2006 15:04:05 MST")
}
