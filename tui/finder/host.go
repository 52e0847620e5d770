package finder

import (
	"strings"

	"github.com/cronring/cronring/tui/find"
)

// hostWord is the command that opens the dashboard of another host.
const hostWord = "host"

// hosts returns the hosts that a name can mean, the best first; without a name, all.
func (f *Finder) hosts(name string) []Candidate {
	var found []Candidate
	if name == "" {
		for _, host := range f.Hosts {
			found = append(found, hostNamed(host))
		}
		return found
	}
	for _, m := range find.Best(name, func(yield func(text, lower string) bool) {
		for _, host := range f.Hosts {
			if !yield(host, strings.ToLower(host)) {
				return
			}
		}
	}) {
		c := hostNamed(m.Text)
		c.Letters = shifted(m.Letters, len(hostWord)+1)
		found = append(found, c)
	}
	if len(found) == 0 {
		c := hostNamed(name)
		c.Refusal = "no host is called " + name + "; a [[host]] of the settings makes it known"
		found = append(found, c)
	}
	return found
}

func hostNamed(name string) Candidate {
	return Candidate{Kind: KindHost, Name: name, Help: "open its dashboard"}
}
