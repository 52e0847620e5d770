package crontab

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/timetable"
)

// MaxText is the largest crontab file in bytes.
const MaxText = 16 << 20

// maxRemarks bounds what a hostile file can make Parse allocate.
const maxRemarks = 10_000

// shortLine is shorter than a typical entry in bytes. It limits the memory that
// Parse allocates in advance for a file with many short lines.
const shortLine = 16

// Parse reads the text of a crontab file in one pass. It returns the valid entries
// and diagnostics about the rest, sorted by position. An invalid line never
// affects other lines. A diagnostic with severity Error means that its line is
// ignored, or that the entry below is held.
//
// Parse stops at the limit c.MaxEntries, with a diagnostic with CodeLimit at the
// first line that it does not read.
func Parse(name, text string, c Config) (*Table, []diagnostic.Diagnostic) {
	t, remarks, beyond := parse(name, text, c)
	if beyond == nil {
		return t, remarks
	}
	// Entries refer to the text: clone it, so that the rest does not stay in memory.
	t, remarks, _ = parse(name, strings.Clone(text[:beyond.at]), c)
	t.truncated = true
	return t, append(remarks, beyond.diagnostic(name))
}

// parse is Parse; beyond is nil if the whole text was read.
func parse(name, text string, c Config) (t *Table, remarks []diagnostic.Diagnostic, beyond *excess) {
	p := newParser(name, strings.TrimPrefix(text, lex.ByteOrderMark), c)
	if len(text) > MaxText {
		p.table.text = ""
		p.remarkLine(1, "B304", "the file has more than 16 MiB: all of it is ignored", "split the file")
		return p.table, p.remarks, nil
	}
	if strings.HasPrefix(text, lex.ByteOrderMark) {
		p.remarkLine(1, "B303", "the file begins with a byte order mark (U+FEFF), which other crons read as part of the first line", "save the file as UTF-8 without a byte order mark")
	}
	if c.Format == Anacron {
		p.readAnacrontab()
	} else {
		room := min(strings.Count(text, "\n"), len(text)/shortLine)
		if c.MaxEntries > 0 {
			room = min(room, c.MaxEntries)
		}
		p.table.Entries = make([]Entry, 0, room)
		p.readLines()
	}
	if p.excess != nil {
		p.excess.at += len(text) - len(p.table.text)
		return nil, nil, p.excess
	}
	p.voidBlock("the file ends")
	if spare := cap(p.table.Entries) - len(p.table.Entries); spare > len(p.table.Entries)/8 {
		p.table.Entries = slices.Clone(p.table.Entries) // tables stay in memory for long
	}
	slices.SortStableFunc(p.remarks, func(a, b diagnostic.Diagnostic) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return p.table, slices.Compact(p.remarks), nil
}

// parser is the state of one Parse.
type parser struct {
	config  Config
	cache   *Cache
	table   *Table
	remarks []diagnostic.Diagnostic
	report  timetable.Reporter // p.remarkAs, bound once
	dropped bool               // remarks beyond maxRemarks

	// The current line.
	line   string  // without its line end
	start  int     // its offset in the text
	number int     // from 1
	cut    bool    // the file ends before the line does
	places []place // positions of the pieces of a joined line; nil: the line is as in the file

	// The settings of the lines so far, which apply to those below.
	env      environment
	zone     *timetable.Zone
	zoneHeld string        // not "": entries must not run, because CRON_TZ is not a zone
	delay    time.Duration // RANDOM_DELAY
	defaults []item
	block    []item // directives waiting for the entry below them
	blockAt  int    // line of the first
	common   *standing
	names    map[string]int    // name= options and their lines
	edges    map[string][]Edge // parsed values of after= and on=
	barredAt map[string]bool   // channels with a diagnostic, by position

	// From the sidecar.
	ruling  *ruling // nil: no sidecar
	matches []int   // indexes of matches that may apply to entries of this crontab
	said    said

	anacron anacrontab

	jobs   int     // of the entries so far
	cost   int     // lines and options so far
	excess *excess // not nil: the crontab exceeds its limit

	hasNUL    bool // somewhere in the file
	sawReturn bool // reported once for each file
}

// standing is the context of an entry: assignments, defaults and options.
type standing struct {
	section   *section
	modifiers timetable.Modifiers
	items     []item
	schedules map[string]known     // nil if each entry needs a schedule of its own
	under     map[string]*standing // contexts with matching parts of the sidecar, by their key; see over
}

func newParser(name, text string, c Config) *parser {
	p := &parser{
		config: c,
		cache:  c.Cache,
		table:  &Table{Name: name, Format: c.Format, text: text, owner: "root", user: cmp.Or(c.User, c.Owner)},
		names:  map[string]int{},
	}
	if c.Format == User && c.Owner != "" {
		p.table.owner = c.Owner
	}
	if p.cache == nil {
		p.cache = NewCache()
	}
	p.report = p.remarkAs
	p.hasNUL = strings.IndexByte(text, 0) >= 0
	p.zone = p.cache.host(c.Local)
	if p.ruling = p.cache.ruling(c.Sidecar, c); p.ruling != nil {
		p.matches = p.forTable()
	}
	return p
}

func (p *parser) readLines() {
	text := p.table.text
	most := MaxBytes(p.config.MaxEntries)
	for at := 0; at < len(text); {
		length := strings.IndexByte(text[at:], '\n')
		if p.cut = length < 0; p.cut {
			length = len(text) - at
		}
		p.number++
		p.start = at
		p.line = p.trimReturn(text[at : at+length])
		at += length + 1
		if at > most && p.config.MaxEntries > 0 {
			p.exceed(fmt.Sprintf("the crontab has %s bytes, and the limit of a user who may have %s entries is %s", thousands(len(text)), thousands(p.config.MaxEntries), thousands(most)))
			return
		}
		p.cost++
		if p.exceeded(0) {
			return
		}
		if p.readLine(); p.excess != nil {
			return
		}
	}
}

// trimReturn drops one carriage return at the end. Other crons keep it, and the
// shell does not find the command.
func (p *parser) trimReturn(line string) string {
	if !strings.HasSuffix(line, "\r") {
		return line
	}
	if !p.sawReturn {
		p.sawReturn = true
		p.remark(len(line)-1, 1, "B302", "lines end with CR LF: the CR is dropped here, but other crons make it part of the command", "convert the file: sed -i 's/\\r$//' FILE")
	}
	return line[:len(line)-1]
}

// readLine tries blank, comment, assignment and entry, in this order.
func (p *parser) readLine() {
	at := lex.SkipBlanks(p.line, 0)
	switch {
	case at == len(p.line):
		p.voidBlock("a blank line follows")
	case p.line[at] == '#':
		p.readComment(at)
	case p.hasNUL && strings.IndexByte(p.line, 0) >= 0:
		p.block = nil
		p.remark(strings.IndexByte(p.line, 0), 1, "B221", "the line has a NUL byte", "delete the byte")
	case p.cut:
		p.block = nil
		p.remarkLine(p.number, "B301", "no newline at the end of the file: cron ignores this line, because it might be incomplete", "end the line with a newline")
	default:
		if a, ok := readAssignment(p.line, at); ok {
			p.voidBlock("an assignment follows")
			p.assign(a)
			return
		}
		p.readEntry(at)
		p.block = nil
	}
}

func (p *parser) readEntry(at int) {
	e := Entry{start: uint32(p.start), line: uint32(p.number)}
	if p.line[at] == '-' {
		if at = p.readQuiet(at, &e); at < 0 {
			return
		}
	}
	if p.notAssignment(at) {
		return
	}
	above := p.above(at)
	remarks := len(p.remarks)
	schedule, end, ok := p.readTimes(at, above)
	if !ok {
		return
	}
	command, ok := p.readCommand(end, &e)
	if !ok {
		return
	}
	if command > 1<<16-1 {
		p.remark(at, end-at, "B222", "time fields and user have more than 65,535 bytes", "write them shorter")
		return
	}
	e.spec, e.command = uint16(end), uint16(command)
	if schedule, above = p.timeless(schedule, above); schedule == timetable.Never || above.modifiers.ReplaceFields() {
		p.forgive(remarks, timetable.CodeNoDate) // such entries use an impossible date to stop other crons from running them
	}
	jobs := max(1, above.section.options.Shards)
	if p.exceeded(jobs) {
		return
	}
	p.jobs += jobs
	schedule, above = p.fitJitter(schedule, above)
	p.claimName(above)
	e.Schedule, e.section = schedule, above.section
	if p.config.StandIn && p.config.Format == System && schedule != timetable.Reboot && schedule != timetable.Never {
		if period := standsIn(p.line[command:]); period != nil {
			e.section = p.oncePer(above, period)
		}
	}
	p.table.Entries = append(p.table.Entries, e)
}

// timeless returns the schedule and context of an entry. Entries that an event or
// a person starts ignore their time fields.
func (p *parser) timeless(schedule cron.Schedule, above *standing) (cron.Schedule, *standing) {
	switch o := above.section.options; {
	case len(o.On) > 0:
		return timetable.Never, p.withoutTimes(above, "an entry that on= starts")
	case o.Manual:
		return timetable.Never, p.withoutTimes(above, "an entry that is started by hand")
	case schedule == timetable.Reboot:
		return timetable.Reboot, p.withoutTimes(above, "@reboot, which has no scheduled time", notOfOneMember(o)...)
	}
	return schedule, above
}

// fitJitter refuses a jitter= of this entry that is not shorter than the time
// between two of its occurrences. If it applies to several entries, such as
// RANDOM_DELAY or a default, it is lowered instead; see Jitter.
func (p *parser) fitJitter(schedule cron.Schedule, above *standing) (cron.Schedule, *standing) {
	inner, limit, apart, ok := above.modifiers.ShortJitter(schedule)
	if !ok {
		return schedule, above
	}
	it := find(above.items, "jitter")
	if it == nil || it.isDefault() || it.Origin == FromSetting {
		return schedule, above
	}
	section, plan, refused := *above.section, plan{Options: *above.section.options}, *it
	fix := "delete `jitter`"
	if limit > 0 {
		fix = it.written("jitter", timetable.DurationText(limit)) + " or less"
	}
	p.refuse(&refused, "B411", "jitter="+it.Value+" is not shorter than the time between two occurrences, which can be "+timetable.DurationText(apart), fix)
	plan.take(&refused)
	plan.Items = slices.DeleteFunc(slices.Clone(plan.Items), func(o Option) bool { return o.Key == "jitter" })
	section.options = &plan.Options
	return inner, &standing{section: &section, items: above.items}
}

// readQuiet reads cronie's - before the time fields and returns their start, or
// -1 after an error.
func (p *parser) readQuiet(at int, e *Entry) int {
	if next := at + 1; next == len(p.line) || lex.IsBlank(p.line[next]) {
		p.remark(at, 1, "B224", "no blank is allowed between - and the time fields", "write `-"+strings.TrimLeft(p.line[next:], lex.Blanks)+"`")
		return -1
	}
	if p.config.Privileged || p.config.Format == System {
		e.flags |= flagQuiet
	} else {
		p.remark(at, 1, "B217", "the - prefix has an effect only in root's crontabs: the entry runs and is logged", "delete the -")
	}
	return at + 1
}

// readTimes reads the time fields at byte at. Most entries of a large file have
// the same fields as another, so it looks in the cache before it parses them.
func (p *parser) readTimes(at int, above *standing) (schedule cron.Schedule, end int, ok bool) {
	end = timesEnd(p.line, at)
	spec := p.line[at:end]
	before, seen := above.schedules[spec]
	if seen && before.clean {
		return before.schedule, end, true
	}
	remarks := len(p.remarks)
	chance := above.modifiers.Random() || strings.IndexByte(spec, '~') >= 0
	var seed uint64
	if chance {
		seed = p.seed(end, above)
	}
	f, reboot, ok := p.parseTimes(at, seed)
	switch {
	case !ok:
		return nil, end, false
	case reboot:
		return timetable.Reboot, end, true
	case seen:
		return before.schedule, end, true
	}
	if p.config.Cache != nil {
		spec = strings.Clone(spec) // the schedule may outlive the table's text
	}
	schedule = above.modifiers.Apply(f.Schedule(spec, above.section.zone), seed)
	if !chance {
		above.schedules[spec] = known{schedule, len(p.remarks) == remarks && !p.dropped}
	}
	return schedule, end, true
}

func (p *parser) parseTimes(at int, seed uint64) (f timetable.FieldSet, reboot, ok bool) {
	if p.line[at] == '@' {
		f, _, reboot, ok = timetable.ParseNickname(p.line, at, p.report)
		return f, reboot, ok
	}
	f, _, ok = timetable.ParseFields(p.line, at, seed, p.report)
	return f, false, ok
}

// seed returns the seed of random choices for the entry on this line whose time
// fields end at byte end. It depends on the entry's name, or else on user and
// command, but not on other lines or the times. It also depends on the host,
// unless the entry has scope=ring: those must be equal on all members.
func (p *parser) seed(end int, above *standing) uint64 {
	base := p.config.Seed
	if it := find(above.items, "scope"); it != nil && scopes[it.Value] == ScopeRing {
		base = 0
	}
	identity := p.table.user + "\x00" + strings.Trim(p.line[end:], lex.Blanks)
	if it := find(above.items, "name"); it != nil {
		identity = it.Value
	}
	return timetable.Mix(base, identity)
}

// readCommand reads user, flag and command after the time fields, which end at
// byte at, and returns the start of the command.
func (p *parser) readCommand(at int, e *Entry) (int, bool) {
	account, at, onFailure := p.columns(at)
	if onFailure {
		e.flags |= flagMailOnFailure
	}
	return at, p.checkCommand(account, at)
}

// columns returns the start of user and command after the time fields, which end
// at byte at, and whether the flag -n precedes the command.
func (p *parser) columns(at int) (account, command int, onFailure bool) {
	account = lex.SkipBlanks(p.line, at)
	at = account
	if p.config.Format == System {
		at = lex.SkipBlanks(p.line, lex.WordEnd(p.line, at))
	}
	if strings.HasPrefix(p.line[at:], "-n") && (at+2 == len(p.line) || lex.IsBlank(p.line[at+2])) {
		return account, lex.SkipBlanks(p.line, at+2), true
	}
	return account, at, false
}

// checkCommand rejects commands that are certainly mistakes and warns about
// doubtful ones. account is the start of the user column of a system crontab.
func (p *parser) checkCommand(account, at int) bool {
	command := p.line[at:]
	switch {
	case command == "":
		p.remarkNoCommand(account)
		return false
	case p.config.Format == User && command[0] == '*':
		p.remark(at, lex.WordEnd(command, 0), "B219", "the command begins with *, which looks like a sixth time field: cron has five", timetable.SixthFix(p.line))
		return false
	case len(command) > MaxCommand:
		p.remark(at, 1, "B220", "the command has more than 131,071 bytes, the kernel's limit", "put the command into a script")
		return false
	}
	p.lintCommand(account, at)
	return true
}

func (p *parser) remarkNoCommand(account int) {
	rest := p.line[account:]
	word := rest[:lex.WordEnd(rest, 0)]
	flag := strings.HasSuffix(strings.TrimRight(rest, lex.Blanks), "-n")
	switch {
	case word == "":
		p.remark(len(p.line), 1, "B218", "no command", "write a command after the time fields")
	case flag:
		p.remark(account+strings.LastIndex(rest, "-n"), 2, "B218", "no command after -n", "write a command after -n")
	case looksLikeAccount(word):
		p.remark(account, len(word), "B218", "no command: in this file the sixth column is the user, and no command follows "+diagnostic.Quote(word), "write a command after the user")
	default:
		p.remark(account, len(word), "B218", "no user: in this file the sixth column is the user, and "+diagnostic.Quote(word)+" is not a valid user name", "write `root "+word+"`")
	}
}

// above returns the context of an entry on the current line whose time fields
// begin at byte at.
func (p *parser) above(at int) *standing {
	name := ""
	if it := find(p.block, "name"); it != nil && it.effective() {
		name = it.Value
	}
	if p.isSubject(name) {
		return p.under(p.subjectAt(name, at))
	}
	return p.byItself()
}

// byItself returns the context of an entry on the current line from the crontab
// itself and [default] of the sidecar.
func (p *parser) byItself() *standing {
	if len(p.block) > 0 {
		return p.stand(p.block)
	}
	if p.common == nil {
		p.common = p.stand(nil)
	}
	return p.common
}

// timesEnd returns the end of five words, or of one word that begins with @.
func timesEnd(line string, at int) int {
	words := 5
	if line[at] == '@' {
		words = 1
	}
	end := lex.WordEnd(line, at)
	for ; words > 1; words-- {
		next := lex.SkipBlanks(line, end)
		if next == len(line) {
			break
		}
		end = lex.WordEnd(line, next)
	}
	return end
}
