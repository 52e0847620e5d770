package engine

import (
	"testing"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/gossip/register"
)

// TestUndecidedClaimOutlivesItsJob removes the last jobs of a crontab while the owner of an
// occurrence of one of them cannot be decided.
func TestUndecidedClaimOutlivesItsJob(t *testing.T) {
	e, now, _ := ringOf(t, 600, 1)
	all := e.View().Crontabs()
	first, _ := crontab.Parse("ring", "#@ default scope=ring\n0 0 * * * job --number 0\n", crontab.Config{Owner: "root"})
	pass := func(d time.Duration, events ...Event) (claims []register.Claim) {
		now.Wall, now.Up = now.Wall.Add(d), now.Up+d
		for _, effect := range e.Step(now, events...) {
			if c, ok := claimIn(effect); ok {
				claims = append(claims, c)
			}
		}
		return claims
	}
	claims := pass(30 * time.Second) // 08:01: job 481
	if len(claims) != 1 {
		t.Fatalf("got %d claims, want 1", len(claims))
	}
	due := claims[0].Occurrence
	pass(time.Second, FromRing{register.Claimed{Occurrence: due, Grant: register.Postponed}})
	if all := e.View().Undecided(); len(all) != 1 || !all[0].Due.Equal(due.Time()) {
		t.Fatalf("got undecided %v, want the one of %v", all, due.Time())
	}
	pass(0, Load{Crontabs: []*crontab.File{first}, Ring: Available})
	if all := e.View().Undecided(); len(all) != 0 {
		t.Errorf("got undecided %v of a job that was removed", all)
	}
	claims = pass(0, Load{Crontabs: all, Ring: Available})
	claims = append(claims, pass(time.Second)...)
	if len(claims) != 1 || claims[0].Occurrence != due {
		t.Fatalf("got claims %v, want %v again", claims, due)
	}
	pass(0, FromRing{register.Changes{Orphans: []register.Report{{Mark: register.Mark{Occurrence: due, Member: "gone", Phase: register.Taken}}}}}, Load{Crontabs: []*crontab.File{first}, Ring: Available})
	pass(time.Second, FromRing{register.Claimed{Occurrence: due, Grant: register.Refused, By: "gone"}})
	if len(e.ring.claims) != 0 {
		t.Errorf("%d claims are left", len(e.ring.claims))
	}
}

// claimIn returns the claim that an effect is.
func claimIn(e Effect) (c register.Claim, ok bool) {
	x, ok := e.(ToRing)
	if ok {
		c, ok = x.Effect.(register.Claim)
	}
	return c, ok
}
