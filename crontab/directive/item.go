package directive

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/option"
)

// MaxItems is the highest number of options of one entry, and of all #@ default
// lines above it. It limits the cost of a hostile file.
const MaxItems = 64

// Item is one key=value of a directive line, and whether it takes effect.
type Item struct {
	option.Option
	Spec     *option.Spec // nil for x- keys and unknown keys
	bare     bool         // key alone
	quoted   bool         // the value has quotes
	off      bool         // ignored, because it is marked with ?
	held     string       // not "": the entry must not run, for this reason
	degraded string       // not "": the entry runs without it, for this reason
}

// Effective reports whether the item takes effect.
func (it *Item) Effective() bool { return !it.off && it.held == "" && it.degraded == "" }

// IsDefault reports whether the item applies to many entries, so that it might
// not be meaningful for each.
func (it *Item) IsDefault() bool {
	return it.Origin == option.FromDefault || it.Origin == option.FromSidecarDefault
}

// NewItem returns the item with an option as written, with aliases replaced.
func NewItem(o option.Option) Item {
	o.Key, o.Value = option.Unalias(o.Key, o.Value)
	return Item{Option: o, Spec: option.Find(o.Key)}
}

// ApplyTo applies the item to a plan. Its value has been checked before.
func (it *Item) ApplyTo(p *option.Plan) {
	switch {
	case it.held != "":
		p.Hold(it.held)
	case it.degraded != "":
		p.Degrade(it.degraded)
	case it.Effective() && it.Spec != nil:
		if err := p.Set(it.Spec, it.Value); err != nil {
			p.Hold("The option " + it.Key + "= is invalid: " + err.Error() + ".")
		}
	}
}

// Find returns the item with a key, or nil.
func Find(items []Item, key string) *Item {
	for i := range items {
		if items[i].Key == key {
			return &items[i]
		}
	}
	return nil
}

// Merge returns the items of all layers, lowest precedence first, without
// those that a higher layer overrides.
func Merge(layers [][]Item) (items []Item) {
	for i, layer := range layers {
		for _, it := range layer {
			if !slices.ContainsFunc(layers[i+1:], func(higher []Item) bool { return Find(higher, it.Key) != nil }) {
				items = append(items, it)
			}
		}
	}
	return items
}

// isStray reports whether an item is a word without = that is not an option. It
// is often the rest of an unquoted value.
func (it *Item) isStray() bool { return it.bare && it.Spec == nil && !strings.HasPrefix(it.Key, "x-") }

// takesRest reports whether the words after the item, in the line with number,
// may be the rest of its value.
func (it *Item) takesRest(number int) bool { return it.Line == number && !it.bare && !it.quoted }

// sentence returns the reason for a held or degraded entry, with the option.
func sentence(it *Item, why string) string {
	return fmt.Sprintf("The option %s in %s is invalid: %s.", it.Key, it.where(), why)
}

// where returns the position of an item, as text.
func (it *Item) where() string {
	if it.File != "" {
		return fmt.Sprintf("%s:%d", it.File, it.Line)
	}
	return fmt.Sprintf("line %d", it.Line)
}

// Written returns a fix that replaces the key and value of the item.
func (it *Item) Written(key, value string) string {
	if it.File != "" {
		return "write `" + key + " = \"" + value + "\"`"
	}
	quotes := ""
	if strings.ContainsAny(value, lex.Blanks) {
		quotes = `"`
		if strings.Contains(value, quotes) {
			quotes = "'"
		}
	}
	return "write `" + key + "=" + quotes + value + quotes + "`"
}
