// Package outbox owns the delivery of email: it waits in a queue on disk for the host's mail
// transfer agent.
//
// A restart, a kill, or an agent that fails for days does not lose a message. If the
// daemon is killed between the agent's success and the removal of the file, the agent
// gets the message twice.
package outbox
