package timetable

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// The codes of errors in time fields and nicknames.
const (
	codeAbove       diagnostic.Code = "B001"
	codeBelow       diagnostic.Code = "B002"
	codeNotNumber   diagnostic.Code = "B003"
	codeUnknownName diagnostic.Code = "B004"
	codeEmptyItem   diagnostic.Code = "B005"
	codeOpenRange   diagnostic.Code = "B006"
	codeLoneStep    diagnostic.Code = "B007"
	codeStep        diagnostic.Code = "B008"
	codeTooLarge    diagnostic.Code = "B009"
	codeOtherTool   diagnostic.Code = "B010"
	codeRandom      diagnostic.Code = "B011"
	codeMissing     diagnostic.Code = "B012"
	codeNickname    diagnostic.Code = "B013"
	codeNoTime      diagnostic.Code = "B014"
	codeMoreFields  diagnostic.Code = "B015"
)

// The codes of warnings about time fields.
const (
	codeEmptyRange  diagnostic.Code = "B101"
	codeEitherDay   diagnostic.Code = "B102"
	codeLongStep    diagnostic.Code = "B103"
	codeJunk        diagnostic.Code = "B104"
	codeRandomValue diagnostic.Code = "B105"
	CodeNoDate      diagnostic.Code = "B106"
	codeSundayEnd   diagnostic.Code = "B107"
	codeUnevenStep  diagnostic.Code = "B108"
)

// fail reports an error about line[from:to], or the wrong number of fields that
// causes it, and returns false.
func (r *fieldReader) fail(from, to int, code diagnostic.Code, message, fix string) bool {
	m, ok := r.miscounted()
	if !ok {
		m = mistake{from, to, code, message, fix}
	}
	r.report(m.from, m.to-m.from, m.code, m.message, m.fix)
	return false
}

func (r *fieldReader) warn(from, to int, code diagnostic.Code, message, fix string) {
	r.report(from, to-from, code, message, fix)
}

func (r *fieldReader) failMissing() bool {
	read := make([]string, 0, len(fieldKinds))
	for _, k := range fieldKinds[:r.kind.index] {
		read = append(read, k.name)
	}
	message := "no time fields"
	if len(read) > 0 {
		message = fmt.Sprintf("the line ends after %s: %s is missing", strings.Join(read, ", "), r.kind.name)
	}
	return r.fail(r.at, r.at+1, codeMissing, message, "write five fields: minute hour day month weekday")
}

func (r *fieldReader) failRange(start, v int) bool {
	k, text := r.kind, r.line[start:r.at]
	if v < k.low {
		fix := fmt.Sprintf("%ss count from %d", k.name, k.low)
		return r.fail(start, r.at, codeBelow, fmt.Sprintf("%s %s is below %d", k.name, text, k.low), fix)
	}
	fix := fmt.Sprintf("the %s is %d to %d", k.name, k.low, k.high)
	switch {
	case k.low == 0 && v == k.high+1 && k.index < 2:
		fix = "write `0`: the " + k.name + " after " + strconv.Itoa(k.high) + " is 0"
	case k.index == 1 && v <= 59:
		fix += "; the minute comes first"
	case k.index == 4:
		fix += "; 0 and 7 are both Sunday"
	}
	return r.fail(start, r.at, codeAbove, fmt.Sprintf("%s %s is above %d", k.name, text, k.high), fix)
}

// failValue reports the text at start that is neither a number nor a name; r.at
// is after its letters and digits.
func (r *fieldReader) failValue(start int) bool {
	k, text := r.kind, r.line[start:r.at]
	if text == "" {
		return r.failSign(start)
	}
	if strings.Trim(text, "0123456789") == "" {
		fix := fmt.Sprintf("the %s is %d to %d", k.name, k.low, k.high)
		return r.fail(start, r.at, codeTooLarge, fmt.Sprintf("%s %s is too large", k.name, text), fix)
	}
	if fix := otherTool(k, text, r.line[r.at:r.fieldEnd(start)]); fix != "" {
		return r.fail(start, r.at, codeOtherTool, r.foreign(text), fix)
	}
	if strings.ContainsAny(text, "0123456789") {
		return r.fail(start, r.at, codeNotNumber, fmt.Sprintf("%s %q is not a number", k.name, text), numberFix(k, text))
	}
	return r.fail(start, r.at, codeUnknownName, fmt.Sprintf("%s %q is not a valid name", k.name, text), nameFix(k, text))
}

// failSign reports a sign where a value must be.
func (r *fieldReader) failSign(start int) bool {
	k, end := r.kind, r.fieldEnd(r.start)
	if start == end || r.line[start] == ',' {
		from, to := start, start+1
		if start > r.start {
			from, to = start-1, start
		}
		fix := ""
		if items := strings.FieldsFunc(r.line[r.start:end], func(c rune) bool { return c == ',' }); len(items) > 0 {
			fix = fmt.Sprintf("write `%s`", strings.Join(items, ","))
		}
		return r.fail(from, to, codeEmptyItem, "empty item in the list of "+k.name+"s", fix)
	}
	end = r.itemEnd(start)
	text := r.line[start:end]
	switch {
	case text[0] == '?':
		return r.fail(start, end, codeOtherTool, r.foreign(text[:1]), "write `*`")
	case text[0] == '+' && len(text) > 1:
		return r.fail(start, end, codeNotNumber, fmt.Sprintf("%s %q has a sign", k.name, text), fmt.Sprintf("write `%s`", text[1:]))
	case text[0] == '/':
		return r.fail(start, end, codeLoneStep, fmt.Sprintf("step %q has no range", text), fmt.Sprintf("write `*%s`", text))
	}
	fix := fmt.Sprintf("the %s is %d to %d", k.name, k.low, k.high)
	return r.fail(start, end, codeNotNumber, fmt.Sprintf("%s %q is not a number", k.name, text), fix)
}

// foreign describes the syntax of another scheduler.
func (r *fieldReader) foreign(text string) string {
	tool := "Quartz"
	if strings.EqualFold(text, "H") {
		tool = "Jenkins"
	}
	return fmt.Sprintf("%q in the %s field is syntax of %s, which cron does not have", text, r.kind.name, tool)
}

func (r *fieldReader) failOpenRange(start int) bool {
	fix := fmt.Sprintf("write `%s%d`", r.line[start:r.at], r.kind.high)
	end := r.itemEnd(start)
	return r.fail(start, end, codeOpenRange, fmt.Sprintf("range %q has no end", r.line[start:end]), fix)
}

func (r *fieldReader) failStepWithoutRange(start int) bool {
	first, end := r.line[start:r.at], r.itemEnd(start)
	message := fmt.Sprintf("step %q needs a range before it", r.line[r.at:end])
	fix := fmt.Sprintf("write `%s-%d%s`", first, r.kind.high, r.line[r.at:end])
	if strings.Trim(r.line[r.at:end], "/0") == "" {
		fix = fmt.Sprintf("write `%s`", first)
	}
	return r.fail(start, end, codeLoneStep, message, fix)
}

// failStep reports the text at numberAt that is not a valid step, in the item
// that begins at start.
func (r *fieldReader) failStep(start, numberAt int) bool {
	base, end := r.line[start:numberAt-1], r.itemEnd(start)
	text := r.line[numberAt:end]
	switch {
	case text == "":
		return r.fail(start, end, codeStep, "no number after the slash", fmt.Sprintf("write `%s`", base))
	case text[0] == '-' && len(text) > 1:
		return r.fail(numberAt, end, codeStep, fmt.Sprintf("step %s is negative", text), fmt.Sprintf("write `%s/%s`", base, text[1:]))
	case strings.Trim(text, "0") == "":
		return r.fail(numberAt, end, codeStep, "the step must be at least 1", fmt.Sprintf("write `%s`", base))
	case strings.Trim(text, "0123456789") == "":
		return r.fail(numberAt, end, codeTooLarge, fmt.Sprintf("step %s is too large", text), fmt.Sprintf("write `%s/N`", base))
	}
	return r.fail(numberAt, end, codeStep, fmt.Sprintf("step %q is not a number", text), fmt.Sprintf("write `%s/N`", base))
}

func (r *fieldReader) failRandom(start int) bool {
	end := r.itemEnd(start)
	text := r.line[start:end]
	if low, high, ok := strings.Cut(r.line[start:r.at], "~"); ok && r.peek() != '/' {
		return r.fail(start, r.at, codeRandom, fmt.Sprintf("random range %q is reversed", r.line[start:r.at]), fmt.Sprintf("write `%s~%s`", high, low))
	}
	return r.fail(start, end, codeRandom, fmt.Sprintf("random range %q cannot have a step", text), fmt.Sprintf("write `%s`", r.line[start:r.at]))
}

func (r *fieldReader) warnSundayEnd(start int) {
	text := r.line[start:r.at]
	from, _, step := cutRange(text)
	message := fmt.Sprintf("%q ends on Sunday here and in cronie, but Debian's cron never ran it", text)
	r.warn(start, r.at, codeSundayEnd, message, fmt.Sprintf("write `%s-7%s`", from, step))
}

func (r *fieldReader) warnEmptyRange(start, first int) {
	text := r.line[start:r.at]
	from, to, step := cutRange(text)
	k := r.kind
	high := k.high
	if k.index == 4 {
		high = 6
	}
	fix := fmt.Sprintf("write `%s,%s`", k.rangeText(from, k.valueText(from, high), step), k.rangeText(k.valueText(to, k.low), to, step))
	if first > high {
		fix = fmt.Sprintf("write `%s`", k.rangeText(k.valueText(to, k.low), to, step))
	}
	r.warn(start, r.at, codeEmptyRange, fmt.Sprintf("%q never runs", text), fix)
}

// cutRange splits from-to/step; the slash stays with the step.
func cutRange(text string) (from, to, step string) {
	bounds, number, stepped := strings.Cut(text, "/")
	if stepped {
		step = "/" + number
	}
	from, to, _ = strings.Cut(bounds, "-")
	return from, to, step
}

func (r *fieldReader) warnLongStep(start, first, last, step int) {
	value := strconv.Itoa(first)
	message := fmt.Sprintf("step %d is beyond the range %d-%d: only %s %s matches", step, first, last, r.kind.name, value)
	fix := fmt.Sprintf("write `%s`", value)
	if r.kind.index == 0 && step > 60 {
		fix += fmt.Sprintf(", or `#@ every=%dm` above the line for every %d minutes", step, step)
	}
	r.warn(start, r.at, codeLongStep, message, fix)
}

// wholes are what the values of the fields repeat in.
var wholes = [5]string{"hour", "day", "month", "year", "week"}

// warnUnevenStep warns about a step that does not divide the range, because the
// interval is shorter where the values start again.
func (r *fieldReader) warnUnevenStep(start, step int) {
	k := r.kind
	unit, repeats := k.name, wholes[k.index]
	last := k.low + (k.period-1)/step*step
	message := fmt.Sprintf("%q starts again each %s, only %s after %s %d", r.line[start:r.at], repeats, numbered(k.low+k.period-last, strings.TrimPrefix(unit, "week")), unit, last)
	fix := fmt.Sprintf("write a step that divides %d", k.period)
	switch k.index {
	case 0, 1:
		fix += fmt.Sprintf(", or `#@ every=%d%c` on the line above for every %d %ss", step, unit[0], step, unit)
	case 2:
		message = fmt.Sprintf("%q starts again each month: day 1 follows day %d", r.line[start:r.at], last)
		fix = fmt.Sprintf("for every %d days write `#@ every=%dd` on the line above, which replaces the time fields", step, step)
	case 4:
		fix = "write the weekdays, such as `mon,wed,fri`"
	}
	r.warn(start, r.at, codeUnevenStep, message, fix)
}

// skipJunk skips the text between the list and the next blank. Debian's cron
// ignores it; cronie rejects the line. Rejecting it would stop a job that runs.
func (r *fieldReader) skipJunk() {
	start := r.at
	kept, end := r.line[r.start:start], r.fieldEnd(start)
	message := fmt.Sprintf("%q is ignored, as Debian's cron does: the %s is read as %q", r.line[start:end], r.kind.name, kept)
	fix := fmt.Sprintf("write `%s`", kept)
	if r.kind.index == 0 && r.line[start] == ':' && end-start == 3 {
		fix = fmt.Sprintf("write the minute first: `%s %s`", r.line[start+1:end], kept)
	}
	if number := r.line[start:end]; r.kind.index == 4 && len(number) == 2 && number[0] == '#' && number[1] >= '1' && number[1] <= '5' {
		message = fmt.Sprintf("cron ignores %q, which is syntax of Quartz: the entry runs on every weekday %s", number, kept)
		if bits.OnesCount64(r.mask) == 1 {
			fix = dayOption(r.kind.valueName(bits.TrailingZeros64(r.mask)) + number)
		}
	}
	r.warn(start, end, codeJunk, message, fix)
	r.at = end
}

func (r *fieldReader) warnRandom(start, value int) {
	text := r.line[start:r.at]
	debian := "refuses the line"
	if low, _, _ := strings.Cut(text, "~"); low != "" {
		debian = "reads " + low
	}
	message := fmt.Sprintf("%s %d was chosen for %q and stays; Debian's cron %s", r.kind.name, value, text, debian)
	r.warn(start, r.at, codeRandomValue, message, fmt.Sprintf("write `%d` if the line is shared with Debian's cron", value))
}

// reportDays checks the two day fields together, which begin at dayAt and
// weekdayAt; r.at is after the second.
func (r *fieldReader) reportDays(f *FieldSet, dayAt, weekdayAt int) {
	day, weekday := r.line[dayAt:r.fieldEnd(dayAt)], r.line[weekdayAt:r.at]
	if !f.needsBothDays() && f.day != 0 && f.weekday != 0 && f.month != 0 {
		message := fmt.Sprintf("day %s or weekday %s: either one is enough, about %d runs a year", day, weekday, f.runsPerYear())
		r.warn(weekdayAt, r.at, codeEitherDay, message, "write `*` in one of the two; if both must match, test the other in the command")
	}
	// Empty fields already have a diagnostic.
	if f.day != 0 && f.weekday != 0 && f.month != 0 && !f.namesDate() {
		r.warn(dayAt, r.at, CodeNoDate, fmt.Sprintf("none of the given months has a day %s: never runs", day), "write a day that the month has")
	}
}
