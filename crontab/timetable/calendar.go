package timetable

import "math/bits"

// civilMonth is one month of the Gregorian calendar.
type civilMonth struct {
	year   uint64
	number int    // 1 is January
	first  uint64 // its first day, counted from 0000-03-01
	length int
}

// daysInMonth holds the lengths by number, for years without a leap day.
var daysInMonth = [13]int{0, 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}

// monthOf returns the month of a day, counted from 0000-03-01. The arithmetic
// is from Neri and Schneider, "Euclidean affine functions and their application
// to calendar algorithms" (2022).
func monthOf(day uint64) civilMonth {
	n := 4*day + 3
	century, ofCentury := n/146097, n%146097/4
	product := 2939745 * (4*ofCentury + 3)
	year := 100*century + product>>32
	ofYear := product & (1<<32 - 1) / 2939745 / 4
	scaled := 2141*ofYear + 197913
	number := int(scaled >> 16)
	mday := scaled & (1<<16 - 1) / 2141
	if number > 12 {
		number -= 12
		year++
	}
	return civilMonth{year, number, day - mday, monthLength(year, number)}
}

// nextMonth returns the first month after m that matches the month field.
func (f *FieldSet) nextMonth(m civilMonth) civilMonth {
	for {
		m.first += uint64(m.length)
		if m.number++; m.number > 12 {
			m.number = 1
			m.year++
		}
		m.length = monthLength(m.year, m.number)
		if f.month>>m.number&1 != 0 {
			return m
		}
	}
}

// preceding returns the month before m.
func (m civilMonth) preceding() civilMonth { return monthOf(m.first - 1) }

// following returns the month after m.
func (m civilMonth) following() civilMonth {
	all := FieldSet{month: allMonths}
	return all.nextMonth(m)
}

// index returns the number of months since year 0.
func (m civilMonth) index() int { return int(m.year)*12 + m.number - 1 }

func monthLength(year uint64, number int) int {
	if number == 2 && isLeap(year) {
		return 29
	}
	return daysInMonth[number]
}

func isLeap(year uint64) bool { return year%4 == 0 && (year%100 != 0 || year%400 == 0) }

// daysOf returns the days of m that match the fields; bit 0 is the first day.
func (f *FieldSet) daysOf(m civilMonth) uint32 {
	if f.month>>m.number&1 == 0 {
		return 0
	}
	byWeekday := weekdaysIn(m, f.weekday)
	byDay := f.day >> 1 & (1<<m.length - 1)
	if f.needsBothDays() {
		return byDay & byWeekday
	}
	return byDay | byWeekday
}

// namesDate reports whether any date matches the fields. In 400 years each
// date, even 29 February, falls on every weekday.
func (f *FieldSet) namesDate() bool {
	if !f.needsBothDays() && f.weekday != 0 {
		return f.month != 0
	}
	if f.needsBothDays() && f.weekday == 0 {
		return false
	}
	first := bits.TrailingZeros32(f.day)
	for number := 1; number <= 12; number++ {
		const leapYear = 2000
		if f.month>>number&1 != 0 && first <= monthLength(leapYear, number) {
			return true
		}
	}
	return false
}
