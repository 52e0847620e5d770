// Package diagnostic owns the diagnostics of crontabs: their codes, severities
// and meanings, and suggestions for misspelled words.
package diagnostic
