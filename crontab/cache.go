package crontab

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/directive"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/sidecar"
	"github.com/cronring/cronring/crontab/source"
	"github.com/cronring/cronring/crontab/timetable"
)

// Cache shares zones, schedules and host-wide options between the crontabs that
// are parsed with it, so that equal times in different files are one Schedule
// value. It only grows: use a new one for each load of a host's crontabs. It is
// not safe for concurrent calls of Parse.
type Cache struct {
	zones     map[string]*timetable.Zone
	hosts     map[*time.Location]*timetable.Zone
	schedules map[timing]map[string]cachedSchedule
	rulings   map[*sidecar.Sidecar]*sidecar.Checked
	options   map[defaulted]*option.Options
}

// defaulted is the key for options that come only from [default] of a sidecar.
type defaulted struct {
	sidecar   *sidecar.Sidecar
	roots     bool
	overrides overrides
}

// timing is the key that distinguishes schedules with the same time fields.
type timing struct {
	zone      *timetable.Zone
	modifiers timetable.Modifiers
}

// cachedSchedule is a cached schedule; clean means that parsing it gave no diagnostics.
type cachedSchedule struct {
	schedule cron.Schedule
	clean    bool
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	return &Cache{
		zones:     map[string]*timetable.Zone{},
		hosts:     map[*time.Location]*timetable.Zone{},
		schedules: map[timing]map[string]cachedSchedule{},
		rulings:   map[*sidecar.Sidecar]*sidecar.Checked{},
		options:   map[defaulted]*option.Options{},
	}
}

// lookup returns the value of a key, which compute returns the first time.
func lookup[K comparable, V any](known map[K]V, key K, compute func() V) V {
	v, ok := known[key]
	if !ok {
		v = compute()
		known[key] = v
	}
	return v
}

// ruling returns the checked sidecar, or nil without one. It uses only Zone and
// Local of the Config.
func (c *Cache) ruling(s *sidecar.Sidecar, config Config) *sidecar.Checked {
	if s == nil {
		return nil
	}
	return lookup(c.rulings, s, func() *sidecar.Checked {
		own := c.reader("", config)
		r, _ := s.Check(&own)
		return r
	})
}

// reader returns a reader of options that looks up zones in the cache.
func (c *Cache) reader(name string, config Config) directive.Reader {
	r := directive.Reader{Source: source.New(name), Zone: c.host(config.Local)}
	r.Shared.Calendars = config.Calendars
	r.Shared.Zone = func(name string) (*timetable.Zone, error) { return c.zone(name, config.Zone) }
	return r
}

// share returns the options that are cached for d, which are equal to o, or
// caches o.
func (c *Cache) share(d defaulted, o *option.Options) *option.Options {
	return lookup(c.options, d, func() *option.Options { return o })
}

func (c *Cache) host(location *time.Location) *timetable.Zone {
	return lookup(c.hosts, location, func() *timetable.Zone { return timetable.NewZone(location) })
}

func (c *Cache) zone(name string, find func(string) (*time.Location, error)) (*timetable.Zone, error) {
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
	zone := timetable.NewZone(location)
	c.zones[strings.Clone(name)] = zone
	return zone, nil
}

// of returns the schedules of one timing, by time fields as written.
func (c *Cache) of(t timing) map[string]cachedSchedule {
	return lookup(c.schedules, t, func() map[string]cachedSchedule { return map[string]cachedSchedule{} })
}
