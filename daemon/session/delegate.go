package session

import (
	"context"
	"fmt"
	"math"
	"os"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
)

// Delegation is a unit that delegates its part of the tree of control groups. Its only process
// keeps that part in existence.
type Delegation struct {
	Unit        string // its name, which ends with ".service"; the unit must not exist
	Description string
	Slice       string
	Argv        []string // Argv[0] is the path
	Stdin       *os.File
}

// Delegate starts such a unit and returns its control group and its process. The unit ends with
// that process, even if groups below still have processes.
func Delegate(ctx context.Context, d Delegation) (group string, pid int, err error) {
	conn, err := connect(ctx)
	if err != nil {
		return "", 0, err
	}
	defer conn.Close()
	done := make(chan string, 1)
	if _, err := conn.StartTransientUnitContext(ctx, d.Unit, "fail", d.properties(), done); err != nil {
		return "", 0, fmt.Errorf("start %s: %w", d.Unit, err)
	}
	select {
	case result := <-done:
		if result != "done" {
			return "", 0, fmt.Errorf("start %s: systemd reports %q", d.Unit, result)
		}
	case <-ctx.Done():
		return "", 0, fmt.Errorf("start %s: %w", d.Unit, ctx.Err())
	}
	all, err := conn.GetAllPropertiesContext(ctx, d.Unit)
	if err != nil {
		return "", 0, fmt.Errorf("look at %s: %w", d.Unit, err)
	}
	group, _ = all["ControlGroup"].(string)
	main, _ := all["MainPID"].(uint32)
	if group == "" || main == 0 {
		return "", 0, fmt.Errorf("start %s: it has ended already; see journalctl -u %s", d.Unit, d.Unit)
	}
	return group, int(main), nil
}

func (d Delegation) properties() []dbus.Property {
	return []dbus.Property{
		property("Description", d.Description),
		property("Type", "exec"),
		property("ExecStart", []command{{d.Argv[0], d.Argv, false}}),
		property("StandardInputFileDescriptor", godbus.UnixFD(d.Stdin.Fd())),
		property("Slice", d.Slice),
		property("Delegate", true),
		// Runs continue after its end, like they do after the daemon's.
		property("KillMode", "process"),
		property("SendSIGKILL", false),
		property("OOMPolicy", "continue"),
		property("TasksMax", uint64(math.MaxUint64)),
		property("CollectMode", "inactive-or-failed"),
	}
}
