package source

import (
	"slices"
	"sort"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/timetable"
)

// MaxDiagnostics bounds what a hostile file can make Parse allocate.
const MaxDiagnostics = 10_000

// Source is a crontab while it is read, line by line.
type Source struct {
	Name        string
	Diagnostics []diagnostic.Diagnostic
	Dropped     bool               // diagnostics beyond MaxDiagnostics
	Reporter    timetable.Reporter // Report, bound once

	// The current line.
	Text      string     // without its line end
	Start     int        // its offset in the text
	Number    int        // from 1
	Positions []Position // positions of the pieces of a joined line; nil: the line is as in the file

	sawReturn bool // reported once for each file
}

// New returns the source for the file with that name.
func New(name string) *Source {
	s := &Source{Name: name}
	s.Reporter = s.Report
	return s
}

// Position is the position in the file of a piece of a joined line, which begins at
// byte at.
type Position struct{ at, Line, Column int }

// TrimReturn drops one carriage return at the end. Other crons keep it, and the
// shell does not find the command.
func (s *Source) TrimReturn(line string) string {
	if !strings.HasSuffix(line, "\r") {
		return line
	}
	if !s.sawReturn {
		s.sawReturn = true
		s.Report(len(line)-1, 1, "B302", "lines end with CR LF: the CR is dropped here, but other crons make it part of the command", "convert the file: sed -i 's/\\r$//' FILE")
	}
	return line[:len(line)-1]
}

// Report adds a diagnostic about length bytes of the current line, from byte at.
func (s *Source) Report(at, length int, code diagnostic.Code, message, fix string) {
	line, column, length := s.spot(at, length)
	s.Add(diagnostic.Diagnostic{
		Line: line, Column: column, Length: length,
		Code: code, Severity: code.Severity(), Message: message, Fix: fix,
	})
}

// ReportLine adds a diagnostic about a whole line.
func (s *Source) ReportLine(line int, code diagnostic.Code, message, fix string) {
	s.Add(diagnostic.Diagnostic{Line: line, Code: code, Severity: code.Severity(), Message: message, Fix: fix})
}

func (s *Source) Add(d diagnostic.Diagnostic) {
	d.File = s.Name
	d.Message, d.Fix = diagnostic.Harmless(d.Message), diagnostic.Harmless(d.Fix)
	if len(s.Diagnostics) < MaxDiagnostics {
		s.Diagnostics = append(s.Diagnostics, d)
		return
	}
	if !s.Dropped {
		s.Dropped = true
		s.Diagnostics = append(s.Diagnostics, diagnostic.Diagnostic{
			File: d.File, Line: d.Line, Code: "B305", Severity: diagnostic.Error,
			Message: "more than 10,000 diagnostics: those below this line are omitted",
			Fix:     "correct the first lines, then check again",
		})
	}
}

// Remove removes the diagnostics with a code, from the given index.
func (s *Source) Remove(number int, code diagnostic.Code) {
	tail := slices.DeleteFunc(s.Diagnostics[number:], func(d diagnostic.Diagnostic) bool { return d.Code == code })
	s.Diagnostics = s.Diagnostics[:number+len(tail)]
}

// spot returns the position in the file of byte at of the current line, and how
// many of length bytes follow there without interruption.
func (s *Source) spot(at, length int) (line, column, in int) {
	if s.Positions == nil {
		return s.Number, at + 1, length
	}
	i := sort.Search(len(s.Positions), func(i int) bool { return s.Positions[i].at > at }) - 1
	p := s.Positions[i]
	if i+1 < len(s.Positions) {
		length = max(1, min(length, s.Positions[i+1].at-at))
	}
	return p.Line, p.Column + at - p.at, length
}
