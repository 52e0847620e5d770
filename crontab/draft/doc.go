// Package draft owns changes of a crontab's text that keep every other byte: adding,
// removing and replacing entries, and setting their options.
package draft
