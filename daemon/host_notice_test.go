package daemon

import (
	"strings"
	"testing"

	"github.com/cronring/cronring/daemon/job"
)

// A letter comes when mail= says, to whom mailto= says, and of an occurrence
// that is tried again when it is over.
func TestHostMailsWhenAsked(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	h.withMailer()
	h.write("etc/cron.d/m", "MAILTO=\n"+
		"#@ name=never mail=never mailto=ops\n0 0 1 1 * ann echo never\n"+
		"#@ name=good mail=failure mailto=ops\n0 0 1 1 * ann echo good\n"+
		"#@ name=bad mail=failure mailto=ops@example.org retry=1 backoff=1s retry-jitter=0%\n0 0 1 1 * ann echo attempt $CRONRING_ATTEMPT; exit 3\n"+
		"#@ name=nobody mail=always\n0 0 1 1 * ann true\n"+
		"#@ name=silent mail=always mailto=ann\n0 0 1 1 * ann true\n")
	h.start()
	records := h.watch()
	h.do("never")
	h.do("good")
	h.do("nobody")
	h.run("bad")
	records.await("the end of the second attempt", func(r job.Record) bool {
		return r.Kind == job.Ended && r.Job == "bad" && r.Run.Attempt == 2
	})
	h.do("silent")
	for _, want := range [][]string{
		{"To: ops@example.org\n", " (failed)\n", "\n\nattempt 2\n"},
		{"To: ann\n", "\n\n[cronring: the run printed nothing; it ended with: ok]\n"},
	} {
		letter := h.letter()
		for _, words := range want {
			if !strings.Contains(letter, words) {
				t.Errorf("got the letter\n%s\nwant %q in it", letter, words)
			}
		}
	}
	h.stop()
	if len(h.letters) > 0 {
		t.Errorf("one letter too many:\n%s", <-h.letters)
	}
}
