package slots

import (
	"fmt"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// TestPreempt checks which running runs are stopped for the waiting ones. Running runs are numbered
// from 1, waiting ones from 11; the waiting ones have preempt but for those that begin with "-".
func TestPreempt(t *testing.T) {
	pools := map[string]Pool{"p": {Size: 2, Users: []string{"*"}}, "q": {Size: 1, Users: []string{"*"}}}
	for name, tt := range map[string]struct {
		limits         Limits
		running, waits []string
		preemptibility map[job.RunID]Preemptibility // the others yield
		want           string
	}{
		"lowest priority":       {Limits{}, []string{"ann 3 p:1", "ann 2 p:1"}, []string{"ann 5 p:1"}, nil, "11 for [2]"},
		"newest of equals":      {Limits{}, []string{"ann 3 p:1", "ann 3 p:1"}, []string{"ann 5 p:1"}, nil, "11 for [2]"},
		"equal priority":        {Limits{}, []string{"ann 5 p:2"}, []string{"ann 5 p:1"}, nil, ""},
		"without preempt":       {Limits{}, []string{"ann 3 p:2"}, []string{"-ann 5 p:1"}, nil, ""},
		"both":                  {Limits{}, []string{"ann 3 p:1", "ann 2 p:1"}, []string{"ann 5 p:2"}, nil, "11 for [2 1]"},
		"one stays":             {Limits{}, []string{"ann 3 p:1", "ann 2 p:1"}, []string{"ann 5 p:2"}, map[job.RunID]Preemptibility{1: Stays}, ""},
		"one leaves":            {Limits{}, []string{"ann 3 p:1", "ann 2 p:1"}, []string{"ann 5 p:2"}, map[job.RunID]Preemptibility{1: Leaves}, "11 for [2]"},
		"enough leaves":         {Limits{}, []string{"ann 3 p:1", "ann 2 p:1"}, []string{"ann 5 p:1"}, map[job.RunID]Preemptibility{1: Leaves}, ""},
		"another user":          {Limits{}, []string{"bob 3 p:2"}, []string{"ann 5 p:1"}, nil, ""},
		"another user, by root": {Limits{}, []string{"bob 3 p:2"}, []string{"root 5 p:1"}, nil, "11 for [1]"},
		"another pool":          {Limits{}, []string{"ann 3 q:1", "ann 5 p:2"}, []string{"ann 5 p:1"}, nil, ""},
		"host":                  {Limits{MaxRunning: 2}, []string{"ann 3", "ann 4 p:1"}, []string{"ann 5"}, nil, "11 for [1]"},
		"host and pool":         {Limits{MaxRunning: 2}, []string{"ann 3", "ann 4 q:1"}, []string{"ann 5 q:1"}, nil, "11 for [2]"},
		"user":                  {Limits{MaxPerUser: 1}, []string{"ann 3", "bob 1"}, []string{"ann 5"}, nil, "11 for [1]"},
		"not the next":          {Limits{}, []string{"ann 3 p:2"}, []string{"ann 5 p:1", "-ann 6 p:1"}, nil, ""},
		"overtaken on the host": {Limits{MaxRunning: 1}, []string{"ann 3"}, []string{"ann 5 p:1", "-ann 6"}, nil, ""},
		"overtaken by a full user": {Limits{MaxRunning: 2, MaxPerUser: 1}, []string{"ann 3", "bob 5"}, []string{"ann 5", "-bob 6"},
			nil, "11 for [1]"},
		"after a full user that gets no slot": {Limits{MaxPerUser: 1}, []string{"ann 3", "bob 5"}, []string{"ann 5", "bob 6"},
			map[job.RunID]Preemptibility{2: Stays}, "11 for [1]"},
		"after a full user that gets a slot": {Limits{MaxPerUser: 1}, []string{"ann 3", "bob 5"}, []string{"ann 5", "bob 6"},
			map[job.RunID]Preemptibility{2: Leaves}, "11 for [1]"},
		"after a full user that gets a slot of the pool": {Limits{MaxPerUser: 1}, []string{"ann 3 p:1", "bob 5 p:1"}, []string{"ann 5 p:1", "bob 6 p:1"},
			map[job.RunID]Preemptibility{2: Leaves}, ""},
		"highest of two": {Limits{}, []string{"ann 1 q:1", "ann 1 p:2"}, []string{"ann 5 q:1", "ann 6 p:1"}, nil, "12 for [2]"},
	} {
		tt.limits.Pools = pools
		q := queue(tt.limits)
		for i, text := range tt.running {
			q.Occupy(claim(i+1, text), 0)
		}
		for i, text := range tt.waits {
			c := claim(i+11, text)
			if text[0] == '-' {
				c = claim(i+11, text[1:])
			} else {
				c.Preempt = true
			}
			q.LineUp(c)
		}
		got := ""
		if p := q.Preempt(time.Hour, func(id job.RunID) Preemptibility {
			if s, ok := tt.preemptibility[id]; ok {
				return s
			}
			return Yields
		}); p != nil {
			var ids []job.RunID
			for _, c := range p.Stops {
				ids = append(ids, c.Run)
			}
			got = fmt.Sprintf("%d for %v", p.For.Run, ids)
		}
		if got != tt.want {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
