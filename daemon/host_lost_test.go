package daemon

import (
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// After a crash of the host each owner of lost runs gets one letter about all of
// them.
func TestHostMailsLostRuns(t *testing.T) {
	t.Parallel()
	h := newTestHost(t)
	h.withMailer()
	h.crontab("one", "exec sleep 1000", "two mail=failure", "exec sleep 1000", "three", "exec sleep 1000",
		"other mailto=ops@example.org", "exec sleep 1000", "never mail=never", "exec sleep 1000",
		"again if-lost=rerun", "exec sleep 1000", "nothing if-lost=leave", "exec sleep 1000")
	h.start()
	w := h.watch()
	runs := h.run("one", "two", "three", "other", "never", "again", "nothing")
	var pids []int
	for range runs {
		pids = append(pids, w.await("a start", func(r job.Record) bool { return r.Kind == job.Started }).Run.PID)
	}
	h.signal(syscall.SIGKILL)
	h.wait()
	for _, pid := range pids {
		if err := syscall.Kill(-pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		gone(t, pid)
	}
	if err := os.RemoveAll(h.path("run/cronring")); err != nil { // it lies in memory
		t.Fatal(err)
	}
	h.start()
	letters := map[string]string{}
	for range 2 {
		letter := h.letter()
		_, to, _ := strings.Cut(letter, "\nTo: ")
		to, _, _ = strings.Cut(to, "\n")
		letters[to] = letter
	}
	for _, words := range []string{"> 3 runs were lost\n", " of one, due ", " of two, due ", " of three, due ", "\nthey count as failed.\n"} {
		if !strings.Contains(letters["ann"], words) {
			t.Errorf("the letter to ann has no %q:\n%s", words, letters["ann"])
		}
	}
	if want := "> run " + runs[3].ID.String() + " of other was lost\n"; !strings.Contains(letters["ops@example.org"], want) {
		t.Errorf("the letter to ops has no %q:\n%s", want, letters["ops@example.org"])
	}
	again := h.newest("again").ID
	for end := time.Now().Add(hostPatience); again == runs[5].ID; again = h.newest("again").ID {
		if time.Now().After(end) {
			t.Fatal("the lost run of again is not run again")
		}
	}
	if err := syscall.Kill(-h.process(again), syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	h.ended(again)
	h.stop()
	if len(h.letters) > 0 {
		t.Errorf("one letter too many:\n%s", <-h.letters)
	}
}
