package main

import (
	"math/rand/v2"
	"syscall"
	"time"
)

// fault is something that happens to a ring.
type fault struct {
	name string
	mode string // "": both
	do   func(c *chaos)
}

// faults are tried one after the other; each leaves the ring as it was.
var faults = []fault{
	{name: "rest", do: func(c *chaos) { c.last(30 * time.Second) }},
	{name: "kill-20-times", do: func(c *chaos) {
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
		two := []*host{c.hosts[0], c.hosts[3]}
		onEach(two, func(h *host) { h.stop(syscall.SIGKILL) })
		c.died(two...)
		c.last(15 * time.Second)
		onEach(two, func(h *host) { h.start() })
	}},
	{name: "host-off-with-its-jobs", do: func(c *chaos) {
		h := c.hosts[1]
		h.powerOff()
		c.died(h)
		c.last(15 * time.Second)
		h.boot()
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
	{name: "rolling-restart", do: func(c *chaos) {
		for _, h := range c.hosts[:5] {
			h.stop(syscall.SIGTERM)
			h.start()
			c.whole()
		}
	}},
	{name: "all-off-20s", do: func(c *chaos) {
		onEach(c.hosts[:5], func(h *host) { h.powerOff() })
		c.died(c.hosts[:5]...)
		c.last(20 * time.Second)
		onEach(c.hosts[:5], func(h *host) {
			h.boot()
			h.start()
		})
	}},
}

// stopped has a daemon stand still.
func (c *chaos) stopped(d time.Duration) {
	h := c.hosts[2]
	c.during("n3 stood still", apart(2), func() {
		h.signal(syscall.SIGSTOP)
		c.last(d)
		h.signal(syscall.SIGCONT)
	})
}
