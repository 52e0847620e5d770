//go:build !linux

package atomicfile

import "errors"

// Sealed is for the daemon, which runs on Linux only.
func Sealed(string, []byte) (int, error) { return 0, errors.ErrUnsupported }
