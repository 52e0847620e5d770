package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/godbus/dbus/v5"
)

const (
	address     = "unix:path=/run/systemd/private"
	destination = "org.freedesktop.systemd1"
	root        = dbus.ObjectPath("/org/freedesktop/systemd1")

	unitRoot = root + "/unit/"

	managerInterface = destination + ".Manager"
	unitInterface    = destination + ".Unit"
	serviceInterface = destination + ".Service"

	jobRemoved        = managerInterface + ".JobRemoved"
	properties        = "org.freedesktop.DBus.Properties"
	propertiesChanged = properties + ".PropertiesChanged"
)

// bus is one connection to systemd. Its methods may be called concurrently.
type bus struct {
	conn    *dbus.Conn
	signals chan *dbus.Signal // closed with the connection
}

// property is an argument of StartTransientUnit.
type property struct {
	Name  string
	Value dbus.Variant
}

// dial makes a connection. systemd sends signals to its private ones without
// being asked.
func dial(ctx context.Context) (*bus, error) {
	// Signals must come in order: the default handler may swap two.
	conn, err := dbus.Dial(address, dbus.WithSignalHandler(dbus.NewSequentialSignalHandler()))
	if err != nil {
		return nil, fmt.Errorf("connect to systemd: %w", err)
	}
	b := &bus{conn, make(chan *dbus.Signal, 64)}
	conn.Signal(b.signals)
	err = conn.Auth([]dbus.Auth{dbus.AuthExternal(strconv.Itoa(os.Geteuid()))})
	if err == nil {
		err = b.greet(ctx)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connect to systemd: %w", err), conn.Close())
	}
	return b, nil
}

// greet waits until systemd answers. A message that systemd reads together with
// the end of the authentication lies there until the next one comes; and when
// it has descriptors with it, systemd hangs up.
func (b *bus) greet(ctx context.Context) error {
	late := time.Now().Add(answer)
	for pause := 2 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		limited, cancel := context.WithTimeout(ctx, pause)
		_, err := b.call(limited, root, "org.freedesktop.DBus.Peer.Ping")
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || time.Now().After(late) {
			return err
		}
	}
}

func (b *bus) call(ctx context.Context, path dbus.ObjectPath, method string, arguments ...any) ([]any, error) {
	call := b.conn.Object(destination, path).CallWithContext(ctx, method, 0, arguments...)
	return call.Body, call.Err
}

func (b *bus) start(ctx context.Context, unit string, all []property) error {
	type auxiliary struct { // no unit is started along with this one
		Name string
		All  []property
	}
	_, err := b.call(ctx, root, managerInterface+".StartTransientUnit", unit, "fail", all, []auxiliary{})
	return err
}

// has asks whether there is a unit of a name, without making one.
func (b *bus) has(ctx context.Context, unit string) (bool, error) {
	_, err := b.call(ctx, root, managerInterface+".GetUnit", unit)
	var refusal dbus.Error
	if errors.As(err, &refusal) && refusal.Name == destination+".NoSuchUnit" {
		return false, nil
	}
	return err == nil, err
}

// stop unloads a unit: one that failed with the first call, another one with
// the second. Which of them is refused says nothing.
func (b *bus) stop(ctx context.Context, unit string) {
	_, _ = b.call(ctx, root, managerInterface+".ResetFailedUnit", unit)
	_, _ = b.call(ctx, root, managerInterface+".StopUnit", unit, "replace")
}

func (b *bus) get(ctx context.Context, path dbus.ObjectPath, of, name string) (any, error) {
	body, err := b.call(ctx, path, properties+".Get", of, name)
	if err != nil {
		return nil, err
	}
	if len(body) == 1 {
		if v, ok := body[0].(dbus.Variant); ok {
			return v.Value(), nil
		}
	}
	return nil, fmt.Errorf("get %s of %s: no value in the answer", name, path)
}

// getter reads properties of one unit until the first error.
type getter struct {
	ctx  context.Context
	bus  *bus
	path dbus.ObjectPath
	err  error
}

// value is the zero value when systemd has none of that type.
func value[T any](g *getter, of, name string) (v T) {
	if g.err != nil {
		return v
	}
	got, err := g.bus.get(g.ctx, g.path, of, name)
	g.err = err
	v, _ = got.(T)
	return v
}

// isClosed tells the end of the connection from what systemd answered.
func isClosed(err error) bool {
	var answer dbus.Error
	return err != nil && !errors.As(err, &answer) &&
		!errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

// pathOf is the name that the object of a unit has: each byte that is no letter
// or digit, and a digit at the beginning, is written as _ and two hex digits.
func pathOf(unit string) dbus.ObjectPath {
	var b strings.Builder
	for i := range len(unit) {
		c := unit[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' && i > 0 {
			b.WriteByte(c)
			continue
		}
		fmt.Fprintf(&b, "_%02x", c)
	}
	return unitRoot + dbus.ObjectPath(b.String())
}

// unitAt is the reverse of pathOf, and empty for what is no unit.
func unitAt(path dbus.ObjectPath) string {
	name, ok := strings.CutPrefix(string(path), string(unitRoot))
	if !ok {
		return ""
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		if name[i] != '_' || i+2 >= len(name) {
			b.WriteByte(name[i])
			continue
		}
		c, err := strconv.ParseUint(name[i+1:i+3], 16, 8)
		if err != nil {
			return ""
		}
		b.WriteByte(byte(c))
		i += 2
	}
	return b.String()
}
