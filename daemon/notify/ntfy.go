package notify

import (
	"net/url"
	"path"
	"strings"

	"github.com/cronring/cronring/daemon/job"
)

// ntfyMessage is the body of ntfy ("Publish as JSON" in docs.ntfy.sh/publish).
type ntfyMessage struct {
	Topic    string   `json:"topic"`
	Title    string   `json:"title"`
	Message  string   `json:"message"`
	Priority int      `json:"priority"` // 1 to 5; 3 is the default
	Tags     []string `json:"tags"`
}

// topicOf returns an escaped part of a URL with a hyphen for each character that a topic must not
// have, such as the slash in the name of a user's job.
func topicOf(part string) string {
	text, _ := url.PathUnescape(part) // parsed before
	return strings.Map(func(r rune) rune {
		if !wordRune(r) {
			return '-'
		}
		return r
	}, text)
}

// newNtfyMessage moves the topic from the end of the URL into the body, because that is where JSON is
// accepted.
func newNtfyMessage(m *Message, u *url.URL) ntfyMessage {
	topic := topicOf(path.Base(u.EscapedPath()))
	*u = *u.JoinPath("..")
	n := ntfyMessage{Topic: topic, Title: oneLine(string(m.Job)) + " on " + m.Host, Message: oneLine(m.Text), Priority: 4, Tags: []string{"warning"}}
	switch {
	case m.On == job.OnDead || m.On == job.OnLost:
		n.Priority = 5
	case m.isGood():
		n.Priority, n.Tags = 3, []string{"white_check_mark"}
	}
	if m.Output != "" {
		n.Message += "\n\n" + m.Output
	}
	n.Message = cut(n.Message, 1000) // ntfy makes an attachment of more than 4096 bytes
	return n
}
