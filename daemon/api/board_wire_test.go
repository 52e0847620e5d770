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
	"unsafe"

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
		State: job.States[r.IntN(len(job.States))], Protected: r.IntN(2) == 0, Paused: r.IntN(2) == 0, Acked: r.IntN(2) == 0,
		Next: when(), Began: when(), Live: r.IntN(3), LastRun: job.RunID(r.IntN(3)), Last: when(),
		Took: time.Duration(r.Int64N(1e12)), Ending: maybe("exit 1"), Streak: r.IntN(4), HeldUntil: when(), Why: maybe("moving house"),
		Labels: maybe("team:web"), Node: maybe("db-01"), Elsewhere: maybe("db-02"),
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

func encode(t testing.TB, updates []BoardUpdate) io.Reader {
	t.Helper()
	var text bytes.Buffer
	e, _ := NewBoardEncoder(&text)
	for i := range updates {
		if err := e.Encode(&updates[i]); err != nil {
			t.Fatal(err)
		}
	}
	return &text
}

func TestBoardComesAsItWasSent(t *testing.T) {
	want := someUpdates(rand.New(rand.NewPCG(1, 2)), 40)
	d, err := newBoardDecoder(encode(t, want), boardType)
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
	}
	if _, err := d.next(); err != io.EOF {
		t.Errorf("after the last update: %v, want io.EOF", err)
	}
}

// 100,000 rows take little memory only if equal texts in them are stored once.
func TestRowsShareTheMemoryOfEqualTexts(t *testing.T) {
	row := func(id job.ID) Row { return Row{Job: id, Crontab: "/etc/cron.d/etl", State: job.StateFailing} }
	d, err := newBoardDecoder(encode(t, []BoardUpdate{{Rows: []Row{row("a"), row("b")}}, {Rows: []Row{row("c")}}}), boardType)
	if err != nil {
		t.Fatal(err)
	}
	first, err := d.next()
	if err != nil {
		t.Fatal(err)
	}
	second, err := d.next()
	if err != nil {
		t.Fatal(err)
	}
	a := first.Rows[0]
	for _, r := range []Row{first.Rows[1], second.Rows[0]} {
		if unsafe.StringData(r.Crontab) != unsafe.StringData(a.Crontab) || unsafe.StringData(string(r.State)) != unsafe.StringData(string(a.State)) {
			t.Errorf("row %s has its own copy of a text", r.Job)
		}
	}
	for i := range 2*mostTexts + 1 {
		d.share(&Row{Why: fmt.Sprint(i)})
	}
	if len(d.texts) > mostTexts+len(a.sharedTexts()) {
		t.Errorf("%d texts are kept, want about %d at most", len(d.texts), mostTexts)
	}
}

func TestBoardEndsWithAnError(t *testing.T) {
	var text bytes.Buffer
	e, contentType := NewBoardEncoder(&text)
	if err := e.EncodeError(&Error{V: Version, Kind: Internal, What: "cannot"}); err != nil {
		t.Fatal(err)
	}
	d, err := newBoardDecoder(&text, contentType)
	if err != nil {
		t.Fatal(err)
	}
	_, err = d.next()
	if sent, ok := errors.AsType[*Error](err); !ok || sent.What != "cannot" {
		t.Errorf("got %v, want the error that was sent", err)
	}
}

func TestBoardRefusesAnotherVersion(t *testing.T) {
	if _, err := newBoardDecoder(strings.NewReader("cronring board 2\n"), "application/vnd.cronring.board"); err == nil {
		t.Error("a board of another version is read")
	}
}

// FuzzBoardDecoder checks that any bytes from the socket cause an error at most.
func FuzzBoardDecoder(f *testing.F) {
	for _, updates := range [][]BoardUpdate{someUpdates(rand.New(rand.NewPCG(3, 4)), 2), {{Rows: []Row{{Job: "a", State: job.StateOK}}}}} {
		text, err := io.ReadAll(encode(f, updates))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text[:min(len(text), 4000)])
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := newBoardDecoder(bytes.NewReader(text), boardType)
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
	var text bytes.Buffer
	b.Run("encode100k", func(b *testing.B) {
		for b.Loop() {
			text.Reset()
			e, _ := NewBoardEncoder(&text)
			for some := range slices.Chunk(rows, 2048) {
				if err := e.Encode(&BoardUpdate{Now: now, Rows: some}); err != nil {
					b.Fatal(err)
				}
			}
		}
		b.ReportMetric(float64(text.Len())/float64(len(rows)), "B/row")
	})
	b.Run("decode100k", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			d, err := newBoardDecoder(bytes.NewReader(text.Bytes()), boardType)
			for err == nil {
				_, err = d.next()
			}
			if err != io.EOF {
				b.Fatal(err)
			}
		}
	})
}
