package crontab

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robfig/cron/v3"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/directive"
	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
)

func (p *parser) readEntry(at int) {
	e := Entry{raw: p.Text, line: uint32(p.Number)}
	if p.Text[at] == '-' {
		if at = p.readQuiet(at, &e); at < 0 {
			return
		}
	}
	if p.notAssignment(at) {
		return
	}
	above := p.above(at)
	diagnostics := len(p.Diagnostics)
	schedule, end, ok := p.readTimes(at, above)
	if !ok {
		return
	}
	command, ok := p.readCommand(end, &e)
	if !ok {
		return
	}
	if command > 1<<16-1 {
		p.Report(at, end-at, "B222", "time fields and user have more than 65,535 bytes", "write them shorter")
		return
	}
	e.spec, e.command = uint16(end), uint16(command)
	if schedule, above = p.timeless(schedule, above); timetable.IsTimeless(schedule) || above.modifiers.ReplaceFields() {
		p.Remove(diagnostics, timetable.CodeNoDate) // such entries use an impossible date to stop other crons from running them
	}
	if timetable.NoDay(schedule) {
		p.Report(at, end-at, "B109", fmt.Sprintf("no day up to %d matches the time fields and%s: never runs", timetable.LastYear, timetable.DaysOf(schedule)),
			"write time fields that match such a day, or other days")
	}
	jobs := max(1, above.section.options.Shards)
	if p.exceeded(jobs) {
		return
	}
	p.jobs += jobs
	schedule, above = p.fitJitter(schedule, above)
	above = p.fitHours(schedule, above)
	p.claimName(above)
	e.Schedule, e.section = schedule, above.section
	if p.config.StandIn && p.config.Format == System && !timetable.IsTimeless(schedule) {
		if period := replacesAnacron(p.Text[command:]); period != nil {
			e.section = p.oncePer(above, period)
		}
	}
	p.file.Entries = append(p.file.Entries, e)
}

// notOfOneMember returns the options that an entry must not have if each host
// runs it separately, as with @reboot or a period.
func notOfOneMember(o *option.Options) (keys []string) {
	if o.Scope == option.ScopeRing {
		keys = append(keys, "scope")
	}
	return keys
}

// timeless returns the schedule and context of an entry. Entries that an event, the end
// of a run or a person starts ignore their time fields.
func (p *parser) timeless(schedule cron.Schedule, above *context) (cron.Schedule, *context) {
	switch o := above.section.options; {
	case o.StartsAtBoot():
		return timetable.Reboot, p.withoutTimes(above, "an entry that events of its host start", notOfOneMember(o)...)
	case o.Triggers != nil:
		return timetable.Never, p.withoutTimes(above, "an entry that events of its host start", notOfOneMember(o)...)
	case len(o.On) > 0:
		return timetable.Never, p.withoutTimes(above, "an entry that on= starts")
	case o.Manual:
		return timetable.Never, p.withoutTimes(above, "an entry that is started by hand")
	case schedule == timetable.Reboot:
		return timetable.Reboot, p.withoutTimes(above, "@reboot, which has no scheduled time", append(notOfOneMember(o), "delay")...)
	case o.Delay > 0:
		return timetable.AfterEnd(o.Delay), p.withoutTimes(above, "an entry with delay=, which has no time fields")
	}
	return schedule, above
}

// fitJitter refuses a jitter= of this entry that is not shorter than the time
// between two of its occurrences. If it applies to several entries, such as
// RANDOM_DELAY or a default, it is lowered instead; see Jitter.
func (p *parser) fitJitter(schedule cron.Schedule, above *context) (cron.Schedule, *context) {
	inner, limit, apart, ok := above.modifiers.ShortJitter(schedule)
	if !ok {
		return schedule, above
	}
	it := directive.Find(above.items, "jitter")
	if it == nil || it.IsDefault() || it.Origin == option.FromSetting {
		return schedule, above
	}
	section, plan, refused := *above.section, option.Plan{Options: *above.section.options}, *it
	fix := "delete `jitter`"
	if limit > 0 {
		fix = it.Written("jitter", timetable.DurationText(limit)) + " or less"
	}
	p.Refuse(&refused, "B411", "jitter="+it.Value+" is not shorter than the time between two occurrences, which can be "+timetable.DurationText(apart), fix)
	refused.ApplyTo(&plan)
	plan.Items = slices.DeleteFunc(slices.Clone(plan.Items), func(o option.Option) bool { return o.Key == "jitter" })
	section.options = &plan.Options
	return inner, &context{section: &section, items: above.items}
}

// fitHours holds an entry if no occurrence, or hardly any, is within window= and
// outside of blackout=.
func (p *parser) fitHours(schedule cron.Schedule, above *context) *context {
	hours := timetable.OutsideHours(schedule)
	if hours == nil || hours.Never() { // the latter is reported already
		return above
	}
	it := directive.Find(above.items, "window")
	if it == nil {
		it = directive.Find(above.items, "blackout")
	}
	section, plan, refused := *above.section, option.Plan{Options: *above.section.options}, *it
	p.Refuse(&refused, "B423", "no time of the entry, or hardly any, is allowed by"+hours.String(), "write other times, or `outside=wait`")
	refused.ApplyTo(&plan)
	section.options = &plan.Options
	return &context{section: &section, items: above.items}
}

// readQuiet reads cronie's - before the time fields and returns their start, or
// -1 after an error.
func (p *parser) readQuiet(at int, e *Entry) int {
	if next := at + 1; next == len(p.Text) || lex.IsBlank(p.Text[next]) {
		p.Report(at, 1, "B224", "no blank is allowed between - and the time fields", "write `-"+strings.TrimLeft(p.Text[next:], lex.Blanks)+"`")
		return -1
	}
	if p.config.Privileged || p.config.Format == System {
		e.flags |= flagQuiet
	} else {
		p.Report(at, 1, "B217", "the - prefix has an effect only in root's crontabs: the entry runs and is logged", "delete the -")
	}
	return at + 1
}

// readTimes reads the time fields at byte at. Most entries of a large file have
// the same fields as another, so it looks in the cache before it parses them.
func (p *parser) readTimes(at int, above *context) (schedule cron.Schedule, end int, ok bool) {
	end = timesEnd(p.Text, at)
	spec := p.Text[at:end]
	before, seen := above.schedules[spec]
	if seen && before.clean {
		return before.schedule, end, true
	}
	diagnostics := len(p.Diagnostics)
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
		spec = strings.Clone(spec) // the schedule may outlive the crontab's text
	}
	schedule = above.modifiers.Apply(f.Schedule(spec, above.section.zone), seed)
	if !chance {
		above.schedules[spec] = cachedSchedule{schedule, len(p.Diagnostics) == diagnostics && !p.Dropped}
	}
	return schedule, end, true
}

func (p *parser) parseTimes(at int, seed uint64) (f timetable.FieldSet, reboot, ok bool) {
	if p.Text[at] == '@' {
		f, _, reboot, ok = timetable.ParseNickname(p.Text, at, p.Reporter)
		return f, reboot, ok
	}
	f, _, ok = timetable.ParseFields(p.Text, at, seed, p.Reporter)
	return f, false, ok
}

// seed returns the seed of random choices for the entry on this line whose time
// fields end at byte end. It depends on the entry's name, or else on user and
// command, but not on other lines or the times. It also depends on the host,
// unless the entry has scope=ring: those must be equal on all members.
func (p *parser) seed(end int, above *context) uint64 {
	base := p.config.Seed
	if it := directive.Find(above.items, "scope"); it != nil && it.Value == "ring" {
		base = 0
	}
	identity := p.file.user + "\x00" + strings.Trim(p.Text[end:], lex.Blanks)
	if it := directive.Find(above.items, "name"); it != nil {
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
	account = lex.SkipBlanks(p.Text, at)
	at = account
	if p.config.Format == System {
		at = lex.SkipBlanks(p.Text, lex.WordEnd(p.Text, at))
	}
	if strings.HasPrefix(p.Text[at:], "-n") && (at+2 == len(p.Text) || lex.IsBlank(p.Text[at+2])) {
		return account, lex.SkipBlanks(p.Text, at+2), true
	}
	return account, at, false
}

// checkCommand rejects commands that are certainly mistakes and warns about
// doubtful ones. account is the start of the user column of a system crontab.
func (p *parser) checkCommand(account, at int) bool {
	command := p.Text[at:]
	switch {
	case command == "":
		p.reportNoCommand(account)
		return false
	case p.config.Format == User && command[0] == '*':
		p.Report(at, lex.WordEnd(command, 0), "B219", "the command begins with *, which looks like a sixth time field: cron has five", timetable.SixthFix(p.Text))
		return false
	case len(command) > MaxCommand:
		p.Report(at, 1, "B220", "the command has more than 131,071 bytes, the kernel's limit", "put the command into a script")
		return false
	}
	p.lintCommand(account, at)
	return true
}

func (p *parser) reportNoCommand(account int) {
	rest := p.Text[account:]
	word := rest[:lex.WordEnd(rest, 0)]
	flag := strings.HasSuffix(strings.TrimRight(rest, lex.Blanks), "-n")
	switch {
	case word == "":
		p.Report(len(p.Text), 1, "B218", "no command", "write a command after the time fields")
	case flag:
		p.Report(account+strings.LastIndex(rest, "-n"), 2, "B218", "no command after -n", "write a command after -n")
	case lex.LooksLikeAccount(word):
		p.Report(account, len(word), "B218", "no command: in this file the sixth column is the user, and no command follows "+diagnostic.Quote(word), "write a command after the user")
	default:
		p.Report(account, len(word), "B218", "no user: in this file the sixth column is the user, and "+diagnostic.Quote(word)+" is not a valid user name", "write `root "+word+"`")
	}
}

// above returns the context of an entry on the current line whose time fields
// begin at byte at.
func (p *parser) above(at int) *context {
	name := ""
	if it := directive.Find(p.block, "name"); it != nil && it.Effective() {
		name = it.Value
	}
	if p.matcher.MayMatch(name) {
		return p.under(p.subjectAt(name, at))
	}
	return p.withoutSidecar()
}

// withoutSidecar returns the context of an entry on the current line from the crontab
// itself and [default] of the sidecar.
func (p *parser) withoutSidecar() *context {
	if len(p.block) > 0 {
		return p.contextOf(p.block)
	}
	if p.common == nil {
		p.common = p.contextOf(nil)
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
