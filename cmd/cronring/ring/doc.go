// Package ring owns the command ring, which sets up a ring of hosts, shows its members and checks
// their configuration.
package ring
