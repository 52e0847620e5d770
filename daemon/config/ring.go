package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/timetable"
)

// Ring is the configuration of the ring of hosts.
type Ring struct {
	Name      string // "": this host is not in a ring
	Member    string // this host's name in the ring; "": the host's name
	Bind      string // host:port
	Advertise string // host or host:port under which the others reach this one; "": Bind
	Seeds     []string
	KeyFile   string
	Strict    bool
	Voters    []string // in strict mode: addresses or IDs of members
	Users     []string // whose crontabs may have scope=ring beside root's; "*" for all
	Labels    map[string]string
	Weight    float64       // 0: 1
	HoldOff   time.Duration // 0: the built-in
}

// The defaults of [ring].
const (
	ringPort    = 7946
	RingHoldOff = 2 * time.Second
)

// The limits of [ring].
const (
	leastHoldOff = time.Second
	mostHoldOff  = time.Minute
	mostWeight   = 1000
	mostLabels   = 255 // bytes of all labels, with a byte before each part
	mostVoters   = 5
)

// ringSettings are the settings of [ring] that have one value.
var ringSettings = []setting{
	{"ring.name", true, func(c *Config, v value) (err error) { c.Ring.Name, err = v.text(); return err },
		func(c *Config) string { return cmp.Or(c.Ring.Name, "none") }},
	{"ring.member", true, readMember, func(c *Config) string { return cmp.Or(c.Ring.Member, "the host's name") }},
	{"ring.bind", true, readBind, func(c *Config) string { return c.Ring.Listen() }},
	{"ring.advertise", true, func(c *Config, v value) (err error) { c.Ring.Advertise, err = v.text(); return err },
		func(c *Config) string { return cmp.Or(c.Ring.Advertise, "the bound address") }},
	{"ring.seeds", true, func(c *Config, v value) (err error) { c.Ring.Seeds, err = v.addresses(); return err },
		func(c *Config) string { return cmp.Or(strings.Join(c.Ring.Seeds, ", "), "none") }},
	{"ring.key-file", true, readKeyFile, func(c *Config) string { return cmp.Or(c.Ring.KeyFile, "none") }},
	{"ring.mode", true, readMode, func(c *Config) string { return c.Ring.Mode() }},
	{"ring.voters", true, func(c *Config, v value) (err error) { c.Ring.Voters, err = v.texts(); return err },
		func(c *Config) string { return cmp.Or(strings.Join(c.Ring.Voters, ", "), "none") }},
	{"ring.users", false, func(c *Config, v value) (err error) { c.Ring.Users, err = v.texts(); return err },
		func(c *Config) string { return cmp.Or(strings.Join(c.Ring.Users, ", "), "none") }},
	{"ring.weight", true, readWeight,
		func(c *Config) string { return strconv.FormatFloat(cmp.Or(c.Ring.Weight, 1), 'g', -1, 64) }},
	{"ring.hold-off", true, readHoldOff, func(c *Config) string { return timetable.DurationText(cmp.Or(c.Ring.HoldOff, RingHoldOff)) }},
	{"ring.labels", true, func(*Config, value) error { return errUnknown },
		func(c *Config) string { return cmp.Or(labelText(c.Ring.Labels), "none") }},
}

// Mode returns the name of the mode: how occurrences are granted.
func (r *Ring) Mode() string {
	if r.Strict {
		return "strict"
	}
	return "available"
}

// RingUsers returns the users other than root whose crontabs may have scope=ring. On a host that is not
// in a ring it returns nil, which allows all users: the entries are held there anyway.
func (c *Config) RingUsers() []string {
	if c.Ring.Name == "" {
		return nil
	}
	return slices.Concat([]string{"root"}, c.Ring.Users)
}

// Node returns the name of this host, or of this member of the ring if it has another
// one. It is empty on a host without a name.
func (r *Ring) Node() string {
	if r.Name != "" && r.Member != "" {
		return r.Member
	}
	host, _ := os.Hostname()
	return host
}

// Listen returns the address at which this host listens.
func (r *Ring) Listen() string { return cmp.Or(r.Bind, ":"+strconv.Itoa(ringPort)) }

func labelText(labels map[string]string) string {
	var all []string
	for _, k := range slices.Sorted(maps.Keys(labels)) {
		all = append(all, k+":"+labels[k])
	}
	return strings.Join(all, ", ")
}

func readMember(c *Config, v value) error {
	text, err := v.text()
	if err != nil {
		return err
	}
	if !memberName.MatchString(text) {
		return errors.New("want 1 to 63 letters, digits, dots, hyphens and underscores")
	}
	c.Ring.Member = text
	return nil
}

var memberName = regexp.MustCompile(`^[A-Za-z0-9._-]{1,63}$`)

func readBind(c *Config, v value) error {
	text, err := v.text()
	if err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		host, port = text, strconv.Itoa(ringPort)
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return errors.New("invalid port: expected 1 to 65535")
	}
	if host != "" {
		if _, err := netip.ParseAddr(strings.Trim(host, "[]")); err != nil {
			return errors.New(`want an address of this host, or a port alone: "10.0.0.1:7946", ":7946"`)
		}
	}
	c.Ring.Bind = net.JoinHostPort(strings.Trim(host, "[]"), port)
	return nil
}

func readKeyFile(c *Config, v value) error {
	text, err := v.text()
	if err != nil {
		return err
	}
	if !strings.HasPrefix(text, "/") {
		return errors.New("want a path that begins with /")
	}
	c.Ring.KeyFile = text
	return nil
}

func readMode(c *Config, v value) error {
	var word string
	err := oneOf(&word, v, "available", "strict")
	c.Ring.Strict = word == "strict"
	return err
}

func readWeight(c *Config, v value) error {
	w, ok := v.any.(float64)
	if n, whole := v.any.(int64); whole {
		w, ok = float64(n), true
	}
	if !ok || !(w > 0) || w > mostWeight {
		return fmt.Errorf("want a number above 0 and at most %d", mostWeight)
	}
	c.Ring.Weight = w
	return nil
}

func readHoldOff(c *Config, v value) error {
	d, err := v.duration()
	if err != nil {
		return err
	}
	if d < leastHoldOff || d > mostHoldOff {
		return fmt.Errorf("want a duration from %s to %s", timetable.DurationText(leastHoldOff), timetable.DurationText(mostHoldOff))
	}
	c.Ring.HoldOff = d
	return nil
}

// addresses reads a list of hosts, each with a port or without.
func (v value) addresses() ([]string, error) {
	list, err := v.texts()
	if err != nil {
		return nil, err
	}
	for i, text := range list {
		list[i] = MemberAddress(text)
	}
	return list, nil
}

// MemberAddress is host:port of a member that is named with its port or without.
func MemberAddress(text string) string {
	if _, _, err := net.SplitHostPort(text); err == nil {
		return text
	}
	return net.JoinHostPort(strings.Trim(text, "[]"), strconv.Itoa(ringPort))
}

// setLabel adds a label of this host.
func (r *reader) setLabel(name string, v value) error {
	text, err := v.text()
	if err != nil {
		return err
	}
	for _, part := range []string{name, text} {
		if part == "" || len(part) > 63 || strings.ContainsAny(part, ":,*= \t") {
			return errors.New("a label is 1 to 63 characters on both sides, without : , * = and blanks")
		}
	}
	size := 2 + len(name) + len(text)
	for k, v := range r.Ring.Labels {
		size += 2 + len(k) + len(v)
	}
	if size > mostLabels {
		return fmt.Errorf("it does not fit: all labels together, with two bytes for each, may have %d bytes", mostLabels)
	}
	if r.Ring.Labels == nil {
		r.Ring.Labels = map[string]string{}
	}
	r.Ring.Labels[name] = text
	return nil
}

// checkRing checks [ring] as a whole. If it is invalid, this host stays out of the ring, and its
// ring jobs are held.
func (r *reader) checkRing() {
	ring := &r.Ring
	wrong := func(key, message, fix string) {
		at := r.Positions["ring."+key]
		if at.File == "" {
			at = r.ringAt
		}
		r.report(at, unknown, "ring."+key+": "+message, fix)
		ring.Name = ""
	}
	if ring.Name == "" {
		if slices.ContainsFunc(ringSettings, func(s setting) bool { _, set := r.Positions[s.key]; return set && s.key != "ring.labels" }) {
			wrong("name", "it is missing: members of one ring have one name for it", `write name = "prod"`)
		}
		return
	}
	if len(ring.Name) > 63 || strings.ContainsFunc(ring.Name, func(c rune) bool { return c <= ' ' || c > '~' }) {
		wrong("name", "want 1 to 63 printable characters without blanks", "")
	}
	if ring.KeyFile == "" && !loopback(ring.Listen()) {
		wrong("key-file", "it is missing: without a key anybody who reaches the port could take part", "cronring ring keygen /etc/cronring/ring.key")
	}
	switch n := len(ring.Voters); {
	case ring.Strict && n != 3 && n != mostVoters:
		wrong("voters", fmt.Sprintf("there are %d, want 3 or 5 members that grant occurrences", n), "name their addresses, the same list on all members")
	case !ring.Strict && n > 0:
		wrong("voters", `they are for mode = "strict"`, `write mode = "strict", or leave them out`)
	}
	named := map[string]bool{}
	for _, voter := range ring.Voters {
		named[MemberAddress(voter)] = true
	}
	if len(named) != len(ring.Voters) {
		wrong("voters", "one is named twice", "")
	}
}

// loopback reports whether no other host can reach an address.
func loopback(bind string) bool {
	addr, err := netip.ParseAddrPort(bind)
	return err == nil && addr.Addr().IsLoopback()
}
