package job

import (
	"fmt"
	"strings"
	"time"
)

// Emission is an event that a user has emitted, with how often.
type Emission struct {
	User  string    `json:"user"`
	Name  string    `json:"name"`
	Times int64     `json:"times"`
	Last  time.Time `json:"last"`
}

// EventEnv returns the variables of runs that an event starts: CRONRING_EVENT_NAME=value for each
// NAME=value that was emitted with it. Because of the prefix, a user who may emit the event cannot set
// PATH or another variable that changes what the job does.
func EventEnv(values []string) ([]string, error) {
	env := make([]string, len(values))
	for i, v := range values {
		name, value, ok := strings.Cut(v, "=")
		if !ok {
			return nil, fmt.Errorf("%.40q is not NAME=value", v)
		}
		env[i] = EventPrefix + strings.ToUpper(name) + "=" + value
		if strings.EqualFold(name, "user") {
			return nil, fmt.Errorf("%s has the user whose event it is", EventUser)
		}
	}
	return env, checkEnv(env)
}

// The variables of runs that events start.
const (
	EventVariable = "CRONRING_EVENT" // the name of the event
	EventPrefix   = EventVariable + "_"
	EventUser     = EventPrefix + "USER" // whose event it is
	PathsVariable = "CRONRING_PATHS"     // the files that arrived, one on each line
)
