// Package audit owns the audit log, which records who did what to jobs, crontabs and the daemon, and
// how long that is kept. It is stored apart from the history of runs.
package audit
