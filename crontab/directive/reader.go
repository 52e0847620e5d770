package directive

import (
	"fmt"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/source"
	"github.com/cronring/cronring/crontab/timetable"
)

// Reader reads and judges the options of one crontab.
type Reader struct {
	*source.Source
	Rules    Rules
	Shared   option.Shared
	Zone     *timetable.Zone // of the current line
	ZoneHeld string          // not "": entries must not run, because CRON_TZ is not a zone
	Delay    time.Duration   // RANDOM_DELAY
	barredAt map[string]bool // channels with a diagnostic, by position
}

// Rules is what the options of a crontab may be.
type Rules struct {
	Roots      bool   // only root can write it
	Owner      string // see File.Owner
	User       string // of the entries of a user's crontab
	Channels   map[string][]string
	Processors int
	RingUsers  []string
	PingHosts  []string
}

func (r *Reader) newPlan() *option.Plan { return option.NewPlan(&r.Shared, r.Zone, r.Delay) }

// Plan returns the options of an entry with items. It marks the items that have no
// effect.
func (r *Reader) Plan(items []Item) *option.Plan {
	plan := r.newPlan()
	for _, zoneFirst := range []bool{true, false} { // other options need the zone
		for i := range items {
			if (items[i].Key == "tz") == zoneFirst {
				items[i].ApplyTo(plan)
			}
		}
	}
	r.settle(plan, items)
	for i := range items {
		if items[i].Effective() {
			plan.Items = append(plan.Items, items[i].Option)
		}
	}
	return plan
}

// ReadDefaults reads the items of a #@ default line. Each applies to all entries
// below until another line changes it; before is those of the lines above. A line
// without items ends all defaults.
func (r *Reader) ReadDefaults(at int, before []Item) []Item {
	items := r.ReadItems(at, nil)
	if len(items) == 0 {
		return nil
	}
	defaults := append([]Item(nil), before...)
	for _, it := range items {
		it.Origin = option.FromDefault
		if it.Key == "name" {
			r.Refuse(&it, "B410", "name= can be set for one entry only", "write `#@ name="+it.Value+"` directly above the entry")
			continue
		}
		if old := Find(defaults, it.Key); old != nil {
			*old = it
			continue
		}
		defaults = append(defaults, it)
	}
	if len(defaults) > MaxItems {
		r.refuseRest(&defaults[0], at)
		defaults = defaults[:MaxItems]
	}
	return defaults
}

// ReadItems reads the items from byte at and appends them to those of the lines
// above.
func (r *Reader) ReadItems(at int, items []Item) []Item {
	first := len(r.Diagnostics) // of the item before
	for at = lex.SkipBlanks(r.Text, at); at < len(r.Text); at = lex.SkipBlanks(r.Text, at) {
		it, end, ok := r.ScanItem(at)
		at = end
		if it.Key == "--" {
			break
		}
		if len(items) == MaxItems {
			r.refuseRest(&items[0], it.Column-1)
			break
		}
		before := len(items) - 1
		switch {
		case !ok:
		case it.isStray() && before >= 0 && items[before].takesRest(r.Number):
			at = r.refuseStray(&it, &items[before], first)
		default:
			first = len(r.Diagnostics)
			r.Judge(&it, items)
		}
		items = append(items, it)
	}
	return items
}

// refuseRest ignores the rest of the line. It marks first as held, because the
// rest might contain guards.
func (r *Reader) refuseRest(first *Item, at int) {
	why := fmt.Sprintf("more than %d options for one entry", MaxItems)
	r.Report(at, len(r.Text)-at, "B413", why+": the entry is held", "delete some of them")
	first.held = sentence(first, why)
}

// ScanItem reads one item and returns its end. If the syntax is wrong, it adds a
// diagnostic and returns ok false.
func (r *Reader) ScanItem(at int) (it Item, end int, ok bool) {
	line := r.Text
	it.Line, it.Column, it.Origin = r.Number, at+1, option.FromDirective
	key := at
	if line[at] == '?' {
		it.Maybe = true
		key++
	}
	end = key
	for end < len(line) && !lex.IsBlank(line[end]) && line[end] != '=' {
		end++
	}
	it.Key = line[key:end]
	switch blank := lex.SkipBlanks(line, end); {
	case it.Key == "--": // a note begins, whatever it says
	case end < len(line) && line[end] == '=' && end == key:
		return r.badItem(it, lex.WordEnd(line, end), "no key before =")
	case end < len(line) && line[end] == '=':
		return r.scanValue(it, end+1)
	case blank < len(line) && line[blank] == '=':
		return r.badItem(it, valueEnd(line, blank+1), "no blank is allowed before or after =")
	}
	it.Value, it.bare = "yes", true
	return finishItem(it, end), end, true
}

// scanValue reads the value of an item, after its =.
func (r *Reader) scanValue(it Item, at int) (_ Item, end int, ok bool) {
	line := r.Text
	if next := lex.SkipBlanks(line, at); next > at && next < len(line) && !strings.Contains(line[next:lex.WordEnd(line, next)], "=") {
		return r.badItem(it, lex.WordEnd(line, next), "no blank is allowed before or after =")
	}
	if at == len(line) || line[at] != '"' && line[at] != '\'' {
		end = lex.WordEnd(line, at)
		it.Value = line[at:end]
		return finishItem(it, end), end, true
	}
	length := strings.IndexByte(line[at+1:], line[at])
	if length < 0 {
		return r.badItem(it, len(line), "the quoted value is not closed")
	}
	end = at + length + 2
	if end < len(line) && !lex.IsBlank(line[end]) {
		return r.badItem(it, lex.WordEnd(line, end), "text follows the closing quote")
	}
	it.Value, it.quoted = line[at+1:end-1], true
	return finishItem(it, end), end, true
}

// valueEnd returns the end of the word at byte at, or of the next word.
func valueEnd(line string, at int) int { return lex.WordEnd(line, lex.SkipBlanks(line, at)) }

// finishItem sets the length of an item that ends at byte end, replaces aliases
// and looks up the option.
func finishItem(it Item, end int) Item {
	it.Length = end - (it.Column - 1)
	known := NewItem(it.Option)
	it.Option, it.Spec = known.Option, known.Spec
	return it
}

func (r *Reader) badItem(it Item, end int, why string) (Item, int, bool) {
	it = finishItem(it, end)
	r.Refuse(&it, "B406", why, "write `key=value`, or `key=\"a value\"`")
	return it, end, false
}

// Judge checks an item once, when it is read. above is the other items of the
// entry so far.
func (r *Reader) Judge(it *Item, above []Item) {
	spec := it.Spec
	switch {
	case Find(above, it.Key) != nil:
		r.Refuse(it, "B405", it.Key+"= is set twice for one entry", "delete one of them")
	case strings.HasPrefix(it.Key, "x-"):
	case spec == nil:
		r.Refuse(it, "B403", "unknown option "+diagnostic.Quote(it.Key), r.keyFix(it))
	case it.bare && !spec.IsAnswer():
		r.Refuse(it, "B404", it.Key+" requires a value", it.Key+" accepts "+spec.Values)
	default:
		if err := r.newPlan().Set(spec, it.Value); err != nil {
			r.Refuse(it, "B404", it.Key+": "+err.Error(), valueFix(it))
		}
	}
}

// Refuse adds a diagnostic about an item. The item is ignored if it is marked
// with ?. Otherwise the entry is held if the item is a guard, and runs without the
// item if not.
func (r *Reader) Refuse(it *Item, code diagnostic.Code, why, fix string) {
	switch {
	case it.Maybe && code != "B406":
		it.off = true
		r.ReportItem(it, "B412", why+": it is ignored, because it is marked with ?", "")
	case it.Spec != nil && it.Spec.Guard:
		it.held = sentence(it, why)
		r.ReportItem(it, code, why+": the entry is held", fix)
	default:
		it.degraded = sentence(it, why)
		r.ReportItem(it, code, why+": the entry runs without it", fix)
	}
}

// ReportItem adds a diagnostic at the position of an item, which may be in an
// earlier line. For an item of the sidecar it uses the position of the entry.
func (r *Reader) ReportItem(it *Item, code diagnostic.Code, message, fix string) {
	if it.File != "" {
		if it.File != r.Name {
			message = it.where() + ": " + message
		}
		r.ReportLine(r.Number, code, message, fix)
		return
	}
	r.Add(diagnostic.Diagnostic{
		Line: it.Line, Column: it.Column, Length: it.Length,
		Code: code, Severity: code.Severity(), Message: message, Fix: fix,
	})
}
