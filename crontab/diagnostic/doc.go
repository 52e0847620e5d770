// Package diagnostic owns the diagnostics of crontabs, with their codes, severities and meanings, and
// suggestions for misspelled words.
package diagnostic
