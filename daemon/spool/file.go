package spool

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
)

// file is what a Source knows of one crontab: the text that is loaded, and why newer text is refused.
type file struct {
	candidate
	look        pathFingerprint
	again       bool // check again even if nothing seems to have changed
	owner       account.Account
	unknown     error             // why the owner is not known
	text        string            // "" if the crontab is truncated, to save memory
	sum         [sha256.Size]byte // of the text of a truncated crontab
	file        *crontab.File     // nil: nothing is loaded
	diagnostics []crontab.Diagnostic
	generation  int // of the Source when it was parsed
	privileged  bool
	refusal     *Refusal
	target      string   // the target of a symbolic link
	scan        *scanned // the last scan that found it
}

// owner is the result of looking up the user of a crontab.
type owner struct {
	account account.Account
	err     error
}

// askOwners looks up the owners of all users' crontabs: first those that are not known, because the
// others keep their values if the time runs out.
func (s *Source) askOwners(ctx context.Context, scan *scanned) map[string]owner {
	var names, known []string
	for _, found := range scan.found {
		switch f := s.files[found.path]; {
		case found.kind != userCrontab:
		case f != nil && f.unknown == nil:
			known = append(known, found.name)
		default:
			names = append(names, found.name)
		}
	}
	var mu sync.Mutex
	var asking sync.WaitGroup
	owners, slots := map[string]owner{}, make(chan struct{}, asksAtOnce)
	for _, name := range append(names, known...) {
		slots <- struct{}{}
		asking.Go(func() {
			defer func() { <-slots }()
			o := s.askOwner(ctx, name)
			mu.Lock()
			defer mu.Unlock()
			owners[name] = o
		})
	}
	asking.Wait()
	return owners
}

func (s *Source) askOwner(ctx context.Context, name string) owner {
	a, err := s.options.Accounts.Find(ctx, name)
	if a.Name != "" {
		err = nil // only the groups could not be looked up, and a crontab does not need them
	}
	return owner{a, err}
}

// takeOwner applies the result of a look-up, and reports whether the owner has changed. If a directory
// service does not answer, the previous result stays.
func (f *file) takeOwner(now owner) bool {
	if now.err == nil {
		changed := f.unknown != nil || now.account.UID != f.owner.UID
		f.owner, f.unknown = now.account, nil
		return changed
	}
	if known := f.unknown == nil && f.owner.Name != ""; known && !account.IsUnknown(now.err) {
		return false
	}
	changed := f.unknown == nil || account.IsUnknown(f.unknown) != account.IsUnknown(now.err)
	f.owner, f.unknown = account.Account{}, now.err
	return changed
}

func (s *Source) read(f *file, l pathFingerprint, changes []Change) []Change {
	if f.kind == namedCrontab && f.file != nil && l.self != (fingerprint{}) && !l.regular() {
		// A pipe can be read only once.
		s.renew(f)
		return changes
	}
	f.look, f.again, f.target = l, l.fresh(time.Now(), s.fresh), leadsTo(f.path, l)
	text, refusal := s.load(f)
	if refusal != nil {
		return s.refuse(f, refusal, changes)
	}
	return s.accept(f, text, changes)
}

func (s *Source) load(f *file) (string, *Refusal) {
	if f.kind == namedCrontab {
		if isNamedPipe(f.path) {
			return "", s.trust.refusal(&facts{candidate: f.candidate}, CodeType, "NOT A REGULAR FILE", "NOT REGULAR",
				"it is a named pipe, not a regular file", "write the crontab to a file, or in a shell use <(command)")
		}
		text, err := Read(f.path)
		if err != nil {
			return "", s.trust.refuse(&facts{candidate: f.candidate, err: err})
		}
		return text, nil
	}
	var owner *account.Account
	if f.kind == userCrontab && f.unknown == nil {
		owner = &f.owner
	}
	return s.trust.load(f.candidate, owner, f.unknown)
}

// refuse records that the file is refused. Its previous text stays loaded, unless the file itself
// or its user no longer exists.
func (s *Source) refuse(f *file, r *Refusal, changes []Change) []Change {
	before := f.refusal
	f.refusal = r
	f.again = f.again || r.Code == CodeOpen
	if over := r.gone && f.kind != namedCrontab || r.Code == CodeOrphan && account.IsUnknown(f.unknown); over && f.file != nil {
		changes = append(changes, s.change(Gone, f))
		f.drop()
	}
	r.Kept = f.file != nil
	s.renew(f)
	if before != nil && before.Word == r.Word && before.Kept == r.Kept || f.temporary() {
		return changes
	}
	c := s.change(Refused, f)
	c.Refusal, c.Log = r, r.Log
	return append(changes, c)
}

func (s *Source) accept(f *file, text string, changes []Change) []Change {
	first := f.file == nil
	other := first || !f.parsedFrom(text)
	if other || s.isStale(f) {
		if refusal := s.parse(f, text); refusal != nil {
			return s.refuse(f, refusal, changes)
		}
	}
	refused := f.refusal != nil
	f.refusal = nil
	switch {
	case first:
		return append(changes, s.changeTo(Loaded, f, text))
	case other:
		c := s.changeTo(Reloaded, f, text)
		c.Log = s.trust.reload(f.candidate)
		return append(changes, c)
	case refused:
		c := s.change(Accepted, f)
		c.Log = s.trust.reload(f.candidate)
		return append(changes, c)
	}
	return changes
}

// parsedFrom reports whether the loaded crontab was parsed from text.
func (f *file) parsedFrom(text string) bool {
	if f.file.Truncated() {
		return f.sum == sha256.Sum256([]byte(text))
	}
	return f.text == text
}

// renew parses a loaded text again if it is stale. A truncated crontab stays as it is until its file can
// be read.
func (s *Source) renew(f *file) {
	if s.isStale(f) && !f.file.Truncated() {
		s.parse(f, f.text) // if that fails, what was parsed before stays
	}
}

// isStale reports whether a loaded crontab was parsed with settings that have changed since.
func (s *Source) isStale(f *file) bool {
	return f.file != nil && (f.generation != s.generation || f.privileged != f.isPrivileged())
}

// parse parses the text of a crontab. If that panics, only this crontab is refused, because no
// user's crontab may end the daemon for all users. What was parsed before stays, unless it was parsed
// with other rights.
func (s *Source) parse(f *file, text string) (refusal *Refusal) {
	privileged := f.privileged
	defer func() {
		if p := recover(); p != nil {
			if f.privileged != privileged {
				f.drop()
			}
			s.cache = crontab.NewCache() // the panic may have left it incomplete
			refusal = s.trust.refusal(&facts{candidate: f.candidate}, CodeDefect, "CANNOT BE PARSED", "CANNOT BE PARSED",
				fmt.Sprintf("a defect in cronring prevents that it is parsed (%v)", p),
				"report what this prints: cronring lint "+quoted(f.path))
		}
	}()
	c := s.config(f)
	c.Seed, c.Cache, c.Local, c.StandIn = s.options.Seed, s.cache, s.zone.location, s.standIn
	c.Sidecar, c.Channels, c.RingUsers, c.PingHosts = s.options.Sidecar, s.options.Channels, s.options.RingUsers, s.options.PingHosts
	if !f.isPrivileged() {
		c.MaxEntries = s.options.MaxEntries
	}
	f.generation, f.privileged = s.generation, f.isPrivileged() // not parsed again if it panics
	f.file, f.diagnostics = s.parseText(f.path, text, c)
	f.text = text
	if f.file.Truncated() {
		f.text, f.sum = "", sha256.Sum256([]byte(text))
	}
	s.parsed += 1 + len(f.file.Entries)
	return nil
}

func (s *Source) config(f *file) crontab.Config {
	if f.kind == namedCrontab {
		return s.options.Host.Named(f.path, s.options.System)
	}
	c := crontab.Config{Family: s.options.Host.Family, Owner: "root", Privileged: f.isPrivileged(), Zone: LoadZone, Processors: s.options.Host.Processors, Calendars: s.options.Host.Calendars}
	switch f.kind {
	case userCrontab:
		c.Owner = f.name
	case systemCrontab:
		c.Format = crontab.System
	case anacrontab:
		c.Format = crontab.Anacron
	}
	return c
}

// isPrivileged reports whether it is a crontab of root.
func (f *file) isPrivileged() bool { return f.kind != userCrontab || f.owner.UID == 0 }

func (f *file) drop() { f.file, f.text, f.diagnostics = nil, "", nil }

// temporary reports whether the file is one that crontab(1) is about to rename, which crons do not
// log.
func (f *file) temporary() bool {
	return f.kind == userCrontab && strings.HasPrefix(f.name, "tmp.") && f.refusal != nil && f.refusal.Code == CodeOrphan
}

func (s *Source) change(kind ChangeKind, f *file) Change {
	return Change{Kind: kind, Path: f.path, UID: f.owner.UID, Who: s.trust.who(f.candidate)}
}

func (s *Source) changeTo(kind ChangeKind, f *file, text string) Change {
	c := s.change(kind, f)
	c.Text, c.Diagnostics, c.Truncated = text, f.diagnostics, f.file.Truncated()
	c.Saved = f.look.saved()
	c.Errors = cronErrors(f.path, text, f.file.Format, f.diagnostics)
	return c
}
