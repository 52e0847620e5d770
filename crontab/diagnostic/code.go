package diagnostic

import (
	"maps"
	"slices"
	"strings"
)

// Code identifies a kind of diagnostic. The meaning of a code never changes.
//
//	B0xx  errors in time fields
//	B1xx  doubtful time fields
//	B2xx  assignments and commands
//	B3xx  the file as a whole
//	B4xx  #@ directives
//	B5xx  anacrontab
//	B6xx  options in the daemon's configuration
type Code string

// Meaning returns a description of one line, or "" for an unknown code.
func (c Code) Meaning() string {
	return codes[c].meaning
}

// Severity returns the severity of diagnostics with the code.
func (c Code) Severity() Severity { return codes[c].severity }

// Codes returns all codes, sorted.
func Codes() []Code { return slices.Sorted(maps.Keys(codes)) }

// OfOption reports whether the code is about an option: the entry was parsed,
// and is held or runs without the option.
func (c Code) OfOption() bool {
	return strings.HasPrefix(string(c), "B4") || strings.HasPrefix(string(c), "B6")
}

// IgnoresLine reports whether a line with such an error is ignored.
func (c Code) IgnoresLine() bool { return !c.OfOption() && c != CodeMark }

// kind is a code's severity and what it is about.
type kind struct {
	severity Severity
	meaning  string
}

// CodeMark is the code of a byte order mark: crontab(1) rejects it, because other crons would not
// read the first line, but that line runs here.
const CodeMark Code = "B303"

// CodeLimit is the code of a crontab beyond Config.MaxEntries.
const CodeLimit Code = "B306"

var codes = map[Code]kind{
	"B001": {Error, "value above the highest of its field"},
	"B002": {Error, "value below the lowest of its field"},
	"B003": {Error, "field value that is not a number"},
	"B004": {Error, "unknown name of a month or weekday"},
	"B005": {Error, "empty item in a list"},
	"B006": {Error, "range without an end"},
	"B007": {Error, "step without a range"},
	"B008": {Error, "step that is missing, zero or not a number"},
	"B009": {Error, "number too large"},
	"B010": {Error, "syntax of another scheduler"},
	"B011": {Error, "random range that is reversed or has a step"},
	"B012": {Error, "fewer than five time fields"},
	"B013": {Error, "unknown nickname"},
	"B014": {Error, "nickname without a time"},
	"B015": {Error, "more than five time fields"},
	"B101": {Warning, "reversed range, which is empty"},
	"B102": {Warning, "day of month and day of week both set: either is enough"},
	"B103": {Warning, "step beyond the range: only the first value is used"},
	"B104": {Warning, "characters after a field value that are ignored"},
	"B105": {Warning, "random value, chosen once"},
	"B106": {Warning, "date that does not exist in any year"},
	"B107": {Warning, "weekday range that ends in Sunday written as 0"},
	"B108": {Warning, "step that does not divide the range: the last interval is shorter"},
	"B109": {Warning, "options about days that exclude all days of the time fields"},

	"B201": {Error, "an assignment that is not written as NAME=value"},
	"B202": {Warning, "an assignment that is too long for the kernel is ignored"},
	"B203": {Warning, "an assignment without a name is ignored"},
	"B204": {Warning, "a line that looks like an entry is an assignment"},
	"B205": {Warning, "RANDOM_DELAY is not a number of minutes"},
	"B206": {Error, "unknown time zone in CRON_TZ: the entries below are held"},
	"B207": {Note, "Debian's old cron ignores CRON_TZ"},
	"B208": {Note, "TZ does not change when entries run"},
	"B209": {Warning, "nothing is expanded in an assignment"},
	"B210": {Warning, "an unescaped % ends the command"},
	"B211": {Note, "the text after % is the standard input of the command"},
	"B212": {Warning, "a backslash at the end does not continue the line"},
	"B213": {Warning, "Debian's old cron replaces two backslashes by one"},
	"B214": {Warning, "a user's crontab does not have a column for the user"},
	"B215": {Warning, "the command begins with text that looks like a time field"},
	"B216": {Warning, "the command begins with text that looks like a flag"},
	"B217": {Warning, "the - prefix has no effect here"},
	"B218": {Error, "no command"},
	"B219": {Error, "the command begins with *"},
	"B220": {Error, "the command is too long for the kernel"},
	"B221": {Error, "a NUL byte"},
	"B222": {Error, "the time fields are too long"},
	"B223": {Warning, "invalid user in the sixth column"},
	"B224": {Error, "a - before the time fields does not change them"},
	"B225": {Warning, "a # does not begin a comment behind a value"},
	"B226": {Warning, "an assignment that cron overrides"},
	"B227": {Warning, "SHELL is not a path"},
	"B228": {Warning, "the command is a comment: nothing runs"},
	"B229": {Warning, "an address that cron does not accept: no mail is sent to it"},

	"B301":    {Error, "no newline at the end of the file"},
	"B302":    {Warning, "lines end with CR LF"},
	CodeMark:  {Error, "a byte order mark at the start of the file"},
	"B304":    {Error, "the file is too large"},
	"B305":    {Error, "too many diagnostics to list"},
	CodeLimit: {Error, "a user's crontab with too many entries, lines or bytes: the rest is not read"},

	"B401": {Note, "text for people in a #@ line"},
	"B402": {Warning, "options that are not directly above an entry have no effect"},
	"B403": {Error, "an unknown option"},
	"B404": {Error, "an invalid value"},
	"B405": {Error, "an option twice for one entry"},
	"B406": {Error, "an item that is not key or key=value"},
	"B409": {Error, "a name twice in one crontab: the later entry is held"},
	"B410": {Error, "an option that has no effect here"},
	"B411": {Error, "options that exclude or require each other"},
	"B412": {Note, "an option marked with ? is ignored"},
	"B413": {Error, "too many options: the entry is held"},
	"B414": {Error, "an option value that is not allowed in a user's own crontab"},
	"B415": {Error, "a channel that this crontab must not use: it gets no notification"},
	"B416": {Warning, "an option that is a comment for plain cron; only with lint --portable"},
	"B417": {Error, "after= or on= refers to a missing job: the entry is held"},
	"B418": {Error, "a cycle of after= and on=: its entries are held"},
	"B419": {Error, "after= and on= refer to too many jobs: the entry is held"},
	"B420": {Warning, "options after a command have no effect"},
	"B421": {Warning, "a comment that looks like options: it has no effect"},
	"B422": {Warning, "a CPU limit above the processors of this host"},
	"B423": {Error, "window= and blackout= that exclude the times of the entry: it is held"},

	"B501": {Error, "an invalid line of anacrontab"},
	"B502": {Error, "an unknown period"},
	"B503": {Error, "a period or delay out of range"},
	"B504": {Error, "an invalid identifier"},
	"B505": {Error, "an identifier twice: the later job is held"},
	"B506": {Warning, "an invalid setting of anacron"},
	"B507": {Warning, "a backslash that anacron removes"},
	"B508": {Note, "a setting that Debian's anacron does not know"},
	"B509": {Warning, "hours that exclude each other"},

	"B601": {Note, "a part of the configuration that matches no entry"},
	"B602": {Error, "a part of the configuration that cannot match any entry"},
}
