// Package members owns the requests that this daemon sends to the daemons of other members of the ring
// to answer a client: whom to ask, how long to wait, and how much of an answer to trust.
package members
