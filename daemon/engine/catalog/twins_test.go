package catalog

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// TestTwinsTakeTheFirstFreeOrdinal compares the names of identical entries with a plain
// implementation of the rule: each entry in order tries 2, 3 and so on until an ordinal is free.
// An ordinal is also taken if another entry has it as its name.
func TestTwinsTakeTheFirstFreeOrdinal(t *testing.T) {
	for seed := range uint64(300) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var crontabs []*crontab.File
		var texts strings.Builder
		for _, owner := range []string{"ann", "zoe", "ann"} {
			text := alike(rng)
			fmt.Fprintf(&texts, "%s:\n%s", owner, text)
			crontabs = append(crontabs, crontabOf(owner, text))
		}
		s := New(crontabs, nil, nil)
		taken := map[job.ID]bool{}
		for slot := range s.Len() {
			want := firstFree(s, slot, taken)
			if got := s.ID(slot); got != want {
				t.Fatalf("seed %d: slot %d is called %s, want %s\n%s", seed, slot, got, want, &texts)
			}
		}
	}
}

// alike is a crontab of few commands, and of names that others have or come to.
func alike(rng *rand.Rand) string {
	var b strings.Builder
	for range 1 + rng.IntN(12) {
		switch command := rng.IntN(3); rng.IntN(5) {
		case 0:
			fmt.Fprintf(&b, "#@ name=%s\n", job.DeriveID("ann", "", "", fmt.Sprint("command ", command), rng.IntN(5)).Name())
		case 1:
			fmt.Fprintf(&b, "#@ name=backup%d\n", rng.IntN(2))
		case 2:
			b.WriteString("#@ shards=2\n")
		}
		fmt.Fprintf(&b, "0 0 * * * command %d\n", rng.IntN(3))
	}
	return b.String()
}

func firstFree(s *Catalog, slot int, taken map[job.ID]bool) job.ID {
	e, o := s.Entry(slot), s.Entry(slot).Options()
	suffix := ""
	if o.Shards > 1 {
		suffix = fmt.Sprint("#", s.jobs[slot].shard)
	}
	owner := e.File().Owner()
	id := job.DeriveID(owner, e.File().Name, e.User(), e.Command(), 0) + job.ID(suffix)
	if o.Name != "" {
		id = job.NewID(owner, o.Name+suffix)
	}
	for ordinal := 2; taken[id]; ordinal++ {
		id = job.DeriveID(owner, e.File().Name, e.User(), e.Command(), ordinal) + job.ID(suffix)
	}
	taken[id] = true
	return id
}

// TestEqualLinesCostNoMoreThanOthers counts allocations of the naming: a user must not delay all
// jobs with one line written very often.
func TestEqualLinesCostNoMoreThanOthers(t *testing.T) {
	const lines = 20_000
	for line, last := range map[string]int{
		"0 0 * * * true\n":                 lines,
		"#@ name=backup\n0 0 * * * true\n": lines - 1, // the name is the first one's
	} {
		crontabs := []*crontab.File{crontabOf("ann", strings.Repeat(line, lines))}
		var s *Catalog
		each := testing.AllocsPerRun(1, func() { s = New(crontabs, nil, nil) }) / lines
		if each > 20 {
			t.Errorf("%q %d times: %.0f allocations for each, want a few", line, lines, each)
		}
		if got, want := string(s.ID(lines-1)), fmt.Sprint("-", last); !strings.HasSuffix(got, want) {
			t.Errorf("%q %d times: the last is called %s, want it to end in %s", line, lines, got, want)
		}
	}
}

// crontabOf parses a crontab of root's whose entries run as a user.
func crontabOf(user, text string) *crontab.File {
	t, _ := crontab.Parse(user, text, crontab.Config{User: user})
	return t
}
