package sandbox

import (
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab/option"
)

// Unfit returns why this host cannot enforce the isolation of an entry, or "". secrets returns why
// it cannot provide credentials, or "".
func Unfit(o *option.Options, secrets func([]option.Credential) string) string {
	if o.Isolation == nil {
		return ""
	}
	if why := missing(o.Isolation, secrets); why != "" {
		return "Its isolation cannot be enforced: " + why + "."
	}
	return ""
}

func missing(i *option.Isolation, secrets func([]option.Credential) string) string {
	if i.Sandbox != option.SandboxOff {
		if why := Missing(i.Sandbox); why != "" {
			return why
		}
	}
	if i.NoNetwork {
		if why := missingNetwork(); why != "" {
			return why
		}
	}
	if len(i.Credentials) > 0 {
		return secrets(i.Credentials)
	}
	return ""
}

// missingNetwork returns why this process cannot give another one a network of its own, or "". The
// answer stays the same while the process runs.
var missingNetwork = sync.OnceValue(func() string {
	answer := make(chan error)
	go func() { answer <- leaveNetwork() }()
	if err := <-answer; err != nil {
		return fmt.Sprintf("network=no requires a daemon that can make network namespaces, as root: %v", err)
	}
	return ""
})

// leaveNetwork takes one thread to a network of its own and back. If it cannot come back, no other
// goroutine uses the thread.
func leaveNetwork() error {
	own, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(own)
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	if err := unix.Setns(own, unix.CLONE_NEWNET); err != nil {
		return err
	}
	runtime.UnlockOSThread()
	return nil
}
