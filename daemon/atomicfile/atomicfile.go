// Package atomicfile owns finding and reading small files, and replacing them so that a crash leaves
// the old or the new content.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// Suffix is the suffix of files that Write is writing. A crash may leave such a file behind.
const Suffix = ".tmp"

// Write replaces a file, or makes one that only its owner can read. It does not follow
// symbolic links.
func Write(path string, parts ...[]byte) error {
	unfinished := path + Suffix
	err := os.Remove(unfinished)
	if _, missing := os.Lstat(unfinished); missing != nil { // else its path is why
		err = withoutPaths(err)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = withoutPaths(writeNew(unfinished, parts))
	}
	if err == nil {
		err = withoutPaths(os.Rename(unfinished, path))
	}
	if err != nil {
		os.Remove(unfinished)
		return fmt.Errorf("write %s: %w", path, err)
	}
	return Sync(filepath.Dir(path))
}

func withoutPaths(err error) error {
	if named, ok := errors.AsType[*fs.PathError](err); ok {
		return named.Err
	}
	if renamed, ok := errors.AsType[*os.LinkError](err); ok {
		return renamed.Err
	}
	return err
}

func writeNew(path string, parts [][]byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	for _, part := range parts {
		_, wrong := f.Write(part)
		err = errors.Join(err, wrong)
	}
	return errors.Join(err, f.Sync(), f.Close())
}

// Replace replaces a file, or makes one, with this mode. Unlike with Write, several processes can do
// so at the same time, because each has its own temporary file. It does not follow symbolic links. After a crash, a file
// .NAME.* may be left, and the new content may be lost.
func Replace(path string, mode fs.FileMode, content []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails after a success, because the file was renamed
	_, err = f.Write(content)
	if err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// Sync makes the content of a file, or the names in a directory, durable.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Link makes a symbolic link whose target is a text, and replaces an older link. One system call writes
// the whole text. It returns no error, because it is for texts that readers do not depend on.
func Link(path, text string) {
	if errors.Is(os.Symlink(text, path), fs.ErrExist) && os.Remove(path) == nil {
		_ = os.Symlink(text, path)
	}
}

// Read reads the rest of an open file of at most 1 MiB.
func Read(f *os.File) ([]byte, error) {
	const largest = 1 << 20
	b, err := io.ReadAll(io.LimitReader(f, largest+1))
	if err == nil && len(b) > largest {
		err = fmt.Errorf("%s is larger than %d bytes", f.Name(), largest)
	}
	return b, err
}
