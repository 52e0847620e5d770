// Package members owns the questions to the daemons of other members of the ring: whom to ask, how
// long to wait, and how much of an answer to trust.
package members
