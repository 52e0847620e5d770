package catalog

import (
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/job"
)

// IsHere reports whether host= allows a job to run on a host with that name. host= may
// contain names with or without the domain.
func IsHere(o *option.Options, host string) bool {
	if o.Hosts == nil {
		return true
	}
	short, _, _ := strings.Cut(host, ".")
	return slices.ContainsFunc(o.Hosts, func(name string) bool {
		return strings.EqualFold(name, host) || strings.EqualFold(name, short)
	})
}

// Misfit returns why need= or avoid= excludes a host with these labels, or "".
func Misfit(o *option.Options, labels map[string]string) job.Detail {
	for _, l := range o.Need {
		if labels[l.Key] != l.Value {
			return job.DetailNeed(l.Key, l.Value)
		}
	}
	for _, l := range o.Avoid {
		if value, ok := labels[l.Key]; ok && value == l.Value {
			return job.DetailAvoid(l.Key, l.Value)
		}
	}
	return ""
}
