package crontab

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/directive"
	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/sidecar"
	"github.com/cronring/cronring/crontab/timetable"
)

// The two versions of anacron read anacrontab differently. Both join lines at a
// backslash; Debian's 2.3 then drops all other backslashes as well. Only cronie
// has the names @daily, @weekly and @annually and the settings START_HOURS_RANGE,
// PREFERRED_HOUR, RANDOM_DELAY and NO_MAIL_OUTPUT: on Debian the settings are
// ordinary variables.

// Limits of the numbers in anacrontab. anacron itself accepts delays of four
// thousand years.
const (
	maxDelay = 366 * 24 * 60 // minutes
	maxDays  = 1<<31 - 1
)

// anacrontab is the settings of the lines so far that affect others.
type anacrontab struct {
	delay       time.Duration // random delay of RANDOM_DELAY, for the lines below
	noMail      bool          // NO_MAIL_OUTPUT, for the lines below
	from, until int           // START_HOURS_RANGE, for all lines
	preferred   int           // PREFERRED_HOUR plus one, for all lines
	periods     []*timetable.Period
}

// readAnacrontab joins the lines of /etc/anacrontab and reads them. Like anacron,
// and unlike cron, it accepts a last line without newline.
func (p *parser) readAnacrontab() {
	for _, l := range p.Join(p.text, p.config.Family == Debian) {
		p.Number, p.Text, p.Positions = l.Positions[0].Line, strings.TrimRight(l.Text, "\r"), l.Positions // several CRs would be a command
		p.readLine()
	}
	p.settleHours()
}

// readAnacronEntry tries assignment and job, in this order.
func (p *parser) readAnacronEntry(at int) {
	p.lintDropped()
	if a, ok := readAnacronSetting(p.Text, at); ok {
		p.voidBlock("an assignment follows")
		p.assignAnacron(a)
		return
	}
	p.readAnacronJob(at)
	p.block = nil
}

// readAnacronComment reads options in a comment, like in crontabs, but not in a
// comment of several lines.
func (p *parser) readAnacronComment(at int) {
	if last := p.Positions[len(p.Positions)-1]; last.Line != p.Number {
		p.ReportLine(p.Number, "B507", "the comment ends with a backslash, so the next line is part of it", "delete the backslash")
		p.voidBlock("a comment follows")
		return
	}
	if len(p.Positions) > 1 {
		p.voidBlock("a comment follows")
		return
	}
	p.readOptions(at)
}

// lintDropped warns about a backslash within a line, which Debian's anacron
// removes.
func (p *parser) lintDropped() {
	for i, s := range p.Positions[1:] {
		if s.Line == p.Positions[i].Line {
			p.Add(diagnostic.Diagnostic{
				Line: s.Line, Column: s.Column - 1, Length: 1, Code: "B507", Severity: diagnostic.Warning,
				Message: "Debian's anacron removes every backslash from the command",
				Fix:     "put the command into a script",
			})
			return
		}
	}
}

// readAnacronSetting reads line as NAME=value. The value is everything after =,
// including blanks and quotes.
func readAnacronSetting(line string, at int) (a assignment, ok bool) {
	end := at
	for end < len(line) && !lex.IsBlank(line[end]) && line[end] != '=' {
		end++
	}
	equals := lex.SkipBlanks(line, end)
	if end == at || equals == len(line) || line[equals] != '=' {
		return a, false
	}
	return assignment{name: line[at:end], value: line[equals+1:], nameAt: at, valueAt: equals + 1}, true
}

// assignAnacron applies an assignment to the lines below, or to all lines.
func (p *parser) assignAnacron(a assignment) {
	if len(a.name)+1+len(a.value) > MaxSetting {
		p.Report(a.nameAt, len(a.name), "B202", "the assignment has more than 131,071 bytes, the kernel's limit: it is ignored", "write a shorter value")
		return
	}
	switch a.name {
	case "START_HOURS_RANGE", "PREFERRED_HOUR", "RANDOM_DELAY", "NO_MAIL_OUTPUT":
		if p.config.Family == Debian {
			p.Report(a.nameAt, len(a.name), "B508", a.name+" is a setting only in cronie's anacron: here it is a variable for the commands", "")
			break
		}
		if !p.setAnacron(a) {
			return
		}
	case "MAILTO":
		p.overridden.mail = true
	}
	p.env.set(setting{name: a.name, value: a.value, line: p.Number})
	p.common = nil
}

// setAnacron applies a setting of cronie's anacron. An invalid one is ignored, and
// is not set as a variable either.
func (p *parser) setAnacron(a assignment) bool {
	t, ok, fix := &p.anacron, false, ""
	switch a.name {
	case "NO_MAIL_OUTPUT":
		t.noMail = a.value != ""
		p.overridden.mail = true
		return true
	case "START_HOURS_RANGE":
		low, high, _ := strings.Cut(a.value, "-")
		from, ok1 := wholeNumber(low, 24)
		until, ok2 := wholeNumber(high, 24)
		if ok = ok1 && ok2 && from < until; ok {
			t.from, t.until = from, until
		}
		fix = "write `START_HOURS_RANGE=3-22`"
	case "PREFERRED_HOUR":
		var hour int
		if hour, ok = wholeNumber(a.value, 23); ok {
			t.preferred = hour + 1
		}
		fix = "write an hour from 0 to 23"
	case "RANDOM_DELAY":
		var minutes int
		if minutes, ok = wholeNumber(a.value, maxDelay); ok {
			t.delay = time.Duration(timetable.Mix(p.config.Seed, a.name)%uint64(minutes+1)) * time.Minute
		}
		fix = "write a number of minutes"
	}
	if !ok {
		p.Report(a.valueAt, len(a.value), "B506", "invalid value of "+a.name+": the line is ignored", fix)
	}
	return ok
}

// wholeNumber reads a number that consists only of digits.
func wholeNumber(text string, most int) (n int, ok bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil && n <= most
}

// settleHours sets the hours of the day of all jobs, including those above the
// setting. PREFERRED_HOUR is one hour of START_HOURS_RANGE. If it is outside,
// anacron would not run any job; here PREFERRED_HOUR overrides the range.
func (p *parser) settleHours() {
	t := &p.anacron
	from, until := t.from, t.until
	if t.preferred > 0 {
		from, until = t.preferred-1, t.preferred
		if t.until > 0 && (from < t.from || until > t.until) {
			p.ReportLine(1, "B509", fmt.Sprintf("PREFERRED_HOUR %d is outside START_HOURS_RANGE %d-%d, so that anacron would run nothing: cronring uses the hour", from, t.from, t.until),
				"delete one of them")
		}
	}
	for _, period := range t.periods {
		period.From, period.Until = from, until
	}
}

// anacronNames are the names of periods. The misspelled one is cronie's own.
var anacronNames = []struct {
	name   string
	family Family // RHEL: cronie's alone
	period timetable.Period
}{
	{"@monthly", Debian, timetable.Period{Month: true}},
	{"@yearly", Debian, timetable.Period{Year: true}},
	{"@annually", RHEL, timetable.Period{Year: true}},
	{"@annualy", RHEL, timetable.Period{Year: true}},
	{"@daily", RHEL, timetable.Period{Days: 1}},
	{"@weekly", RHEL, timetable.Period{Days: 7}},
}

// readAnacronJob reads PERIOD DELAY IDENTIFIER COMMAND.
func (p *parser) readAnacronJob(at int) {
	period, end, ok := p.readPeriod(at)
	if !ok {
		return
	}
	e := Entry{raw: p.Text, line: uint32(p.Number)}
	id := lex.SkipBlanks(p.Text, end)
	idEnd := lex.WordEnd(p.Text, id)
	command := lex.SkipBlanks(p.Text, idEnd)
	period.ID = p.Text[id:idEnd]
	switch {
	case period.ID == "":
		p.Report(len(p.Text), 1, "B501", "the identifier is missing", "write period, delay, identifier and command: `1 5 backup /usr/bin/backup`")
		return
	case !isStampName(period.ID):
		p.Report(id, len(period.ID), "B504", diagnostic.Quote(period.ID)+" is not a valid identifier: it must be a file name of printable characters, without slash", "write a word")
		return
	case command == len(p.Text):
		p.Report(command, 1, "B218", "no command", "write a command after the identifier")
		return
	case len(p.Text)-command > MaxCommand:
		p.Report(command, 1, "B220", "the command has more than 131,071 bytes, the kernel's limit", "put the command into a script")
		return
	case command > 1<<16-1:
		p.Report(at, end-at, "B222", "period, delay and identifier take more than 65,535 bytes", "write them shorter")
		return
	}
	p.LintOptions(command)
	e.spec, e.command = uint16(end), uint16(command)
	above := p.aboveJob(period.ID, p.Text[command:])
	further := []string{"on", "delay"}
	if above.section.options.Manual {
		further = append(further, "trigger")
	}
	further = append(further, notOfOneMember(above.section.options)...)
	if above.section.options.Shards > 1 {
		further = append(further, "shards")
	}
	above = p.withoutTimes(above, "an entry of anacrontab, which has no time fields", further...)
	e.section = p.oncePer(above, &period)
	p.nameAfter(&period, e.section.options, above, id)
	if p.anacron.noMail {
		e.section.env = &setting{name: "MAILTO", above: e.section.env}
	}
	e.Schedule = timetable.NewPeriodic(&period, e.section.zone)
	p.anacron.periods = append(p.anacron.periods, &period)
	p.file.Entries = append(p.file.Entries, e)
}

// readPeriod reads the first two columns, and returns their end.
func (p *parser) readPeriod(at int) (period timetable.Period, end int, ok bool) {
	wordAt := at
	word := p.Text[wordAt:lex.WordEnd(p.Text, wordAt)]
	delayAt := lex.SkipBlanks(p.Text, wordAt+len(word))
	delay := p.Text[delayAt:lex.WordEnd(p.Text, delayAt)]
	end = delayAt + len(delay)
	if !strings.HasPrefix(word, "@") && strings.Trim(word, "0123456789") != "" || delay == "" || strings.Trim(delay, "0123456789") != "" {
		p.Report(at, len(word), "B501", "the line is neither an assignment nor a job: it is ignored",
			"write period, delay, identifier and command: `1 5 backup /usr/bin/backup`")
		return period, end, false
	}
	switch days, inRange := wholeNumber(word, maxDays); {
	case word[0] == '@':
		if period, ok = p.periodNamed(word); !ok {
			p.reportPeriodName(at, word)
			return period, end, false
		}
	case !inRange:
		p.Report(at, len(word), "B503", "the period "+diagnostic.Quote(word)+" is out of range", "write a number of days")
		return period, end, false
	default:
		period.Days = days
	}
	minutes, inRange := wholeNumber(delay, maxDelay)
	if !inRange {
		p.Report(delayAt, len(delay), "B503", "the delay "+diagnostic.Quote(delay)+" is out of range", "write a number of minutes, at most 527040")
		return period, end, false
	}
	period.Delay = time.Duration(minutes)*time.Minute + p.anacron.delay
	return period, end, true
}

func (p *parser) periodNamed(word string) (period timetable.Period, ok bool) {
	for _, n := range anacronNames {
		if n.name == word && (n.family == Debian || p.config.Family == RHEL) {
			return n.period, true
		}
	}
	return period, false
}

func (p *parser) reportPeriodName(at int, word string) {
	for _, n := range anacronNames {
		if n.name == word {
			fix := "write the number of days"
			if n.period.Year {
				fix = "write `@yearly`"
			} else if n.period.Days > 0 {
				fix = fmt.Sprintf("write `%d`", n.period.Days)
			}
			p.Report(at, len(word), "B502", "Debian's anacron does not know "+word, fix)
			return
		}
	}
	p.Report(at, len(word), "B502", "the name "+diagnostic.Quote(word)+" of a period is unknown", "write a number of days, `@monthly` or `@yearly`")
}

// isStampName reports whether id can be the name of a timestamp file.
func isStampName(id string) bool {
	if id == "." || id == ".." || len(id) > 255 {
		return false
	}
	return !strings.ContainsFunc(id, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '/' || r == '\ufffd' })
}

// aboveJob returns the context of the entry of anacrontab with that identifier,
// which is its name unless it has name=.
func (p *parser) aboveJob(id, command string) *context {
	if it := directive.Find(p.block, "name"); it != nil && it.Effective() {
		id = it.Value
	}
	if p.matcher.MayMatch(id) {
		return p.under(sidecar.Subject{Name: id, User: "root", Command: command})
	}
	return p.withoutSidecar()
}

// nameAfter sets the name of a job to its identifier, unless it has name= or the
// identifier is not a valid name. If an earlier job has the same identifier, the
// later one is held: two jobs cannot share a timestamp.
func (p *parser) nameAfter(period *timetable.Period, options *option.Options, above *context, at int) {
	if first, taken := p.names[period.ID]; taken {
		p.Report(at, len(period.ID), "B505", fmt.Sprintf("the job in line %[2]d has the identifier %[1]s too: this job is held", diagnostic.Quote(period.ID), first), "give it another identifier")
		options.Name = ""
		options.Hold(fmt.Sprintf("The job in line %[2]d has the identifier %[1]s too.", period.ID, first))
		return
	}
	if given := directive.Find(above.items, "name"); given != nil && given.Effective() {
		p.claimName(&context{section: &section{options: options}, items: above.items})
	} else if option.CheckName(period.ID) == nil {
		options.Name = period.ID
	}
	p.names[period.ID] = p.Number
}

// oncePer returns the section of an entry that runs once in a period: unless its
// options differ, missed runs are caught up at any time, and two never run at the
// same time. The host's defaults for these options do not apply to it.
func (p *parser) oncePer(above *context, period *timetable.Period) *section {
	s := *above.section
	options := *s.options
	options.Period = period
	isSet := func(key string) bool {
		it := directive.Find(above.items, key)
		return it != nil && it.Effective() && it.Origin != option.FromSidecarDefault
	}
	if !isSet("catchup") {
		options.Catchup = option.CatchupOnce
		if !isSet("deadline") {
			options.Deadline = 0
		}
	}
	if !isSet("overlap") {
		options.Overlap = option.OverlapSkip
	}
	options.Items = slices.DeleteFunc(slices.Clone(options.Items), func(it option.Option) bool {
		return it.Origin == option.FromSidecarDefault && (it.Key == "overlap" || it.Key == "catchup" || it.Key == "deadline" && options.Deadline == 0)
	})
	s.options = &options
	return &s
}

// replacesAnacron returns the period of an entry that replaces anacron: its command uses
// run-parts to run the scripts of /etc/cron.daily, cron.weekly or cron.monthly,
// like the crontabs of Debian and RHEL. The entry keeps its times.
func replacesAnacron(command string) *timetable.Period {
	if !strings.Contains(command, "run-parts") { // nearly all lines
		return nil
	}
	words := strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" \t;&|(){}", r) })
	for i, word := range words {
		if word != "run-parts" && !strings.HasSuffix(word, "/run-parts") {
			continue
		}
		for _, of := range words[i+1:] {
			switch strings.TrimSuffix(of, "/") {
			case "/etc/cron.daily":
				return &timetable.Period{ID: "cron.daily", Days: 1}
			case "/etc/cron.weekly":
				return &timetable.Period{ID: "cron.weekly", Days: 7}
			case "/etc/cron.monthly":
				return &timetable.Period{ID: "cron.monthly", Month: true}
			}
			if !strings.HasPrefix(of, "-") {
				break
			}
		}
	}
	return nil
}
