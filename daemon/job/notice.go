package job

import "time"

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
