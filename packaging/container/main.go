// Command container is the writer of the container image, an OCI archive with the two static programs:
// it needs no container engine, and writes the same bytes each time.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	var (
		from    = flag.String("bin", "bin", "the `directory` that has cronring and cronringd")
		to      = flag.String("o", "", "the archive to write, a `file`")
		name    = flag.String("name", "localhost/cronring", "the image's `name`, without a tag")
		version = flag.String("version", "", "of the programs, and the image's `tag`")
		arch    = flag.String("arch", "amd64", "that the programs were built for, in Go's `word`")
		epoch   = flag.Int64("epoch", 0, "all times in the image: `seconds` since 1970")
	)
	flag.Parse()
	if *to == "" || *version == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "usage: container -version VERSION -o FILE [flags]")
		flag.PrintDefaults()
		os.Exit(2)
	}
	i := image{name: *name, version: *version, arch: *arch, made: time.Unix(*epoch, 0).UTC()}
	if err := run(i, *from, *to); err != nil {
		fmt.Fprintln(os.Stderr, "container:", err)
		os.Exit(1)
	}
}

func run(i image, from, to string) error {
	root, err := rootFiles(from)
	if err != nil {
		return err
	}
	var archive bytes.Buffer
	if err := i.write(&archive, root); err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	if err := os.WriteFile(to, archive.Bytes(), 0o644); err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	return nil
}
