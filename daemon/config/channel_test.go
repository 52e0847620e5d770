package config

import (
	"strings"
	"testing"
)

// A channel that makes no sense does not count, and is said with its place.
func TestReadLeavesOutChannelsThatMakeNoSense(t *testing.T) {
	c := read(t, "[channel.good]\ntype = \"mail\"\nto = [\"ops\"]\nusers = [\"ann\"]\n\n[channel.bad]\ntype = \"pigeon\"\n")
	if len(c.Channels) != 1 || c.Channels[0].Name != "good" || len(c.ChannelUsers()) != 1 || c.ChannelUsers()["good"][0] != "ann" {
		t.Errorf("channels %+v, want the good one", c.Channels)
	}
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "cronring.toml:7: channel bad: type is \"pigeon\"") {
		t.Errorf("error %v, want it with its line", err)
	}
}
