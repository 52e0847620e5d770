package notify

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cronring/cronring/daemon/atomicfile"
)

// longestSecret bounds a file of secrets.
const longestSecret = 64 << 10

// readSecret reads a file that only root or the daemon's user can have written, and that not all
// users can read. It removes white space around the text, because editors end each file with a line
// feed.
func readSecret(path string) ([]byte, error) {
	text, err := atomicfile.ReadTrusted(path, longestSecret, 0o027)
	if text = strings.TrimSpace(text); err == nil && text == "" {
		err = errors.New("it is empty")
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return []byte(text), err
}
