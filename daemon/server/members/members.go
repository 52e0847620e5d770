package members

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

// Ring is a ring whose members can be asked.
type Ring interface {
	// Status is the ring as this member sees it. It never blocks.
	Status() api.Ring
	// Transport carries requests to the daemons of members: their hosts are IDs.
	Transport() http.RoundTripper
}

// None is the Ring of a host in no ring.
type None struct{}

// Status returns a ring without name and members.
func (None) Status() api.Ring { return api.Ring{Members: []api.Member{}} }

// Transport returns one that fails.
func (n None) Transport() http.RoundTripper { return n }

// RoundTrip fails.
func (None) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, errors.New("this host is in no ring")
}

// Taken reports that no other member claimed an occurrence.
func (None) Taken(job.Key) (due time.Time, by string, ok bool) { return due, "", false }

// Change returns NoRing's error.
func (None) Change(_ context.Context, r api.RingRequest) (api.RingDone, error) {
	return api.RingDone{}, NoRing(r.Do)
}

// NoRing is the error of a request that needs a ring, on a host that is in none.
func NoRing(do string) *api.Error {
	return &api.Error{
		Kind: api.Conflict, What: "cannot " + do + ": this host is in no ring",
		Why: "its configuration had no [ring] when the daemon started", Fix: "cronring ring init, or restart the daemon if it has one now; see cronring-ring-setup(7)",
	}
}

// Find finds another member by name or ID.
func Find(r api.Ring, name string) (api.Member, error) {
	var found []api.Member
	for _, m := range r.Members {
		if m.ID != r.Self && (m.ID == name || m.Name == name) {
			found = append(found, m)
		}
	}
	// A member that left and came back under another ID leaves its name behind.
	if up := slices.DeleteFunc(slices.Clone(found), func(m api.Member) bool { return !m.State.Up() }); len(up) > 0 {
		found = up
	}
	switch len(found) {
	case 0:
		return api.Member{}, &api.Error{
			Kind: api.NotFound, What: fmt.Sprintf("cannot ask %q: there is no such other member", name),
			Why: fmt.Sprintf("the ring %q has %d members, this host among them", r.Name, len(r.Members)), Fix: "cronring ring status",
		}
	case 1:
		return found[0], nil
	}
	return api.Member{}, &api.Error{
		Kind: api.Conflict, What: fmt.Sprintf("cannot ask %q: %d members have that name", name, len(found)),
		Why: "several hosts may have the same name; IDs are unique", Fix: "name it by its ID: cronring ring status -o wide",
	}
}

// The bounds of what another member may answer.
const (
	memberTimeout = 3 * time.Second
	MaxAnswer     = 8 << 20
	MaxWords      = 1000 // of an error
)

// Ask queries another member's daemon, as root. Users with the same name on two hosts need
// not be the same person, so no other user may query.
func Ask[T any](ctx context.Context, c *call.Call, ring Ring, m api.Member, path string, query url.Values) (answer T, err error) {
	if !c.Peer.Admin {
		return answer, c.NotAllowed()
	}
	ctx, cancel := context.WithTimeout(ctx, memberTimeout)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+m.ID+path+"?"+query.Encode(), nil)
	if err != nil {
		return answer, fmt.Errorf("ask member: %w", err)
	}
	response, err := ring.Transport().RoundTrip(r)
	if err != nil {
		return answer, &api.Error{
			Kind: api.Unreachable, What: "cannot ask " + m.Name, Why: err.Error(), Fix: "cronring ring status",
		}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, MaxAnswer+1))
	switch {
	case err != nil:
		return answer, &api.Error{Kind: api.Unreachable, What: "cannot read what " + m.Name + " answers", Why: err.Error(), Fix: "ask again"}
	case len(text) > MaxAnswer:
		return answer, &api.Error{Kind: api.Internal, What: m.Name + " answers too much", Why: fmt.Sprintf("more than %d bytes", MaxAnswer), Fix: "ask for less: -n"}
	case response.StatusCode != http.StatusOK:
		var e api.Error
		if json.Unmarshal(text, &e) != nil || e.What == "" {
			e = api.Error{Kind: api.Internal, What: "cannot be answered", Why: response.Status}
		}
		if _, ok := call.HTTPStatus[e.Kind]; !ok {
			e.Kind = api.Internal
		}
		return answer, &api.Error{Kind: e.Kind, What: m.Name + ": " + brief(e.What), Why: brief(e.Why), Fix: brief(e.Fix)}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return answer, fmt.Errorf("read answer of %s: %w", m.Name, err)
	}
	return answer, nil
}

// brief limits the length of another member's text.
func brief(words string) string {
	return strings.ToValidUTF8(words[:min(len(words), MaxWords)], "")
}
