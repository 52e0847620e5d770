package spool

import (
	"context"

	"github.com/cronring/cronring/crontab"
)

// Config returns how to parse the file at path, like Host.Config, but with the places of these
// options.
func (o SourceOptions) Config(path string, system bool) crontab.Config {
	c := o.Host.configAt(o.paths(), path, system)
	if c.Format == crontab.User && !c.Privileged {
		c.MaxEntries = o.MaxEntries
	}
	return c
}

// Judge returns whether a Source would refuse the file at path, or ignore it because of its name.
// For a file outside of the host's places it returns nil, nil.
func (o SourceOptions) Judge(ctx context.Context, path string) (*Refusal, *Ignored) {
	s := OpenSource(o)
	k, name := s.options.Paths.kindOf(path)
	if k == namedCrontab {
		return nil, nil
	}
	if passed := o.Passes(path); passed != nil {
		return nil, passed
	}
	f := &file{candidate: candidate{k, path, name}}
	if k == userCrontab {
		f.takeOwner(s.askOwner(ctx, name))
	}
	_, refusal := s.load(f)
	return refusal, nil
}

// Passes returns whether a Source would ignore a file at path because of its name, whether or not
// it exists; nil if not.
func (o SourceOptions) Passes(path string) *Ignored {
	k, name := o.paths().kindOf(path)
	if k != userCrontab && (k != systemCrontab || name == "") {
		return nil
	}
	why := ignore(k, o.Host.Family, o.LSBNames, name)
	if why == "" {
		return nil
	}
	return &Ignored{path, why}
}
