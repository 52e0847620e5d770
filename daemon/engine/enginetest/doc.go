// Package enginetest owns simulated hosts with a random history for tests of the engine: crontabs with random
// values of every option, a daemon that is started, killed and replaced, and
// processes that end, fail and ignore signals. The seed determines a host, so a
// failure can be replayed. It uses only the engine's exported methods.
package enginetest
