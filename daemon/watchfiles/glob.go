package watchfiles

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// checkGlob returns an error if a glob cannot be watched anywhere. Each element of the path can
// have wildcards, as in path.Match. As in a shell, they do not match a dot at the beginning, so
// that the temporary files of rsync and others do not count.
func checkGlob(glob string) error {
	switch {
	case !strings.HasPrefix(glob, "/"):
		return fmt.Errorf("%s: the path must begin with /", glob)
	case len(glob) > maxPath || strings.ContainsRune(glob, 0):
		return errors.New("the path is too long, or contains NUL")
	case strings.HasSuffix(glob, "/"):
		return fmt.Errorf("%s: the path must name files, not a directory", glob)
	}
	for _, element := range elements(glob) {
		if _, err := path.Match(element, ""); err != nil {
			return fmt.Errorf("%s: the pattern is not complete", glob)
		}
	}
	return nil
}

// elements returns the elements of an absolute path. The last one is a pattern of files.
func elements(glob string) []string {
	return strings.Split(strings.TrimPrefix(path.Clean(glob), "/"), "/")
}

func hasWildcard(pattern string) bool { return strings.ContainsAny(pattern, `*?[\`) }

// matches reports whether an element of a path matches a pattern.
func matches(pattern, name string) bool {
	if !hasWildcard(pattern) {
		return pattern == name
	}
	if strings.HasPrefix(name, ".") && !strings.HasPrefix(pattern, ".") {
		return false
	}
	ok, _ := path.Match(pattern, name)
	return ok
}
