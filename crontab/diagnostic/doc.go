// Package diagnostic owns the diagnostics of crontabs: their codes, severities
// and meanings, the excerpt of the file that they are about, and suggestions for
// misspelled words.
package diagnostic
