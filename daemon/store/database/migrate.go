package database

import (
	"context"
	"embed"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

//go:embed schema/*.sql
var schemas embed.FS

// suffixes are the files that make up one database.
var suffixes = []string{"", "-wal", "-shm"}

// checkTime bounds the check of a big database at start: a daemon that reads
// gigabytes before its first job is worse than damage that is found later.
const checkTime = 250 * time.Millisecond

// createPrivate ensures that the file exists and that only its owner can read it; SQLite would
// apply the umask. The files next to it inherit its mode. It must happen before SQLite opens the
// file, because closing any descriptor of it would release SQLite's locks.
func createPrivate(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	return errors.Join(f.Chmod(0o600), f.Close())
}

// setAside renames a damaged database and returns its new name. The shared
// memory file is of no use to anyone.
func setAside(path string, now time.Time) (string, error) {
	aside := path + ".damaged-" + now.UTC().Format("20060102T150405.000Z")
	for _, suffix := range suffixes[:2] {
		if err := os.Rename(path+suffix, aside+suffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("set damaged database aside: %w", err)
		}
	}
	if err := os.Remove(path + suffixes[2]); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("set damaged database aside: %w", err)
	}
	return aside, nil
}

// check looks for damage for as long as checkTime allows.
func (w *Writer) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	found, err := w.Value(ctx, "PRAGMA quick_check(1)")
	if errors.Is(err, context.DeadlineExceeded) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("check database: %w", err)
	}
	if found != "ok" {
		return &damageError{found: fmt.Sprint(found)}
	}
	return nil
}

// schemaSteps lists the steps from an empty database to the newest schema.
func schemaSteps() ([]string, error) {
	steps, err := fs.Glob(schemas, "schema/*.sql")
	if err != nil {
		return nil, fmt.Errorf("list schema: %w", err)
	}
	return steps, nil
}

// Outdated reports whether Open has to upgrade the database in DIR first, and the
// size of its file: with 10 million runs, 2.5 GB, the steps from 0.7 on take a minute of processor.
func Outdated(dir string) (size int64, outdated bool) {
	const versionAt, headerSize = 60, 64 // see https://sqlite.org/fileformat.html
	var header [headerSize]byte
	f, err := os.Open(filepath.Join(dir, fileName))
	if err != nil {
		return 0, false
	}
	defer f.Close()
	info, err := f.Stat()
	if _, short := io.ReadFull(f, header[:]); err != nil || short != nil {
		return 0, false
	}
	steps, err := schemaSteps()
	version := int(binary.BigEndian.Uint32(header[versionAt:])) // 0 if the schema is still in the write-ahead log
	return info.Size(), err == nil && version > 0 && version < len(steps)
}

// migrate brings the schema up to date, one transaction for each step.
func (w *Writer) migrate(ctx context.Context, path string) error {
	steps, err := schemaSteps()
	if err != nil {
		return err
	}
	version, err := w.Value(ctx, "PRAGMA user_version")
	if err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	have := int(version.(int64))
	if have > len(steps) {
		return &NewerError{Path: path, Schema: have, Known: len(steps)}
	}
	for i := have; i < len(steps); i++ {
		if err := w.apply(ctx, steps[i], i+1); err != nil {
			return fmt.Errorf("migrate to %s: %w", filepath.Base(steps[i]), err)
		}
	}
	return nil
}

func (w *Writer) apply(ctx context.Context, step string, version int) error {
	text, err := schemas.ReadFile(step)
	if err != nil {
		return err
	}
	return w.transact(func() error {
		return w.Script(ctx, fmt.Sprintf("%s\nPRAGMA user_version = %d;", text, version))
	})
}
