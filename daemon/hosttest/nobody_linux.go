package hosttest

import (
	"os"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// ActAsNobody lets the calling goroutine access files as a user without privileges, also if root
// runs the test, until end is called.
func ActAsNobody(t testing.TB) (end func()) {
	t.Helper()
	if os.Geteuid() != 0 {
		return func() {}
	}
	runtime.LockOSThread() // the file system UID belongs to the thread
	become := func(uid int) {
		t.Helper()
		_, _ = unix.SetfsuidRetUid(uid) // reports no errors
		if is, _ := unix.SetfsuidRetUid(-1); is != uid {
			t.Fatalf("the file system UID is %d, want %d", is, uid)
		}
	}
	become(65534)
	return func() { become(0); runtime.UnlockOSThread() }
}
