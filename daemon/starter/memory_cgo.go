//go:build cgo

package starter

// cLibrary reports that the program may contain the C library. The kernel then writes to the memory of a new
// process (rseq), at an address that depends on the thread which forked.
const cLibrary = true
