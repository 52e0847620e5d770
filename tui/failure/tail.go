package failure

import (
	"context"
	"strings"
	"time"

	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/screen"
)

// Tail is the end of a run's output.
type Tail struct {
	Run       job.RunID
	Lines     []TailLine
	Complaint string // see errorLine
}

// TailLine is one line of it, clean.
type TailLine struct {
	At     time.Time
	Stream job.Stream
	Text   string
}

// Bounds of what is read of the output of one run, and kept.
const (
	tailBytes  = 1 << 20
	tailHead   = 256 << 10 // of it, where the complaint is looked for
	tailLength = 200
)

// ReadTail reads the output of a run, as far as it goes until now. Of a very
// long one the first part is read.
func ReadTail(ctx context.Context, d screen.Daemon, run job.RunID) (Tail, error) {
	lines := tailWriter{}
	streams := map[job.Stream]*display.Lines{}
	var head []job.Chunk
	size := 0
	for e, err := range d.Output(ctx, run.String(), false) {
		if err != nil {
			return Tail{Run: run}, err
		}
		if e.Chunk == nil {
			continue
		}
		c := e.Chunk
		if size < tailHead {
			head = append(head, *c)
		}
		if streams[c.Stream] == nil {
			streams[c.Stream] = &display.Lines{W: &lines}
		}
		lines.at, lines.stream = c.At, c.Stream
		streams[c.Stream].Write(c.Data) // a list takes everything
		if size += len(c.Data); size > tailBytes {
			break
		}
	}
	for _, stream := range []job.Stream{job.Stdout, job.Stderr, job.System} {
		if l := streams[stream]; l != nil {
			lines.stream = stream
			l.Close()
		}
	}
	return Tail{Run: run, Lines: lines.lines, Complaint: errorLine(head)}, nil
}

// tailWriter keeps the last lines that were written to it.
type tailWriter struct {
	at     time.Time
	stream job.Stream
	lines  []TailLine
}

func (t *tailWriter) Write(p []byte) (int, error) {
	const widest = 500 // bytes of one line
	text := string(p[:min(len(p), widest)])
	if len(t.lines) >= 2*tailLength {
		t.lines = append(t.lines[:0], t.lines[tailLength:]...)
	}
	t.lines = append(t.lines, TailLine{t.at, t.stream, strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\t", "    ")})
	return len(p), nil
}

// ReadComplaints reads what runs said of their failure. One whose output cannot
// be read said nothing.
func ReadComplaints(ctx context.Context, d screen.Daemon, runs []job.RunID) map[job.RunID]string {
	lines := map[job.RunID]string{}
	for _, run := range runs {
		t, err := ReadTail(ctx, d, run)
		if err != nil && ctx.Err() != nil {
			break
		}
		lines[run] = t.Complaint
	}
	return lines
}
