package revision

import (
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/store/database"
)

// A starting host reports all its crontabs, most of them unchanged: that must not block writers.
func TestSaveRevisionOfWhatIsKnownOnlyReads(t *testing.T) {
	t.Run("the newest", func(t *testing.T) { testOnlyReads(t, "") })
	t.Run("reported after a newer one", func(t *testing.T) { testOnlyReads(t, "newer") })
}

func testOnlyReads(t *testing.T, newer string) {
	s := open(t, t.TempDir())
	r := Revision{File: "/etc/crontab", User: "root", At: time.Now(), How: Seen, Text: []byte("* * * * * root true\n")}
	first, err := s.SaveRevision(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	if newer != "" {
		save(t, s, Revision{File: r.File, User: "root", At: r.At, How: Installed, Text: []byte(newer)})
	}
	held, release := make(chan struct{}), make(chan struct{})
	written := make(chan error, 1)
	go func() {
		written <- s.db.Write(t.Context(), func(*database.Writer) error {
			close(held)
			<-release
			return nil
		})
	}()
	<-held
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
		close(release)
	case <-time.After(hosttest.Patience):
		close(release)
		t.Error("a version that is known waited for a writer")
		<-saved
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}
