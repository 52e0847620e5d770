package settings

import (
	"fmt"
	"slices"
	"strings"
)

// setHosts adds the valid hosts, and describes the first invalid one.
func (s *Settings) setHosts(value any) (why string) {
	tables, ok := value.([]map[string]any)
	if !ok {
		return "invalid host: expected [[host]] with name and address"
	}
	for i, t := range tables {
		h, err := hostOf(t)
		if err == "" && slices.ContainsFunc(s.Hosts, func(o Host) bool { return o.Name == h.Name }) {
			err = fmt.Sprintf("a second host has the name %q", h.Name)
		}
		switch {
		case err == "":
			s.Hosts = append(s.Hosts, h)
		case why == "":
			why = fmt.Sprintf("[[host]] number %d: %s", i+1, err)
		}
	}
	return why
}

func hostOf(t map[string]any) (h Host, why string) {
	for key, value := range t {
		text, ok := value.(string)
		if !ok || text == "" || text[0] == '-' || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r == 0x7f }) {
			return h, fmt.Sprintf("invalid %q: expected text without spaces that does not begin with -", key)
		}
		switch key {
		case "name":
			h.Name = text
		case "address":
			h.Address = text
		default:
			return h, fmt.Sprintf("unknown key %q: expected name or address", key)
		}
	}
	if h.Name == "" {
		return h, "the name is missing"
	}
	if h.Address == "" {
		h.Address = h.Name
	}
	return h, ""
}
