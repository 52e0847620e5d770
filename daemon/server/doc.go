// Package server owns the daemon's side of the control socket, which accepts connections, checks
// permissions and routes requests, as HTTP and JSON over a unix socket. The packages below it answer
// the requests.
//
// It decides nothing. The present comes from the engine's newest View, which costs the loop nothing
// to read; the past comes from the store; changes go to the loop through Backend.Ask. So a slow,
// wrong or hostile caller can only block its own connection.
package server
