package crontab

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
)

// Cache shares the zones and schedules of tables that are parsed with it, so
// that equal times in different tables are one Schedule value. It grows and
// never shrinks: use a new one for each load of a host's tables. It must not
// be used by two calls of Parse at once.
type Cache struct {
	zones     map[string]*Zone
	hosts     map[*time.Location]*Zone
	schedules map[timing]map[string]known
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
	}
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
