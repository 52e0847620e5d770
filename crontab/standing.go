package crontab

import (
	"slices"
	"strconv"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/option"
)

func (p *parser) newPlan() *option.Plan { return option.NewPlan(&p.shared, p.zone, p.delay) }

// stand returns the context of an entry below the current assignments and
// defaults, with the directives of block and, overriding them, the items of the
// sidecar.
func (p *parser) stand(block []item, over ...[]item) *standing {
	plan := p.newPlan()
	below := p.hostDefaults()
	items := block // block belongs to this entry alone, the others are shared
	if len(below) > 0 || len(p.defaults) > 0 || len(over) > 0 {
		items = effective(append([][]item{below, p.defaults, block}, over...))
	}
	for _, zoneFirst := range []bool{true, false} { // other options need the zone
		for i := range items {
			if (items[i].Key == "tz") == zoneFirst {
				take(plan, &items[i])
			}
		}
	}
	p.settle(plan, items)
	p.cost += len(items)
	for i := range items {
		if items[i].effective() {
			plan.Items = append(plan.Items, items[i].Option)
		}
	}
	options := option.Plain
	if len(items) > 0 || plan.Held != "" {
		own := plan.Options // a copy, so that the rest of the plan can be collected
		options = &own
		if len(p.defaults)+len(block)+len(over) == 0 && p.zoneHeld == "" {
			options = p.cache.share(defaulted{p.ruling, p.isRoots(), p.said}, options)
		}
	}
	s := &standing{
		section:   &section{file: p.file, env: p.env.newest, zone: plan.Zone, options: options},
		modifiers: plan.Modifiers,
		items:     items,
	}
	if !s.modifiers.Random() {
		s.schedules = p.cache.of(timing{plan.Zone, plan.Modifiers})
	}
	return s
}

// effective returns the items of all layers, lowest precedence first, without
// those that a higher layer overrides.
func effective(layers [][]item) (items []item) {
	for i, layer := range layers {
		for _, it := range layer {
			if !slices.ContainsFunc(layers[i+1:], func(higher []item) bool { return find(higher, it.Key) != nil }) {
				items = append(items, it)
			}
		}
	}
	return items
}

func find(items []item, key string) *item {
	for i := range items {
		if items[i].Key == key {
			return &items[i]
		}
	}
	return nil
}

// take applies an item to the plan. judge has already checked its value.
func take(p *option.Plan, it *item) {
	switch {
	case it.held != "":
		p.Hold(it.held)
	case it.degraded != "":
		p.Degrade(it.degraded)
	case it.effective() && it.spec != nil && it.spec.Built():
		if err := p.Set(it.spec, it.Value); err != nil {
			p.Hold("The option " + it.Key + "= is invalid: " + err.Error() + ".")
		}
	}
}

// withoutTimes returns the context of an entry without scheduled times, such as
// @reboot. It refuses options about times, and those in further, because they
// have no effect. It ignores such options silently if they are defaults, which
// are meant for other entries, and not guards.
func (p *parser) withoutTimes(above *standing, entry string, further ...string) *standing {
	changed := false
	plan := option.Plan{Options: *above.section.options}
	for i := range above.items {
		it := &above.items[i]
		if !slices.Contains(option.TimeKeys, it.Key) && !slices.Contains(further, it.Key) ||
			!it.effective() || it.isDefault() && !it.spec.Guard {
			continue
		}
		changed = true
		refused := *it
		p.refuse(&refused, "B410", it.Key+"= has no effect for "+entry, "delete `"+it.Key+"`")
		take(&plan, &refused)
	}
	if !changed {
		return above
	}
	section := *above.section
	section.options = &plan.Options
	return &standing{section: &section, items: above.items}
}

// claimName sets the name of an entry. A second entry with that name is held,
// because the two would share one history.
func (p *parser) claimName(above *standing) {
	options := above.section.options
	it := find(above.items, "name")
	if it == nil || !it.effective() {
		return
	}
	first, taken := p.names[it.Value]
	if !taken {
		p.names[it.Value] = p.Number
		return
	}
	line := strconv.Itoa(first)
	p.reportItem(it, "B409", "the entry in line "+line+" has the name "+diagnostic.Quote(it.Value)+" too: this entry is held", "give it another name")
	options.Name = ""
	options.Hold("The entry in line " + line + " has name=" + it.Value + " too.")
}
