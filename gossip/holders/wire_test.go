package holders

import (
	"bytes"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/engine/exchange"
	"github.com/cronring/cronring/gossip/wire"
)

var sampleMarks = []Mark{
	{Occurrence: exchange.Occurrence{Key: numbered(1), Due: 2}, Member: "a", Phase: exchange.Taken},
	{Occurrence: exchange.Occurrence{Key: numbered(math.MaxUint64), Due: math.MaxInt64}, Member: "node-2", Generation: 3, Phase: exchange.Over, Vanished: true, Attempt: 513, Lost: 3, Run: 9},
	{Occurrence: exchange.Occurrence{Key: numbered(5), Due: 6}, Member: "b", Phase: exchange.Begun, Attempt: 2, Run: 7},
	{Occurrence: exchange.Occurrence{Key: numbered(3), Due: 4}, Member: "a", Phase: exchange.Begun, Vanished: true, Attempt: 1, Run: math.MaxInt64},
	{Occurrence: exchange.Occurrence{Key: numbered(7), Due: 8}, Member: "b", Phase: exchange.Taken, Attempt: 1, GivenUp: true, Started: 9},
}

func TestWireRoundTrips(t *testing.T) {
	b, n := AppendMarks(nil, sampleMarks, 1000)
	got, err := DecodeMarks(b)
	if err != nil || n != len(sampleMarks) {
		t.Fatalf("DecodeMarks: %v, of %d written", err, n)
	}
	want(t, "marks", got, sampleMarks)

	questions := []Question{{Occurrence: exchange.Occurrence{Key: numbered(1), Due: 2}, Serial: 3}, {Occurrence: exchange.Occurrence{Key: numbered(4), Due: 5}, Serial: 6, Generation: 1, Phase: exchange.Begun}, {Mine: true}, {Generation: 1, Phase: exchange.Taken, Mine: true}}
	gotQuestions, err := DecodeQuestions(AppendQuestions(nil, questions))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "questions", gotQuestions, questions)

	answers := []Answer{
		{Occurrence: exchange.Occurrence{Key: numbered(1), Due: 2}, Serial: 3, Reply: Free},
		{Occurrence: sampleMarks[1].Occurrence, Serial: 4, Reply: Known, Mark: sampleMarks[1]},
		{Occurrence: exchange.Occurrence{Key: numbered(1), Due: 2}, Reply: Busy},
		{Occurrence: exchange.Occurrence{Key: numbered(1), Due: 2}, Reply: Old},
	}
	gotAnswers, err := DecodeAnswers(AppendAnswers(nil, answers))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "answers", gotAnswers, answers)

	newest := []Mark{{Occurrence: exchange.Occurrence{Key: numbered(1), Due: 2}, Member: "a"}, {Occurrence: exchange.Occurrence{Key: numbered(3), Due: 4}, Member: "b"}, {Occurrence: exchange.Occurrence{Key: numbered(5), Due: 6}, Member: "a"}}
	gotNewest, err := DecodeNewest(AppendNewest(nil, newest))
	if err != nil {
		t.Fatal(err)
	}
	want(t, "newest", gotNewest, newest)
}

// TestMarksFillTheRoom writes as many as a packet holds, whole.
func TestMarksFillTheRoom(t *testing.T) {
	marks := make([]Mark, MaxItems+10)
	for i := range marks {
		marks[i] = Mark{Occurrence: exchange.Occurrence{Key: numbered(uint64(i)), Due: int64(i)}, Member: "0f3e9a77c1d2b458", Phase: exchange.Taken}
	}
	for _, room := range []int{0, 1, 20, 100, 1300, 1 << 20} {
		b, n := AppendMarks([]byte("before"), marks, room)
		b = b[len("before"):]
		if len(b) > max(room, 1) {
			t.Errorf("%d bytes were written into room for %d", len(b), room)
		}
		got, err := DecodeMarks(b)
		if err != nil || len(got) != n {
			t.Errorf("room %d: %d marks were read of %d: %v", room, len(got), n, err)
		}
		if room == 1300 && n < 30 {
			t.Errorf("a packet holds %d marks, want at least 30", n)
		}
		if n > MaxItems {
			t.Errorf("%d marks were written, want at most %d", n, MaxItems)
		}
	}
}

func TestDecodersRefuse(t *testing.T) {
	good, _ := AppendMarks(nil, sampleMarks, 1000)
	change := func(at int, to byte) []byte {
		b := bytes.Clone(good)
		b[at] = to
		return b
	}
	const due, state = 2 + 16, 2 + 16 + 8 // of the first mark
	for name, b := range map[string][]byte{
		"nothing":                      nil,
		"another kind":                 change(0, kindNewest),
		"a due instant below 0":        change(due, 0x80),
		"an ID that was not written":   change(state, 1),
		"an empty ID":                  change(state+1, 0),
		"an ID with a blank":           change(state+2, ' '),
		"a generation beyond the last": change(state+3, lastGeneration+1),
		"no phase":                     change(state+4, 0),
		"a phase beyond the last":      change(state+4, 4),
		"vanished before it began":     change(state+4, vanishedBit|byte(exchange.Taken)),
		"given up after it began":      change(state+4, givenUpBit|byte(exchange.Begun)),
		"more lost than began":         change(state+6, 1),
		"a part":                       good[:len(good)-1],
		"more":                         append(bytes.Clone(good), 0),
		"an ID that is too long": func() []byte {
			b, _ := AppendMarks(nil, []Mark{{Member: strings.Repeat("x", wire.MaxID+1), Phase: exchange.Taken}}, 1000)
			return b
		}(),
		"too many": append([]byte{kindMarks}, bytes.Repeat(good[1:], MaxItems)...),
	} {
		if got, err := DecodeMarks(b); err == nil {
			t.Errorf("%s: read as %+v, want an error", name, got)
		}
	}
	for name, q := range map[string]Question{
		"a first claim of what began":  {Phase: exchange.Begun},
		"a second claim of nothing":    {Generation: 1},
		"a claim of what is over":      {Generation: 1, Phase: exchange.Over},
		"a generation beyond the last": {Generation: lastGeneration + 1, Phase: exchange.Taken},
	} {
		if _, err := DecodeQuestions(AppendQuestions(nil, []Question{q})); err == nil {
			t.Errorf("question with %s was read, want an error", name)
		}
	}
	for _, reply := range []Reply{0, Silent} {
		if _, err := DecodeAnswers(AppendAnswers(nil, []Answer{{Reply: reply}})); err == nil {
			t.Errorf("answer with reply %d was read, want an error", reply)
		}
	}
	if _, err := DecodeNewest(AppendNewest(nil, slices.Repeat([]Mark{{Member: "a"}}, MaxItems+1))); err == nil {
		t.Errorf("%d occurrences were read, want an error", MaxItems+1)
	}
}

// extended returns a message whose items all end with values of a later version.
func extended(t *testing.T, b []byte) []byte {
	t.Helper()
	r, longer := wire.NewReader(b[1:]), b[:1:1]
	for r.More() {
		r.Item(func(item *wire.Reader) { longer = wire.AppendItem(longer, append(item.Rest(), "later"...)) })
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return longer
}

func TestDecodersIgnoreLaterValues(t *testing.T) {
	b, _ := AppendMarks(nil, sampleMarks, 1000)
	marks, err := DecodeMarks(extended(t, b))
	if err != nil {
		t.Error(err)
	}
	want(t, "marks", marks, sampleMarks)
	q := []Question{{Serial: 3}, {Mine: true}}
	questions, err := DecodeQuestions(extended(t, AppendQuestions(nil, q)))
	if err != nil {
		t.Error(err)
	}
	want(t, "questions", questions, q)
	a := []Answer{{Reply: Free}, {Occurrence: sampleMarks[1].Occurrence, Reply: Known, Mark: sampleMarks[1]}, {Reply: Busy}}
	answers, err := DecodeAnswers(extended(t, AppendAnswers(nil, a)))
	if err != nil {
		t.Error(err)
	}
	want(t, "answers", answers, a)
	n := []Mark{{Member: "a"}, {Member: "b"}, {Member: "a"}}
	newest, err := DecodeNewest(extended(t, AppendNewest(nil, n)))
	if err != nil {
		t.Error(err)
	}
	want(t, "newest", newest, n)
}

// FuzzDecoders checks that what is read stays the same when it is written and read again, and that a
// table survives it.
func FuzzDecoders(f *testing.F) {
	b, _ := AppendMarks(nil, sampleMarks, 1000)
	f.Add(b)
	f.Add(AppendQuestions(nil, []Question{{Occurrence: exchange.Occurrence{Key: numbered(1), Due: 2}, Serial: 3}, {Generation: 1, Phase: exchange.Taken}}))
	f.Add(AppendAnswers(nil, []Answer{{Occurrence: exchange.Occurrence{Key: numbered(1), Due: 2}, Serial: 1, Reply: Known, Mark: sampleMarks[0]}, {Reply: Free}}))
	f.Add(AppendNewest(nil, []Mark{{Occurrence: exchange.Occurrence{Key: numbered(1), Due: 2}, Member: "a"}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		checkMarks(t, b)
		checkQuestions(t, b)
		checkAnswers(t, b)
		checkNewest(t, b)
	})
}

func checkMarks(t *testing.T, b []byte) {
	marks, err := DecodeMarks(b)
	if err != nil {
		return
	}
	written, _ := AppendMarks(nil, marks, math.MaxInt)
	again, _ := DecodeMarks(written)
	want(t, "again", again, marks)
	r := New("a", Limits{Marks: 10, Keys: 5, Age: DefaultLimits.Age})
	r.Learn(marks, noon)
	r.Lose("b")
	if len(r.entries) > 10 || len(r.newest) > 5 {
		t.Errorf("%d entries and %d keys are kept", len(r.entries), len(r.newest))
	}
}

func checkQuestions(t *testing.T, b []byte) {
	questions, err := DecodeQuestions(b)
	if err != nil {
		return
	}
	again, _ := DecodeQuestions(AppendQuestions(nil, questions))
	want(t, "again", again, questions)
	r := New("a", Limits{Marks: 10, Keys: 5, Age: DefaultLimits.Age})
	for _, q := range questions {
		r.Answer("b", q, noon)
	}
	if len(r.entries) > 10 {
		t.Errorf("%d entries are kept", len(r.entries))
	}
}

func checkAnswers(t *testing.T, b []byte) {
	answers, err := DecodeAnswers(b)
	if err != nil {
		return
	}
	again, _ := DecodeAnswers(AppendAnswers(nil, answers))
	want(t, "again", again, answers)
	r := New("a", DefaultLimits)
	for _, a := range answers {
		r.Ask(a.Occurrence, false, []string{"b"}, noon)
		a.Serial = r.serial
		r.Receive("b", a, noon)
	}
	if len(r.claims) > 0 {
		t.Errorf("%d claims are undecided though all answered", len(r.claims))
	}
}

func checkNewest(t *testing.T, b []byte) {
	list, err := DecodeNewest(b)
	if err != nil {
		return
	}
	again, _ := DecodeNewest(AppendNewest(nil, list))
	want(t, "again", again, list)
	r := New("a", Limits{Keys: 5})
	r.Advance(list, noon)
	if len(r.newest) > 5 {
		t.Errorf("%d keys are kept", len(r.newest))
	}
}
