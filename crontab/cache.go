package crontab

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Cache shares the zones, schedules and host-wide options of tables that are parsed with it, so
// that equal times in different tables are one Schedule value. It grows and
// never shrinks: use a new one for each load of a host's tables. It must not
// be used by two calls of Parse at once.
type Cache struct {
	zones     map[string]*Zone
	hosts     map[*time.Location]*Zone
	schedules map[timing]map[string]known
	rulings   map[*Sidecar]*ruling
	options   map[defaulted]*Options
}

// defaulted is what the options of an entry that only [default] of a sidecar
// speaks of depend on.
type defaulted struct {
	ruling *ruling
	roots  bool
	said   said
}

// timing is what makes one schedule of the same time fields differ from another.
type timing struct {
	zone      *Zone
	modifiers modifiers
}

// known is a schedule that was read before; clean when nothing was to remark.
type known struct {
	schedule cron.Schedule
	clean    bool
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	return &Cache{
		zones:     map[string]*Zone{},
		hosts:     map[*time.Location]*Zone{},
		schedules: map[timing]map[string]known{},
		rulings:   map[*Sidecar]*ruling{},
		options:   map[defaulted]*Options{},
	}
}

// ruling is nil without a sidecar. Of the Config, Zone and Local count.
func (c *Cache) ruling(s *Sidecar, config Config) *ruling {
	if s == nil {
		return nil
	}
	r, ok := c.rulings[s]
	if !ok {
		r, _ = newRuling(s, Config{Zone: config.Zone, Local: config.Local, Cache: c})
		c.rulings[s] = r
	}
	return r
}

// share is the first options that were given for d, which are equal to o.
func (c *Cache) share(d defaulted, o *Options) *Options {
	first, ok := c.options[d]
	if !ok {
		first = o
		c.options[d] = o
	}
	return first
}

func (c *Cache) host(location *time.Location) *Zone {
	zone, ok := c.hosts[location]
	if !ok {
		zone = NewZone(location)
		c.hosts[location] = zone
	}
	return zone
}

func (c *Cache) zone(name string, find func(string) (*time.Location, error)) (*Zone, error) {
	if zone, ok := c.zones[name]; ok {
		return zone, nil
	}
	if find == nil {
		return nil, fmt.Errorf("unknown zone %q", name)
	}
	location, err := find(name)
	if err != nil {
		return nil, fmt.Errorf("unknown zone %q", name)
	}
	zone := NewZone(location)
	c.zones[strings.Clone(name)] = zone
	return zone, nil
}

// of is the schedules of one timing, by time fields as written.
func (c *Cache) of(t timing) map[string]known {
	m, ok := c.schedules[t]
	if !ok {
		m = map[string]known{}
		c.schedules[t] = m
	}
	return m
}
