package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
)

// fault is something that happens to a ring.
type fault struct {
	name   string
	mode   string        // "": both
	stalls bool          // what is due meanwhile is not granted; it counts that all runs again at the end
	single bool          // one member dies at a time: the goals for takeovers apply
	wait   time.Duration // for late starts; 0: patienceForStarts
	do     func(c *chaos)
	undo   func(c *chaos) // after the judgement; nil: do leaves the ring as it was
}

// faults are tried one after the other.
var faults = []fault{
	{name: "rest", do: func(c *chaos) { c.used("a member", 30*time.Second) }},
	{name: "kill-20-times", single: true, do: func(c *chaos) {
		for range 20 {
			h := c.hosts[rand.N(5)]
			h.stop(syscall.SIGKILL)
			c.died(h)
			c.last(time.Second)
			h.start()
			c.last(2 * time.Second)
		}
	}},
	{name: "kill-two-at-once", do: func(c *chaos) {
		two := []*namespaceHost{c.hosts[0], c.hosts[3]}
		onEach(two, func(h *namespaceHost) { h.stop(syscall.SIGKILL) })
		c.died(two...)
		c.last(15 * time.Second)
		onEach(two, func(h *namespaceHost) { h.start() })
	}},
	{name: "host-off-with-its-jobs", single: true, do: func(c *chaos) {
		h := c.hosts[1]
		h.powerOff()
		c.died(h)
		c.last(15 * time.Second)
		h.startInit()
		h.start()
	}},
	{name: "stop-5s", do: func(c *chaos) { c.stopped(5 * time.Second) }},
	{name: "stop-30s", do: func(c *chaos) { c.stopped(30 * time.Second) }},
	{name: "partition-2-3", do: func(c *chaos) {
		c.during("the partition 2|3", apart(0, 1), func() {
			c.do("cut", "1,2", "3,4,5")
			c.last(30 * time.Second)
			c.do("heal")
		})
	}},
	{name: "partition-1-4", do: func(c *chaos) {
		c.during("the partition 1|4", apart(2), func() {
			c.do("cut", "3", "1,2,4,5")
			c.last(30 * time.Second)
			c.do("heal")
		})
	}},
	{name: "one-way-loss", do: func(c *chaos) {
		c.during("the loss of all that n1 sends", apart(0), func() {
			c.do("cut-way", "1", "2,3,4,5")
			c.last(30 * time.Second)
			c.do("heal")
		})
	}},
	{name: "loss-30-percent", do: func(c *chaos) {
		c.during("the loss of packets", each, func() {
			for i, others := range []string{"2,3,4,5", "3,4,5", "4,5", "5"} {
				c.do("loss", strconv.Itoa(i+1), others, "30")
			}
			c.last(40 * time.Second)
			c.do("heal")
		})
	}},
	{name: "delay-200ms", do: func(c *chaos) {
		heal := c.delay(200 * time.Millisecond)
		c.last(40 * time.Second)
		heal()
	}},
	{name: "flapping-link", do: func(c *chaos) {
		c.during("the flapping link", apart(3), func() {
			for range 10 {
				c.do("link", "4", "down")
				c.last(2 * time.Second)
				c.do("link", "4", "up")
				c.last(2 * time.Second)
			}
		})
	}},
	{name: "full-disk", do: func(c *chaos) {
		h := c.hosts[1]
		filler := filepath.Join(h.disk, "filler")
		fill(c.t, filler)
		c.last(20 * time.Second)
		c.must(os.Remove(filler))
	}},
	{name: "clock-2s-ahead", do: func(c *chaos) { c.clock("2", 25*time.Second) }},
	{name: "clock-2s-behind", do: func(c *chaos) { c.clock("-2", 25*time.Second) }},
	{name: "clock-60s-ahead", do: func(c *chaos) { c.clock("60", 25*time.Second) }},
	{name: "clock-1h-ahead", do: func(c *chaos) { c.clock("3600", 20*time.Second) }},
	{name: "rolling-restart", do: func(c *chaos) { c.rolling(func(*namespaceHost) {}) }},
	{name: "rolling-upgrade", do: func(c *chaos) {
		c.rolling(c.install(programWith(c.t, "Version")))
		c.last(5 * time.Second)
		c.rolling(c.install(c.bin))
	}},
	// The upgraded members claim nothing until the others are upgraded, or silent for two minutes.
	{name: "incompatible-upgrade", wait: 4 * time.Minute, do: func(c *chaos) {
		install := c.install(programWith(c.t, "Version", "LeastVersion"))
		for _, h := range c.hosts[:5] {
			c.restart(h, install)
			c.last(5 * time.Second)
		}
	}, undo: func(c *chaos) {
		onEach(c.hosts[:5], func(h *namespaceHost) { h.stop(syscall.SIGTERM) })
		onEach(c.hosts[:5], func(h *namespaceHost) {
			h.bin = c.bin
			h.start()
		})
	}},
	{name: "crontab-edited-on-3-of-5", do: func(c *chaos) {
		c.word += "x"
		for _, h := range c.hosts[:3] {
			h.write("/etc/cron.d/chaos", c.crontab("ring"))
		}
		c.note("edited on 3")
		c.last(30 * time.Second)
		for _, h := range c.hosts[3:5] {
			h.write("/etc/cron.d/chaos", c.crontab("ring"))
		}
		c.note("edited on the others")
		c.last(15 * time.Second)
	}},
	{name: "account-missing-on-3-of-5", do: func(c *chaos) {
		// Members notice it about 200 ms later: between their claims and the answers.
		c.last(time.Until(time.Now().Truncate(time.Second).Add(1800 * time.Millisecond)))
		for _, h := range c.hosts[:3] {
			text, err := os.ReadFile(h.path("/etc/passwd"))
			c.must(err)
			h.write("/etc/passwd", strings.Replace(string(text), robot+":", "away:", 1))
		}
		c.note("no account on 3")
		c.last(45 * time.Second)
		for _, h := range c.hosts[:3] {
			text, err := os.ReadFile(h.path("/etc/passwd"))
			c.must(err)
			h.write("/etc/passwd", strings.Replace(string(text), "away:", robot+":", 1))
		}
		c.note("accounts are back")
	}},
	{name: "five-joins-at-once", do: func(c *chaos) {
		for len(c.hosts) < 10 {
			c.add()
		}
		c.note("five start")
		onEach(c.hosts[5:], func(h *namespaceHost) { h.start() })
		for _, h := range c.hosts {
			await(c.t, h.name()+" sees ten members", func() bool { return upOn(c.t, h.daemon.client) == 10 })
		}
		c.last(10 * time.Second)
		c.note("five end")
		onEach(c.hosts[5:], func(h *namespaceHost) { h.stop(syscall.SIGTERM) })
	}},
	{name: "drain-and-two-leaves", do: func(c *chaos) {
		c.ask(api.RingDrain, c.hosts[0])
		c.ask(api.RingLeave, c.hosts[3], c.hosts[4])
		c.last(15 * time.Second)
		c.ask(api.RingUndrain, c.hosts[0])
		c.ask(api.RingJoin, c.hosts[3], c.hosts[4])
	}},
	{name: "all-off-20s", do: func(c *chaos) {
		onEach(c.hosts[:5], func(h *namespaceHost) { h.powerOff() })
		c.died(c.hosts[:5]...)
		c.last(20 * time.Second)
		c.note("all boot")
		onEach(c.hosts[:5], func(h *namespaceHost) {
			h.startInit()
			h.start()
		})
	}},
	{name: "voters-changed", mode: api.RingStrict, do: func(c *chaos) {
		for _, voters := range [][]int{{2, 3, 4}, {1, 2, 3}} { // members with the voters of the fewer claim nothing
			for _, h := range c.hosts[:5] {
				c.restart(h, func(h *namespaceHost) { c.configure(h, c.mode, voters...) })
				c.last(5 * time.Second)
			}
			c.whole()
		}
	}},
	{name: "mixed-modes", mode: api.RingStrict, do: func(c *chaos) {
		h := c.hosts[4]
		c.restart(h, func(h *namespaceHost) { c.configure(h, api.RingAvailable) })
		c.last(15 * time.Second)
		c.do("cut", "5", "1,2,3,4")
		c.last(20 * time.Second)
		c.do("heal")
		c.restart(h, func(h *namespaceHost) { c.configure(h, c.mode, 1, 2, 3) })
	}},
	{name: "disk-of-a-voter-wiped", mode: api.RingStrict, do: func(c *chaos) { c.wiped(c.hosts[1]) }},
	{name: "disks-of-two-voters-wiped", mode: api.RingStrict, stalls: true, do: func(c *chaos) {
		c.wiped(c.hosts[1], c.hosts[2])
		c.hosts[0].shell("cronring ring recover")
		c.last(80 * time.Second) // nothing is granted that is due within the next minute
	}},
}

// stopped stops a daemon with SIGSTOP for a while.
func (c *chaos) stopped(d time.Duration) {
	h := c.hosts[2]
	c.during("n3 was stopped", apart(2), func() {
		h.signal(syscall.SIGSTOP)
		c.last(d)
		h.signal(syscall.SIGCONT)
	})
}

// clock sets the clock of a host for a while.
func (c *chaos) clock(ahead string, d time.Duration) {
	h := c.hosts[3]
	offset := c.fakes[h]
	if offset == "" {
		offset = filepath.Join(c.dir, ".clock")
		setClock(c.t, offset, "0")
		c.fakes[h] = offset
		h.stop(syscall.SIGTERM)
		h.start(fakeClock(c.t), offset)
		c.whole()
	}
	setClock(c.t, offset, ahead)
	c.note("the clock of n4 is " + ahead + " seconds ahead")
	c.last(d)
	setClock(c.t, offset, "0")
	c.note("it is right again")
}

// rolling changes and restarts the members one after the other.
func (c *chaos) rolling(change func(*namespaceHost)) {
	for _, h := range c.hosts[:5] {
		c.restart(h, change)
		c.whole()
	}
}

// restart ends a daemon, changes its host and starts it again.
func (c *chaos) restart(h *namespaceHost, change func(*namespaceHost)) {
	c.note("restart of " + h.name())
	h.stop(syscall.SIGTERM)
	change(h)
	h.start()
}

// install returns a function that installs the programs of a directory on a host.
func (c *chaos) install(bin string) func(*namespaceHost) {
	return func(h *namespaceHost) { h.bin = bin }
}

// programWith builds cronringd with greater numbers of the wire format.
func programWith(t *testing.T, numbers ...string) (bin string) {
	t.Helper()
	bin = t.TempDir()
	source, err := filepath.Abs("../../gossip/meta/meta.go")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range numbers {
		line := regexp.MustCompile(`(?m)^(\s` + name + `\s*= \d+)$`)
		if !line.Match(text) {
			t.Fatalf("%s has no number %s", source, name)
		}
		text = line.ReplaceAll(text, []byte("$1 + 1"))
	}
	changed, overlay := filepath.Join(bin, "meta.go"), filepath.Join(bin, "overlay.json")
	for path, text := range map[string]string{changed: string(text), overlay: fmt.Sprintf(`{"Replace": {%q: %q}}`, source, changed)} {
		filetest.Write(t, path, text, 0o600)
	}
	build := exec.Command("go", "build", "-overlay", overlay, "-o", filepath.Join(bin, "cronringd"), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

// ask sends a request such as a drain to members, all at once.
func (c *chaos) ask(what string, hosts ...*namespaceHost) {
	c.t.Helper()
	c.note(what)
	onEach(hosts, func(h *namespaceHost) {
		if _, err := h.daemon.client.ChangeRing(c.t.Context(), api.RingRequest{Do: what}); err != nil {
			c.t.Errorf("%s: %s: %v", h.name(), what, err)
		}
	})
}

// wiped kills daemons, and starts them again with an empty disk.
func (c *chaos) wiped(hosts ...*namespaceHost) {
	for _, h := range hosts {
		h.stop(syscall.SIGKILL)
	}
	c.died(hosts...)
	c.last(5 * time.Second)
	for _, h := range hosts {
		h.shell("find /var/lib/cronring -mindepth 1 -delete")
		h.start()
	}
	c.last(15 * time.Second)
}
