package config

import "github.com/cronring/cronring/daemon/notify"

var channelKeys = []string{
	"type", "users", "to", "command", "user", "url", "url-file", "secret-file", "header", "template", "timeout", "retry",
}

func (r *reader) channel(name string) *notify.Channel {
	return element(&r.channels, name, &notify.Channel{Name: name})
}

func setChannel(c *notify.Channel, key string, v value) (err error) {
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

func setHeader(c *notify.Channel, name string, v value) error {
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

// addChannel adds a channel if it is valid. Otherwise it reports the error at the first line of the
// channel.
func (r *reader) addChannel(c *notify.Channel) {
	if err := c.Check(); err != nil {
		r.report(r.position(dotted([]string{"channel", c.Name})), unknown, err.Error(), "")
		return
	}
	r.Channels = append(r.Channels, *c)
}

// ChannelUsers returns the users whose crontabs may name each channel.
func (c *Config) ChannelUsers() map[string][]string {
	users := make(map[string][]string, len(c.Channels))
	for i := range c.Channels {
		users[c.Channels[i].Name] = c.Channels[i].Users
	}
	return users
}
