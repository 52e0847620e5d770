// Package direct owns reading and changing crontabs without a daemon, for root alone:
// another user who could write the spool could run commands as anybody.
package direct
