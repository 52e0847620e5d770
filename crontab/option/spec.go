package option

import (
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// Spec describes one option.
type Spec struct {
	Key     string
	Values  string // description of the values
	Form    string // placeholder for a value in a list of options, such as DURATION
	Default string // default in a few words
	BuiltIn string // its value, see Options.BuiltIn
	Guard   bool   // running the entry without it would be unsafe, so an invalid value holds the entry
	Same    string // the value with the same effect as no option in a plain cron
	Meaning string
	Loss    string // what an entry does under a plain cron, which ignores the option

	apply func(*Plan, string) error
}

// Loses reports whether a plain cron, which ignores the option, runs the entry in
// another way.
func (s *Spec) Loses(value string) bool {
	return s.Loss != nothingLost && s.Same != value
}

// Meant returns the valid value that the author of an invalid one probably meant,
// or "".
func (s *Spec) Meant(value string) string {
	if s.Values == aDuration && strings.Trim(value, "0123456789") == "" {
		if _, err := ParseDuration(value + "s"); err == nil {
			return value + "s"
		}
	}
	return diagnostic.Nearest(value, strings.Split(s.Values, ", "))
}

// IsAnswer reports whether the values are yes and no, so that the key alone means yes.
func (s *Spec) IsAnswer() bool { return s.Values == yesNo }

// groups are the first options of the groups, in the order of the vocabulary.
var groups = map[string]string{
	"name": "Name and description", "tz": "When", "grace": "Late, missed and overlapping runs", "after": "Conditions",
	"timeout": "Running and failing", "priority": "Order and limits", "log": "Output and notifications", "scope": "Ring",
}

// Group returns the title of the group that an option begins, or "".
func (s *Spec) Group() string { return groups[s.Key] }

// Vocabulary returns all options.
func Vocabulary() []Spec { return slices.Clone(vocabulary) }

// vocabularyByKey is the index of vocabulary.
var vocabularyByKey = func() map[string]*Spec {
	m := make(map[string]*Spec, len(vocabulary))
	for i := range vocabulary {
		m[vocabulary[i].Key] = &vocabulary[i]
	}
	return m
}()

// Find returns the option with a key, or nil.
func Find(key string) *Spec { return vocabularyByKey[key] }

// IsKey reports whether word is the key of an option, or another name for it.
func IsKey(word string) bool {
	_, alias := KeyAliases[word]
	return alias || vocabularyByKey[word] != nil
}

// NearestKey returns the key that was probably meant by an unknown one, or "".
func NearestKey(word string) string {
	keys := make([]string, len(vocabulary))
	for i := range vocabulary {
		keys[i] = vocabulary[i].Key
	}
	return diagnostic.Nearest(word, keys)
}

// KeyAliases are the names of options in other schedulers. The parser accepts
// them; no command writes them.
var KeyAliases = map[string]string{
	"concurrencyPolicy":       "overlap",  // Kubernetes
	"startingDeadlineSeconds": "deadline", // Kubernetes, in seconds
	"timeZone":                "tz",       // Kubernetes
	"misfire":                 "catchup",  // Quartz
	"misfire-policy":          "catchup",
	"AFTER":                   "after",    // dcron
	"overlap-policy":          "overlap",  // Temporal
	"catchup-window":          "deadline", // Temporal
}

// ValueAliases are other schedulers' words for values.
var ValueAliases = map[string]map[string]string{
	"overlap": {
		"Allow": "allow", "Forbid": "skip", "Replace": "replace", // Kubernetes
		"AllowAll": "allow", "Skip": "skip", "BufferOne": "queue", "BufferAll": "queue-all", // Temporal
		"CancelOther": "replace", "TerminateOther": "kill",
	},
	"catchup": {
		"Skip": "skip", "FireOnceNow": "once", "FireAllMissed": "all",
		"DO_NOTHING": "skip", "FIRE_ONCE_NOW": "once", "IGNORE": "all", // Quartz
	},
}

// Unalias replaces aliases of a key and its value.
func Unalias(key, value string) (string, string) {
	if key == "startingDeadlineSeconds" {
		value += "s"
	}
	if own, ok := KeyAliases[key]; ok {
		key = own
	}
	if own, ok := ValueAliases[key][value]; ok {
		value = own
	}
	return key, value
}
