package outbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
)

// newTestOutbox opens a queue whose files are "user lane group", and whose delivery is does.
func newTestOutbox(dir string, does func(Try) *Failure) *Outbox {
	return Open(Options{
		Dir: dir, Noun: "message", Lane: "lane", FirstWait: time.Second, Attempts: 2, Messages: 1000,
		Lifetime: func(string) time.Duration { return time.Hour },
		Identify: func(r io.Reader) (Key, error) {
			var k Key
			text, err := io.ReadAll(r)
			if _, wrong := fmt.Sscan(string(text), &k.User, &k.Lane, &k.Group); wrong != nil {
				return k, &DamagedError{wrong.Error()}
			}
			k.Born = time.Now()
			return k, err
		},
		Deliver: func(_ context.Context, t Try) *Failure { return does(t) },
	})
}

func draft(user, lane, group string) Draft {
	return Draft{Key: Key{User: user, Lane: lane, Group: group, Born: time.Now().Round(0)}, Write: func() [][]byte {
		return [][]byte{[]byte(user + " "), []byte(lane + " " + group)}
	}}
}

func start(b *Outbox) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- b.Run(ctx) }()
	return func() { cancel(); <-ended }
}

func content(t *testing.T, f *os.File) string {
	t.Helper()
	text, err := io.ReadAll(f)
	if err != nil {
		t.Error(err)
	}
	return string(text)
}

// A flood of one user's drafts leaves room for those of others, and they take turns.
func TestDraftsOfUsersTakeTurns(t *testing.T) {
	closed := 0
	b := newTestOutbox(t.TempDir(), nil)
	give := func(user string) {
		d := draft(user, "l", "g")
		d.Close = func() { closed++ }
		b.Enqueue(d)
	}
	for range maxDrafts/2 + 2 {
		give("ann")
	}
	if b.state.refused != 2 || closed != 2 {
		t.Errorf("%d refused and %d closed, want 2", b.state.refused, closed)
	}
	give("root")
	give("bob")
	if b.state.refused != 2 {
		t.Errorf("%d of root's and bob's drafts were refused beside a flood of ann's", b.state.refused-2)
	}
	for i, want := range []string{"ann", "root", "bob", "ann"} {
		if d, _ := b.takeOne(); d.User != want {
			t.Errorf("draft %d is %s's, want %s's", i, d.User, want)
		}
	}
}

// A lane that fails waits, other lanes do not, and a message that arrives after the failure of its
// group stays behind it, also in the next daemon.
func TestLanesWaitAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir, broken := t.TempDir(), true
		var tried []string
		does := func(try Try) *Failure {
			text := content(t, try.Content)
			tried = append(tried, text)
			if broken && try.Lane == "bad" {
				return &Failure{Why: "broken", Response: "in two", Silent: true}
			}
			return nil
		}
		b := newTestOutbox(dir, does)
		stop := start(b)
		b.Enqueue(draft("ann", "bad", "g1"))
		b.Enqueue(draft("ann", "bad", "g2"))
		synctest.Wait()
		b.Enqueue(draft("bob", "good", "g1"))
		synctest.Wait()
		if want := []string{"ann bad g1", "bob good g1"}; !slices.Equal(tried, want) {
			t.Errorf("tried %q, want %q", tried, want)
		}
		if got := b.Lanes(); len(got) != 1 || got[0].Waiting != 2 || got[0].Why != "broken" || !got[0].Began.IsZero() {
			t.Errorf("lanes %+v", got)
		}
		stop()
		broken, tried = false, nil
		b = newTestOutbox(dir, does)
		if b.Count() != 2 {
			t.Errorf("%d messages after a restart, want 2", b.Count())
		}
		stop = start(b)
		synctest.Wait()
		stop()
		if want := []string{"ann bad g1", "ann bad g2"}; !slices.Equal(tried, want) || b.Count() != 0 {
			t.Errorf("tried %q after a restart, want %q", tried, want)
		}
	})
}

// The requested delay holds for the lane, but a message has its last attempt at the end of its time.
func TestRequestedDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		var at []time.Duration
		b := newTestOutbox(t.TempDir(), func(Try) *Failure {
			at = append(at, time.Since(begun))
			return &Failure{Why: "429", After: 40 * time.Minute}
		})
		stop := start(b)
		b.Enqueue(draft("ann", "l", "g1"))
		time.Sleep(2 * time.Hour)
		stop()
		if want := []time.Duration{0, 40 * time.Minute, time.Hour}; !slices.Equal(at, want) {
			t.Errorf("tried at %v, want %v", at, want)
		}
		if got := b.Problems(); len(got) != 1 || got[0].What != "1 message was given up" || got[0].Why != "l: 429" {
			t.Errorf("problems %q", got)
		}
	})
}

// The users of a lane take turns.
func TestUsersOfALaneTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var order bytes.Buffer
		b := newTestOutbox(t.TempDir(), func(try Try) *Failure {
			order.WriteString(try.User[:1])
			return nil
		})
		for range 3 {
			b.Enqueue(draft("ann", "l", "g"))
		}
		b.Enqueue(draft("bob", "l", "g"))
		b.fileTaken()
		stop := start(b)
		synctest.Wait()
		stop()
		if got := order.String(); !strings.HasPrefix(got, "ab") {
			t.Errorf("order %s, want ann and bob before ann again", got)
		}
	})
}

// The problem of a disk that accepts nothing ends without another message. Drafts without a message do
// not delay that.
func TestDiskIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "queue")
		filetest.Write(t, dir, "in the place of the directory", 0o600)
		b := newTestOutbox(dir, func(Try) *Failure { return nil })
		stop := start(b)
		defer stop()
		b.Enqueue(draft("ann", "l", "g"))
		time.Sleep(2 * diskRetry)
		synctest.Wait()
		if got := b.Problems(); len(got) != 1 || !strings.HasPrefix(got[0].What, "messages are not kept on disk since ") {
			t.Errorf("problems %q, want that messages are not kept", got)
		}
		if err := os.Remove(dir); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			time.Sleep(diskRetry - time.Second)
			b.Enqueue(Draft{Key: Key{User: "ann"}, Write: func() [][]byte { return nil }})
		}
		synctest.Wait()
		if got := b.Problems(); len(got) != 0 {
			t.Errorf("problems %q though the directory can be made", got)
		}
		if left, err := os.ReadDir(dir); err != nil || len(left) != 0 {
			t.Errorf("left %v, %v, want an empty directory", left, err)
		}
	})
}

// A message whose file cannot be made durable is sent once, from memory, and not again by the next
// daemon.
func TestMessageInMemoryIsNotOnDisk(t *testing.T) {
	dir := t.TempDir()
	b := newTestOutbox(dir, nil)
	// Files can be made, but the directory cannot be opened and synced.
	if err := errors.Join(os.Chmod(filepath.Dir(dir), 0o755), os.Chmod(dir, 0o333)); err != nil {
		t.Fatal(err)
	}
	b.Enqueue(draft("ann", "l", "g"))
	root := hosttest.ActAsNobody(t)
	b.fileTaken()
	root()
	if err := os.Chmod(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if b.state.disk == nil || b.Count() != 1 {
		t.Fatalf("disk error %v, %d messages, want an error and 1", b.state.disk, b.Count())
	}
	if n := newTestOutbox(dir, nil).Count(); n != 0 {
		t.Errorf("the next daemon finds %d messages, want 0", n)
	}
}
