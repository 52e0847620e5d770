package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/budget"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/hub"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/server/call"
)

func TestEventsOfChosenJobs(t *testing.T) {
	w := newWorld(t, etlCrontab)
	c := w.client()
	got := make(chan string)
	go func() {
		var seen []string
		for e, err := range c.Events(patient(t), "etl-*") {
			if err != nil {
				seen = append(seen, err.Error())
				break
			}
			seen = append(seen, string(e.Record.Job))
			if e.Record.Job == "etl-later" {
				break
			}
		}
		got <- strings.Join(seen, " ")
	}()
	awaitSubscriber(t, w, got)
	for _, id := range []job.ID{"certbot", "etl-orders", "etl-later"} {
		w.Publish(api.Event{Record: &job.Record{Kind: job.Paused, Job: id}})
	}
	if text := await(t, "the events", got); text != "etl-orders etl-later" {
		t.Errorf("events of %q, want those of etl-orders and of a job that the glob chooses later", text)
	}
}

// tell formats a stream in one line: output as text, other events by name.
func tell(events func(func(api.Event, error) bool)) string {
	var said []string
	for e, err := range events {
		switch {
		case err != nil:
			said = append(said, err.Error())
		case e.Chunk != nil:
			said = append(said, string(e.Chunk.Data))
		case e.Gap != nil:
			said = append(said, "gap")
		case e.Record != nil:
			said = append(said, string(e.Record.Kind)+" "+e.Record.Run.Outcome.String())
		}
	}
	return strings.Join(said, ", ")
}

func TestOutputOfEndedRun(t *testing.T) {
	w := annsWorld(t)
	c := w.client()
	if got, want := tell(c.Output(patient(t), "1", false)), "ann-secret-output"; got != want {
		t.Errorf("Output: %q, want %q", got, want)
	}
	if got, want := tell(c.Output(patient(t), "ann-job@-2", true)), "ann-secret-output, ended exit 1"; got != want {
		t.Errorf("Output with follow: %q, want %q", got, want)
	}
	if got := tell(c.Output(patient(t), "99", false)); !strings.Contains(got, "no such run") {
		t.Errorf("Output of no run: %q", got)
	}
}

// following follows the output of run 3 and returns when the first piece has
// come through: from then on the server is sure to hear of its end as it
// happens.
func following(w *world) (told <-chan string) {
	c, heard, got := w.client(), make(chan struct{}), make(chan string)
	first := sync.OnceFunc(func() { close(heard) })
	one := func(e api.Event) bool { return e.Chunk != nil && string(e.Chunk.Data) == "one" }
	go func() {
		got <- tell(func(yield func(api.Event, error) bool) {
			for e, err := range c.Output(patient(w.t), "3", true) {
				if one(e) {
					first()
				}
				if !yield(e, err) {
					return
				}
			}
		})
	}()
	awaitSubscriber(w.t, w, got)
	w.Publish(api.Event{Chunk: &job.Chunk{Run: 4, Data: []byte("other")}})
	w.Publish(api.Event{Chunk: &job.Chunk{Run: 3, Data: []byte("one")}})
	await(w.t, "the first piece of output", heard)
	return got
}

func TestOutputFollowsLiveRun(t *testing.T) {
	w := annsWorld(t)
	w.Chunks[3] = []job.Chunk{{Run: 3, Data: []byte("before")}}
	told := following(w)
	w.Publish(api.Event{Chunk: &job.Chunk{Run: 3, Data: []byte("two")}})
	w.End(3, 2)
	if text, want := await(t, "the output", told), "before, one, two, ended exit 2"; text != want {
		t.Errorf("Output with follow: %q, want %q", text, want)
	}
}

// The end of a run can be among what a slow reader lost.
func TestOutputEndsAfterGap(t *testing.T) {
	w := annsWorld(t)
	told := following(w)
	subscribers := w.Hub
	w.Hub = hub.New(budget.New(0, 0))
	w.End(3, 2)
	w.Hub = subscribers
	w.Publish(api.Event{Gap: &api.Gap{Lost: 1}})
	if text, want := await(t, "the output", told), "one, gap, ended exit 2"; text != want {
		t.Errorf("Output with follow: %q, want %q", text, want)
	}
}

func TestClientSaysWhyNobodyAnswers(t *testing.T) {
	dir := t.TempDir()
	filetest.Write(t, dir+"/file", "", 0o600)
	w := newWorld(t, etlCrontab)
	l, err := Listen(dir + "/gone")
	if err != nil {
		t.Fatal(err)
	}
	unlinkLater(l)
	if err := w.serveOn(l, w.server())(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		socket, why string
		kind        api.Kind
	}{
		{dir + "/never", "there is no such socket", api.Unreachable},
		{dir + "/gone", "no process listens", api.Unreachable},
		{dir + "/file", "the path is not a socket", api.Unreachable},
		{dir + "/" + strings.Repeat("a", 200), "at most 107 bytes", api.Usage},
	} {
		_, err := api.Dial(test.socket).Status(context.Background())
		// Between fork and exec, a process that another test starts has a copy of the listener.
		for late := time.Now().Add(hosttest.Patience); err != nil && strings.Contains(err.Error(), "the connection ended") && time.Now().Before(late); {
			_, err = api.Dial(test.socket).Status(context.Background())
		}
		e, ok := err.(*api.Error)
		if !ok || e.Kind != test.kind || !strings.Contains(e.Why, test.why) || e.Fix == "" {
			t.Errorf("Status on %.40s: %+v, want kind %s, why %q and a fix", test.socket, err, test.kind, test.why)
		}
	}
}

func TestKindsHaveExitCodes(t *testing.T) {
	var got []int
	for _, k := range []api.Kind{api.Internal, api.Usage, api.NotFound, api.NotAllowed, api.Unreachable, api.Conflict} {
		got = append(got, k.Exit())
		if call.HTTPStatus[k] == 0 {
			t.Errorf("kind %s has no HTTP status", k)
		}
	}
	if want := []int{1, 2, 3, 4, 5, 6}; !slices.Equal(got, want) {
		t.Errorf("exit codes %v, want %v", got, want)
	}
}

// Streams cost work for each event, so a user can have only some, and others still get theirs.
func TestStreamsAreLimited(t *testing.T) {
	const most = 64
	synctest.Test(t, func(t *testing.T) {
		w := annsWorld(t)
		s := w.server()
		follow := func(uid uint32, target string) (*httptest.ResponseRecorder, context.CancelFunc) {
			ctx, leave := context.WithCancel(call.WithPeer(t.Context(), func() call.Peer {
				name, _ := users.Name(uid)
				return call.Peer{UID: uid, Name: name, Admin: s.keeps(uid)}
			}, func() int { return 0 }))
			answer := httptest.NewRecorder()
			go s.ServeHTTP(answer, httptest.NewRequest("GET", target, nil).WithContext(ctx))
			synctest.Wait()
			return answer, leave
		}
		var leaveAll []context.CancelFunc
		open := func(uid uint32, target string) (n int) {
			for range most {
				if answer, leave := follow(uid, target); answer.Code == http.StatusOK {
					leaveAll = append(leaveAll, leave)
					n++
				} else if text := answer.Body.String(); answer.Code != http.StatusConflict || !strings.Contains(text, "cannot follow another stream") {
					t.Fatalf("status %d, %s", answer.Code, text)
				} else {
					leave()
				}
			}
			return n
		}
		if n := open(annUID, "/v1/events"); n != most/2 {
			t.Errorf("ann alone has %d streams, want %d", n, most/2)
		}
		if n := open(annUID, "/v1/output?run=3&follow=true"); n != 0 {
			t.Errorf("ann follows output %d times more, want 0", n)
		}
		if n := open(bobUID, "/v1/events"); n != most/4 {
			t.Errorf("beside ann, bob has %d streams, want %d", n, most/4)
		}
		if n := open(0, "/v1/events"); n != most {
			t.Errorf("root has %d streams, want %d", n, most)
		}
		for _, leave := range leaveAll {
			leave()
		}
		synctest.Wait()
		if n := open(annUID, "/v1/output?run=3&follow=true"); n != most/2 {
			t.Errorf("after all streams were closed, ann has %d, want %d", n, most/2)
		}
		w.Close()
		synctest.Wait()
	})
}

// Each event is compared with all patterns of a stream.
func TestPatternsOfAStreamAreLimited(t *testing.T) {
	w := annsWorld(t)
	for n, want := range map[int]int{20: http.StatusOK, 21: http.StatusBadRequest} {
		query := strings.Repeat("job=ann-*&", n) + strings.Repeat("job=ann-job&", 100)
		status, text := w.walk(annUID, "GET", "/v1/events", walked{query: query, endless: true})
		if status != want {
			t.Errorf("%d patterns: status %d, %s; want %d", n, status, text, want)
		}
	}
}
