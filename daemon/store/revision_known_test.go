package store

import (
	"testing"
	"time"
)

// A starting host reports all its crontabs, most of them unchanged: that must not block writers.
func TestSaveRevisionOfWhatIsKnownOnlyReads(t *testing.T) {
	s, err := Open(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	r := Revision{File: "/etc/crontab", User: "root", At: time.Now(), How: RevisionSeen, Text: []byte("* * * * * root true\n")}
	first, err := s.SaveRevision(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	s.mu.Lock() // a writer holds the lock
	saved := make(chan error, 1)
	var again int64
	go func() {
		var err error
		again, err = s.SaveRevision(t.Context(), r)
		saved <- err
	}()
	select {
	case err := <-saved:
		if err != nil || again != first {
			t.Errorf("the same again is number %d (%v), want %d", again, err, first)
		}
		s.mu.Unlock()
	case <-time.After(time.Minute):
		s.mu.Unlock()
		t.Error("a version that is known waited for a writer")
		<-saved
	}
}
