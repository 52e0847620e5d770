package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// journalStream is the stream of lines from the journal.
const journalStream job.Stream = "journal"

// Bounds of what is taken from the journal about one run.
const (
	mostJournal = 1000    // lines, the newest
	journalSize = 4 << 20 // bytes of journalctl's answer
)

// journalOf reads what the daemon wrote to the journal about a run.
func journalOf(ctx context.Context, a *cli.App, client *api.Client, ref string, since time.Time) ([]job.Chunk, error) {
	if a.Host != "" {
		return nil, cli.UsageError("read the journal of "+a.Host, "journalctl reads that of this host", "ssh "+a.Host+" cronring logs "+ref+" --journal")
	}
	r, err := client.OneRun(ctx, ref)
	if err != nil {
		return nil, err
	}
	args, err := journalArgs(a, &r, since)
	if err != nil {
		return nil, err
	}
	lines, err := journalctl(ctx, args)
	if err != nil {
		return nil, &api.Error{What: "cannot read the journal", Why: err.Error(), Fix: "cronring why " + display.Quote(string(r.Job)) + "    or as root, or a member of systemd-journal"}
	}
	chunks, err := journalLines(lines, r.ID)
	if err != nil {
		return nil, fmt.Errorf("read the answer of journalctl: %w", err)
	}
	return chunks, nil
}

// journalArgs selects the lines about a run. Every user can write lines that mention it.
// The journal itself records the writer, so only lines of the daemon's user, the owner of
// its socket, count.
func journalArgs(a *cli.App, r *job.Run, since time.Time) ([]string, error) {
	socket := a.SocketPath()
	info, err := os.Stat(socket)
	if err != nil {
		return nil, cli.FileError(socket, err)
	}
	args := []string{
		"--no-pager", "--quiet", "--output=json", "--output-fields=MESSAGE,CRONRING_STREAM", "--lines=" + strconv.Itoa(mostJournal),
		"CRONRING_RUN=" + r.ID.String(), "CRONRING_INVOCATION_ID=" + r.Invocation,
		"_UID=" + strconv.FormatUint(uint64(info.Sys().(*syscall.Stat_t).Uid), 10),
	}
	if !since.IsZero() {
		args = append(args, fmt.Sprintf("--since=@%d.%06d", since.Unix(), since.Nanosecond()/1000))
	}
	return args, nil
}

// journalctl returns the program's output, up to a limit.
func journalctl(ctx context.Context, args []string) ([]byte, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, "journalctl", args...)
	var messages bytes.Buffer
	cmd.Stderr, cmd.WaitDelay = &messages, time.Second // what it began may hold its pipes open
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines, err := io.ReadAll(io.LimitReader(pipe, journalSize))
	if err != nil || len(lines) == journalSize {
		cancel() // it has more to say than is read
		_ = pipe.Close()
		_ = cmd.Wait()
		return lines[:bytes.LastIndexByte(lines, '\n')+1], err
	}
	if err := cmd.Wait(); err != nil {
		return nil, errors.New(strings.TrimSpace(err.Error() + " " + messages.String()))
	}
	return lines, nil
}

// journalLines makes pieces of output of what journalctl prints. What the job
// wrote itself is left out: it comes from the daemon.
func journalLines(text []byte, run job.RunID) (chunks []job.Chunk, err error) {
	for d := json.NewDecoder(bytes.NewReader(text)); ; {
		var line struct {
			At      string          `json:"__REALTIME_TIMESTAMP"`
			Message json.RawMessage `json:"MESSAGE"`
			Stream  string          `json:"CRONRING_STREAM"`
		}
		if err := d.Decode(&line); errors.Is(err, io.EOF) {
			return chunks, nil
		} else if err != nil {
			return nil, err
		}
		if line.Stream != "" {
			continue
		}
		micros, err := strconv.ParseInt(line.At, 10, 64)
		if err != nil {
			return nil, err
		}
		chunks = append(chunks, job.Chunk{
			Run: run, Stream: journalStream, At: time.UnixMicro(micros).UTC(), Data: append(journalText(line.Message), '\n'),
		})
	}
}

// journalText is a field of the journal: text, or a list of bytes where it is none.
func journalText(raw json.RawMessage) []byte {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []byte(text)
	}
	var numbers []uint8
	var list []int
	if json.Unmarshal(raw, &list) == nil {
		for _, n := range list {
			numbers = append(numbers, uint8(n))
		}
	}
	return numbers
}
