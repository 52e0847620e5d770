package config

import (
	"slices"
	"time"

	"github.com/cronring/cronring/crontab"
)

// Channel is one way to tell people and programs of what happened, as it is
// declared. Whether it makes sense is for those to say who use it.
type Channel struct {
	Name, Type string
	Users      []string // accounts whose own tables may name it, "*" for all

	To      []string
	Command []string
	User    string

	URL        string // a secret
	URLFile    string
	SecretFile string
	Header     map[string]string // its values are secrets
	Template   string

	Timeout time.Duration
	Retry   time.Duration
}

// CheckChannels leaves out the channels that make no sense to those who use
// them, and remarks on each at its place.
func (c *Config) CheckChannels(check func(Channel) error) {
	c.Channels = slices.DeleteFunc(c.Channels, func(ch Channel) bool {
		err := check(ch)
		if err != nil {
			at := c.place("channel." + ch.Name)
			c.Remarks = append(c.Remarks, crontab.Diagnostic{
				File: at.File, Line: at.Line, Severity: crontab.Error, Code: unknown, Message: err.Error(),
			})
		}
		return err != nil
	})
}

var channelKeys = []string{
	"type", "users", "to", "command", "user", "url", "url-file", "secret-file", "header", "template", "timeout", "retry",
}

func (r *reader) channel(name string) *Channel {
	c, ok := r.channels[name]
	if !ok {
		c = &Channel{Name: name}
		r.channels[name] = c
	}
	return c
}

func (c *Channel) set(key string, v value) (err error) {
	switch key {
	case "type":
		c.Type, err = v.text()
	case "users":
		c.Users, err = v.texts()
	case "to":
		c.To, err = v.texts()
	case "command":
		c.Command, err = v.texts()
	case "user":
		c.User, err = v.text()
	case "url":
		c.URL, err = v.text()
	case "url-file":
		c.URLFile, err = v.text()
	case "secret-file":
		c.SecretFile, err = v.text()
	case "template":
		c.Template, err = v.text()
	case "timeout":
		c.Timeout, err = v.duration()
	case "retry":
		c.Retry, err = v.duration()
	default:
		return errUnknown
	}
	return err
}

func (c *Channel) setHeader(name string, v value) error {
	text, err := v.text()
	if err != nil {
		return err
	}
	if c.Header == nil {
		c.Header = map[string]string{}
	}
	c.Header[name] = text
	return nil
}
