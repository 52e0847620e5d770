package hosts

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/daemon/api"
)

// fakeDaemon answers with the functions that are set, and otherwise hangs.
type fakeDaemon struct {
	board  func(yield func(api.BoardUpdate, error) bool)
	status func() (api.Status, error)
}

func (d fakeDaemon) Board(ctx context.Context) iter.Seq2[api.BoardUpdate, error] {
	return func(yield func(api.BoardUpdate, error) bool) {
		if d.board != nil {
			d.board(yield)
		}
		<-ctx.Done()
		yield(api.BoardUpdate{}, ctx.Err())
	}
}

func (d fakeDaemon) Status(ctx context.Context) (api.Status, error) {
	if d.status != nil {
		return d.status()
	}
	<-ctx.Done()
	return api.Status{}, ctx.Err()
}

func alive() (api.Status, error) { return api.Status{}, nil }

// watched returns reports of hosts with their times, until done returns true.
func watched(t *testing.T, daemons map[string]Daemon, names []string, done func(BoardReport) bool) (got []string) {
	began := time.Now()
	for some := range WatchBoards(t.Context(), names, func(host string) (Daemon, error) {
		if d, ok := daemons[host]; ok {
			return d, nil
		}
		return nil, errors.New("invalid name")
	}) {
		for _, r := range some {
			got = append(got, fmt.Sprint(time.Since(began), " ", r.Host, " ", len(r.Update.Rows), " ", r.Err))
			if done(r) {
				return got
			}
		}
	}
	return got
}

func TestABoardThatHangsDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		works := fakeDaemon{func(yield func(api.BoardUpdate, error) bool) {
			yield(api.BoardUpdate{Rows: make([]api.Row, 3)}, nil)
		}, alive}
		got := watched(t, map[string]Daemon{"hangs": fakeDaemon{}, "works": works}, []string{"hangs", "works", "-x"}, func(r BoardReport) bool {
			return r.Host == "hangs"
		})
		for _, want := range []string{"250ms works 3 <nil>", "250ms -x 0 invalid name"} {
			if !slices.Contains(got, want) {
				t.Errorf("reports: %q, want %q", got, want)
			}
		}
		if want := "15.25s hangs 0 no answer after 15 s"; got[len(got)-1] != want {
			t.Errorf("reports: %q, want %q at the end", got, want)
		}
	})
}

// A network that fails without an error ends the board, and the host is tried again.
func TestABoardThatFallsSilentIsFollowedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		d := fakeDaemon{func(yield func(api.BoardUpdate, error) bool) {
			yield(api.BoardUpdate{Begin: true, Rows: make([]api.Row, 1)}, nil)
		}, func() (api.Status, error) {
			if asked++; asked == 3 {
				return api.Status{}, errSlow
			}
			return api.Status{}, nil
		}}
		begun := 0
		got := watched(t, map[string]Daemon{"db-02": d}, []string{"db-02"}, func(r BoardReport) bool {
			if r.Update.Begin {
				begun++
			}
			return begun == 2
		})
		want := []string{"250ms db-02 1 <nil>", "10.25s db-02 0 no answer after 15 s", "12.25s db-02 1 <nil>"}
		if !slices.Equal(got, want) {
			t.Errorf("reports: %q, want %q", got, want)
		}
	})
}

// A flood is passed on in parts, each of which is not much more than collectRows.
func TestBoardsAreCollected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		flood := fakeDaemon{func(yield func(api.BoardUpdate, error) bool) {
			for range 100 {
				yield(api.BoardUpdate{Rows: make([]api.Row, 1000)}, nil)
			}
		}, alive}
		all := 0
		for some := range WatchBoards(t.Context(), []string{"a"}, func(string) (Daemon, error) { return flood, nil }) {
			rows := 0
			for _, r := range some {
				rows += len(r.Update.Rows)
			}
			if rows >= collectRows+1000 {
				t.Fatalf("%d rows at a time", rows)
			}
			if all += rows; all == 100_000 {
				break
			}
		}
	})
}
