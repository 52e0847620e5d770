package screen

import (
	"testing"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/canvas"
)

// Every state has a sign of one cell in every tier. Each state has its own word, so that it can be
// recognised without colours.
func TestLookStatesHaveSigns(t *testing.T) {
	for _, tier := range []canvas.Tier{canvas.Full, canvas.ASCII} {
		w := &World{Glyphs: canvas.GlyphsOf(tier)}
		seen := map[string]job.State{}
		for _, s := range job.States {
			sign, word, _ := StateLook(w, s)
			checkSign(t, tier, string(s), sign)
			if other, twice := seen[word]; twice || word == "" {
				t.Errorf("tier %d: %s and %s have the word %q", tier, s, other, word)
			}
			seen[word] = s
		}
	}
}

// Every cell of a history or a timeline has its own sign, which tells it from the others without
// colours.
func TestLookOutcomesHaveSigns(t *testing.T) {
	for _, tier := range []canvas.Tier{canvas.Full, canvas.ASCII} {
		w := &World{Glyphs: canvas.GlyphsOf(tier)}
		seen := map[string]api.CellKind{}
		for _, k := range []api.CellKind{
			api.CellFailed, api.CellLate, api.CellRunning, api.CellOK, api.CellStarted, api.CellSkipped, api.CellSpan, api.CellPlanned, api.CellExpected, api.CellPaused,
		} {
			sign, _ := OutcomeLook(w, k)
			checkSign(t, tier, string(k), sign)
			if other, twice := seen[sign]; twice {
				t.Errorf("tier %d: %s and %s have the sign %q", tier, k, other, sign)
			}
			seen[sign] = k
		}
	}
}

func TestLookRunsHaveSigns(t *testing.T) {
	for _, tier := range []canvas.Tier{canvas.Full, canvas.ASCII} {
		w := &World{Glyphs: canvas.GlyphsOf(tier)}
		for _, r := range []job.Run{
			{State: job.RunRunning}, {State: job.RunWaiting}, {State: job.RunDropped}, {State: job.RunEnded, Outcome: job.Outcome{Kind: job.Exited}},
			{State: job.RunEnded, Outcome: job.Outcome{Kind: job.Exited, Code: 1}},
		} {
			sign, _ := RunSign(w, &r)
			checkSign(t, tier, string(r.State), sign)
		}
	}
}

// The start of a run by another cron does not look like a success, because its end is not known.
func TestLookOfStartsByAnotherCron(t *testing.T) {
	w := &World{Glyphs: canvas.GlyphsOf(canvas.Full)}
	cell, cellStyle := OutcomeLook(w, api.CellStarted)
	run, runStyle := RunSign(w, &job.Run{State: job.RunEnded})
	if cell != run || cellStyle != (canvas.Style{}) || runStyle != (canvas.Style{}) {
		t.Errorf("got %q in %+v and %q in %+v, want the same sign without a role", cell, cellStyle, run, runStyle)
	}
}

func checkSign(t *testing.T, tier canvas.Tier, what, sign string) {
	t.Helper()
	if sign == " " || display.Width(sign) != 1 || tier == canvas.ASCII && sign[0] > '~' {
		t.Errorf("tier %d: %s has the sign %q, want one visible cell", tier, what, sign)
	}
}
