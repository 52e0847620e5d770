// Package call owns one request to the daemon: who sends it, what it asks for, what of the
// engine's view and of the history its sender may see, and how the answer is sent. It limits the
// memory and the processors that the requests of a user take.
package call
