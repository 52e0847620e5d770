package timetable

import (
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"
	"time"
)

// DayRule is a set of rules for days of the month: a day must match one of them.
// The zero value selects every day. A workday is a day from Monday to Friday.
type DayRule struct {
	workdays workdayRules
	fromLast uint32   // bit n: the day n days before the last of the month
	nearest  uint32   // bit n: the workday of the month that is nearest to day n
	weekdays [7]uint8 // of Sunday to Saturday; bit n: the n-th of the month, bit 0: the last
}

type workdayRules uint8

const (
	anyWorkday workdayRules = 1 << iota
	firstWorkday
	lastWorkday
)

// workweek are the weekdays from Monday to Friday.
const workweek = 1<<6 - 1<<1

var weekdays = []time.Weekday{time.Sunday, time.Monday, time.Tuesday, time.Wednesday, time.Thursday, time.Friday, time.Saturday}

// shortName returns the first three letters of a weekday, in lower case.
func shortName(day time.Weekday) string { return strings.ToLower(day.String()[:3]) }

var workdayWords = []struct {
	rule       workdayRules
	word, text string
}{
	{anyWorkday, "workday", "workdays (Monday to Friday)"},
	{firstWorkday, "first-workday", "the first workday of the month"},
	{lastWorkday, "last-workday", "the last workday of the month"},
}

// ParseDayRule reads rules with commas between: last, L-3, workday,
// first-workday, last-workday, 15W, mon#2 and fri#last.
func ParseDayRule(text string) (r DayRule, err error) {
	for item := range strings.SplitSeq(text, ",") {
		if !r.add(strings.ToLower(item)) {
			return r, fmt.Errorf("%q is not a rule for days", item)
		}
	}
	return r, nil
}

// add adds the rule of an item in lower case.
func (r *DayRule) add(item string) bool {
	for _, w := range workdayWords {
		if item == w.word {
			r.workdays |= w.rule
			return true
		}
	}
	if item == "last" {
		r.fromLast |= 1
		return true
	}
	if before, found := strings.CutPrefix(item, "l-"); found {
		n, ok := dayNumber(before, 30)
		r.fromLast |= 1 << n
		return ok
	}
	if near, found := strings.CutSuffix(item, "w"); found {
		n, ok := dayNumber(near, 31)
		r.nearest |= 1 << n
		return ok
	}
	name, which, found := strings.Cut(item, "#")
	weekday := slices.IndexFunc(weekdays, func(day time.Weekday) bool { return shortName(day) == name })
	if !found || weekday < 0 {
		return false
	}
	if which == "last" {
		r.weekdays[weekday] |= 1
		return true
	}
	n, ok := dayNumber(which, 5)
	r.weekdays[weekday] |= 1 << n
	return ok
}

// dayNumber reads a number from 1 to most; it is 0 if text is not one.
func dayNumber(text string, most int) (n int, ok bool) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most || text != strconv.Itoa(n) {
		return 0, false
	}
	return n, true
}

// in returns the days of m that match; bit 0 is the first day.
func (r *DayRule) in(m civilMonth) (days uint32) {
	inMonth := uint32(1)<<m.length - 1
	if *r == (DayRule{}) {
		return inMonth
	}
	workdays := weekdaysIn(m, workweek)
	if r.workdays&anyWorkday != 0 {
		days = workdays
	}
	if r.workdays&firstWorkday != 0 {
		days |= workdays & -workdays
	}
	if r.workdays&lastWorkday != 0 {
		days |= 1 << (bits.Len32(workdays) - 1)
	}
	// Bit 0 of fromLast is the last day of the month.
	days |= bits.Reverse32(r.fromLast) >> (32 - m.length)
	for mask := r.nearest; mask != 0; mask &= mask - 1 {
		days |= nearestWorkday(workdays, bits.TrailingZeros32(mask)-1, m.length)
	}
	for weekday, which := range r.weekdays {
		if which != 0 {
			days |= nthWeekdays(weekdaysIn(m, 1<<weekday), which)
		}
	}
	return days
}

// isWorkdays reports whether all days that match are workdays.
func (r *DayRule) isWorkdays() bool {
	return *r != DayRule{} && r.fromLast == 0 && r.weekdays[time.Sunday] == 0 && r.weekdays[time.Saturday] == 0
}

// weekdaysIn returns the days of m on the weekdays of mask, where bit 0 is Sunday.
func weekdaysIn(m civilMonth, mask uint8) uint32 {
	// 0000-03-01 was a Wednesday. Repeat the weekdays six times, and start at the
	// weekday of the first day.
	weekday := (m.first + 3) % 7
	return uint32(uint64(mask)*0x0000_0008_1020_4081>>weekday) & (1<<m.length - 1)
}

// nearestWorkday returns the workday of a month that is nearest to the day with
// an index, or none if the month does not have that day. The nearest day to a
// Saturday is the Friday, and to a Sunday the Monday, unless they are in another
// month.
func nearestWorkday(workdays uint32, day, length int) uint32 {
	if day >= length {
		return 0
	}
	at := uint32(1) << day
	for _, near := range []uint32{at, at >> 1, at << 1, at >> 2, at << 2} {
		if near&workdays != 0 {
			return near
		}
	}
	return 0
}

// nthWeekdays returns those of days, which are the same weekday, that which
// selects: bit n is the n-th, bit 0 the last.
func nthWeekdays(days uint32, which uint8) (selected uint32) {
	if which&1 != 0 {
		selected = 1 << (bits.Len32(days) - 1)
	}
	for n := 1; days != 0; n++ {
		if which>>n&1 != 0 {
			selected |= days & -days
		}
		days &= days - 1
	}
	return selected
}

// String returns the rules in their syntax.
func (r *DayRule) String() string {
	return r.join(",", func(t ruleText) string { return t.option })
}

// describe returns the rules in words.
func (r *DayRule) describe() string {
	return r.join(" or ", func(t ruleText) string { return t.words })
}

func (r *DayRule) join(separator string, text func(ruleText) string) string {
	var texts []string
	for _, t := range r.list() {
		texts = append(texts, text(t))
	}
	return strings.Join(texts, separator)
}

// ruleText is one rule in its syntax and in words.
type ruleText struct{ option, words string }

func (r *DayRule) list() (rules []ruleText) {
	for _, w := range workdayWords {
		if r.workdays&w.rule != 0 {
			rules = append(rules, ruleText{w.word, w.text})
		}
	}
	for n := 30; n > 0; n-- {
		if r.fromLast>>n&1 != 0 {
			rules = append(rules, ruleText{fmt.Sprintf("L-%d", n), "the day " + numbered(n, "day") + " before the last of the month"})
		}
	}
	if r.fromLast&1 != 0 {
		rules = append(rules, ruleText{"last", "the last day of the month"})
	}
	for n := 1; n <= 31; n++ {
		if r.nearest>>n&1 != 0 {
			rules = append(rules, ruleText{fmt.Sprintf("%dW", n), fmt.Sprintf("the workday nearest to day %d", n)})
		}
	}
	for _, day := range weekdays {
		name := shortName(day)
		for n := 1; n <= 5; n++ {
			if r.weekdays[day]>>n&1 != 0 {
				rules = append(rules, ruleText{fmt.Sprintf("%s#%d", name, n), fmt.Sprintf("the %s %s of the month", ordinal(n), day)})
			}
		}
		if r.weekdays[day]&1 != 0 {
			rules = append(rules, ruleText{name + "#last", fmt.Sprintf("the last %s of the month", day)})
		}
	}
	return rules
}
