package api

import "github.com/cronring/cronring/daemon/job"

// Graph describes which jobs wait for and start on each other.
type Graph struct {
	V    int    `json:"v"`
	Jobs []Node `json:"jobs"` // in the order of their crontabs
}

// Node is a job of a Graph. A parent is missing from the graph if the user may not see it, or if no
// job has its name.
type Node struct {
	job.Status
	Newest *job.Run `json:"newest,omitempty"` // the newest run that ended or was dropped
	After  []Edge   `json:"after,omitempty"`  // the jobs that it waits for
	When   string   `json:"when,omitempty"`   // how many of them, as written; empty: all
	On     []Edge   `json:"on,omitempty"`     // whose end starts it
}

// Edge is a job that another waits for, or starts on.
type Edge struct {
	Job      job.ID   `json:"job"`
	Outcomes []string `json:"outcomes"` // any of these: ok, fail, skip, lost, dead; done stands for all
}
