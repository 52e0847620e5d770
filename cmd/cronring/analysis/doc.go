// Package analysis owns the commands that read crontab files and explain them: lint,
// next, explain, simulate and clashes. None of them changes anything, and most work
// without a daemon.
package analysis
