// Command cronring owns the command line, which sends commands to the daemon over its socket, and
// reads, explains and simulates crontab files without a daemon.
package main

import (
	"os"
	"os/signal"
	"path/filepath"
	_ "time/tzdata" // zones on hosts and in containers that have no zone files

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/crontab1"
)

func main() {
	if filepath.Base(os.Args[0]) == "crontab" {
		os.Exit(crontab1.New().Run(os.Args[1:]))
	}
	a := cli.New(os.Stdin, os.Stdout, os.Stderr)
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt)
	go func() {
		<-interrupted
		os.Exit(a.Interrupt())
	}()
	os.Exit(a.Run(newRoot(a), os.Args[1:]))
}
