package crontab

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/option"
)

// Losses returns a diagnostic for each option that another cron would ignore,
// with what the entry does there. Its position is the option, if that is in a
// line above the entry, or else the entry.
func (t *File) Losses() []diagnostic.Diagnostic {
	var losses []diagnostic.Diagnostic
	for i := range t.Entries {
		e := &t.Entries[i]
		for _, o := range e.Options().Items {
			if d, ok := loss(&o, e); ok {
				losses = append(losses, d)
			}
		}
	}
	slices.SortStableFunc(losses, func(a, b diagnostic.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return losses
}

func loss(o *option.Option, e *Entry) (d diagnostic.Diagnostic, ok bool) {
	spec := option.Find(o.Key)
	if spec == nil || !spec.Loses(o.Value) {
		return d, false
	}
	const code diagnostic.Code = "B416"
	d = diagnostic.Diagnostic{File: e.File().Name, Line: e.Line(), Code: code, Severity: code.Severity()}
	said := o.Key + "=" + diagnostic.Shorten(o.Value)
	switch o.Origin {
	case option.FromDirective:
		d.Line, d.Column, d.Length = o.Line, o.Column, o.Length
	case option.FromDefault:
		said += fmt.Sprintf(" of line %d", o.Line)
	default:
		said += fmt.Sprintf(" of %s:%d", o.File, o.Line)
	}
	d.Message = diagnostic.Harmless(fmt.Sprintf("%s: under a plain cron %s", said, spec.Loss))
	return d, true
}
