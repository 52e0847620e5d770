package main

import (
	"testing"
)

// Every command can be called without arguments: it complains at most.
func TestCommandsTakeNoArguments(t *testing.T) {
	for _, c := range tree(t).Commands() {
		for _, verb := range append(c.Commands(), c) {
			_ = verb.ValidateArgs(nil) // panics where there is no check
		}
	}
}
