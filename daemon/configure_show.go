package daemon

import "github.com/cronring/cronring/daemon/api"

// Config returns the configuration in force, without secrets.
func (b backend) Config() api.Config {
	c := b.config.current()
	answer := api.Config{Directory: b.config.dir, Settings: []api.Setting{}}
	for _, row := range c.Rows() {
		s := api.Setting{Key: row.Key, Value: row.Value, Origin: "built-in", File: row.At.File, Line: row.At.Line}
		if s.File != "" {
			s.Origin = "configuration"
		}
		answer.Settings = append(answer.Settings, s)
	}
	return answer
}
