package inventory

import (
	"fmt"
	"strings"
)

// Failure describes why a program of the host failed.
func Failure(out string, status int, err error) string {
	if err != nil {
		return err.Error()
	}
	if out = strings.TrimSpace(out); out != "" {
		return fmt.Sprintf("exit %d: %s", status, out)
	}
	return fmt.Sprintf("exit %d", status)
}
