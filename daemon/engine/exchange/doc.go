// Package exchange owns the messages that the engine and the ring exchange about the
// occurrences of ring jobs. Neither imports the other: gossip/claims decides which member
// runs an occurrence, and daemon/engine how a host runs it.
//
//	engine                            ring
//	Host       --------------------->  the jobs of this host, and which of them it can run
//	Due        --------------------->  waiting: it is this member's turn later, or never
//	run        <------ Permit -------  granted
//	skip       <------ Deny ---------  no member can run it, or none was allowed to in time
//	Progress   --------------------->  running: it has begun, or is over, or could not start and is given up
//	run waits  <------ Recheck ------  this host was suspended, or leaves the ring
//	Unstarted  --------------------->  asked again: another member may have taken it
//	run        <------ Permit -------  this member still has it
//	dropped    <------ Revoke -------  another member has it
//
// Members, Elsewhere and Doubled report the rest of what the engine must know of the ring.
package exchange
