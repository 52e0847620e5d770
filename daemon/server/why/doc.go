// Package why owns the answer to why an occurrence ran or did not: it gathers what is known about
// the occurrence and shows which step of its way stopped it, with what can be done about it.
package why
