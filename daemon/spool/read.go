package spool

import (
	"io"
	"os"
	"strings"

	"github.com/cronring/cronring/crontab"
)

// Read reads a crontab into one string, in one allocation for a regular file.
// Of a file that is larger than any crontab may be it reads just enough for
// crontab.Parse to see that.
func Read(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	var b strings.Builder
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		b.Grow(int(min(info.Size(), crontab.MaxText)))
	}
	_, err = io.Copy(&b, io.LimitReader(f, crontab.MaxText+1))
	return b.String(), err
}
