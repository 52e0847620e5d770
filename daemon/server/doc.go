// Package server owns the daemon's side of the control socket: who may ask,
// what is asked, and the answers, as HTTP and JSON over a unix socket.
//
// It decides nothing. What is so now comes from the engine's newest View,
// which costs the loop nothing to read; what was so comes from the store; what
// is to change goes to the loop through Backend.Ask. So a caller that is slow,
// wrong or hostile can take its own connection's time, and no more.
package server
