// Package notify owns the notifications that channels send about jobs: the channels of the
// configuration, the messages, and the queue on disk in which a message waits until its channel
// accepts it.
//
// Neither a restart nor a channel that does not answer for a day loses an accepted notification. It
// may be sent twice if the daemon ends while a channel accepts it; both copies have the same ID.
// Each channel has its own queue, so that a channel that hangs does not delay others, and no user
// can fill another channel's.
//
// The text of a notification is untrusted: no byte of it begins a variable, a header or a line, or
// ends a string of a JSON document. A URL is as secret as the content of a file of secrets: errors
// and problems contain only its scheme and host.
package notify

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/job"
)

// The types of channels.
const (
	Mail    = "mail"    // email to To
	Command = "command" // a program, which gets the notice as JSON and in variables
	Webhook = "webhook" // a POST

	Ping      = "ping"      // requests to a service that watches jobs, such as Healthchecks.io or Cronitor
	Slack     = "slack"     // a message to an incoming webhook
	Teams     = "teams"     // a card to a webhook of Microsoft Teams
	Ntfy      = "ntfy"      // a message to a topic
	PagerDuty = "pagerduty" // an event, which opens or resolves an incident
)

// Channel is one way to send notifications, as configured. Zero values, except of Name and Type,
// select defaults. crontab.MailChannel is built in.
type Channel struct {
	Name  string
	Type  string
	Users []string // users whose own crontabs may name it, "*" for all; root's crontabs always may

	To      []string // Mail: addresses
	Command []string // Command: the program and its arguments, without a shell
	User    string   // Mail, Command: the user that the program runs as; "" is the user nobody

	URL        string            // http or https, as text/template whose values are escaped
	URLFile    string            // a file with the URL, in the place of URL
	SecretFile string            // Webhook: a file with the key of the signature; PagerDuty: with the routing key
	Header     map[string]string // further headers
	Template   string            // Webhook: the body, as text/template; "" is a JSON document

	Timeout time.Duration // for one try; 0 is 30s
	Retry   time.Duration // how long a notice is tried; 0 is a day, for Ping 15m
}

// Nobody is the user that runs the programs of channels that name no user. Root must be named to be
// used.
const Nobody = "nobody"

// Limits and defaults of the configuration.
const (
	defaultTimeout = 30 * time.Second
	longestTimeout = 5 * time.Minute
	defaultRetry   = 24 * time.Hour
	pingRetry      = 15 * time.Minute // later, a start or an end means nothing
	longestRetry   = 7 * 24 * time.Hour
	longestURL     = 8 << 10
)

// Check returns an error if a channel lacks a field, has one that its type does not use, or has an
// invalid one. The error contains no secret.
func (c *Channel) Check() error {
	if err := checkName(c.Name); err != nil {
		return err
	}
	err := c.check()
	if err != nil {
		return fmt.Errorf("channel %s: %w", c.Name, err)
	}
	return nil
}

func (c *Channel) check() error {
	used := map[string][]string{
		Mail:      {"to", "user"},
		Command:   {"command", "user", "timeout", "retry"},
		Webhook:   {"url", "url-file", "secret-file", "header", "template", "timeout", "retry"},
		Ping:      {"url", "url-file", "header", "timeout", "retry"},
		Slack:     {"url", "url-file", "header", "timeout", "retry"},
		Teams:     {"url", "url-file", "header", "timeout", "retry"},
		Ntfy:      {"url", "url-file", "header", "timeout", "retry"},
		PagerDuty: {"url", "url-file", "secret-file", "header", "timeout", "retry"},
	}[c.Type]
	if used == nil {
		return fmt.Errorf("type is %q, want mail, command, webhook, ping, slack, teams, ntfy or pagerduty", c.Type)
	}
	for _, f := range c.fields() {
		if f.set && !slices.Contains(used, f.name) {
			return fmt.Errorf("%s has no meaning for a channel of type %s", f.name, c.Type)
		}
	}
	switch {
	case c.Timeout < 0 || c.Timeout > longestTimeout:
		return fmt.Errorf("timeout is longer than %s", longestTimeout)
	case c.Retry < 0 || c.Retry > longestRetry:
		return fmt.Errorf("retry is longer than %s", longestRetry)
	}
	switch c.Type {
	case Mail:
		return c.checkMail()
	case Command:
		return c.checkCommand()
	}
	return c.checkWebhook()
}

type field struct {
	name string
	set  bool
}

// fields returns the fields that only some types have.
func (c *Channel) fields() []field {
	return []field{
		{"to", len(c.To) > 0}, {"command", len(c.Command) > 0}, {"user", c.User != ""},
		{"url", c.URL != ""}, {"url-file", c.URLFile != ""}, {"secret-file", c.SecretFile != ""},
		{"header", len(c.Header) > 0}, {"template", c.Template != ""},
		{"timeout", c.Timeout != 0}, {"retry", c.Retry != 0},
	}
}

func checkName(name string) error {
	if name == option.MailChannel {
		return errors.New("channel mail: the name is that of the built-in channel; give this one another")
	}
	if name == "" || len(name) > 64 || strings.IndexFunc(name, func(r rune) bool { return !wordRune(r) && r != '.' }) >= 0 {
		return fmt.Errorf("channel %q: a name has 1 to 64 letters, digits, dots, underscores and hyphens", name)
	}
	return nil
}

func wordRune(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}

func (c *Channel) checkMail() error {
	if len(c.To) == 0 {
		return errors.New("to is missing")
	}
	for _, address := range c.To {
		if address == "" || strings.IndexFunc(address[:1], func(r rune) bool { return !wordRune(r) || r == '-' }) >= 0 ||
			strings.IndexFunc(address, func(r rune) bool { return !wordRune(r) && !strings.ContainsRune("@.+%!:", r) }) >= 0 {
			return fmt.Errorf("to: %q is not a plain address", address)
		}
	}
	return nil
}

func (c *Channel) checkCommand() error {
	switch {
	case len(c.Command) == 0:
		return errors.New("command is missing")
	case !filepath.IsAbs(c.Command[0]):
		return fmt.Errorf("command: %q is not an absolute path; expected a list of a program and its arguments", c.Command[0])
	case slices.ContainsFunc(c.Command, func(s string) bool { return strings.ContainsRune(s, 0) }):
		return errors.New("command has a NUL in it")
	}
	return nil
}

func (c *Channel) checkWebhook() error {
	switch {
	case c.Type == PagerDuty && c.SecretFile == "":
		return errors.New("secret-file is missing: it contains the routing key")
	case c.URL != "" && c.URLFile != "", c.URL == "" && c.URLFile == "" && c.Type != PagerDuty:
		return errors.New("one of url and url-file is needed")
	}
	if c.URL != "" {
		if err := checkURL(c.URL); err != nil {
			return fmt.Errorf("url: %w", err)
		}
	}
	for _, file := range []string{c.URLFile, c.SecretFile} {
		if file != "" && !filepath.IsAbs(file) {
			return fmt.Errorf("%q is not an absolute path", file)
		}
	}
	for name, value := range c.Header {
		if err := checkHeader(name, value); err != nil {
			return err
		}
	}
	_, err := c.template()
	return err
}

// checkURL checks the template of a URL. A name must not choose the host.
func checkURL(text string) error {
	var hosts []string
	for _, name := range []job.ID{"a", "b"} {
		m := newMessage(sample, "", "id", string(name), string(name))
		m.Job, m.User = name, string(name)
		u, err := m.url(text)
		if err != nil {
			return err
		}
		hosts = append(hosts, u.Scheme+u.Host)
	}
	if hosts[0] != hosts[1] {
		return errors.New("its host must not depend on the notification")
	}
	return nil
}

// parseURL reads a URL without showing it in its errors.
func parseURL(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || len(text) > longestURL:
		return nil, errors.New("it makes no sense")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("it begins neither with https:// nor with http://")
	case u.Hostname() == "":
		return nil, errors.New("it has no host")
	}
	return u, nil
}

// checkHeader never includes a header's value in its error.
func checkHeader(name, value string) error {
	if name == "" || strings.IndexFunc(name, func(r rune) bool { return !wordRune(r) }) >= 0 {
		return fmt.Errorf("header: %q is not a valid name", name)
	}
	for _, own := range []string{"Host", "Content-Length", "Transfer-Encoding", "Connection", "Trailer", signatureHeader, idHeader} {
		if strings.EqualFold(name, own) {
			return fmt.Errorf("header: %s is not to be set", own)
		}
	}
	if strings.IndexFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) >= 0 {
		return fmt.Errorf("header: the value of %s has control characters in it", name)
	}
	return nil
}
