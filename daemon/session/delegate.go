package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"

	"github.com/godbus/dbus/v5"
)

// Delegation is a unit that gives its part of the tree of control groups away.
// What runs in it is to keep it, and nothing else.
type Delegation struct {
	Unit        string // its name, ".service" at the end; of no unit that there is
	Description string
	Slice       string
	Argv        []string // Argv[0] is the path
	Stdin       *os.File
}

// Delegate starts such a unit and returns its control group and its process.
// The unit is gone when that ends, whatever lives on in groups below.
func Delegate(ctx context.Context, d Delegation) (group string, pid int, err error) {
	b, err := dial(ctx)
	if err != nil {
		return "", 0, err
	}
	defer b.conn.Close()
	if err := b.start(ctx, d.Unit, d.properties()); err != nil {
		return "", 0, fmt.Errorf("start %s: %w", d.Unit, err)
	}
	if err := b.awaitJob(ctx, d.Unit); err != nil {
		return "", 0, fmt.Errorf("start %s: %w", d.Unit, err)
	}
	g := &getter{ctx: ctx, bus: b, path: pathOf(d.Unit)}
	group = value[string](g, serviceInterface, "ControlGroup")
	pid = int(value[uint32](g, serviceInterface, "MainPID"))
	switch {
	case g.err != nil:
		return "", 0, fmt.Errorf("look at %s: %w", d.Unit, g.err)
	case group == "" || pid == 0:
		return "", 0, fmt.Errorf("start %s: it has ended already; see journalctl -u %s", d.Unit, d.Unit)
	}
	return group, pid, nil
}

func (d Delegation) properties() []property {
	type command struct {
		Path  string
		Argv  []string
		Clean bool // ignore a failure
	}
	return []property{
		{"Description", dbus.MakeVariant(d.Description)},
		{"Type", dbus.MakeVariant("exec")},
		{"ExecStart", dbus.MakeVariant([]command{{d.Argv[0], d.Argv, false}})},
		{"StandardInputFileDescriptor", dbus.MakeVariant(dbus.UnixFD(d.Stdin.Fd()))},
		{"Slice", dbus.MakeVariant(d.Slice)},
		{"Delegate", dbus.MakeVariant(true)},
		// Runs are not its own: they outlive it, as they outlive the daemon.
		{"KillMode", dbus.MakeVariant("process")},
		{"SendSIGKILL", dbus.MakeVariant(false)},
		{"OOMPolicy", dbus.MakeVariant("continue")},
		{"TasksMax", dbus.MakeVariant(uint64(math.MaxUint64))},
		{"CollectMode", dbus.MakeVariant("inactive-or-failed")},
	}
}

// awaitJob waits for what becomes of the start of a unit.
func (b *bus) awaitJob(ctx context.Context, unit string) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case signal, ok := <-b.signals:
			switch {
			case !ok:
				return errors.New("the connection to systemd ended")
			case signal.Name != jobRemoved || unitOf(signal) != unit || len(signal.Body) < 4:
			case signal.Body[3] == "done":
				return nil
			default:
				return fmt.Errorf("systemd says %v", signal.Body[3])
			}
		}
	}
}
