package crontab

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Scope says where an entry that stands on several hosts runs.
type Scope uint8

// The scopes.
const (
	ScopeHost Scope = iota // on its own host
	ScopeRing              // on one member of the ring
	ScopeAll               // on every member of the ring
)

var scopes = map[string]Scope{"host": ScopeHost, "ring": ScopeRing, "all": ScopeAll}

// Label is one that a host may have.
type Label struct{ Key, Value string }

func (l Label) String() string { return l.Key + ":" + l.Value }

// Preference lets hosts with a label have a larger share of the jobs that name
// it, or a smaller one.
type Preference struct {
	Label
	Weight float64 // times as much
}

// Route says which of the members that an entry may run on does so.
type Route uint8

// The routes.
const (
	RouteHash Route = iota // the same one for each occurrence, as long as it is there
	RouteAny               // each occurrence has one of its own
)

var routes = map[string]Route{"hash": RouteHash, "any": RouteAny}

// Partitioned says what members do that see too few others.
type Partitioned uint8

// The answers. The default is to hold where voters grant starts, else to run.
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
	mostMembers   = 1000 // that quorum= asks for
	usualWeighing = 2    // of a preference without a weight
)

// parseNeed reads labels that a host must have, all of them.
func parseNeed(text string) ([]Label, error) {
	labels, err := parseLabels(text)
	for i, l := range labels {
		if other := slices.IndexFunc(labels[:i], func(o Label) bool { return o.Key == l.Key }); other >= 0 {
			return nil, fmt.Errorf("no host has %s and %s", labels[other], l)
		}
	}
	return labels, err
}

// parseLabels reads labels with commas between, each once.
func parseLabels(text string) ([]Label, error) {
	items := strings.Split(text, ",")
	if len(items) > mostLabels {
		return nil, fmt.Errorf("more than %d labels", mostLabels)
	}
	labels := make([]Label, 0, len(items))
	for _, item := range items {
		l, err := parseLabel(item)
		if err != nil {
			return nil, err
		}
		if slices.Contains(labels, l) {
			return nil, fmt.Errorf("%s is named twice", l)
		}
		labels = append(labels, l)
	}
	return labels, nil
}

func parseLabel(text string) (Label, error) {
	key, value, ok := strings.Cut(text, ":")
	if !ok {
		return Label{}, fmt.Errorf("%s is not a label, as zone:a", quote(text))
	}
	for _, part := range []string{key, value} {
		if part == "" || len(part) > longestLabel {
			return Label{}, fmt.Errorf("a label has 1 to %d characters on both sides", longestLabel)
		}
		if strings.ContainsFunc(part, func(c rune) bool { return c <= ' ' || c == 0x7f || strings.ContainsRune(":*=", c) }) {
			return Label{}, fmt.Errorf("%s has a character that no label has", quote(text))
		}
	}
	return Label{key, value}, nil
}

// HasLabel tells whether labels, as an option has them, have one: key:value, or a
// key alone for any value.
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
	items := strings.Split(text, ",")
	if len(items) > mostLabels {
		return nil, fmt.Errorf("more than %d labels", mostLabels)
	}
	list := make([]Preference, 0, len(items))
	for _, item := range items {
		name, weight, weighed := strings.Cut(item, "*")
		l, err := parseLabel(name)
		if err != nil {
			return nil, err
		}
		p := Preference{l, usualWeighing}
		if weighed {
			if p.Weight, err = parseWeight(weight); err != nil {
				return nil, err
			}
		}
		if slices.ContainsFunc(list, func(o Preference) bool { return o.Label == l }) {
			return nil, fmt.Errorf("%s is named twice", l)
		}
		list = append(list, p)
	}
	return list, nil
}

// parseWeight reads a decimal number from 0.01 to 100.
func parseWeight(text string) (float64, error) {
	w, err := strconv.ParseFloat(text, 64)
	if err != nil || strings.Trim(text, "0123456789.") != "" {
		return 0, fmt.Errorf("%s is not a number", quote(text))
	}
	if !(w >= 0.01 && w <= 100) {
		return 0, errors.New("a weight is between 0.01 and 100")
	}
	return w, nil
}

// settleRing looks at the options of the ring together.
func (p *parser) settleRing(plan *plan, items []item) {
	for _, key := range []string{"prefer", "route", "if-partitioned", "quorum"} {
		p.idle(plan, items, key, plan.Scope != ScopeRing, key+"= needs scope=ring: it is about which member runs the entry",
			"delete `"+key+"`, or write `scope=ring` too")
	}
	both := slices.IndexFunc(plan.Need, func(l Label) bool { return slices.Contains(plan.Avoid, l) })
	p.clash(plan, items, "avoid", both >= 0, "need= and avoid= name the same label, so that no host may run the entry", "delete one of them")
	p.idle(plan, items, "quorum", plan.Partitioned == PartitionedRun, "quorum= has no meaning with if-partitioned=run, which runs with any number of members",
		"delete `quorum`")
}

// notOfOneMember is what an entry cannot say that each host goes through by
// itself, as a start or a period of its own.
func notOfOneMember(o *Options) (keys []string) {
	if o.Scope == ScopeRing {
		keys = append(keys, "scope")
	}
	return keys
}
