package inventory

import (
	"os"
	"strings"
)

// openBelow opens a file of a mounted host. It rejects absolute symbolic links, because this system
// cannot resolve them from another root.
func openBelow(dir, name string, flags int) (*os.File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return root.OpenFile(strings.TrimPrefix(name, "/"), flags, 0)
}
