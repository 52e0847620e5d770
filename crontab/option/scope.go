package option

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// Scope selects the hosts that run an entry.
type Scope uint8

// The scopes.
const (
	ScopeHost Scope = iota // on its own host
	ScopeRing              // on one member of the ring
	ScopeAll               // on every member of the ring
)

var scopes = map[string]Scope{"host": ScopeHost, "ring": ScopeRing, "all": ScopeAll}

// Label is a label of a host, such as zone:a.
type Label struct{ Key, Value string }

func (l Label) String() string { return l.Key + ":" + l.Value }

// Preference gives hosts with a label a larger or smaller share of a job's
// occurrences.
type Preference struct {
	Label
	Weight float64 // factor; below 1 for a smaller share
}

// Route selects one of the members that may run an entry.
type Route uint8

// The routes.
const (
	RouteHash Route = iota // the same member for each occurrence, while it is alive
	RouteAny               // another member for each occurrence
)

var routes = map[string]Route{"hash": RouteHash, "any": RouteAny}

// Partitioned is the behaviour of a member that sees too few others.
type Partitioned uint8

// The values of if-partitioned=. The default is to hold in strict mode, else to run.
const (
	PartitionedDefault Partitioned = iota
	PartitionedRun
	PartitionedHold
)

var partitions = map[string]Partitioned{"run": PartitionedRun, "hold": PartitionedHold}

const (
	mostLabels    = 32   // in one list
	longestLabel  = 63   // on either side
	mostShards    = 1000 // of one entry
	mostMembers   = 1000 // highest quorum=
	usualWeighing = 2    // default weight of a preference
)

// parseNeed reads labels that a host must all have.
func parseNeed(text string) ([]Label, error) {
	labels, err := parseLabels(text)
	for i, l := range labels {
		if other := slices.IndexFunc(labels[:i], func(o Label) bool { return o.Key == l.Key }); other >= 0 {
			return nil, fmt.Errorf("a host cannot have both %s and %s", labels[other], l)
		}
	}
	return labels, err
}

// parseLabels reads labels separated by commas, without duplicates.
func parseLabels(text string) ([]Label, error) {
	return parseList(text, "labels", mostLabels, func(before []Label, item string) (Label, error) {
		l, err := parseLabel(item)
		if err == nil && slices.Contains(before, l) {
			err = fmt.Errorf("%s is named twice", l)
		}
		return l, err
	})
}

func parseLabel(text string) (Label, error) {
	key, value, ok := strings.Cut(text, ":")
	if !ok {
		return Label{}, fmt.Errorf("%s is not a label such as zone:a", diagnostic.Quote(text))
	}
	for _, part := range []string{key, value} {
		if part == "" || len(part) > longestLabel {
			return Label{}, fmt.Errorf("a label must have 1 to %d characters on both sides of the colon", longestLabel)
		}
		if strings.ContainsFunc(part, func(c rune) bool { return c <= ' ' || c == 0x7f || strings.ContainsRune(":*=", c) }) {
			return Label{}, fmt.Errorf("%s has a character that is not allowed in a label", diagnostic.Quote(text))
		}
	}
	return Label{key, value}, nil
}

// HasLabel reports whether labels, the value of an option, contains label. label
// is key:value, or a key alone for any value.
func HasLabel(labels, label string) bool {
	for has := range strings.SplitSeq(labels, ",") {
		key, _, _ := strings.Cut(has, ":")
		if has == label && has != "" || key == label && key != "" {
			return true
		}
	}
	return false
}

// parsePrefer reads labels with weights: zone:a*3,role:db.
func parsePrefer(text string) ([]Preference, error) {
	return parseList(text, "labels", mostLabels, func(before []Preference, item string) (Preference, error) {
		name, weight, weighed := strings.Cut(item, "*")
		l, err := parseLabel(name)
		p := Preference{l, usualWeighing}
		if err == nil && weighed {
			p.Weight, err = parseWeight(weight)
		}
		if err == nil && slices.ContainsFunc(before, func(o Preference) bool { return o.Label == l }) {
			err = fmt.Errorf("%s is named twice", l)
		}
		return p, err
	})
}

// parseWeight reads a decimal number from 0.01 to 100.
func parseWeight(text string) (float64, error) {
	w, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "0123456789.") != "" {
		return 0, fmt.Errorf("%s is not a number", diagnostic.Quote(text))
	}
	if !(w >= 0.01 && w <= 100) {
		return 0, errors.New("a weight must be between 0.01 and 100")
	}
	return w, nil
}
