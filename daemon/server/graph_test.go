package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/api"
)

const familyCrontab = `#@ name=dump
15 2 * * * ann dump
#@ name=upload after=dump
15 3 * * * ann upload
#@ name=report after=dump:done,upload:done when=none-failed
0 6 * * * root report
#@ name=alarm on=job:dump:fail,lost
0 0 1 1 * root alarm
#@ name=lonely
0 1 * * * ann lonely
#@ name=lost after=nobody
0 1 * * * ann lost
`

// graphOf requests a graph as a user, and formats it with one line for each job.
func graphOf(t *testing.T, w *world, uid uint32, query string) string {
	t.Helper()
	status, text := w.walk(uid, "GET", "/v1/graph", walked{query: query})
	var g api.Graph
	if err := json.Unmarshal([]byte(text), &g); err != nil || status != http.StatusOK {
		t.Fatalf("status %d, %v: %s", status, err, text)
	}
	var b strings.Builder
	for _, n := range g.Jobs {
		fmt.Fprintf(&b, "%s %s", n.Job.ID, n.State)
		for _, e := range n.After {
			fmt.Fprintf(&b, " after=%s:%s", e.Job, strings.Join(e.Outcomes, ","))
		}
		for _, e := range n.On {
			fmt.Fprintf(&b, " on=%s:%s", e.Job, strings.Join(e.Outcomes, ","))
		}
		if n.When != "" {
			fmt.Fprintf(&b, " when=%s", n.When)
		}
		if n.Newest != nil {
			fmt.Fprintf(&b, " newest=%d:%s", n.Newest.ID, n.Newest.Verdict)
		}
		for _, r := range n.Running {
			fmt.Fprintf(&b, " live=%d:%s", r.ID, r.State)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestGraphTellsWhatIsConnected(t *testing.T) {
	w := newWorld(t, familyCrontab)
	w.To("2026-11-20T02:15:00Z")
	for _, r := range w.View().Runs() {
		if w.Start(r.ID); r.Job == "dump" {
			w.End(r.ID, 1)
		}
	}
	w.To("2026-11-20T03:15:00Z")
	all := "dump failing newest=2:fail\n" +
		"upload new after=dump:ok newest=4:upstream\n" +
		"report new after=dump:done after=upload:done when=none-failed\n" +
		"alarm late on=dump:fail,lost live=3:decided\n" +
		"lost held after=nobody:ok\n"
	for _, c := range []struct {
		uid         uint32
		query, want string
	}{
		{0, "", all},
		{0, "all=true", strings.Replace(all, "lost held", "lonely running live=1:running\nlost held", 1)},
		{0, "job=upload", strings.Replace(all, "lost held after=nobody:ok\n", "", 1)},
		{0, "job=lonely", "lonely running live=1:running\n"},
		{0, "job=lost", "lost held after=nobody:ok\n"},
		{annUID, "", "dump failing newest=2:fail\nupload new after=dump:ok newest=4:upstream\nlost held after=nobody:ok\n"},
		{bobUID, "all=true", ""},
	} {
		got := graphOf(t, w, c.uid, c.query)
		if got != c.want {
			t.Errorf("as uid %d, %q: got\n%swant\n%s", c.uid, c.query, got, c.want)
		}
	}
}

func TestGraphLeavesOutWhatNothingConnects(t *testing.T) {
	w := newWorld(t, "0 1 * * * ann a\n0 1 * * * ann b\n")
	if got := graphOf(t, w, 0, ""); got != "" {
		t.Errorf("got %q, want nothing", got)
	}
}
