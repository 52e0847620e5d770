package sandbox

import (
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
)

// AddUnfit adds the options whose isolation this host cannot enforce, and why. Options that have a
// reason already keep it. secrets returns why the host cannot provide credentials, or "".
func AddUnfit(all map[*option.Options]string, crontabs []*crontab.File, secrets func([]option.Credential) string) {
	for _, t := range crontabs {
		for i := range t.Entries {
			o := t.Entries[i].Options()
			if o.Isolation == nil || all[o] != "" {
				continue
			}
			if why := missing(o.Isolation, secrets); why != "" {
				all[o] = "Its isolation cannot be enforced: " + why + "."
			}
		}
	}
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
