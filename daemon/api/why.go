package api

import (
	"slices"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Why explains what happened to one occurrence of a job. It always has the same eight steps, and
// those of if= and after= if the entry has them, in the same order. The first crossed step decides.
type Why struct {
	V        int          `json:"v"`
	Job      job.ID       `json:"job"`
	Crontab  string       `json:"crontab"`
	Line     int          `json:"line"`
	At       time.Time    `json:"at"`   // the occurrence, or the instant asked about
	Zone     string       `json:"zone"` // the zone of the schedule
	Ran      bool         `json:"ran"`
	Verdict  string       `json:"verdict"` // one or two sentences
	Decision job.Decision `json:"decision,omitempty"`
	Reason   job.Reason   `json:"reason,omitempty"`
	Run      *job.Run     `json:"run,omitempty"`
	Steps    []Step       `json:"steps"` // eight to ten
	Facts    []string     `json:"facts,omitempty"`
	Remedies []Remedy     `json:"remedies,omitempty"`
}

// Sum returns Passed if the occurrence ran well, Crossed if it did not start or failed, and neither
// if it is yet to come or waits.
func (w *Why) Sum() StepState {
	crossed := func(s Step) bool { return s.State == Crossed }
	switch {
	case w.Run != nil && w.Run.Failed(), !w.Ran && slices.ContainsFunc(w.Steps, crossed):
		return Crossed
	case w.Ran:
		return Passed
	}
	return NotReached
}

// Step is one link of the chain.
type Step struct {
	Name  job.Step  `json:"step"`
	State StepState `json:"state"`
	Fact  string    `json:"fact"` // one sentence, or what was not reached
}

// StepState is the progress of the occurrence in a step.
type StepState string

// The states of a step. After the first crossed one nothing is reached.
const (
	Passed     StepState = "passed"
	Crossed    StepState = "crossed"
	NotReached StepState = "not-reached"
)

// Remedy is something to do about it.
type Remedy struct {
	What    string `json:"what"`
	Command string `json:"command"` // for a shell, or the edit to make
}
