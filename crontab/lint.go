package crontab

import (
	"cmp"
	"path"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/timetable"
)

// lintCommand warns about commands that probably do not do what the author meant.
func (p *parser) lintCommand(account, at int) {
	command := p.Text[at:]
	p.lintBegin(account, at)
	if strings.IndexByte(command, '%') >= 0 {
		p.lintPercent(command, at)
	}
	if slash := strings.IndexByte(command, '\\'); slash >= 0 {
		p.lintBackslash(command, at)
	}
	p.LintOptions(at)
}

// lintBegin warns about a command or user that looks like another column.
func (p *parser) lintBegin(account, at int) {
	word := p.Text[account:lex.WordEnd(p.Text, account)]
	switch {
	case p.Text[account] == '#' || p.Text[at] == '#':
		p.Report(at, len(p.Text)-at, "B228", "the command is a comment: nothing runs", "write the command first; to switch the entry off, begin the line with `#`")
	case timetable.LooksLikeField(word):
		p.Report(account, len(word), "B215", diagnostic.Quote(word)+" looks like a sixth time field, but cron has five: it is part of the command", timetable.SixthFix(p.Text))
	case p.config.Format == System && !lex.LooksLikeAccount(word):
		p.Report(account, len(word), "B223", "in this file the sixth column is the user, and "+diagnostic.Quote(word)+" is not a valid user name",
			userFix(word))
	case p.config.Format == User && account+len(word) < len(p.Text) && p.isKnownAccount(word):
		p.Report(account, len(word), "B214", "a user's crontab has no user column: "+diagnostic.Quote(word)+" is part of the command",
			"delete `"+word+"`")
	}
	if rest := p.Text[at:]; rest[0] == '-' {
		p.Report(at, lex.WordEnd(rest, 0), "B216", diagnostic.Quote(rest[:lex.WordEnd(rest, 0)])+" is part of the command: the only flag here is a single -n", "")
	}
}

// userFix returns what to write in place of a word that is no user name. USER:GROUP is FreeBSD's form.
func userFix(word string) string {
	if user, group, _ := strings.Cut(word, ":"); user != "" && group != "" && lex.LooksLikeAccount(user) && lex.LooksLikeAccount(group) {
		return "write `" + user + "`, and `#@ group=" + group + "` on the line above"
	}
	return "write `root " + word + "`"
}

func (p *parser) isKnownAccount(word string) bool {
	switch word {
	case "root", "nobody", "daemon", "www-data", "postgres", "mysql", "apache", "nginx":
		return true
	}
	return word == p.file.user
}

// lintPercent distinguishes a date format with a missing backslash from text
// that is meant as the command's input.
func (p *parser) lintPercent(command string, at int) {
	i := firstPercent(command)
	if i == len(command) {
		return
	}
	if looksLikeFormat(command[i+1:]) {
		p.Report(at+i, 1, "B210", "an unescaped % ends the command: the text after it becomes its input", "write `\\%`")
		return
	}
	p.Report(at+i, 1, "B211", "the text after % is the standard input of the command", "")
}

// looksLikeFormat reports whether text begins like a conversion of date or
// printf after its %: a single letter.
func looksLikeFormat(text string) bool {
	text = strings.TrimLeft(text, "-_0123456789.#+^:")
	return text != "" && lex.IsLetter(text[0]) && (len(text) == 1 || !lex.IsLetter(text[1]))
}

func (p *parser) lintBackslash(command string, at int) {
	if strings.HasSuffix(command, `\`) {
		p.Report(at+len(command)-1, 1, "B212", `a \ at the end does not continue the line: the next line is separate`,
			"write the command in one line, or put it into a script")
	}
	if double := strings.Index(command, `\\`); double >= 0 && p.config.Family == Debian {
		p.Report(at+double, 2, "B213", `\\ reaches the shell unchanged; Debian's old cron replaced it by one \`, "")
	}
}

// notAssignment reports whether the text at byte at, where time fields must
// begin, is an invalid assignment. If so, it adds a diagnostic.
func (p *parser) notAssignment(at int) bool {
	rest := p.Text[at:]
	if !lex.IsLetter(rest[0]) && rest[0] != '_' && rest[0] != '"' && rest[0] != '\'' {
		return false
	}
	equals := strings.IndexByte(rest, '=')
	if equals < 0 {
		return false
	}
	word, name := rest[:lex.WordEnd(rest, 0)], strings.Trim(rest[:equals], lex.Blanks)
	switch {
	case word == "export" || word == "set" || word == "setenv":
		p.Report(at, len(word), "B201", diagnostic.Quote(word)+" is a shell command: an assignment in a crontab is NAME=value",
			"write `"+strings.TrimLeft(rest[len(word):], lex.Blanks)+"`")
	case strings.ContainsAny(name, lex.Blanks):
		return false
	default:
		value := lex.SkipBlanks(rest, equals+1)
		p.Report(at+value, max(1, len(rest)-value), "B201", "the quoted value is not closed, or text follows its closing quote",
			"end the line with the closing quote")
	}
	return true
}

// lintSetting warns about valid assignments that probably do not do what the
// author meant.
func (p *parser) lintSetting(a assignment) {
	switch {
	case !lex.IsIdentifier(a.name):
		p.Report(a.nameAt, len(a.name), "B204", "the line is an assignment to "+diagnostic.Quote(a.name)+", because = follows the first word", "")
	case a.name == "TZ":
		p.Report(a.nameAt, 2, "B208", "TZ is for the commands only: it does not change when entries run", "write `CRON_TZ="+a.value+"`")
	case a.name == "CRON_TZ" && p.config.Family == Debian:
		p.Report(a.nameAt, 7, "B207", "Debian's old cron ignores CRON_TZ", "")
	case a.name == "LOGNAME" || a.name == "USER":
		p.Report(a.nameAt, len(a.name), "B226", "cron sets "+a.name+" to the user: this has no effect", "delete the line")
	case a.name == "SHELL" && !strings.HasPrefix(a.value, "/"):
		p.Report(a.valueAt, max(1, len(a.value)), "B227", "SHELL must be an absolute path", "write `SHELL=/bin/"+strings.Trim(path.Base(cmp.Or(a.value, "sh")), "/.")+"`")
	case a.name == "MAILTO":
		p.lintAddress(a, "no mail is sent")
	case a.name == "MAILFROM":
		p.lintAddress(a, "MAILFROM is ignored")
	}
	p.lintValue(a)
}

// lintAddress warns about addresses that cron does not use. effect is what it does instead.
func (p *parser) lintAddress(a assignment, effect string) {
	at := InvalidAddress(a.value, p.config.Family)
	if at < 0 || p.config.Family == RHEL && strings.Contains(a.value, "$") { // cronie expands variables there
		return
	}
	fix := "write only letters, digits and @!:%-.,_+, with a letter or digit first"
	if spaceless := strings.ReplaceAll(a.value, " ", ""); strings.Contains(spaceless, ",") && InvalidAddress(spaceless, p.config.Family) < 0 {
		fix = "write `" + a.name + "=" + spaceless + "`"
	}
	character := diagnostic.Quote(a.value[at : at+1])
	if a.value[at] == ' ' {
		character = "a blank"
	}
	p.Report(a.valueAt+at, 1, "B229", character+" is not allowed here in an address: "+effect, fix)
}

func (p *parser) lintValue(a assignment) {
	if i := strings.IndexByte(a.value, '$'); i >= 0 && i+1 < len(a.value) && (lex.IsIdentifierByte(a.value[i+1]) || a.value[i+1] == '{') {
		p.Report(a.valueAt+i, 1, "B209", "$ is not expanded in an assignment", "write the value in full")
	}
	if strings.HasPrefix(a.value, "~/") || strings.Contains(a.value, ":~/") {
		p.Report(a.valueAt, max(1, len(a.value)), "B209", "~ is not expanded in an assignment", "write the full path of the directory")
	}
	if i := strings.Index(a.value, " #"); i >= 0 && !a.quoted {
		p.Report(a.valueAt+i+1, len(a.value)-i-1, "B225", "a comment after a value is part of the value", "put the comment on a line of its own")
	}
}
