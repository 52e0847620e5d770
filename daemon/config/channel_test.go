package config

import (
	"errors"
	"strings"
	"testing"
)

// What a channel's users cannot make sense of does not count, and is said with
// its place.
func TestCheckChannelsLeavesOutWhatMakesNoSense(t *testing.T) {
	c := read(t, "[channel.good]\ntype = \"mail\"\n\n[channel.bad]\ntype = \"pigeon\"\n")
	c.CheckChannels(func(ch Channel) error {
		if ch.Type == "pigeon" {
			return errors.New("channel bad: no pigeons")
		}
		return nil
	})
	if len(c.Channels) != 1 || c.Channels[0].Name != "good" {
		t.Errorf("channels %+v, want the good one", c.Channels)
	}
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "cronring.toml:5: channel bad: no pigeons") {
		t.Errorf("error %v, want it with its line", err)
	}
}
