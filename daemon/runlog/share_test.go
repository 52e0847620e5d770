package runlog

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/journal"
)

// What waits for a log that takes nothing is one user's flood and the lines of
// everybody else.
func TestFloodLeavesRoomForOthers(t *testing.T) {
	h := &heard{Sink: journal.NewText(nil)}
	v := New(h, false)
	for range 200 {
		v.Chunk(job.Chunk{Run: 1, User: "ann", Stream: job.Stdout, Data: []byte(strings.Repeat("x", 64<<10-1) + "\n")})
	}
	for range 2 * maxRecords {
		v.Record(&job.Record{Kind: job.Started, Job: "flood", Run: &job.Run{ID: 1, User: "ann"}})
		v.Cron("ann", journal.CronLine{From: journal.Crontab, Who: "ann", Word: "LIST", Text: "ann"})
		v.Log(&journal.Entry{Message: "line left out", Attrs: []journal.Attr{{Key: journal.UserKey, Value: "ann"}}})
	}
	if v.Ready("ann") {
		t.Error("ann's jobs are read although there is no room for what they print")
	}
	if !v.Ready("bob") || !v.Ready("root") {
		t.Error("jobs of others wait when they print")
	}
	v.Chunk(job.Chunk{Run: 2, User: "bob", Stream: job.Stdout, Data: []byte("of bob\n")})
	v.Record(&job.Record{Kind: job.Ended, Job: "backup", Run: &job.Run{ID: 3, User: "root"}})
	v.Log(&journal.Entry{Message: "of the daemon"})
	items, lost, _ := v.takeAll()
	if n := len(items); lost == 0 || n > maxRecords || items[n-1].(*journal.Entry).Message != "of the daemon" ||
		items[n-2].(*job.Record).Job != "backup" || items[n-3].(job.Chunk).Run != 2 {
		t.Errorf("%d items, %d lost, the last %v; want those of bob, root and the daemon at the end", n, lost, items[max(0, n-3):])
	}
	if !v.Ready("ann") {
		t.Error("ann's jobs wait although the queue is empty")
	}
}
