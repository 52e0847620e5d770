package canvas

// Tier is which characters a terminal can draw.
type Tier uint8

// The tiers. Full has lines and blocks, ASCII nothing beyond its name.
const (
	Full Tier = iota
	ASCII
)

// Glyphs are the signs in use. Each takes one cell, and none is drawn as an
// emoji by any terminal.
type Glyphs struct {
	Tier Tier

	OK, Failed, Late, Running, Held, New string // states
	Skipped, Planned, Expected, Long     string // cells of strips and of the timeline
	Ran                                  string
	Started                              string    // by another cron: its end is not known
	Bars                                 [8]string // low to high
	Across, Down, Tee, Foot              string    // lines: ─ │ ┬ ┴
	Cursor, Mark                         string
	Ellipsis                             string
	Caret                                string // where text is typed
	Descends, Ascends                    string // behind the title of the column that a list is sorted by
}

// GlyphsOf returns the signs of a tier.
func GlyphsOf(t Tier) *Glyphs { return &glyphs[t] }

var glyphs = [...]Glyphs{Full: blocks, ASCII: letters}

var blocks = Glyphs{
	OK: "✓", Failed: "✗", Late: "!", Running: "►", Held: "‖", New: "·",
	Skipped: "·", Planned: "∙", Expected: "┄", Long: "━", Ran: "■", Started: "○",
	Bars:   [8]string{"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"},
	Across: "─", Down: "│", Tee: "┬", Foot: "┴",
	Cursor: ">", Mark: "*", Ellipsis: "…", Caret: "▏",
	Descends: "▼", Ascends: "▲",
}

var letters = Glyphs{
	Tier: ASCII,
	OK:   "+", Failed: "X", Late: "!", Running: ">", Held: "=", New: ".",
	Skipped: ".", Planned: ":", Expected: "~", Long: "-", Ran: "#", Started: "o",
	Bars:   [8]string{".", ".", ":", "-", "=", "+", "#", "#"},
	Across: "-", Down: "|", Tee: "+", Foot: "+",
	Cursor: ">", Mark: "*", Ellipsis: "~", Caret: "_",
	Descends: "v", Ascends: "^",
}
