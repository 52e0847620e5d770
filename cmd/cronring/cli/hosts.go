package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/daemon/api"
)

// addHost applies the flag -H. Only the dashboard takes it several times.
func (c *connection) addHost(host string) error {
	c.Hosts = append(c.Hosts, host)
	c.Host = c.Hosts[0]
	return nil
}

// checkHosts refuses hosts that ssh would not take, and several ones for a command other than top.
func (c *connection) checkHosts(cmd *cobra.Command) error {
	if len(c.Hosts) > 1 && cmd.Name() != "top" {
		return UsageError("use -H several times", cmd.Name()+" is about one host", "cronring top -H "+strings.Join(c.Hosts, " -H "))
	}
	for _, host := range append(slices.Clone(c.Hosts), c.Host) {
		if err := remoteHost(host); err != nil {
			return err
		}
	}
	return nil
}

// DaemonOf returns a client of the daemon of another host, or an error if the name, which may come
// from another host, is not that of a host.
func (a *App) DaemonOf(host string) (*api.Client, error) {
	strange := func(r rune) bool {
		return !strings.ContainsRune("-._:@[]", r) && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}
	if host == "" || strings.HasPrefix(host, "-") || strings.ContainsFunc(host, strange) {
		return nil, UsageError(fmt.Sprintf("connect to the host %q", host), "the name has characters that names of hosts do not have", "")
	}
	client := api.Through(host+", through ssh", a.overSSH(host))
	if a.ReadOnly {
		client.ReadOnly()
	}
	return client, nil
}
