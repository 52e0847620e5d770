package store

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

func TestEmissionsAreCountedAndLimited(t *testing.T) {
	s := open(t, t.TempDir())
	at := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	emit := func(user, name string, at time.Time) job.Record {
		return job.Record{Kind: job.Emitted, At: at, User: user, Detail: job.Text(name)}
	}
	b := Batch{At: at}
	for i := range mostEvents + 5 {
		b.Records = append(b.Records, emit("ann", fmt.Sprint("e", i), at.Add(time.Duration(i)*time.Second)))
	}
	b.Records = append(b.Records, emit("bob", "ready", at), emit("bob", "ready", at.Add(time.Hour)))
	if err := s.Commit(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	bob, err := s.Emissions(t.Context(), "bob")
	if want := (job.Emission{User: "bob", Name: "ready", Times: 2, Last: at.Add(time.Hour)}); err != nil || len(bob) != 1 || bob[0] != want {
		t.Errorf("got %+v, %v, want %+v", bob, err, want)
	}
	ann, err := s.Emissions(t.Context(), "ann")
	if err != nil || len(ann) != mostEvents || ann[0].Name != fmt.Sprint("e", mostEvents+4) || ann[mostEvents-1].Name != "e5" {
		t.Errorf("got %d events, %v, want the newest %d", len(ann), err, mostEvents)
	}
	if all, err := s.Emissions(t.Context(), ""); err != nil || len(all) != mostEvents+1 {
		t.Errorf("all: got %d, %v", len(all), err)
	}
}
