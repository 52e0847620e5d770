package mail

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/job"
)

// Output returns what a run printed, for a Report: both streams as they came, without the daemon's
// own messages, and with a line where bytes are missing. size counts the job's own bytes; 0 means
// that it printed nothing.
func Output(chunks []job.Chunk) (output io.Reader, size int64) {
	var pieces []io.Reader
	for _, c := range chunks {
		if c.Cut > 0 {
			pieces = append(pieces, bytes.NewReader(fmt.Appendf(nil, "\n[cronring: %d bytes are left out here]\n", c.Cut)))
			size += c.Cut
		}
		if c.Stream != job.System {
			pieces = append(pieces, bytes.NewReader(c.Data))
			size += int64(len(c.Data))
		}
	}
	return io.MultiReader(pieces...), size
}

// body is a run's output as mail carries it.
func body(family crontab.Family, r Report) io.Reader {
	output := r.Output
	if r.Size == 0 {
		output = strings.NewReader("[cronring: the run printed nothing; it ended with: " + visible(r.Run.Result()) + "]\n")
	}
	if r.Run.Verdict == job.VerdictLost && r.Size > 0 {
		output = followed{output, strings.NewReader("\n[cronring: how the run ended is not known; it counts as failed]\n")}
	}
	if family == crontab.RHEL && r.Anacron == "" {
		output = dropCR{output} // cronie does
	}
	notice := fmt.Sprintf("[cronring: cut here after %d MiB; see cronring logs %s]\n", MaxBody>>20, r.Run.ID)
	return &capped{from: output, left: MaxBody, notice: []byte(notice)}
}

// followed is output and a text after it.
type followed struct{ output, text io.Reader }

func (f followed) Read(p []byte) (int, error) {
	n, err := f.output.Read(p)
	if err != io.EOF {
		return n, err
	}
	if n > 0 {
		return n, nil
	}
	return f.text.Read(p)
}

// Close releases output that will not be read.
func (f followed) Close() error { return closeOutput(f.output) }

// dropCR leaves out each carriage return.
type dropCR struct{ from io.Reader }

func (d dropCR) Read(p []byte) (int, error) {
	n, err := d.from.Read(p)
	kept := p[:0]
	for _, c := range p[:n] {
		if c != '\r' {
			kept = append(kept, c)
		}
	}
	return len(kept), err
}

// Close releases output that will not be read.
func (d dropCR) Close() error { return closeOutput(d.from) }

// Close releases output that will not be read.
func (c *capped) Close() error { return closeOutput(c.from) }

func closeOutput(output io.Reader) error {
	if c, ok := output.(io.Closer); ok {
		return c.Close()
	}
	return nil
}

// capped reads at most left bytes, and then a notice if there are more.
type capped struct {
	from   io.Reader
	left   int
	last   byte
	notice []byte // nil after it was read
	over   bool
}

func (c *capped) Read(p []byte) (int, error) {
	if c.left == 0 && !c.over {
		if err := c.look(); err != nil {
			return 0, err
		}
	}
	if c.over {
		n := copy(p, c.notice)
		c.notice = c.notice[n:]
		if n == 0 && len(p) > 0 {
			return 0, io.EOF
		}
		return n, nil
	}
	n, err := c.from.Read(p[:min(len(p), c.left)])
	c.left -= n
	if n > 0 {
		c.last = p[n-1]
	}
	return n, err
}

// look sees whether a full letter is all that there is, and then returns EOF.
func (c *capped) look() error {
	var one [1]byte
	for {
		n, err := c.from.Read(one[:])
		if n > 0 {
			break
		}
		if err != nil {
			return err
		}
	}
	c.over = true
	if c.last != '\n' {
		c.notice = append([]byte{'\n'}, c.notice...)
	}
	return nil
}
