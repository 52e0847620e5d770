package job

import "time"

// Notice is a happening that channels are to be told of. The engine decides
// that there is one; how it is told is not its business.
type Notice struct {
	At       time.Time `json:"at"`
	On       NoticeOn  `json:"on"`
	Job      ID        `json:"job"`
	User     string    `json:"user"`
	Due      time.Time `json:"due,omitzero"`
	Reason   Reason    `json:"reason,omitempty"`
	Text     string    `json:"text"`             // one sentence: what happened
	Streak   int       `json:"streak,omitempty"` // failures in a row, this one included
	Run      *Run      `json:"run,omitempty"`
	Channels []string  `json:"channels,omitempty"`
}

// NoticeOn is the closed list of happenings, as notify-on= names them.
type NoticeOn string

// The happenings.
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
)
