package crontab

import (
	"slices"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
)

// Effective returns the value and the origin of each option that this version
// supports, in the order of the vocabulary. The name of an entry without name=
// is "".
func (e *Entry) Effective() []option.Option {
	said := map[string]option.Option{}
	for _, it := range e.Settings() {
		said[it.Key] = it
	}
	for _, it := range e.Options().Items { // Items has no options that an assignment overrides
		if it.Origin == option.FromSidecarDefault && e.timeless() && slices.Contains(option.TimeKeys, it.Key) {
			continue // the host's defaults about times do not apply to entries without times
		}
		said[it.Key] = it
	}
	var all []option.Option
	for _, s := range option.Vocabulary() {
		it, ok := said[s.Key]
		if !ok {
			it = option.Option{Key: s.Key, Value: e.Options().BuiltIn(s.Key)}
			switch {
			case s.Key == "tz":
				it.Value = e.Zone().String()
			case s.Key == "output-max" && e.section.file.Format != User:
				it.Value = "1M"
			}
		}
		all = append(all, it)
	}
	return all
}

// timeless reports whether the entry has no schedule of its own.
func (e *Entry) timeless() bool {
	return timetable.IsTimeless(e.Schedule) || e.section.file.Format == Anacron
}
