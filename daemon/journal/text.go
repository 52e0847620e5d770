package journal

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode"

	"github.com/cronring/cronring/daemon/job"
)

// own is the name of the daemon in the log.
const own = "cronringd"

// lineWriter is what the sinks that write to a stream have in common.
type lineWriter struct{ out *bufio.Writer }

func newLineWriter(w io.Writer) lineWriter { return lineWriter{bufio.NewWriterSize(w, 32<<10)} }

// Cron writes nothing.
func (lineWriter) Cron(*CronLine) {}

// Flush passes on what is held back.
func (w lineWriter) Flush() { w.out.Flush() }

// Close passes on what is held back; the writer stays open.
func (w lineWriter) Close() error { return w.out.Flush() }

// Problem returns nothing: failed writes are not recorded.
func (lineWriter) Problem() (int64, error) { return 0, nil }

// Text writes a line at a time for people:
//
//	2026-11-20T12:00:00Z backup[12] out: 3 files copied
//
// Cron's own lines are omitted there. An error of the writer must not stop jobs.
type Text struct{ lineWriter }

// NewText makes a Text.
func NewText(w io.Writer) *Text { return &Text{newLineWriter(w)} }

// Line writes a line of output.
func (t *Text) Line(l *Line) { t.line(l.At, l.Job, l.Run, l.Stream, l.Text) }

// Record writes a record's words.
func (t *Text) Record(r *Record) {
	if r.Words == "" {
		return
	}
	var run job.RunID
	if r.Run != nil {
		run = r.Run.ID
	}
	t.line(r.At, cmp.Or(r.Job, own), run, job.System, []byte(r.Words))
}

// Log writes an entry of the daemon's own log.
func (t *Text) Log(e *Entry) { t.line(e.At, own, 0, job.System, []byte(e.text())) }

func (t *Text) line(at time.Time, id job.ID, run job.RunID, of job.Stream, text []byte) {
	var number string
	if run != 0 {
		number = "[" + run.String() + "]"
	}
	fmt.Fprintf(t.out, "%s %s%s %s: %s\n", at.UTC().Format(time.RFC3339), id, number, of, visible(text))
}

// JSON writes one JSON object a line for machines: records as they are, and
// lines of output.
type JSON struct{ lineWriter }

// NewJSON makes a JSON.
func NewJSON(w io.Writer) *JSON { return &JSON{newLineWriter(w)} }

// jsonLine is a line of output for machines.
type jsonLine struct {
	At     time.Time  `json:"at"`
	Job    job.ID     `json:"job"`
	Run    job.RunID  `json:"run,omitempty"`
	Stream job.Stream `json:"stream"`
	Line   string     `json:"line"`
}

// Line writes a line of output.
func (j *JSON) Line(l *Line) {
	j.encode(jsonLine{l.At, l.Job, l.Run, l.Stream, strings.ToValidUTF8(string(l.Text), "\uFFFD")})
}

// Record writes a record.
func (j *JSON) Record(r *Record) { j.encode(r.Record) }

// Log writes an entry of the daemon's own log.
func (j *JSON) Log(e *Entry) { j.encode(jsonLine{e.At, own, 0, job.System, e.text()}) }

func (j *JSON) encode(document any) {
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // plain data
	}
	j.out.Write(append(text, '\n'))
}

// visible escapes control characters and those that change how their neighbors are shown, such as
// U+202E: the output of a job is untrusted, and the writer may be a terminal.
func visible(text []byte) string {
	var b strings.Builder
	for _, r := range string(text) {
		switch {
		case r == '\t':
			b.WriteRune(r)
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case unicode.Is(unicode.Cf, r), r == 0x2028, r == 0x2029:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}
