package daemon

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/journal"
)

// withJournal adds a journal to the host. The daemon's journal entries are part of its logged
// lines, such as "msg=3 files copied CRONRING_STREAM=out".
func (h *testHost) withJournal() {
	h.t.Helper()
	h.Log = "journal"
	path := h.path(journal.JournalSocket)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.t.Fatal(err)
	}
	conn, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { conn.Close() })
	go func() {
		b := make([]byte, 1<<20)
		for {
			n, err := conn.Read(b)
			if err != nil {
				return // the test is over
			}
			message, fields, _ := strings.Cut(string(b[:n]), "\n")
			_, stream, ok := strings.Cut(strings.TrimSpace(fields), "\nCRONRING_STREAM=")
			if ok {
				message += " CRONRING_STREAM=" + stream
			}
			h.mu.Lock()
			by := h.cmd
			h.mu.Unlock()
			h.hear(by, strings.Replace(message, "MESSAGE=", "msg=", 1))
		}
	}()
}

// A user's job that prints without end leaves the head of its output in the
// journal, and the starts and ends of the jobs of others are all there.
func TestFloodLeavesTheJournalToOthers(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.withJournal()
	h.withMailer()
	gate := h.fifo("gate")
	h.userCrontab("ann", annID, "#@ name=flood\n0 0 1 1 * seq 100000; read x <"+gate.Name()+"; seq 100000\n")
	h.write("etc/crontab", "#@ name=other\n0 0 1 1 * bob echo of bob; exit 3\n")
	h.start()
	flood := h.run("ann/flood")[0].ID
	h.said("msg=1000", "CRONRING_STREAM=out")
	h.do("other")
	h.said("msg=(bob) CMD (echo of bob; exit 3)")
	h.said("msg=of bob")
	h.said("msg=other[", "exit 3 in ")
	h.open(gate, 1)
	h.ended(flood)
	h.said("more bytes of output (199000 lines) are not logged: see cronring logs " + flood.String())
	if n := h.count("see cronring logs"); n != 1 {
		t.Errorf("%d lines say that output is not logged, want one", n)
	}
	h.said("msg=ann/flood[", "ok in ")
	if n := h.count("CRONRING_STREAM=out"); n != 1000+1 {
		t.Errorf("%d lines of jobs are in the journal, want 1000 of the flood and one of bob's", n)
	}
}

// As cronringd(8) describes.
func TestConfigurationKeepsOutputOutOfTheJournal(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.withJournal()
	h.configure("[default]\nlog = \"none\"\n")
	h.write("etc/crontab", "#@ name=secret\n0 0 1 1 * bob echo secret; exit 3\n")
	h.start()
	h.do("secret")
	h.said("msg=secret[", "exit 3 in ")
	if n := h.count("CRONRING_STREAM=out"); n > 0 {
		t.Errorf("%d lines of output are in the journal, want none", n)
	}
}

// As under cron, a job whose SHELL is not there has begun.
func TestJournalHasTheStartWithoutShell(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.withJournal()
	h.write("etc/crontab", "SHELL=/nowhere\n#@ name=a\n0 0 1 1 * bob echo no shell\n")
	h.start()
	h.do("a")
	h.said("msg=(bob) CMD (echo no shell)")
	h.said("msg=a[", "not started: ")
	if n := h.count("CMD (echo no shell)"); n != 1 {
		t.Errorf("the start is %d times in the journal, want once", n)
	}
}
