package account

import (
	"strconv"
	"strings"
	"time"
)

// shadow is the dates of a line of /etc/shadow, in days since 1970, and
// periods in days. Negative: not set.
type shadow struct{ changed, longest, inactive, expires int64 }

// Refusal returns why no job may run as a user at a time, or "". It decides as pam_unix does for
// cron: by the dates of /etc/shadow, not by whether the password is locked. Users that are not in
// the file are checked by the directory service's own PAM module.
//
// root is never refused: with Debian's cron an unused, expired password stops the host's own
// maintenance, while cronie does not check.
func (d *Directory) Refusal(a Account, now time.Time) string {
	if a.UID == 0 {
		return ""
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	lines, err := d.readShadow()
	if err != nil {
		return "" // as for a missing file: what cannot be judged may run
	}
	line, ok := lines[a.Name]
	if !ok {
		return ""
	}
	return line.refusal(now.Unix() / (24 * 60 * 60))
}

// refusal lets jobs run where they run under any version of PAM: older ones let
// a password live one day longer, newer ones do not take a password of unknown
// age for one of 1970.
func (s shadow) refusal(today int64) string {
	age := today - s.changed
	switch {
	case s.expires >= 0 && today >= s.expires:
		return "account expired on " + date(s.expires)
	case s.changed == 0:
		return "password must be changed before the account can be used"
	case s.changed < 0, age < 0, s.longest < 0: // never changed, changed tomorrow, never too old
		return ""
	case s.inactive >= 0 && age > s.longest+s.inactive:
		return "account is inactive: its password is too old since " + date(s.changed+s.longest)
	case age > s.longest:
		return "password must be changed: it is too old since " + date(s.changed+s.longest)
	}
	return ""
}

func date(day int64) string {
	return time.Unix(day*24*60*60, 0).UTC().Format(time.DateOnly)
}

// readShadow is called with Directory.mu held.
func (d *Directory) readShadow() (map[string]shadow, error) {
	return d.shadow.parse(d.options.Root+"/etc/shadow", parseShadow)
}

// parseShadow reads name:password:changed:shortest:longest:warning:inactive:expires:
// and keeps nothing of the password.
func parseShadow(text string) map[string]shadow {
	all := make(map[string]shadow)
	for line := range strings.Lines(text) {
		field := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(field) < 8 || !isName(field[0]) {
			continue
		}
		if _, again := all[field[0]]; again {
			continue
		}
		all[strings.Clone(field[0])] = shadow{days(field[2]), days(field[4]), days(field[6]), days(field[7])}
	}
	return all
}

// farOff keeps sums of days from overflowing.
const farOff = 1 << 40

// days is -1 for what is empty or no number.
func days(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil && n == 0 {
		return -1
	}
	return min(max(n, -1), farOff)
}
