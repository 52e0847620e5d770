package option

import (
	"fmt"
	"path"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// Triggers are the events in on= that start runs, other than the ends of other jobs' runs.
type Triggers struct {
	Boot   bool
	Resume bool          // the host wakes from a suspend
	Clock  bool          // the clock of the host is set
	Files  []string      // patterns of absolute paths: a file that matches one is created, or closed after writing
	Events []EventSource // a user emits one of these
}

// EventSource is an event in on=.
type EventSource struct {
	User string // who must emit it; "": the user of the job, or an administrator
	Name string
}

func (s EventSource) String() string {
	if s.User == "" {
		return s.Name
	}
	return s.User + "/" + s.Name
}

// Matches reports whether the event that a user emits starts a job of user own.
func (s EventSource) Matches(name, user string, admin bool, own string) bool {
	switch {
	case s.Name != name:
		return false
	case s.User == "":
		return admin || user == own
	}
	return s.User == user
}

// MaxTriggers is the highest number of files, and of events, in on=.
const MaxTriggers = 100

// longestPath is the longest pattern in bytes.
const longestPath = 4000

// starters is the parsed value of after= or on=.
type starters struct {
	edges    []Edge
	triggers *Triggers // nil: none
}

// parseOn reads job:NAME[:outcome,...], file:PATTERN, event:[USER/]NAME, boot, resume and clock,
// with commas between. An item that is none of these is a further outcome of the job before it.
func parseOn(text string) (starters, error) {
	var (
		e       edges
		t       Triggers
		further bool // the item before is an outcome of a job
	)
	for item := range strings.SplitSeq(text, ",") {
		var err error
		switch name, isJob := strings.CutPrefix(item, "job:"); {
		case isJob:
			further, err = e.addItem(name)
		case further && outcomes[item] != 0:
			e.list[len(e.list)-1].Outcomes |= outcomes[item]
		default:
			further, err = false, t.add(item, further)
		}
		if err != nil {
			return starters{}, err
		}
	}
	if t.isEmpty() {
		return starters{edges: e.list}, nil
	}
	return starters{e.list, &t}, nil
}

// addItem adds NAME or NAME:outcome, and reports whether it has an outcome.
func (e *edges) addItem(text string) (given bool, err error) {
	name, word, given := strings.Cut(text, ":")
	outcome := OutcomeOK
	if given {
		if outcome, err = oneOf(word, outcomes); err != nil {
			return false, err
		}
	}
	return given, e.add(name, outcome)
}

// add adds an event. afterOutcome reports whether the item could also be an outcome.
func (t *Triggers) add(item string, afterOutcome bool) error {
	kind, value, _ := strings.Cut(item, ":")
	switch {
	case item == "boot":
		t.Boot = true
	case item == "resume":
		t.Resume = true
	case item == "clock":
		t.Clock = true
	case kind == "file":
		return t.addFile(value)
	case kind == "event":
		return t.addEvent(value)
	case afterOutcome:
		_, err := oneOf(item, outcomes)
		return err
	default:
		return fmt.Errorf("%s is not job:NAME, file:PATTERN, event:NAME, boot, resume or clock", diagnostic.Quote(item))
	}
	return nil
}

func (t *Triggers) addFile(pattern string) error {
	if err := checkText(pattern); err != nil {
		return err
	}
	_, err := path.Match(pattern, "")
	switch {
	case err != nil:
		return fmt.Errorf("%s is not a valid pattern", diagnostic.Quote(pattern))
	case len(pattern) > longestPath:
		return fmt.Errorf("the pattern has more than %d bytes", longestPath)
	case !path.IsAbs(pattern) || path.Clean(pattern) != pattern || pattern == "/":
		return fmt.Errorf("%s is not a path that begins with /, with no empty part, . or .. in it", diagnostic.Quote(pattern))
	case len(t.Files) == MaxTriggers:
		return fmt.Errorf("more than %d patterns of files", MaxTriggers)
	}
	t.Files = append(t.Files, pattern)
	return nil
}

func (t *Triggers) addEvent(text string) error {
	if err := CheckReference(text); err != nil {
		return err
	}
	if len(t.Events) == MaxTriggers {
		return fmt.Errorf("more than %d events", MaxTriggers)
	}
	user, name, full := strings.Cut(text, "/")
	if !full {
		user, name = "", text
	}
	t.Events = append(t.Events, EventSource{user, name})
	return nil
}

func (t *Triggers) isEmpty() bool {
	return !t.Boot && !t.Resume && !t.Clock && len(t.Files)+len(t.Events) == 0
}

// IsStartedByEvents reports whether on= starts the entry, so that its time fields do not.
func (o *Options) IsStartedByEvents() bool { return len(o.On) > 0 || o.Triggers != nil }

// StartsAtBoot reports whether on=boot starts the entry.
func (o *Options) StartsAtBoot() bool { return o.Triggers != nil && o.Triggers.Boot }
