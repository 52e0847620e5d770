package option

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
	"github.com/cronring/cronring/crontab/timetable"
)

// The limits of options about output, history and notifications.
const (
	MaxOutput      = 16 << 20
	HostOutput     = 1 << 20 // bytes that are kept without output-max= in the host's own crontabs
	mostRuns       = 100_000
	mostAge        = 3660 * 24 * time.Hour
	mostPath       = 4095 // bytes, limit of Linux
	mostAddresses  = 32
	longestAddress = 254 // limit of SMTP
	mostChannels   = 16
	mostStreak     = 1000
	longestPing    = 2048
	mostHosts      = 1000
	longestHost    = 253 // limit of DNS
)

// Log is the destination of output in addition to the history.
type Log struct {
	Off  bool   // nowhere
	File string // appended to this file, as the user of the run; "": the journal
}

// parseLog reads journal, none or file:PATH.
func parseLog(text string) (Log, error) {
	path, ok := strings.CutPrefix(text, "file:")
	switch {
	case !ok:
		off, err := oneOf(text, map[string]bool{"journal": false, "none": true})
		return Log{Off: off}, err
	case !strings.HasPrefix(path, "/"):
		return Log{}, errors.New("the path of the file must begin with /")
	case len(path) > mostPath:
		return Log{}, fmt.Errorf("the path has more than %d bytes", mostPath)
	}
	return Log{File: path}, checkText(path)
}

// MailWhen is the condition for emailing a run's output.
type MailWhen uint8

// When mail is sent.
const (
	MailOutput  MailWhen = iota // when there is output, as cron does
	MailAlways                  // after each run
	MailFailure                 // after failures
	MailNever
)

var mailWhens = map[string]MailWhen{"output": MailOutput, "always": MailAlways, "failure": MailFailure, "never": MailNever}

// checkAddresses checks a list of email addresses or user names. It allows only
// characters that are safe in a mail header and on a command line of every mailer.
func checkAddresses(text string) error {
	list := strings.Split(text, ",")
	if len(list) > mostAddresses {
		return fmt.Errorf("more than %d addresses", mostAddresses)
	}
	for _, address := range list {
		if address == "" || len(address) > longestAddress {
			return fmt.Errorf("an address has 1 to %d characters", longestAddress)
		}
		for i := range len(address) {
			c := address[i]
			if !lex.IsLetter(c) && (c < '0' || c > '9') && (i == 0 || strings.IndexByte("@!:%-._+", c) < 0) {
				return fmt.Errorf("%s has a character that is not allowed in an address", diagnostic.Quote(address))
			}
		}
	}
	return nil
}

// Notices is a set of events that notification channels receive.
type Notices uint16

// The events.
const (
	NoticeFail    Notices = 1 << iota // failed for good
	NoticeDead                        // became a dead letter
	NoticeLost                        // its process vanished
	NoticeMissed                      // an occurrence was missed and will not run
	NoticeLate                        // started or ended later than max-late=, max-run= or expect= allows
	NoticeRecover                     // the first success after failures
	NoticeSuccess
	NoticeStart
	NoticeHeld // the entry is held, because of an invalid guard
	NoticeOdd  // a success took much longer or shorter than the last ones
	NoticeEach // not an event: notify about each failure of a streak, not only the first
)

var notices = map[string]Notices{
	"fail": NoticeFail, "dead": NoticeDead, "lost": NoticeLost, "missed": NoticeMissed, "late": NoticeLate,
	"recover": NoticeRecover, "success": NoticeSuccess, "start": NoticeStart, "held": NoticeHeld, "odd": NoticeOdd, "each": NoticeEach,
}

// parseNotices reads events separated by commas.
func parseNotices(text string) (set Notices, err error) {
	for item := range strings.SplitSeq(text, ",") {
		one, err := oneOf(item, notices)
		if err != nil {
			return 0, err
		}
		set |= one
	}
	if set&NoticeEach != 0 && set&(NoticeFail|NoticeDead|NoticeLost) == 0 {
		return 0, errors.New("each requires fail, dead or lost, because it is about failures")
	}
	return set, nil
}

// MailChannel is the built-in channel: an email to the recipients of the job's
// output. The configuration does not declare it, and every crontab may use it.
const MailChannel = "mail"

// parseChannels reads names of channels without duplicates.
func parseChannels(text string) ([]string, error) {
	return parseList(text, "channels", mostChannels, func(before []string, name string) (string, error) {
		if err := CheckName(name); err != nil {
			return "", err
		}
		if slices.Contains(before, name) {
			return "", fmt.Errorf("%s is named twice", diagnostic.Quote(name))
		}
		return name, nil
	})
}

// checkPing checks a URL with names of values, but not in its host.
func checkPing(text string) error {
	bare := text
	for _, value := range []string{"{{.Job}}", "{{.User}}", "{{.Host}}"} {
		bare = strings.ReplaceAll(bare, value, "")
	}
	u, err := url.Parse(text)
	switch {
	case err != nil, u.Hostname() == "", u.Scheme != "http" && u.Scheme != "https":
		return errors.New("an http or https URL with a host is expected")
	case len(text) > longestPing:
		return fmt.Errorf("the URL has more than %d bytes", longestPing)
	case strings.Contains(bare, "{{"):
		return errors.New("the URL can contain {{.Job}}, {{.User}} and {{.Host}}, and no other value")
	}
	return checkText(text)
}

// PingHost returns the host of ping=, with its port if the URL has one, in lower case.
func (o *Options) PingHost() string {
	u, err := url.Parse(o.Ping)
	if err != nil {
		return ""
	}
	return strings.ToLower(u.Host)
}

// parseHosts reads names of hosts, and returns them in lower case.
func parseHosts(text string) ([]string, error) {
	return parseList(strings.ToLower(text), "hosts", mostHosts, func(_ []string, name string) (string, error) {
		if name == "" || len(name) > longestHost {
			return "", fmt.Errorf("a host name must have 1 to %d characters", longestHost)
		}
		for i := range len(name) {
			if c := name[i]; !lex.IsIdentifierByte(c) && (i == 0 || c != '.' && c != '-') {
				return "", fmt.Errorf("%s has a character that is not allowed in a host name", diagnostic.Quote(name))
			}
		}
		return name, nil
	})
}

// Keep limits the history of a job: a run is removed when it exceeds either
// limit. 0 means no limit.
type Keep struct {
	Runs int
	Age  time.Duration
}

// parseKeep reads a number of runs, a duration, or both. If only one is given,
// the other has no limit.
func parseKeep(text string) (k Keep, err error) {
	first, second, both := strings.Cut(text, ",")
	if err = k.read(first); err == nil && both {
		err = k.read(second)
	}
	if err == nil && both && (k.Runs == 0 || k.Age == 0) {
		err = fmt.Errorf("%s sets one limit twice", diagnostic.Quote(text))
	}
	return k, err
}

func (k *Keep) read(text string) (err error) {
	if n, rest := digits(text); n >= 0 && rest == "" {
		k.Runs, err = parseInt(text, 1, mostRuns)
		return err
	}
	if err = positive(&k.Age, text); err == nil && k.Age > mostAge {
		err = fmt.Errorf("%s is more than %s", diagnostic.Quote(text), timetable.DurationText(mostAge))
	}
	return err
}
