// Package api owns the interface of the control socket, with the types of requests and answers, and
// the client that programs and the command line use. It does not depend on the server.
//
// Everything is HTTP and JSON. A document carries "v":1; within a version
// fields are added, never renamed or given another meaning. Streams are
// NDJSON, one object per line. Every failure is an Error.
package api

// Version is the "v" of every document.
const Version = 1
