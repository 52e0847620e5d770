// Package session owns the calls to systemd that start, signal and observe a job in a PAM session
// of its user. Each job has a transient unit, whose PAMName= opens the session and, with it,
// decides whether the account may run anything at all. Package pamsession chooses the jobs.
//
// systemd starts not the job's shell but a helper, which is the daemon's own
// program calling Become. It receives the job's command, environment and
// descriptors over the socket that is its standard input, and then executes the
// job. There are four reasons for the helper:
//
//   - Every user of the host can read a unit's properties, so they must not
//     contain passwords from a private crontab.
//   - PAM's variables override a unit's, but a crontab's must override PAM's.
//   - systemd, and its process that keeps the PAM session open, also hold a
//     unit's standard descriptors, so the end of the output would come late.
//   - The helper reports that it is about to execute the job, so an exit status
//     of the job is never mistaken for one of systemd.
//
// A unit stays loaded after its process has ended, until Release. If the daemon
// is replaced or dies, the next one can Wait for the unit. All calls use
// systemd's private socket, which works without a message bus, but only for
// root.
package session
