package crontab

import (
	"slices"
	"strconv"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/directive"
	"github.com/cronring/cronring/crontab/option"
)

// contextOf returns the context of an entry below the current assignments and
// defaults, with the directives of block and, overriding them, the items of the
// sidecar.
func (p *parser) contextOf(block []directive.Item, over ...[]directive.Item) *context {
	items := block // block belongs to this entry alone, the others are shared
	if below := p.hostDefaults(); len(below)+len(p.defaults)+len(over) > 0 {
		items = directive.Merge(append([][]directive.Item{below, p.defaults, block}, over...))
	}
	plan := p.Plan(items)
	p.cost += len(items)
	options := option.Plain
	if len(items) > 0 || plan.Held != "" {
		own := plan.Options // a copy, so that the rest of the plan can be collected
		options = &own
		if len(p.defaults)+len(block)+len(over) == 0 && p.ZoneHeld == "" {
			options = p.cache.share(defaulted{p.config.Sidecar, p.Rules.Roots, p.overridden}, options)
		}
	}
	s := &context{
		section:   &section{file: p.file, env: p.env.newest, zone: plan.Zone, options: options},
		modifiers: plan.Modifiers,
		items:     items,
	}
	if !s.modifiers.Random() {
		s.schedules = p.cache.of(timing{plan.Zone, plan.Modifiers})
	}
	return s
}

// withoutTimes returns the context of an entry without scheduled times, such as
// @reboot. It refuses options about times, and those in further, because they
// have no effect. It ignores such options silently if they are defaults, which
// are meant for other entries, and not guards.
func (p *parser) withoutTimes(above *context, entry string, further ...string) *context {
	changed := false
	plan := option.Plan{Options: *above.section.options}
	for i := range above.items {
		it := &above.items[i]
		if !slices.Contains(option.TimeKeys, it.Key) && !slices.Contains(further, it.Key) ||
			!it.Effective() || it.IsDefault() && !it.Spec.Guard {
			continue
		}
		changed = true
		refused := *it
		p.Refuse(&refused, "B410", it.Key+"= has no effect for "+entry, "delete `"+it.Key+"`")
		refused.ApplyTo(&plan)
	}
	if !changed {
		return above
	}
	section := *above.section
	section.options = &plan.Options
	return &context{section: &section, items: above.items}
}

// claimName sets the name of an entry. A second entry with that name is held,
// because the two would share one history.
func (p *parser) claimName(above *context) {
	options := above.section.options
	it := directive.Find(above.items, "name")
	if it == nil || !it.Effective() {
		return
	}
	first, taken := p.names[it.Value]
	if !taken {
		p.names[it.Value] = p.Number
		return
	}
	line := strconv.Itoa(first)
	p.ReportItem(it, "B409", "the entry in line "+line+" has the name "+diagnostic.Quote(it.Value)+" too: this entry is held", "give it another name")
	options.Name = ""
	options.Hold("The entry in line " + line + " has name=" + it.Value + " too.")
}
