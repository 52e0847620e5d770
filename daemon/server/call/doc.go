// Package call owns the context in which each handler of the control socket answers a request, with
// the caller, its arguments and permissions, and the answer. It limits the memory and the
// processors that the requests of a user take.
package call
