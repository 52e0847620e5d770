package inventory

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
)

// Setting is a setting of an old cron, and its effect under cronring.
type Setting struct {
	File    string `json:"file"`
	Setting string `json:"setting"`
	Becomes string `json:"becomes"`
	Differs bool   `json:"differs,omitempty"`
}

const keptByUnit = "kept: the unit of cronringd reads the file"

// cronOptions describes what cronringd does with each option of the family's cron.
var cronOptions = map[crontab.Family]map[string]string{
	crontab.Debian: {
		"-f": "has no effect: cronringd always stays in the foreground",
		"-l": "understood: names in /etc/cron.d by the LSB's rules",
		"-L": "understood: which lines go to the log",
		"-n": "understood: the host's full name in the subject of mails",
		"-x": "has no effect",
	},
	crontab.RHEL: {
		"-f": "has no effect: cronringd always stays in the foreground",
		"-n": "has no effect: cronringd always stays in the foreground",
		"-m": "understood: the command that mails",
		"-s": "understood: output goes to the log instead of mail",
		"-P": "understood: jobs get the daemon's own PATH",
		"-i": "understood: crontabs are checked once a minute",
		"-p": "refused without permissive = true in /etc/cronring/cronring.toml: any user's file could become a crontab",
		"-c": "refused: cronringd does not support cronie's clusters and does not start with it",
		"-x": "has no effect",
	},
}

// differing are the options that cronringd does not follow.
var differing = map[crontab.Family][]string{crontab.RHEL: {"-p", "-c"}}

// valued are the options that take the next word.
var valued = map[crontab.Family][]string{crontab.Debian: {"-L", "-x"}, crontab.RHEL: {"-m", "-x"}}

// Settings reads what configures the old crons.
func (m *Machine) Settings() []Setting {
	var list []Setting
	for _, file := range []struct{ path, options string }{
		{"/etc/default/cron", "EXTRA_OPTS"}, {"/etc/sysconfig/crond", "CRONDARGS"},
	} {
		for _, s := range m.assignments(file.path) {
			if s[0] == file.options {
				list = append(list, optionSettings(m.Host.Family, file.path, s[1])...)
				continue
			}
			list = append(list, Setting{File: file.path, Setting: s[0] + "=" + s[1], Becomes: environmentBecomes(s[0])})
		}
	}
	for _, s := range m.assignments("/etc/default/anacron") {
		list = append(list, m.anacronSetting(s[0], s[1]))
	}
	return list
}

// PAMSetting reports whether jobs get a PAM session.
func (m *Machine) PAMSetting() []Setting {
	p := m.Pam(m.Host.Family)
	switch {
	case p.Service == "":
		return nil
	case p.Needs == "":
		return []Setting{{File: "/etc/pam.d/" + p.Service, Setting: "PAM", Becomes: "jobs start without PAM: cronring itself does what the file requires"}}
	}
	where, line, _ := strings.Cut(p.Needs, ": ")
	file, _, _ := strings.Cut(where, ":")
	return []Setting{{File: file, Setting: line, Becomes: fmt.Sprintf("jobs get a PAM session (service %s); %s", p.Service, account.PAMCost)}}
}

func environmentBecomes(name string) string {
	switch {
	case name == "READ_ENV":
		return "has no effect, as under systemd before"
	case name == "RANDOM_DELAY" || name == "MAILFROM" || name == "LANG" || name == "LANGUAGE" || strings.HasPrefix(name, "LC_"):
		return keptByUnit
	case name == "TZ":
		return keptByUnit + ", and the times of entries are in that zone"
	case name == "PATH":
		return keptByUnit + "; jobs get it only with -P"
	}
	return keptByUnit + "; jobs never see it"
}

// optionSettings takes an option string apart as the unit does: at blanks.
func optionSettings(family crontab.Family, file, value string) []Setting {
	var list []Setting
	words := strings.Fields(value)
	for i := 0; i < len(words); i++ {
		option := words[i]
		if len(option) > 2 && option[0] == '-' && option[1] != '-' {
			option = option[:2] // -L5
		}
		s := Setting{File: file, Setting: words[i]}
		becomes, known := cronOptions[family][option]
		if s.Becomes = becomes; !known {
			s.Becomes = "not known: cronringd does not start with it"
		}
		s.Differs = !known || slices.Contains(differing[family], option)
		if slices.Contains(valued[family], words[i]) && i+1 < len(words) {
			i++
			s.Setting += " " + words[i]
		}
		list = append(list, s)
	}
	return list
}

func (m *Machine) anacronSetting(name, value string) Setting {
	s := Setting{File: "/etc/default/anacron", Setting: name + "=" + value}
	switch {
	case m.AnacronInstalled():
		s.Becomes = "anacron's own: it stays installed and does its jobs"
	case name == "ANACRON_RUN_ON_BATTERY_POWER":
		s.Becomes, s.Differs = "not read: cronring does anacron's jobs on battery too", value != "" && value != "yes"
	case name == "ANACRON_ARGS":
		s.Becomes, s.Differs = "not read: cronring keeps the delays of each line, and starts lines side by side", strings.TrimSpace(value) != "" && value != "-s"
	default:
		s.Becomes = "not read"
	}
	return s
}

// assignments reads a file of NAME=value as systemd's EnvironmentFile= and a
// shell both do where it is simple: blank lines, comments, quotes around all
// of a value.
func (m *Machine) assignments(path string) [][2]string {
	text, err := m.Read(path)
	if err != nil {
		return nil
	}
	var list [][2]string
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimSpace(line), "export ")
		name, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") || strings.HasPrefix(line, ";") {
			continue
		}
		value = strings.TrimSpace(value)
		if n := len(value); n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n-1] == value[0] {
			value = value[1 : n-1]
		}
		if value != "" {
			list = append(list, [2]string{strings.TrimSpace(name), value})
		}
	}
	return list
}

// Text formats a setting in one line.
func (s Setting) Text() string { return fmt.Sprintf("%s: %s", s.Setting, s.Becomes) }
