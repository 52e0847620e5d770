package job

import (
	"fmt"
	"slices"
	"strings"
)

// Limits of the variables that a user sets for one run.
const (
	MaxEnv     = 64       // variables
	maxEnvText = 16 << 10 // bytes of all of them
)

// takenNames are variables that the daemon sets or that change what it does.
var takenNames = []string{
	"TRACEPARENT", "LOGNAME", "USER", // set for each run
	"HOME", "SHELL", "PATH", "MAILTO", "MAILFROM", "CRON_TZ", "RANDOM_DELAY", // cron acts on them
	"START_HOURS_RANGE", "NO_MAIL_OUTPUT",
}

// CheckEnv returns an error unless each variable for one run has the form NAME=value, occurs once,
// and is neither set nor interpreted by the daemon itself.
func CheckEnv(env []string) error {
	for _, entry := range env {
		if name, _, ok := strings.Cut(entry, "="); ok && (strings.HasPrefix(name, "CRONRING_") || slices.Contains(takenNames, name)) {
			return fmt.Errorf("%s cannot be set for one run: the daemon sets or interprets it; use the crontab if it may be set there", name)
		}
	}
	return checkEnv(env)
}

// checkEnv checks the form, number and size of variables.
func checkEnv(env []string) error {
	if len(env) > MaxEnv {
		return fmt.Errorf("%d variables are given, at most %d can be", len(env), MaxEnv)
	}
	seen, size := map[string]bool{}, 0
	for _, entry := range env {
		name, value, ok := strings.Cut(entry, "=")
		switch size += len(entry); {
		case size > maxEnvText:
			return fmt.Errorf("the variables have more than %d KiB together", maxEnvText>>10)
		case !ok:
			return fmt.Errorf("%.40q is not a variable: expected NAME=value", entry)
		case !isEnvName(name):
			return fmt.Errorf("%.40q is not a variable name: expected letters, digits and _, no digit first", name)
		case strings.Contains(value, "\x00"):
			return fmt.Errorf("the value of %s has a byte that no variable can have", name)
		case seen[name]:
			return fmt.Errorf("%s is given twice", name)
		}
		seen[name] = true
	}
	return nil
}

func isEnvName(name string) bool {
	for i := range len(name) {
		c := name[i] | 0x20
		if letter := c >= 'a' && c <= 'z'; name[i] != '_' && !letter && (i == 0 || name[i] < '0' || name[i] > '9') {
			return false
		}
	}
	return name != ""
}
