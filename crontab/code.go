package crontab

import "strings"

// Code names a kind of remark for ever. Codes are never given another meaning.
//
//	B0xx  errors in time fields
//	B1xx  doubtful time fields
//	B2xx  assignments and commands
//	B3xx  the file as a whole
//	B4xx  #@ directives
//	B5xx  anacrontab
//	B6xx  options in the daemon's configuration
type Code string

// Meaning says what the code is about, in one line, or is "" for an unknown
// code.
func (c Code) Meaning() string {
	if k, ok := lineCodes[c]; ok {
		return k.meaning
	}
	return fieldCodes[c]
}

// OfOption tells whether the code is about an option: its entry is there, held
// or without the option.
func (c Code) OfOption() bool {
	return strings.HasPrefix(string(c), "B4") || strings.HasPrefix(string(c), "B6")
}

// kind is a code's severity and what it is about.
type kind struct {
	severity Severity
	meaning  string
}

// CodeLimit is the code of a crontab beyond Config.MaxEntries.
const CodeLimit Code = "B306"

// lineCodes are the codes of all but time fields, which have fieldCodes.
var lineCodes = map[Code]kind{
	"B201": {Error, "an assignment that is not written as NAME=value"},
	"B202": {Warning, "an assignment too long for the kernel is left out"},
	"B203": {Warning, "an assignment without a name is ignored"},
	"B204": {Warning, "a line that looks like an entry is an assignment"},
	"B205": {Warning, "RANDOM_DELAY is not a number of minutes"},
	"B206": {Error, "CRON_TZ names no known zone: the entries below are held"},
	"B207": {Notice, "Debian's old cron ignores CRON_TZ"},
	"B208": {Notice, "TZ does not change when entries run"},
	"B209": {Warning, "nothing is expanded in an assignment"},
	"B210": {Warning, "an unescaped % ends the command"},
	"B211": {Notice, "the text after % is what the command reads"},
	"B212": {Warning, "a backslash at the end does not continue the line"},
	"B213": {Warning, "Debian's old cron makes one backslash of two"},
	"B214": {Warning, "a user's table has no account column"},
	"B215": {Warning, "the command begins with what looks like a time field"},
	"B216": {Warning, "the command begins with what looks like a flag"},
	"B217": {Warning, "the - prefix has no effect here"},
	"B218": {Error, "no command"},
	"B219": {Error, "the command begins with *"},
	"B220": {Error, "the command is too long for the kernel"},
	"B221": {Error, "a NUL byte"},
	"B222": {Error, "the time fields are too long"},
	"B223": {Warning, "the account column holds what cannot be an account"},
	"B224": {Error, "a - before the time fields does not touch them"},
	"B225": {Warning, "a # does not begin a comment behind a value"},
	"B226": {Warning, "an assignment that cron overrides"},
	"B227": {Warning, "SHELL is not a path"},

	"B301":    {Error, "no newline at the end of the file"},
	"B302":    {Warning, "lines end with CR LF"},
	"B303":    {Error, "a byte order mark at the start of the file"},
	"B304":    {Error, "the file is too large"},
	"B305":    {Error, "too many remarks to list"},
	CodeLimit: {Error, "a user's crontab with too many entries, lines or bytes: the rest is not read"},

	"B401": {Notice, "text for people in a #@ line"},
	"B402": {Warning, "directives that touch no entry have no effect"},
	"B403": {Error, "an unknown option"},
	"B404": {Error, "a value that the option does not take"},
	"B405": {Error, "an option twice for one entry"},
	"B406": {Error, "an item that is not key or key=value"},
	"B407": {Warning, "an option that this version knows, but does not do"},
	"B408": {Error, "a guard that this version does not do: the entry is held"},
	"B409": {Error, "a name twice in one table: the later entry is held"},
	"B410": {Error, "an option in a place where it has no meaning"},
	"B411": {Error, "options that exclude or need each other"},
	"B412": {Notice, "an option marked with ? is left out"},
	"B413": {Error, "too many options: the entry is held"},
	"B414": {Error, "an option beyond what a user may choose for his own jobs"},
	"B415": {Error, "a channel that the table may not name: it is not told"},
	"B416": {Warning, "an option that a plain cron takes for a comment; only where lint is asked for it"},
	"B417": {Error, "after= or on= names a job that is not there: the entry is held"},
	"B418": {Error, "after= and on= make a circle: its entries are held"},
	"B419": {Error, "after= and on= name too many jobs: the entry is held"},
	"B420": {Warning, "options behind a command have no effect"},

	"B501": {Error, "a line of anacrontab that is no job"},
	"B502": {Error, "an unknown name of a period"},
	"B503": {Error, "a period or delay out of range"},
	"B504": {Error, "an identifier that cannot name a stamp"},
	"B505": {Error, "an identifier twice: the later job is held"},
	"B506": {Warning, "a setting of anacron that cannot be read"},
	"B507": {Warning, "a backslash that anacron drops"},
	"B508": {Notice, "a setting that Debian's anacron does not know"},
	"B509": {Warning, "hours that exclude each other"},

	"B601": {Notice, "a part of the configuration that is for no entry"},
	"B602": {Error, "a part of the configuration that can be for no entry"},
}
