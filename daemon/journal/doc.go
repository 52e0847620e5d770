// Package journal owns the format of log entries, and their way to systemd's journal with fields,
// to a syslog daemon or to standard output. The entries are cron's own log lines in the words that
// log watchers expect, the output and results of jobs, and the daemon's own log. Package runlog
// orders them and limits those of a user.
//
// An entry of the journal has, beside MESSAGE, PRIORITY, SYSLOG_FACILITY=9
// (cron), SYSLOG_IDENTIFIER and SYSLOG_PID, what is known of
//
//	CRONRING_JOB            the job's name; with it `journalctl CRONRING_JOB=backup` is the job's own log
//	CRONRING_RUN            the run's number
//	CRONRING_INVOCATION_ID  the occurrence, shared by its attempts
//	CRONRING_DUE            the occurrence's time, RFC 3339 in UTC
//	CRONRING_ATTEMPT        from 1
//	CRONRING_TRIGGER        clock, boot, manual, retry, catchup, ...
//	CRONRING_USER           the account
//	CRONRING_TABLE          the crontab file
//	CRONRING_LINE           the line in it
//	CRONRING_STREAM         out or err, of a line that a job printed; sys for the daemon's words about it
//	CRONRING_KIND           started, ended, decided, ...: the record that this is
//	CRONRING_OUTCOME        of an ended run: ok, exit 3, signal 9, timed out, lost, ...
//	CRONRING_DECISION       run, skip, hold
//	CRONRING_REASON         why, one word of the closed list
//	CRONRING_DETAIL         the reason's numbers and names
//	CRONRING_WAS            what a clock that was set had shown, RFC 3339 in UTC
//	CRONRING_NODE           in a ring, the member's name
//	CRONRING_COUNT          how many occurrences are meant, if not one
//	CRONRING_...            an attribute of the daemon's own log, under its name in capitals
//
// and one of the MESSAGE_IDs below. The names are the JSON names of job.Record
// and its parts. A value that has a line feed is written in the protocol's
// binary form, so that nothing a job prints or is called can forge a field.
//
// A StartWriter sends cron's line about a start as that of the job's process, so
// that journalctl shows its number; OBJECT_PID is the daemon then. In a line that
// the Sink writes instead, SYSLOG_PID alone has the number.
//
// The identifier is the family's for cron's own lines (cron, CRON, crond,
// CROND), the job's name for what it prints, and cronringd for all else.
//
// Nothing here waits for a reader for more than a moment: entries that a full or missing journal
// does not accept are counted, and the number is logged when it accepts entries again.
package journal

// IDKey is the attribute that assigns one of the MESSAGE_IDs to an entry of the daemon's own log.
// It is for machines only.
const IDKey = "MESSAGE_ID"

// UserKey is the attribute with the user that an entry of the daemon's own log is about. The entry
// waits for the log within the share of that user.
const UserKey = "user"

// The MESSAGE_IDs, one for each kind of entry.
const (
	StartedID = "96081cf748e7461f9229a3a0a8638837" // a run has started
	EndedID   = "72798f6ebd4d4ff0b56741dc720f6219" // a run has ended well
	FailedID  = "15cf73869a9c4152840897c21224b246" // a run has ended otherwise, or could not be started
	SkippedID = "9045e335267345ffa583a2d3d5a3e39c" // an occurrence was skipped, or a queued run dropped
	NoticeID  = "b1c7a4f05d0e4a7f9b3c2f6d8e1a5c74" // a notification is sent to channels, in the daemon's own log
	SteppedID = "5ae8d00fd41c4593b7576fb0484097e7" // the clock was set
	RefusedID = "3e2d778f11b949329630ce5bdecffe19" // a crontab is not read, in the daemon's own log
)
