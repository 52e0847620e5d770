// Package engine owns every decision: what runs, what is skipped and why,
// what is queued, retried, stopped, made up. It is a value with one method
// that matters, Step(now, events) effects, and is pure: it reads no clock, no
// disk, no lock and no random source.
package engine
