package notify

import (
	"net/url"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// pingTimeout is for one request of ping=.
const pingTimeout = 10 * time.Second

const pingPrefix = "ping of "

// pingLane returns the lane of the requests of ping=: a user's requests to one host wait for each
// other, and for no others. The name of a channel has no blank.
func pingLane(n *job.Notice) string {
	u, err := parseURL(n.Ping)
	if err != nil {
		return pingPrefix + n.User
	}
	return pingPrefix + n.User + " to " + u.Host
}

func isPingLane(name string) bool { return strings.HasPrefix(name, pingPrefix) }

// pingBody sets the URL to the address for an event, and returns the body; nil means that the
// service gets nothing of this event. Cronitor has the state in the query. Other services have it in
// the path, like Healthchecks.io: /start, nothing for a success, and /fail.
func pingBody(m *Message, u *url.URL) []byte {
	state := map[job.NoticeOn][2]string{
		job.OnStart: {"start", "run"}, job.OnSuccess: {"", "complete"}, job.OnRecover: {"", "complete"},
		job.OnFail: {"fail", "fail"}, job.OnDead: {"fail", "fail"}, job.OnLost: {"fail", "fail"},
	}
	s, known := state[m.On]
	switch {
	case !known:
		return nil
	case u.Hostname() == "cronitor.link" || strings.HasSuffix(u.Hostname(), ".cronitor.link"):
		q := u.Query()
		q.Set("state", s[1])
		q.Set("host", m.Host)
		if s[1] == "fail" {
			q.Set("message", cut(oneLine(m.Text), 2000))
		}
		u.RawQuery = q.Encode()
	case s[0] != "":
		*u = *u.JoinPath(s[0])
	}
	return []byte(strings.TrimSpace(oneLine(m.Text) + "\n\n" + m.Output))
}
