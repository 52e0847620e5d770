package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
)

// A member in available mode beside two in strict mode claims nothing, also when it is cut
// off from them: all starts are those of the two.
func TestRingOfTwoModes(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: daemons on networks of their own take half a minute; make ring runs them")
	}
	t.Parallel()
	l := newDaemonRing(t, api.RingStrict, 3, 200)
	file := filepath.Join(l.dirs[2], "cronring.toml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var kept []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "mode") && !strings.HasPrefix(line, "voters") {
			kept = append(kept, line)
		}
	}
	filetest.Write(t, file, strings.Join(kept, ""), 0o600)
	l.leader() // the log of the voters begins when all of them have the same list
	l.restarted(2)
	const says = "n3 has mode available and hold-off 2s, but this host has mode strict and hold-off 2s"
	l.until(0, says, func(r *api.Ring) bool {
		return slices.ContainsFunc(r.Problems, func(p api.Problem) bool { return strings.HasPrefix(p.What, says) }) // the digest of the voters follows
	})
	l.until(2, "it claims nothing", func(r *api.Ring) bool { return strings.Contains(r.Held, "most members have mode strict") })
	from := time.Now().Add(2 * time.Second)
	l.pass(5 * time.Second)
	l.do("cut", "3", "1,2")
	l.until(2, "it sees nobody", func(r *api.Ring) bool { return upIn(r) == 1 })
	l.pass(5 * time.Second)
	l.do("heal")
	l.wholeAgain("the cut")
	l.check(l.settle())
	for _, s := range l.seen {
		if s.member() == 2 && s.due > from.Unix() {
			t.Errorf("%s of %v started %v", s.job, time.Unix(s.due, 0).UTC(), s)
		}
	}
}
