// Package manager owns the communication with the service manager that started the daemon, such as
// readiness, status, watchdog, the sockets that it opened for us, and the descriptor store, where it
// keeps what has to survive a crash. Without a service manager everything here does nothing.
//
// The protocol is that of sd_notify(3), sd_listen_fds(3) and
// FileDescriptorStoreMax= in systemd.service(5).
package manager
