package dashboard

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"sync"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/tui/settings"
)

// hosts reaches the daemons of other hosts through ssh. Each has one client, and keeps its
// connection between requests.
type hosts struct {
	a     *cli.App
	named []string
	flags []string // for the dashboards of other hosts

	mu      sync.Mutex
	clients map[string]*api.Client
}

// newHosts returns the hosts of the flags -H and of the user's settings but the one that is shown.
func newHosts(a *cli.App, ascii bool, preferred []settings.Host) *hosts {
	h := &hosts{a: a, clients: map[string]*api.Client{}}
	names := slices.Clone(a.Hosts)
	for _, p := range preferred {
		names = append(names, p.Address)
	}
	for _, name := range names {
		if name != a.Host && !slices.Contains(h.named, name) {
			h.named = append(h.named, name)
		}
	}
	if color := a.Color.String(); color != "" {
		h.flags = append(h.flags, "--color", color)
	}
	if a.Socket != "" {
		h.flags = append(h.flags, "--socket", a.Socket)
	}
	if a.ReadOnly {
		h.flags = append(h.flags, "--read-only")
	}
	if ascii {
		h.flags = append(h.flags, "--ascii")
	}
	return h
}

func (h *hosts) Named() []string { return h.named }

func (h *hosts) Status(ctx context.Context, host string) (api.Status, error) {
	client, err := h.client(host)
	if err != nil {
		return api.Status{}, err
	}
	return client.Status(ctx)
}

func (h *hosts) client(host string) (*api.Client, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c, ok := h.clients[host]; ok {
		return c, nil
	}
	c, err := h.a.DaemonOf(host)
	if err == nil {
		h.clients[host] = c
	}
	return c, err
}

// Dashboard returns this program with the dashboard of another host.
func (h *hosts) Dashboard(host string) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return exec.Command(self, append([]string{"top", "--host=" + host}, h.flags...)...)
}

func (h *hosts) close() {
	for _, c := range h.clients {
		c.Close()
	}
}
