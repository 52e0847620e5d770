//go:build !linux

package outbox

import (
	"errors"
	"os"
)

// memoryFile is for the daemon, which runs on Linux only.
func memoryFile([]byte) (*os.File, error) { return nil, errors.ErrUnsupported }
