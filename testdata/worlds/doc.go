// Package worlds owns simulations of random hosts for tests: crontabs with random
// values of every option, a daemon that is started, killed and replaced, and
// processes that end, fail and ignore signals. The seed determines a world, so a
// failure can be replayed. It uses only the engine's exported methods.
package worlds
