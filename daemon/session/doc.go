// Package session owns jobs that run in a PAM session of their user: each in a
// transient unit of systemd, whose PAMName= opens the session and, with it,
// decides whether the account may run anything at all.
//
// systemd starts not the job's shell but a helper, which is the daemon's own
// program calling Become. It receives the job's command, environment and
// descriptors over the socket that is its standard input, and turns into the
// job. There are four reasons for the detour. What a unit's properties say can
// be read by every user of the host, so that passwords in a private crontab
// must not be among them. PAM's variables come on top of a unit's, but below a
// crontab's. systemd and its keeper of the PAM session hold a unit's standard
// descriptors open, so that the end of the output would come late. And the
// helper can say that it came as far as the job, so that an exit status of the
// job is never taken for one of systemd's own.
//
// A unit stays loaded after its process has ended, until Release: when the
// daemon is replaced or dies, the next one can Wait for it. All calls go over
// systemd's private socket, which works without a message bus, and only for
// root.
package session
