package packaging

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/cronring/cronring/packaging/machinetest"
)

// A socket of another user, wherever root's client might find it, receives nothing from root.
func TestClientOfRootRefusesSocketOfUser(t *testing.T) {
	t.Parallel()
	machinetest.Need(t)
	machine{packages: machinetest.Packages, proof: "socket"}.run(t)
}

// listen answers every request on a socket as a daemon might, and prints the first line of each.
func listen(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: labtool listen PATH")
	}
	l, err := net.Listen("unix", args[0])
	if err != nil {
		return err
	}
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer c.Close()
			if line, err := bufio.NewReader(c).ReadString('\n'); err == nil {
				fmt.Print(line)
				_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: 3\r\n\r\n{}\n")
			}
		}()
	}
}
