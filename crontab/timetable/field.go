package timetable

import (
	"fmt"
	"math/bits"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
)

// FieldSet is the values of five time fields. It is comparable: two lines with
// the same FieldSet and zone have the same occurrences.
type FieldSet struct {
	minute  uint64 // bit n is value n, in all five
	hour    uint32
	day     uint32
	month   uint16
	weekday uint8 // Sunday is bit 0
	flags   fieldFlags
}

type fieldFlags uint8

const (
	fieldWildcard fieldFlags = 1 << iota // minute or hour begins with *
	fieldBothDays                        // day or weekday begins with *: both must match, else either
)

const (
	allDays     = 1<<32 - 1<<1
	allMonths   = 1<<13 - 1<<1
	allWeekdays = 1<<7 - 1
)

func (f *FieldSet) needsBothDays() bool { return f.flags&fieldBothDays != 0 }

// fieldKind is one of the five columns.
type fieldKind struct {
	name      string
	index     int
	low, high int
	names     string // three letters each, beginning with that of low
	star      fieldFlags
	period    int // number of different values
}

var fieldKinds = [5]fieldKind{
	{name: "minute", index: 0, high: 59, star: fieldWildcard, period: 60},
	{name: "hour", index: 1, high: 23, star: fieldWildcard, period: 24},
	{name: "day", index: 2, low: 1, high: 31, star: fieldBothDays, period: 31},
	{name: "month", index: 3, low: 1, high: 12, names: "janfebmaraprmayjunjulaugsepoctnovdec", period: 12},
	{name: "weekday", index: 4, high: 7, names: "sunmontuewedthufrisat", star: fieldBothDays, period: 7},
}

// Reporter receives a diagnostic about length bytes of the line, from byte col.
type Reporter = func(col, length int, code diagnostic.Code, message, fix string)

// ParseFields reads five fields from line, starting at byte at, and returns their
// values and the end of the fifth field. It stops at the first error, with ok
// false. seed determines the random value of ~.
func ParseFields(line string, at int, seed uint64, report Reporter) (f FieldSet, end int, ok bool) {
	r := fieldReader{line: line, first: lex.SkipBlanks(line, at), at: at, seed: seed, report: report}
	var starts [5]int
	var masks [5]uint64
	for i := range fieldKinds {
		r.kind = &fieldKinds[i]
		r.at = lex.SkipBlanks(line, r.at)
		starts[i] = r.at
		r.start = r.at
		if r.at == len(line) {
			return f, r.at, r.failMissing()
		}
		if line[r.at] == '*' {
			f.flags |= r.kind.star
		}
		if masks[i], ok = r.field(); !ok {
			return f, r.at, false
		}
	}
	f.minute, f.hour, f.day, f.month = masks[0], uint32(masks[1]), uint32(masks[2]), uint16(masks[3])
	f.weekday = uint8((masks[4] | masks[4]>>7) & allWeekdays)
	r.reportDays(&f, starts[2], starts[4])
	return f, r.at, true
}

// fieldReader reads the fields of one line. The grammar is that of Debian's cron
// plus cronie's ~.
type fieldReader struct {
	line   string
	first  int // start of the first field
	at     int
	seed   uint64
	report Reporter
	kind   *fieldKind
	start  int    // of the field
	items  int    // number of items so far in this field
	mask   uint64 // values so far in this field
}

// field reads a list of items up to a blank.
func (r *fieldReader) field() (mask uint64, ok bool) {
	r.items, r.mask = 0, 0
	for {
		if !r.item() {
			return 0, false
		}
		r.items++
		if r.peek() != ',' {
			break
		}
		r.at++
	}
	if !r.atEnd() {
		r.skipJunk()
	}
	return r.mask, true
}

// item reads *, N, N-M or N~M, with a step after the first and third.
func (r *fieldReader) item() bool {
	start := r.at
	if r.peek() == '*' {
		r.at++
		return r.rangeOf(start, r.kind.low, r.kind.high)
	}
	if r.peek() == '~' {
		return r.random(start, r.kind.low)
	}
	first, ok := r.value()
	if !ok {
		return false
	}
	switch r.peek() {
	case '-':
		r.at++
		last, ok := r.rangeEnd(start)
		if !ok {
			return false
		}
		return r.rangeOf(start, first, last)
	case '~':
		return r.random(start, first)
	case '/':
		return r.failStepWithoutRange(start)
	}
	r.mask |= 1 << first
	return true
}

// rangeEnd reads the value after the dash of the range that begins at start.
func (r *fieldReader) rangeEnd(start int) (last int, ok bool) {
	if r.atEnd() || r.peek() == ',' || r.peek() == '*' {
		return 0, r.failOpenRange(start)
	}
	return r.value()
}

// rangeOf adds the values from first to last, with the step if one follows.
func (r *fieldReader) rangeOf(start, first, last int) bool {
	step := 1
	if r.peek() == '/' {
		r.at++
		var ok bool
		if step, ok = r.step(start); !ok {
			return false
		}
	}
	// For cronie a range of weekdays that ends in 0 ends in 7; for Debian it is
	// empty. This follows cronie, because the author meant the job to run.
	if r.kind.index == 4 && last == 0 && first > 0 {
		r.warnSundayEnd(start)
		last = 7
	}
	if first > last {
		r.warnEmptyRange(start, first)
		return true
	}
	switch {
	case step == 1:
	case step > last-first:
		r.warnLongStep(start, first, last, step)
	case r.line[start] == '*' && start == r.start && r.atEnd() && r.kind.period%step != 0:
		r.warnUnevenStep(start, step)
	}
	if step == 1 {
		r.mask |= (2<<last - 1) &^ (1<<first - 1)
		return true
	}
	for v := first; v <= last; v += step {
		r.mask |= 1 << v
	}
	return true
}

// step reads the number after the slash of the item that begins at start.
func (r *fieldReader) step(start int) (step int, ok bool) {
	numberAt := r.at
	step, ok = r.number()
	if ok && step > 0 {
		return step, true
	}
	return 0, r.failStep(start, numberAt)
}

// random adds one value between first and the number after the ~. Other crons
// with ~ choose a new value at each load; here the seed and the position in the
// line determine it.
func (r *fieldReader) random(start, first int) bool {
	r.at++
	last := r.kind.high
	if r.kind.index == 4 {
		last = 6 // 7 would make Sunday twice as likely
	}
	if !r.atEnd() && r.peek() != ',' && r.peek() != '/' {
		var ok bool
		if last, ok = r.value(); !ok {
			return false
		}
	}
	if r.peek() == '/' || first > last {
		return r.failRandom(start)
	}
	place := uint64(r.kind.index)<<8 | uint64(r.items)
	value := first + int(hash(r.seed, place)%uint64(last-first+1))
	r.warnRandom(start, value)
	r.mask |= 1 << value
	return true
}

// value reads a number or name within the range of the field.
func (r *fieldReader) value() (v int, ok bool) {
	start := r.at
	v, ok = r.number()
	if !ok {
		if v, ok = r.name(start); !ok {
			return 0, r.failValue(start)
		}
	}
	if v < r.kind.low || v > r.kind.high {
		return 0, r.failRange(start, v)
	}
	return v, true
}

// number reads a sequence of letters and digits and returns its value. ok is
// false if it is not a number up to 31 bits.
func (r *fieldReader) number() (v int, ok bool) {
	start := r.at
	ok = true
	for r.at < len(r.line) && isAlnum(r.line[r.at]) {
		d := int(r.line[r.at]) - '0'
		if d > 9 || v > (1<<31-1-d)/10 {
			ok = false
		} else {
			v = v*10 + d
		}
		r.at++
	}
	return v, ok && r.at > start
}

// name returns the value of the name from start to the current position.
func (r *fieldReader) name(start int) (v int, ok bool) {
	i := indexName(r.kind.names, r.line[start:r.at])
	return i + r.kind.low, i >= 0
}

// indexName returns the index of a name of three letters, in upper or lower case,
// or -1.
func indexName(names, name string) int {
	if len(name) != 3 {
		return -1
	}
	for i := 0; i < len(names); i += 3 {
		if strings.EqualFold(names[i:i+3], name) {
			return i / 3
		}
	}
	return -1
}

// peek returns the next byte, or a blank at the end of the line.
func (r *fieldReader) peek() byte {
	if r.at == len(r.line) {
		return ' '
	}
	return r.line[r.at]
}

func (r *fieldReader) atEnd() bool { return lex.IsBlank(r.peek()) }

// fieldEnd returns the index of the blank after the field at start.
func (r *fieldReader) fieldEnd(start int) int { return lex.WordEnd(r.line, start) }

// itemEnd returns the index of the comma or blank after the item at start.
func (r *fieldReader) itemEnd(start int) int {
	item, _, _ := strings.Cut(r.line[start:r.fieldEnd(start)], ",")
	return start + len(item)
}

func isAlnum(c byte) bool { return c-'0' <= 9 || c|0x20-'a' <= 25 }

// runsPerYear estimates the number of occurrences in an average year.
func (f *FieldSet) runsPerYear() int {
	daysOf := func(month int) (sevenths int) {
		inMonth := uint32(2)<<daysInMonth[month] - 2
		byDay := bits.OnesCount32(f.day & inMonth)
		byWeekday := bits.OnesCount8(f.weekday)
		if f.needsBothDays() {
			return byDay * byWeekday
		}
		return 7*byDay + (daysInMonth[month]-byDay)*byWeekday
	}
	sevenths := 0
	for month := 1; month <= 12; month++ {
		if f.month>>month&1 != 0 {
			sevenths += daysOf(month)
		}
	}
	return sevenths * bits.OnesCount64(f.minute) * bits.OnesCount32(f.hour) / 7
}

// nickname is a word that replaces five fields.
type nickname struct {
	name   string
	fields FieldSet
}

// Of all nicknames only @hourly is a wildcard: Vixie's cron sets the star
// flags of the hour for it alone.
var nicknames = [...]nickname{
	{"@yearly", FieldSet{minute: 1, hour: 1, day: 1 << 1, month: 1 << 1, weekday: allWeekdays, flags: fieldBothDays}},
	{"@annually", FieldSet{minute: 1, hour: 1, day: 1 << 1, month: 1 << 1, weekday: allWeekdays, flags: fieldBothDays}},
	{"@monthly", FieldSet{minute: 1, hour: 1, day: 1 << 1, month: allMonths, weekday: allWeekdays, flags: fieldBothDays}},
	{"@weekly", FieldSet{minute: 1, hour: 1, day: allDays, month: allMonths, weekday: 1, flags: fieldBothDays}},
	{"@daily", FieldSet{minute: 1, hour: 1, day: allDays, month: allMonths, weekday: allWeekdays, flags: fieldBothDays}},
	{"@midnight", FieldSet{minute: 1, hour: 1, day: allDays, month: allMonths, weekday: allWeekdays, flags: fieldBothDays}},
	{"@hourly", FieldSet{minute: 1, hour: 1<<24 - 1, day: allDays, month: allMonths, weekday: allWeekdays, flags: fieldBothDays | fieldWildcard}},
}

// ParseNickname reads the nickname at byte at of line, which has an @ there.
// For @reboot reboot is true and f names nothing.
func ParseNickname(line string, at int, report Reporter) (f FieldSet, end int, reboot, ok bool) {
	end = lex.WordEnd(line, at)
	word := line[at:end]
	if word == "@reboot" {
		return f, end, true, true
	}
	for i := range nicknames {
		if nicknames[i].name == word {
			return nicknames[i].fields, end, false, true
		}
	}
	report(at, end-at, codeNickname, fmt.Sprintf("nickname %s is unknown", word), nicknameFix(line[at:], word))
	return f, end, false, false
}

// nicknameFix returns what to write instead of word, the first word of rest.
func nicknameFix(rest, word string) string {
	if word == "@every" {
		if d := lex.Words(rest); len(d) > 1 {
			return fmt.Sprintf("write `#@ every=%s` on a line above five fields", d[1])
		}
		return "write `#@ every=5m` on a line above five fields"
	}
	best := diagnostic.Nearest(word, Nicknames())
	if best == "" {
		return "the nicknames are " + strings.Join(Nicknames(), " ")
	}
	return fmt.Sprintf("did you mean `%s`?", best)
}

func Nicknames() []string {
	words := []string{"@reboot"}
	for _, n := range nicknames {
		words = append(words, n.name)
	}
	return words
}
