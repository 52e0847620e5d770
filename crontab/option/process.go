package option

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
)

// Process is what an entry sets for the process of its runs. The zero value changes nothing.
type Process struct {
	Dir     string   // working directory; "": HOME
	Umask   *uint32  // file mode mask; nil: the user's
	Group   string   // name or number of the primary group; "": the user's
	Env     []string // NAME=value, each name once
	EnvFile string   // file of further variables, which the user of the run must be able to read; "": none
}

// mostVariables is the highest number of variables of env=.
const mostVariables = 100

// parsePath reads an absolute path.
func parsePath(text string) (string, error) {
	switch {
	case !strings.HasPrefix(text, "/"):
		return "", fmt.Errorf("%s does not begin with /", diagnostic.Quote(text))
	case len(text) > mostPath:
		return "", fmt.Errorf("the path has more than %d bytes", mostPath)
	}
	return text, checkText(text)
}

// parseUmask reads an octal number of up to four digits.
func parseUmask(text string) (*uint32, error) {
	n, err := strconv.ParseUint(text, 8, 32)
	if err != nil || n > 0o777 || len(text) > 4 || text[0] == '+' {
		return nil, fmt.Errorf("%s is not an octal number from 000 to 777", diagnostic.Quote(text))
	}
	mask := uint32(n)
	return &mask, nil
}

// parseGroup reads the name or the number of a group.
func parseGroup(text string) (string, error) {
	n, rest := digits(text)
	if n >= 0 && n < 1<<32-1 && rest == "" {
		return text, nil
	}
	if len(text) > 64 || strings.Trim(text, "0123456789") == "" || !lex.LooksLikeAccount(text) {
		return "", fmt.Errorf("%s is neither a group's name nor its number", diagnostic.Quote(text))
	}
	return text, nil
}

// elsewhere is what to write instead of env= for variables that cronring itself reads.
var elsewhere = map[string]string{
	"MAILTO": "write mailto=", "CRON_TZ": "write tz=", "RANDOM_DELAY": "write jitter=",
	"MAILFROM": "write it on a line above", "CONTENT_TYPE": "write it on a line above", "CONTENT_TRANSFER_ENCODING": "write it on a line above",
}

// Reserved reports whether the daemon sets a variable for each run, so that nothing else can.
func Reserved(name string) bool {
	return name == "LOGNAME" || name == "USER" || name == "TRACEPARENT" || strings.HasPrefix(name, "CRONRING_")
}

// parseEnv reads NAME=value,... A value cannot contain a comma.
func parseEnv(text string) ([]string, error) {
	var env []string
	seen := map[string]bool{}
	for item := range strings.SplitSeq(text, ",") {
		name, _, ok := strings.Cut(item, "=")
		switch {
		case !ok || !lex.IsIdentifier(name):
			return nil, fmt.Errorf("%s is not NAME=value; a value with a comma needs a line of its own above the options", diagnostic.Quote(item))
		case Reserved(name):
			return nil, fmt.Errorf("the daemon sets %s for each run", name)
		case elsewhere[name] != "":
			return nil, fmt.Errorf("%s is a setting of the crontab: %s", name, elsewhere[name])
		case seen[name]:
			return nil, fmt.Errorf("%s is set twice", name)
		case len(env) == mostVariables:
			return nil, fmt.Errorf("more than %d variables", mostVariables)
		}
		seen[name] = true
		env = append(env, item)
	}
	if strings.IndexByte(text, 0) >= 0 {
		return nil, errors.New("the value has a NUL byte")
	}
	return env, nil
}
