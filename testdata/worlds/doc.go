// Package worlds makes random hosts for tests: tables in which every option
// occurs with random values, a daemon that lives, dies and is replaced over
// them, and processes that do what processes do. A world is replayed from its
// seed. It knows of the engine what any other package can: Step, Wake, View.
package worlds
