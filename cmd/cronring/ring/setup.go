package ring

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/analysis"
	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/gossip/keys"
)

// ringSetup holds the settings that ring init and ring join write for a host without a
// ring.
type ringSetup struct {
	dir, name, key, bind, member string
	seeds                        []string
}

func (s *ringSetup) add(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVar(&s.dir, "config", config.Dir, "`DIR` of cronring.toml and conf.d")
	f.StringVar(&s.name, "name", "main", "`NAME` of the ring, the same on all members")
	f.StringVar(&s.key, "key-file", "", "`FILE` of the ring's key (default ring.key in the directory of --config)")
	f.StringVar(&s.bind, "bind", "", "`ADDR` of this host to listen at (default all, port 7946)")
	f.StringVar(&s.member, "member", "", "`NAME` of this member (default the host's name)")
}

// setupFlags are the flags of add.
var setupFlags = []string{"config", "name", "key-file", "bind", "member"}

// wanted reports whether ring join must write a configuration. Otherwise the host is in a ring, and the
// daemon joins it again.
func (s *ringSetup) wanted(cmd *cobra.Command, a *cli.App) bool {
	if slices.ContainsFunc(setupFlags, cmd.Flags().Changed) {
		return true
	}
	c := config.Read(s.dir)
	return a.Host == "" && len(s.seeds) > 0 && c.Ring.Name == "" && c.Err() == nil
}

// setUpRing writes a key and a configuration, unless they exist, checks them, and prints the next steps.
// It does not change files that exist.
func setUpRing(ctx context.Context, a *cli.App, s ringSetup) error {
	if err := s.complete(); err != nil {
		return err
	}
	c := config.Read(s.dir)
	if err := c.Err(); err != nil {
		return &api.Error{Kind: api.Conflict, What: "cannot set up a ring: the configuration has mistakes", Why: err.Error(), Fix: display.ShellLine([]string{"cronring", "config", "check", "--config", s.dir})}
	}
	if c.Ring.Name != "" {
		at := c.Positions["ring.name"]
		a.Infof("%s:%d has the ring \"%s\" already: nothing is changed", display.Text(at.File), at.Line, display.Text(c.Ring.Name))
	} else if err := writeRing(a, &s); err != nil {
		return err
	}
	c = config.Read(s.dir)
	faults := append(c.Diagnostics, Faults(ctx, &c, Live(ctx, a))...)
	if err := analysis.PrintLint(a, faults, analysis.ConfigTexts(s.dir), &cli.Output{Choice: cli.Choice{Value: cli.FormText}}); err != nil {
		return err
	}
	nextSteps(a, &s, &c)
	if analysis.Fails(faults, false) {
		return cli.ExitCode(cli.ExitProblems)
	}
	return nil
}

// complete makes the paths absolute, because the daemon has another working directory.
func (s *ringSetup) complete() (err error) {
	if s.dir, err = filepath.Abs(s.dir); err != nil {
		return err
	}
	s.key, err = filepath.Abs(cmp.Or(s.key, filepath.Join(s.dir, "ring.key")))
	return err
}

// writeRing writes the configuration, and for the first member the key.
func writeRing(a *cli.App, s *ringSetup) error {
	_, err := os.Stat(s.key)
	missing := errors.Is(err, os.ErrNotExist)
	if err != nil && !missing {
		return cannotSetUp(err)
	}
	if missing && len(s.seeds) > 0 {
		host, _, _ := net.SplitHostPort(config.MemberAddress(s.seeds[0]))
		return &api.Error{
			Kind: api.NotFound, What: "cannot join a ring without its key", Why: s.key + " is missing",
			Fix: fmt.Sprintf("scp -p %s:%s %s", host, s.key, s.key),
		}
	}
	path := filepath.Join(s.dir, "conf.d", "ring.toml")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return cannotSetUp(err)
	}
	if missing {
		if err := writeKey(a, s.key); err != nil {
			return err
		}
	}
	if err := writeNew(path, 0o644, s.text()); err != nil {
		return cannotSetUp(err)
	}
	a.Infof("wrote %s", display.Text(path))
	return nil
}

func cannotSetUp(err error) error {
	return &api.Error{Kind: api.Conflict, What: "cannot set up a ring", Why: err.Error()}
}

// text returns the text of the configuration file.
func (s *ringSetup) text() string {
	var b strings.Builder
	b.WriteString("# The ring of hosts that share jobs: see cronring-ring(7) and cronring.toml(5).\n[ring]\n")
	line := func(key, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%s = %s\n", key, strconv.Quote(value))
		}
	}
	line("name", s.name)
	line("member", s.member)
	line("bind", s.bind)
	line("key-file", s.key)
	if len(s.seeds) > 0 {
		var quoted []string
		for _, seed := range s.seeds {
			quoted = append(quoted, strconv.Quote(seed))
		}
		fmt.Fprintf(&b, "seeds = [%s]\n", strings.Join(quoted, ", "))
	}
	return b.String()
}

// nextSteps prints what remains to be done by hand.
func nextSteps(a *cli.App, s *ringSetup, c *config.Config) {
	start, flags, copied := "systemctl restart cronring", "", "copy "+c.Ring.KeyFile+" to each new member, readable by root alone"
	if s.dir != config.Dir {
		start = fmt.Sprintf("cronringd --config %s --state DIR CRONTAB", display.Quote(s.dir))
		flags = fmt.Sprintf(" --config DIR --key-file %s --bind ADDR --member NAME", display.Quote(c.Ring.KeyFile))
		copied = "add a member on this host"
	}
	if c.Ring.Name != "main" {
		flags += " --name " + display.Quote(c.Ring.Name)
	}
	_, port, _ := net.SplitHostPort(c.Ring.Listen())
	a.Infof("next:")
	a.Infof("  start the daemon:   %s", display.Text(start))
	a.Infof("  let members reach port %s of this host, TCP and UDP", port)
	if len(s.seeds) == 0 {
		a.Infof("  %s:   cronring ring join%s %s", display.Text(copied), display.Text(flags), display.Text(ownAddress(c.Ring.Listen())))
	}
	a.Infof("  see the members:   cronring ring")
}

// ownAddress returns an address of this host under which others may reach bind, or the
// host's name.
func ownAddress(bind string) string {
	host, port, _ := net.SplitHostPort(bind)
	if ip, err := netip.ParseAddr(host); err != nil || ip.IsUnspecified() {
		host, _ = os.Hostname()
		addrs, _ := net.InterfaceAddrs()
		if i := slices.IndexFunc(addrs, func(a net.Addr) bool {
			n, ok := a.(*net.IPNet)
			return ok && n.IP.To4() != nil && n.IP.IsGlobalUnicast()
		}); i >= 0 {
			host = addrs[i].(*net.IPNet).IP.String()
		}
	}
	if address := net.JoinHostPort(host, port); address != config.MemberAddress(host) {
		return address
	}
	return host
}

// newKey returns the line of a key file.
func newKey() string {
	key := make([]byte, keys.Len)
	rand.Read(key)
	return base64.StdEncoding.EncodeToString(key) + "\n"
}

func ringKeygen(a *cli.App, args []string) error {
	if len(args) == 0 {
		a.Printf("%s", newKey())
		return nil
	}
	if err := writeKey(a, args[0]); err != nil {
		return err
	}
	a.Infof("copy it to the other hosts, readable by root alone, and name it in their configuration: key-file")
	return nil
}

// writeKey writes a new key to a file that must not exist.
func writeKey(a *cli.App, path string) error {
	if err := writeNew(path, 0o600, newKey()); err != nil {
		e := &api.Error{Kind: api.Conflict, What: "cannot write a new key", Why: err.Error()}
		if errors.Is(err, os.ErrExist) {
			e.Fix = "the key of a ring in use: cronring ring rotate-key"
		}
		return e
	}
	a.Infof("wrote a new key to %s", display.Text(path))
	return nil
}

// writeNew writes a file that must not exist.
func writeNew(path string, mode os.FileMode, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Sync(), f.Close())
}
