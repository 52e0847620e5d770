package api

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/daemon/job"
)

func someRow(r *rand.Rand, now time.Time) Row {
	maybe := func(text string) string { return []string{"", text, text + text}[r.IntN(3)] }
	when := func() time.Time {
		if r.IntN(3) == 0 {
			return time.Time{}
		}
		return now.Add(time.Duration(r.Int64N(1e18)) - 5e17)
	}
	return Row{
		Job: job.ID(fmt.Sprintf("job-%d", r.IntN(1000))), User: maybe("ann"), Crontab: fmt.Sprintf("/etc/cron.d/%d", r.IntN(40_000)),
		Line: r.IntN(1000), Schedule: maybe("*/5 * * * *"), Zone: maybe("Europe/Berlin"), Command: maybe("true \x1b[31m\xff"),
		State: boardStates[r.IntN(len(boardStates))], Protected: r.IntN(2) == 0, Acked: r.IntN(2) == 0,
		Next: when(), Began: when(), Live: r.IntN(3), LastRun: job.RunID(r.IntN(3)), Last: when(),
		Took: time.Duration(r.Int64N(1e12)), Ending: maybe("exit 1"), Streak: r.IntN(4), HeldUntil: when(), Why: maybe("moving house"),
		Node: maybe("db-01"), Elsewhere: maybe("db-02"),
	}
}

func someUpdates(r *rand.Rand, n int) []BoardUpdate {
	now := time.Date(2026, 11, 20, 2, 30, 0, 4_000_000, time.UTC)
	updates := make([]BoardUpdate, n)
	for i := range updates {
		u := &updates[i]
		u.Now, u.Complete = now.Add(time.Duration(i)*time.Second), i == 3
		if i%5 == 1 {
			u.Head = &Status{Health: Health{V: Version, Host: "db-01"}, Now: u.Now, States: map[job.State]int{job.StateOK: i}}
		}
		for range r.IntN(3) {
			u.Gone = append(u.Gone, job.ID(fmt.Sprintf("gone-%d", r.IntN(1000))))
		}
		for range r.IntN(2000) {
			u.Rows = append(u.Rows, someRow(r, now))
		}
	}
	return updates
}

func encode(t testing.TB, updates []BoardUpdate) []byte {
	t.Helper()
	var e BoardEncoder
	var text []byte
	for i := range updates {
		var err error
		if text, err = e.Append(text, &updates[i]); err != nil {
			t.Fatal(err)
		}
	}
	return text
}

// TestBoardComesAsItWasSent has more tables than both ends remember.
func TestBoardComesAsItWasSent(t *testing.T) {
	want := someUpdates(rand.New(rand.NewPCG(1, 2)), 40)
	d, err := newBoardDecoder(bytes.NewReader(encode(t, want)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		got, err := d.next()
		if err != nil {
			t.Fatalf("update %d: %v", i, err)
		}
		if diff := cmp.Diff(want[i], got); diff != "" {
			t.Fatalf("update %d, -sent +got:\n%s", i, diff)
		}
		got.Free() // nothing of its rows may be in the next ones
	}
	if _, err := d.next(); err != io.EOF {
		t.Errorf("after the last update: %v, want io.EOF", err)
	}
	if len(d.known) != sharedTexts {
		t.Errorf("%d texts remembered, want the bound, %d", len(d.known), sharedTexts)
	}
}

// An update too long for one frame comes as several; only the last is complete.
func TestBoardCutsLongUpdates(t *testing.T) {
	u := BoardUpdate{Now: time.Unix(0, 0).UTC(), Head: &Status{}, Complete: true}
	for i := range 3000 {
		u.Rows = append(u.Rows, Row{Job: job.ID(fmt.Sprint("job", i)), State: job.StateOK, Command: strings.Repeat("x", 2000)})
	}
	for i := range 10_000 {
		u.Gone = append(u.Gone, job.ID(fmt.Sprint("gone", i)))
	}
	text := encode(t, []BoardUpdate{u})
	d, err := newBoardDecoder(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var got BoardUpdate
	parts := 0
	for ; !got.Complete; parts++ {
		part, err := d.next()
		if err != nil {
			t.Fatalf("part %d: %v", parts, err)
		}
		if (part.Head != nil) != (parts == 0) {
			t.Errorf("part %d has the head %v", parts, part.Head)
		}
		got.Rows, got.Gone, got.Complete = append(got.Rows, part.Rows...), append(got.Gone, part.Gone...), part.Complete
	}
	if !slices.Equal(got.Gone, u.Gone) || !slices.Equal(got.Rows, u.Rows) || parts < 6 {
		t.Errorf("%d rows and %d gone came in %d parts, want %d and %d in six or more", len(got.Rows), len(got.Gone), parts, len(u.Rows), len(u.Gone))
	}
}

func TestBoardEndsWithAnError(t *testing.T) {
	var e BoardEncoder
	text, err := e.AppendError(nil, &Error{V: Version, Kind: Internal, What: "cannot"})
	if err != nil {
		t.Fatal(err)
	}
	d, err := newBoardDecoder(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.next()
	if sent, ok := errors.AsType[*Error](err); !ok || sent.What != "cannot" {
		t.Errorf("got %v, want the error that was sent", err)
	}
}

func TestBoardRefusesAnotherVersion(t *testing.T) {
	if _, err := newBoardDecoder(bytes.NewReader([]byte("cronring board 1\n"))); err == nil {
		t.Error("a stream of version 1 is read as one of version 2")
	}
}

// FuzzBoardDecoder checks that any bytes from the socket cause an error at most.
func FuzzBoardDecoder(f *testing.F) {
	text := encode(f, someUpdates(rand.New(rand.NewPCG(3, 4)), 2))
	f.Add(text[:min(len(text), 4000)])
	f.Add(encode(f, []BoardUpdate{{Rows: []Row{{Job: "a", State: job.StateOK}}}}))
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := newBoardDecoder(bytes.NewReader(text))
		for err == nil {
			_, err = d.next()
		}
	})
}

func BenchmarkBoardWire(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	now := time.Date(2026, 11, 20, 2, 30, 0, 0, time.UTC)
	rows := make([]Row, 100_000)
	for i := range rows {
		rows[i] = someRow(r, now)
	}
	var text []byte
	b.Run("encode100k", func(b *testing.B) {
		for b.Loop() {
			var e BoardEncoder
			text = text[:0]
			for some := range slices.Chunk(rows, 2048) {
				text, _ = e.Append(text, &BoardUpdate{Now: now, Rows: some})
			}
		}
		b.ReportMetric(float64(len(text))/float64(len(rows)), "B/row")
	})
	b.Run("decode100k", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d, err := newBoardDecoder(bytes.NewReader(text))
			for err == nil {
				_, err = d.next()
			}
			if err != io.EOF {
				b.Fatal(err)
			}
		}
	})
}
