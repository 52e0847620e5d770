package runs

import (
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/cmd/cronring/clitest"
)

func TestJournalLinesLeaveOutWhatTheJobWrote(t *testing.T) {
	const text = `{"__REALTIME_TIMESTAMP":"1795140000000001","MESSAGE":"backup[7]: started as process 4711"}
{"__REALTIME_TIMESTAMP":"1795140000500000","MESSAGE":"a line of output","CRONRING_STREAM":"out"}
{"__REALTIME_TIMESTAMP":"1795140001000000","MESSAGE":[98,27,255]}
`
	chunks, err := journalLines([]byte(text), 7)
	if err != nil || len(chunks) != 2 {
		t.Fatalf("got %d pieces and %v, want 2", len(chunks), err)
	}
	if got, want := string(chunks[0].Data), "backup[7]: started as process 4711\n"; got != want || chunks[0].Stream != journalStream {
		t.Errorf("first: got %q of %s, want %q", got, chunks[0].Stream, want)
	}
	if want := time.Unix(1795140000, 1000).UTC(); !chunks[0].At.Equal(want) {
		t.Errorf("first: got the time %s, want %s", chunks[0].At, want)
	}
	if got, want := string(chunks[1].Data), "b\x1b\xff\n"; got != want {
		t.Errorf("bytes: got %q, want %q", got, want)
	}
	if _, err := journalLines([]byte("Hint: no journal\n"), 7); err == nil {
		t.Error("what is no JSON: got no error, want one")
	}
}

func TestJournalctlIsBounded(t *testing.T) {
	clitest.FakeProgram(t, "journalctl", `exec yes '{"MESSAGE":"more and more"}'`)
	text, err := journalctl(t.Context(), nil)
	if err != nil || len(text) > journalSize || !strings.HasSuffix(string(text), "}\n") {
		t.Errorf("got %d bytes and %v, want at most %d of whole lines", len(text), err, journalSize)
	}
	clitest.FakeProgram(t, "journalctl", "echo 'no permission' >&2; exit 1")
	if _, err := journalctl(t.Context(), nil); err == nil || !strings.Contains(err.Error(), "no permission") {
		t.Errorf("got %v, want what journalctl said", err)
	}
}
