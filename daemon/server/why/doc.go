// Package why owns the answer to why an occurrence ran or did not, with the step at which it stopped
// and what can be done about it.
package why
