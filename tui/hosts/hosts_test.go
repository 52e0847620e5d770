package hosts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/daemon/api"
)

func TestAHostThatHangsDelaysNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var got []string
		for r := range Watch(t.Context(), []string{"hangs", "works"}, func(ctx context.Context, host string) (api.Status, error) {
			if host == "hangs" {
				<-ctx.Done()
				return api.Status{}, ctx.Err()
			}
			return api.Status{Jobs: 3}, nil
		}) {
			if got = append(got, fmt.Sprint(time.Since(began), " ", r.Host, " ", r.Err)); r.Host == "hangs" {
				break
			}
		}
		if got[0] != "0s works <nil>" || got[len(got)-1] != "15s hangs no answer after 15 s" {
			t.Errorf("reports: %q", got)
		}
	})
}

func TestAHostThatDiesIsAskedAgainEverMoreRarely(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked []time.Duration
		began, last := time.Now(), time.Duration(0)
		n := 0
		for r := range Watch(t.Context(), []string{"db-02"}, func(context.Context, string) (api.Status, error) {
			if n++; n > 1 && n < 10 {
				return api.Status{}, errors.New("connection refused")
			}
			return api.Status{}, nil
		}) {
			asked = append(asked, time.Since(began)-last)
			if last = time.Since(began); n > 1 && r.Err == nil {
				break
			}
		}
		const s = time.Second
		if want := []time.Duration{0, 5 * s, 2 * s, 4 * s, 8 * s, 16 * s, 32 * s, 60 * s, 60 * s, 60 * s}; !slices.Equal(asked, want) {
			t.Errorf("pauses between questions: %v, want %v", asked, want)
		}
	})
}

func TestHostsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		names := make([]string, Most+10)
		for i := range names {
			names[i] = fmt.Sprint(i)
		}
		n := 0
		for range Watch(ctx, names, func(context.Context, string) (api.Status, error) { return api.Status{}, nil }) {
			n++
		}
		if n != Most {
			t.Errorf("%d hosts were asked, want %d", n, Most)
		}
	})
}
