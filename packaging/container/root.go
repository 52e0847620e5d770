package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// nobody is the user of the image's daemon: distroless images have the same number, so that volumes
// can move between them.
const nobody = 65532

// accounts assigns a name and a home to the number, because some programs of jobs need them to
// start.
const (
	passwd = "root:x:0:0:root:/:/bin/sh\ncronring:x:65532:65532:cronring:/home/cronring:/bin/sh\n"
	group  = "root:x:0:\ncronring:x:65532:\n"
)

// file is one entry of the image's root. A path that ends in a slash is a
// directory.
type file struct {
	path  string
	mode  int64
	owner int
	data  []byte
}

// rootFiles returns all files of the image, parents first. The image has no shell: users add the
// shell and the programs of their jobs in an image that is based on this one. The programs contain
// the time zones.
func rootFiles(bin string) ([]file, error) {
	root := []file{
		{"etc/", 0o755, 0, nil},
		{"etc/group", 0o644, 0, []byte(group)},
		{"etc/passwd", 0o644, 0, []byte(passwd)},
		{"home/", 0o755, 0, nil},
		{"home/cronring/", 0o750, nobody, nil},
		{"tmp/", 0o1777, 0, nil},
		{"usr/", 0o755, 0, nil},
		{"usr/bin/", 0o755, 0, nil},
	}
	for _, name := range []string{"cronring", "cronringd"} {
		program, err := os.ReadFile(filepath.Join(bin, name))
		if err != nil {
			return nil, fmt.Errorf("read program: %w", err)
		}
		root = append(root, file{"usr/bin/" + name, 0o755, 0, program})
	}
	return append(root,
		file{"var/", 0o755, 0, nil},
		file{"var/lib/", 0o755, 0, nil},
		file{"var/lib/cronring/", 0o700, nobody, nil},
	), nil
}

// tarball returns the files as a tar archive, all with the same modification time.
func tarball(files []file, made time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		h := &tar.Header{Name: f.path, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.data)), ModTime: made, Typeflag: tar.TypeReg}
		if f.path[len(f.path)-1] == '/' {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}

func gzipped(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(data); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}
