package handover

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strconv"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/engine/effect"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/recorder"
	"github.com/cronring/cronring/daemon/spawn/handed"
	"github.com/cronring/cronring/daemon/starter"
)

// FuzzTake reads any file and any signals of a previous daemon, which may be of another version.
func FuzzTake(f *testing.F) {
	at := time.Unix(1_700_000_000, 0).UTC()
	text, err := json.Marshal(&Handover{
		Children: []handed.Run{{
			Run: 7, Job: "ann/x", User: "ann", PID: 4711, Child: true, Out: 8, Output: []job.Chunk{{Run: 7, At: at, Stream: job.Stdout, Data: []byte("x\n")}},
			Group: json.RawMessage(`{"":"/sys/fs/cgroup/x"}`), Progress: &starter.Progress{Command: "/bin/sh", Reports: []byte("d")},
		}},
		Starts: []effect.Start{{Run: job.Run{ID: 8, Due: at}}}, Stopping: map[job.RunID]job.Reason{7: job.OverTime},
		Socket: 1 << 20, Lock: 1<<20 + 1, Beats: map[job.RunID]int{7: 1<<20 + 2}, Config: &config.Config{},
		Unwritten: recorder.Unwritten{Records: []job.Record{{At: at, Job: "ann/x", Run: &job.Run{ID: 7, Forced: true, Previous: at}}}, Lost: 3},
	})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, "15 1")
	f.Add(text[:len(text)-1], "")
	f.Add([]byte(`{"socket":-1,"beats":{"x":1}}`), "-9 99999999999999999999 SIGTERM")
	f.Add([]byte(`{"roster":{"slots":7},"lost":1}`), "\x1b")
	f.Add([]byte(`{"children":[{"Stage":null,"Group":7}],"config":null}[`), "0")
	f.Fuzz(func(t *testing.T, text []byte, signals string) {
		if bytes.IndexByte([]byte(signals), 0) >= 0 {
			return
		}
		h := take(t, text, signals)
		if h == nil {
			return
		}
		for _, s := range h.Signals {
			if _, ok := s.(syscall.Signal); !ok {
				t.Errorf("%q: the signal %v", signals, s)
			}
		}
		written, err := json.Marshal(h)
		if err != nil {
			t.Fatal(err)
		}
		again := take(t, slices.Concat(written, []byte("\nmore")), h.late(nil))
		if again == nil {
			t.Fatalf("%s cannot be read", written)
		}
		if same, err := json.Marshal(again); err != nil || !bytes.Equal(same, written) {
			t.Errorf("read %s, written and read again %s, %v", written, same, err)
		}
	})
}

// take returns nil for a text that is not a handover. It closes nothing that this process uses.
func take(t *testing.T, text []byte, signals string) *Handover {
	t.Helper()
	fd, err := atomicfile.Sealed("handover", text)
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(handoverName, strconv.Itoa(fd))
	t.Setenv(signalsName, signals)
	h, err := Take()
	if (h == nil) != (err != nil) {
		t.Fatalf("%q: %v, %v", text, h, err)
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != unix.EBADF {
		t.Errorf("the descriptor is open after that (%v)", err)
	}
	if _, ok := os.LookupEnv(handoverName); ok {
		t.Error("programs that this one starts have the handover, too")
	}
	return h
}
