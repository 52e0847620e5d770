package atomicfile

import (
	"io/fs"
	"os"
	"path/filepath"
)

// Match returns the paths of the files in a directory whose names match a valid pattern, sorted. Unlike
// filepath.Glob, it does not take the directory for a pattern.
func Match(dir, pattern string) []string {
	paths, _ := fs.Glob(os.DirFS(dir), pattern) // the pattern is valid
	for i, name := range paths {
		paths[i] = filepath.Join(dir, name)
	}
	return paths
}
