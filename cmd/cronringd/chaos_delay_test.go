package main

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// slowBridge takes the place of the network's bridge, so that frames need a while to
// their host. Kernels without netem have nothing for that.
type slowBridge struct {
	delay   time.Duration
	ports   []int // sockets of the hosts' links
	over    atomic.Bool
	readers sync.WaitGroup
	mu      sync.Mutex
	learned map[[6]byte]int // port by address
}

// delay makes each packet so slow, in both directions, until heal is called.
func (c *chaos) delay(d time.Duration) (heal func()) {
	c.t.Helper()
	b := &slowBridge{delay: d, learned: map[[6]byte]int{}}
	for i := range c.hosts {
		c.must(within(c.space(i), func() error { return withoutOffload("eth0") }))
	}
	hub := c.name + "-hub"
	link := func(i int) string { return "p" + strconv.Itoa(i+1) }
	c.must(within(hub, func() error {
		for i := range c.hosts {
			port, err := frames(link(i))
			if err != nil {
				return err
			}
			b.ports = append(b.ports, port)
		}
		return nil
	}))
	set := func(i int, words ...string) {
		argv := append([]string{"-n", hub, "link", "set", link(i)}, words...)
		if out, err := exec.Command("ip", argv...).CombinedOutput(); err != nil {
			c.t.Errorf("ip %v: %v: %s", argv, err, out)
		}
	}
	for i := range b.ports {
		set(i, "nomaster")
		b.readers.Go(func() { b.forward(i) })
	}
	return func() {
		b.over.Store(true)
		b.readers.Wait()
		for i := range b.ports {
			set(i, "master", "br0")
		}
		time.AfterFunc(2*d, func() { // what is under way arrives
			for _, port := range b.ports {
				unix.Close(port)
			}
		})
	}
}

// forward passes on what a host sends.
func (b *slowBridge) forward(from int) {
	buffer := make([]byte, 64<<10)
	for !b.over.Load() {
		n, sender, err := unix.Recvfrom(b.ports[from], buffer, 0)
		if at, ok := sender.(*unix.SockaddrLinklayer); err != nil || n < 14 || ok && at.Pkttype == unix.PACKET_OUTGOING {
			continue
		}
		frame := slices.Clone(buffer[:n])
		time.AfterFunc(b.delay, func() { b.send(from, frame) })
	}
}

func (b *slowBridge) send(from int, frame []byte) {
	b.mu.Lock()
	b.learned[[6]byte(frame[6:12])] = from
	to, known := b.learned[[6]byte(frame[:6])]
	b.mu.Unlock()
	for i, port := range b.ports {
		if i != from && (i == to || !known) {
			_, _ = unix.Write(port, frame) // a link that is down loses it
		}
	}
}

// within does something in a network namespace.
func within(space string, do func() error) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(own)
	there, err := unix.Open("/run/netns/"+space, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(there)
	if err := unix.Setns(there, unix.CLONE_NEWNET); err != nil {
		return err
	}
	return errors.Join(do(), unix.Setns(own, unix.CLONE_NEWNET))
}

// frames returns a socket of all frames of a link. Reading from it ends after a while.
func frames(link string) (int, error) {
	dev, err := net.InterfaceByName(link)
	if err != nil {
		return 0, err
	}
	const all = unix.ETH_P_ALL>>8 | unix.ETH_P_ALL<<8&0xff00 // in network order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC, all)
	if err != nil {
		return 0, err
	}
	return fd, errors.Join(
		unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: all, Ifindex: dev.Index}),
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Usec: 100_000}),
	)
}

// withoutOffload has a link send frames that are complete, with their checksums.
func withoutOffload(link string) error {
	const ethtoolSetTxChecksum = 0x17
	value := struct{ cmd, data uint32 }{ethtoolSetTxChecksum, 0}
	request := struct {
		name [unix.IFNAMSIZ]byte
		data unsafe.Pointer
		_    [16]byte
	}{data: unsafe.Pointer(&value)}
	copy(request.name[:], link)
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if _, _, failed := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), unix.SIOCETHTOOL, uintptr(unsafe.Pointer(&request))); failed != 0 {
		return fmt.Errorf("change offloads of %s: %w", link, failed)
	}
	return nil
}
