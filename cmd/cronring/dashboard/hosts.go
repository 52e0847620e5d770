package dashboard

import (
	"cmp"
	"os"
	"os/exec"
	"slices"
	"sync"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/tui/screen"
	"github.com/cronring/cronring/tui/settings"
)

// hosts reaches the daemons of other hosts through ssh. Each has one client, and keeps its
// connection between requests.
type hosts struct {
	a     *cli.App
	named []string
	flags []string // for the dashboards of other hosts

	addresses map[string]string // for ssh, by name

	mu      sync.Mutex
	clients map[string]*api.Client
}

// newHosts returns the hosts of the flags -H and of the user's settings but the one that is shown.
func newHosts(a *cli.App, ascii bool, preferred []settings.Host) *hosts {
	h := &hosts{a: a, addresses: map[string]string{}, clients: map[string]*api.Client{}}
	for _, name := range a.Hosts {
		h.add(name, name)
	}
	for _, p := range preferred {
		h.add(p.Name, p.Address)
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

// add adds a host, unless it is known or shown. A member of the ring with this name has the address
// too.
func (h *hosts) add(name, address string) {
	if name == h.a.Host || address == h.a.Host || slices.Contains(h.named, name) || slices.Contains(h.named, address) {
		return
	}
	h.named, h.addresses[name] = append(h.named, name), address
}

func (h *hosts) Named() []string { return h.named }

// address returns the name of a host for ssh.
func (h *hosts) address(host string) string { return cmp.Or(h.addresses[host], host) }

func (h *hosts) Daemon(host string) (screen.Daemon, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if c, ok := h.clients[host]; ok {
		return c, nil
	}
	c, err := h.a.DaemonOf(h.address(host))
	if err != nil {
		return nil, err
	}
	h.clients[host] = c
	return c, nil
}

func (h *hosts) Flags(host string) []string {
	flags := []string{"-H", h.address(host)}
	if h.a.Socket != "" {
		flags = append(flags, "--socket", h.a.Socket)
	}
	return flags
}

// Dashboard returns this program with the dashboard of another host.
func (h *hosts) Dashboard(host string, at job.ID) *exec.Cmd {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	args := append([]string{"top", "--host=" + h.address(host)}, h.flags...)
	if at != "" {
		args = append(args, "--job="+string(at))
	}
	return exec.Command(self, args...)
}

func (h *hosts) close() {
	for _, c := range h.clients {
		c.Close()
	}
}
