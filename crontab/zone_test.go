package crontab

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const zoneDir = "../testdata/tz"

// zoneFile loads one compiled zone; form is slim or fat.
func zoneFile(t testing.TB, form, name string) *time.Location {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(zoneDir, form, name))
	if err != nil {
		t.Fatal(err)
	}
	loc, err := time.LoadLocationFromTZData(name, data)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

// zoneFiles loads both forms of a zone, by form.
func zoneFiles(t testing.TB, name string) map[string]*time.Location {
	t.Helper()
	return map[string]*time.Location{"slim": zoneFile(t, "slim", name), "fat": zoneFile(t, "fat", name)}
}

// zoneNames lists the zones that have files.
func zoneNames(t testing.TB) []string {
	t.Helper()
	var names []string
	root := filepath.Join(zoneDir, "slim")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, strings.TrimPrefix(path, root+"/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}
