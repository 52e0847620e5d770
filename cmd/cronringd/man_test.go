package main

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"testing"
)

// The page has every flag of the program and no other.
func TestManPageHasTheFlags(t *testing.T) {
	page, err := os.ReadFile("../../man/cronringd.8")
	if err != nil {
		t.Fatal(err)
	}
	var help bytes.Buffer
	if status := run([]string{"--help"}, nil, &help); status != 0 {
		t.Errorf("--help: exit status %d", status)
	}
	inHelp := flagsIn(regexp.MustCompile(`(?m)^ +--([a-z-]+)`), help.Bytes())
	inPage := flagsIn(regexp.MustCompile(`(?m)^\.It Fl -([a-z-]+)`), page)
	if !slices.Equal(inHelp, inPage) {
		t.Errorf("flags of the program: %q, of the page: %q", inHelp, inPage)
	}
}

func flagsIn(pattern *regexp.Regexp, text []byte) (flags []string) {
	for _, m := range pattern.FindAllSubmatch(text, -1) {
		flags = append(flags, string(m[1]))
	}
	slices.Sort(flags)
	return flags
}
