package notify

import (
	"time"

	"github.com/cronring/cronring/daemon/job"
)

const pagerDutyURL = "https://events.pagerduty.com/v2/enqueue"

// pagerDutyEvent is the body of the Events API v2 (developer.pagerduty.com, "Send an event to
// PagerDuty").
type pagerDutyEvent struct {
	RoutingKey string            `json:"routing_key"`
	Action     string            `json:"event_action"`
	Dedup      string            `json:"dedup_key"`
	Client     string            `json:"client"`
	Payload    *pagerDutyPayload `json:"payload,omitempty"`
}

type pagerDutyPayload struct {
	Summary   string            `json:"summary"`
	Source    string            `json:"source"`
	Severity  string            `json:"severity"`
	Timestamp string            `json:"timestamp"`
	Component string            `json:"component"`
	Class     string            `json:"class"`
	Details   map[string]string `json:"custom_details"`
}

// The limits of PagerDuty, in characters.
const (
	longestDedup   = 255
	longestSummary = 1024
)

// newPagerDutyEvent opens an incident of the job, or resolves it after a success. A start changes no
// incident: it returns nil.
func newPagerDutyEvent(m *Message, key string) *pagerDutyEvent {
	e := &pagerDutyEvent{RoutingKey: key, Action: "trigger", Client: "cronring", Dedup: cut(m.Host+"/"+string(m.Job), longestDedup)}
	switch {
	case m.On == job.OnStart:
		return nil
	case m.isGood():
		e.Action = "resolve"
		return e
	}
	severity := map[job.NoticeOn]string{job.OnLate: "warning", job.OnMissed: "warning", job.OnHeld: "warning", job.OnOdd: "warning", job.OnDead: "critical"}[m.On]
	if severity == "" {
		severity = "error"
	}
	e.Payload = &pagerDutyPayload{
		Summary: cut(m.headline(), longestSummary), Source: m.Host, Severity: severity, Timestamp: m.At.UTC().Format(time.RFC3339),
		Component: string(m.Job), Class: string(m.On), Details: map[string]string{},
	}
	for _, f := range m.facts() {
		if f.value != "" {
			e.Payload.Details[f.name] = f.value
		}
	}
	if m.Output != "" {
		e.Payload.Details["Output"] = m.Output
	}
	return e
}
