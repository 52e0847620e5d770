package crontab

// fieldSet is what five time fields name, in a form that can be compared and
// used as a key: two lines with the same fieldSet and zone have the same
// occurrences.
type fieldSet struct {
	minute  uint64
	hour    uint32
	day     uint32
	month   uint16
	weekday uint8
	flags   fieldFlags
}

type fieldFlags uint8

const (
	fieldWildcard fieldFlags = 1 << iota // minute or hour begins with *
	fieldBothDays                        // day or weekday begins with *: both must match
)

// parseFields reads five fields from line, starting at byte at, and returns
// what they name and where the fifth ends. It calls report for each remark;
// ok is false after an error.
func parseFields(line string, at int, seed uint64, report func(col, length int, code Code, sev Severity, message, fix string)) (f fieldSet, end int, ok bool) {
	return fieldSet{}, at, false
}

// fieldCodes says what each code of this half of the package means.
var fieldCodes = map[Code]string{}
