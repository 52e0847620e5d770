package api

import (
	"context"
	"net/url"

	"github.com/cronring/cronring/daemon/job"
)

// Config is the daemon's configuration.
type Config struct {
	V         int       `json:"v"`
	Directory string    `json:"directory,omitempty"` // of the configuration
	Settings  []Setting `json:"settings"`
}

// JobConfig is the effective configuration of one job.
type JobConfig struct {
	V        int       `json:"v"`
	Job      job.ID    `json:"job"`
	Crontab  string    `json:"crontab"`
	Line     int       `json:"line"`
	Options  []Setting `json:"options"`
	Held     string    `json:"held,omitempty"`
	Degraded string    `json:"degraded,omitempty"`
}

// Setting is one effective value with the place that it comes from. Of secrets
// the value is left out.
type Setting struct {
	Key    string `json:"key"`
	Value  string `json:"value"`
	Origin string `json:"origin"` // "built-in", "configuration", "[default]", "assignment", "#@ default", "#@", "[[match]]", "[job.NAME]", "derived", "runtime"
	File   string `json:"file,omitempty"`
	Line   int    `json:"line,omitempty"`
}

// Config returns the daemon's configuration.
func (c *Client) Config(ctx context.Context) (Config, error) {
	return get[Config](ctx, c, "see the configuration", "/v1/config", nil)
}

// JobConfig returns the effective configuration of the one job that ref names.
func (c *Client) JobConfig(ctx context.Context, ref string) (JobConfig, error) {
	return get[JobConfig](ctx, c, "see what holds for a job", "/v1/config/job", url.Values{"job": {ref}})
}
