package mail

import (
	"bytes"
	"fmt"
	"io"

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

// setBody makes the output of a run the body of its mail.
func (l *Message) setBody(family crontab.Family, r Report) {
	l.Body, l.dropCR = r.Output, family == crontab.RHEL && r.Anacron == "" // cronie does
	l.cut = fmt.Sprintf("[cronring: cut here after %d MiB; see cronring logs %s]\n", MaxBody>>20, r.Run.ID)
	switch {
	case r.Size == 0:
		l.tail = "[cronring: the run printed nothing; it ended with: " + visible(r.Run.Result()) + "]\n"
	case r.Run.Verdict == job.VerdictLost:
		l.tail = "\n[cronring: how the run ended is not known; it counts as failed]\n"
	}
}
