package history

import (
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

func TestExcerptOfOutput(t *testing.T) {
	start := time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)
	var chunks []job.Chunk
	for i, text := range []string{"out:a\nb", "err:x\ny", "out:b\nc\n", "err:y\nz\n", "out:d", "out:d\n"} {
		stream, data, _ := strings.Cut(text, ":")
		chunks = append(chunks, job.Chunk{Run: 1, Stream: job.Stream(stream), At: start.Add(time.Duration(i) * time.Minute), Data: []byte(data)})
	}
	for _, tc := range []struct {
		q    excerpt
		want string
	}{
		{excerpt{}, "a\nb|x\ny|b\nc\n|y\nz\n|d|d\n"},
		{excerpt{lines: 1}, "d|d\n"},
		{excerpt{lines: 2}, "z\n|d|d\n"},
		{excerpt{lines: 3}, "y|y\nz\n|d|d\n"},
		{excerpt{lines: 4}, "y|c\n|y\nz\n|d|d\n"},
		{excerpt{lines: 5}, "b|y|b\nc\n|y\nz\n|d|d\n"},
		{excerpt{lines: 7}, "a\nb|x\ny|b\nc\n|y\nz\n|d|d\n"},
		{excerpt{lines: 99}, "a\nb|x\ny|b\nc\n|y\nz\n|d|d\n"},
		{excerpt{lines: 2, stream: job.Stdout}, "c\n|d|d\n"},
		{excerpt{lines: 2, stream: job.Stderr}, "y|y\nz\n"},
		{excerpt{stream: job.System}, ""},
		{excerpt{since: start.Add(3 * time.Minute)}, "y\nz\n|d|d\n"},
		{excerpt{since: start.Add(5 * time.Minute), lines: 9}, "d\n"},
	} {
		var got []string
		for _, c := range tc.q.of(chunks) {
			got = append(got, string(c.Data))
		}
		if strings.Join(got, "|") != tc.want {
			t.Errorf("%+v: got %q, want %q", tc.q, strings.Join(got, "|"), tc.want)
		}
	}
	if got := string(chunks[0].Data); got != "a\nb" {
		t.Errorf("the chunks themselves: got %q, want them untouched", got)
	}
}

// A gap is before its chunk: an excerpt that omits more does not report that gap.
func TestExcerptKeepsWhatIsTrueOfGaps(t *testing.T) {
	chunks := []job.Chunk{{Stream: job.Stdout, Data: []byte("a\n")}, {Stream: job.Stdout, Cut: 9, Data: []byte("b\nc\n")}}
	if got := lastLines(chunks, 1); len(got) != 1 || got[0].Cut != 0 || string(got[0].Data) != "c\n" {
		t.Errorf("the last line: got %+v, want c without a gap", got)
	}
	if got := lastLines(chunks, 2); len(got) != 1 || got[0].Cut != 9 {
		t.Errorf("the last two lines: got %+v, want both with the gap before them", got)
	}
}
