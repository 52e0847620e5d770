//go:build ignore

// Writes the copyright file of packages: cronring's licence, and the licences of all modules that
// are linked into the given programs, copied verbatim from the sources that were built.
//
//	go run packaging/copyright.go [-debian] PROGRAM...
//
// With -debian, licences that every Debian system has are named instead of printed. It is an error
// if a module has no licence that is known to permit redistribution.
package main

import (
	"bytes"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// source is a linked module, or Go itself, and the directory of its source.
type source struct{ Path, Version, Dir string }

// kinds are the licences that permit redistribution, with patterns to recognise them. The first
// match counts.
var kinds = []struct{ name, words string }{
	{"Apache-2.0", `Apache License\s+Version 2\.0`},
	{"MPL-2.0", `Mozilla Public License,? [Vv]ersion 2\.0`},
	{"BSD-3-Clause", `Redistribution and use in source and binary forms(?s:.*)(Neither the name|names? of (its|the) contributors|name of any author)`},
	{"BSD-2-Clause", `Redistribution and use in source and binary forms`},
	{"MIT", `(?i)permission is hereby granted, free of charge`},
}

// commonLicences are in the directory of that name of every Debian.
const commonLicences = "/usr/share/common-licenses/"

var common = []string{"Apache-2.0", "MPL-2.0"}

// wholeGPL matches the GPL at the end of a licence that offers it as an alternative.
var wholeGPL = regexp.MustCompile(`(?s)[ \t]*GNU GENERAL PUBLIC LICENSE\s+Version 2, June 1991.*`)

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents)([-.].*)?$`)

func main() {
	debian := flag.Bool("debian", false, "name the licences that every Debian has")
	flag.Parse()
	var out bytes.Buffer
	if err := write(&out, flag.Args(), *debian); err != nil {
		fmt.Fprintln(os.Stderr, "copyright:", err)
		os.Exit(1)
	}
	os.Stdout.Write(out.Bytes())
}

func write(out io.Writer, programs []string, debian bool) error {
	own, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	linked, err := linkedInto(programs)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "cronring, https://github.com/cronring/cronring\n\n%s\n", own)
	fmt.Fprintf(out, "The programs are linked with what follows. The source of each module is at\nhttps://proxy.golang.org/MODULE/@v/VERSION.zip, that of Go at https://go.dev/dl/.\n")
	for _, s := range linked {
		if err := describe(out, s, debian); err != nil {
			return fmt.Errorf("describe the licence of %s: %w", s.Path, err)
		}
	}
	return nil
}

// linkedInto returns Go and all modules that are linked into the programs, by path.
func linkedInto(programs []string) ([]source, error) {
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find Go: %w", err)
	}
	all := []source{{"Go", runtime.Version(), strings.TrimSpace(string(goroot))}}
	args := []string{"list", "-m", "-json=Path,Version,Dir"}
	for _, program := range programs {
		info, err := buildinfo.ReadFile(program)
		if err != nil {
			return nil, err
		}
		for _, dep := range info.Deps {
			if module := dep.Path + "@" + dep.Version; !slices.Contains(args, module) {
				args = append(args, module)
			}
		}
	}
	slices.Sort(args[3:])
	list, err := exec.Command("go", args...).Output()
	if err != nil {
		return nil, fmt.Errorf("find the modules: %w", err)
	}
	for d := json.NewDecoder(bytes.NewReader(list)); ; {
		var s source
		switch err := d.Decode(&s); {
		case errors.Is(err, io.EOF):
			return all, nil
		case err != nil:
			return nil, err
		}
		all = append(all, s)
	}
}

// describe prints the licences and notices of one module.
func describe(out io.Writer, s source, debian bool) error {
	entries, err := os.ReadDir(s.Dir)
	if err != nil {
		return err
	}
	var texts []string
	known := ""
	for _, e := range entries {
		if e.IsDir() || !licenceFile.MatchString(e.Name()) || filepath.Ext(e.Name()) == ".go" {
			continue
		}
		text, err := os.ReadFile(filepath.Join(s.Dir, e.Name()))
		if err != nil {
			return err
		}
		kind := kindOf(text)
		if known == "" {
			known = kind
		}
		if debian && slices.Contains(common, kind) {
			text = []byte(kind + ", see " + commonLicences + kind + "\n")
		}
		if debian {
			text = wholeGPL.ReplaceAllLiteral(text, []byte("see "+commonLicences+"GPL-2\n"))
		}
		texts = append(texts, string(text))
	}
	if known == "" {
		return errors.New("it has none that is known to allow this")
	}
	fmt.Fprintf(out, "\n%s\n%s %s: %s\n\n%s", strings.Repeat("-", 72), s.Path, s.Version, known, strings.Join(texts, "\n"))
	return nil
}

func kindOf(text []byte) string {
	for _, k := range kinds {
		if regexp.MustCompile(k.words).Match(text) {
			return k.name
		}
	}
	return ""
}
