package option

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cronring/cronring/crontab/diagnostic"
)

// Isolation lists the things that an entry's runs cannot reach.
type Isolation struct {
	Sandbox   Sandbox
	NoNetwork bool
	ReadOnly  []string // further paths that a strict sandbox can read
	Write     []string // further paths that a sandbox can change

	Credentials []Credential // each ID once
}

// Credential is a secret for a run.
type Credential struct {
	ID   string // the name of its file in $CREDENTIALS_DIRECTORY
	Path string // of the file with the secret
}

func (c Credential) String() string { return c.ID + ":" + c.Path }

// mostCredentials is the highest number of credentials of an entry.
const mostCredentials = 16

// parseCredentials reads ID:PATH,...
func parseCredentials(text string) ([]Credential, error) {
	return parseList(text, "credentials", mostCredentials, func(before []Credential, item string) (c Credential, err error) {
		id, file, ok := strings.Cut(item, ":")
		if !ok {
			return c, fmt.Errorf("%s is not ID:PATH", diagnostic.Quote(item))
		}
		if err := errors.Join(CheckName(id), checkOwnPath(file)); err != nil {
			return c, err
		}
		switch {
		case id[0] == '.':
			return c, fmt.Errorf("the ID %s begins with a dot", diagnostic.Quote(id))
		case slices.ContainsFunc(before, func(c Credential) bool { return c.ID == id }):
			return c, fmt.Errorf("%s is given twice", id)
		}
		return Credential{id, file}, nil
	})
}

// Sandbox is a set of restrictions of sandbox=.
type Sandbox uint8

// The sandboxes.
const (
	SandboxOff    Sandbox = iota
	SandboxBasic          // reads everything, changes only the home directory and temporary files
	SandboxStrict         // reads only the system's programs, changes only what write= names
)

var sandboxes = map[string]Sandbox{"off": SandboxOff, "basic": SandboxBasic, "strict": SandboxStrict}

// networks are the values of network=, true for none.
var networks = map[string]bool{"yes": false, "no": true}

func (s Sandbox) String() string { return [...]string{"off", "basic", "strict"}[s] }

// mostPaths is the highest number of paths of read-only= and of write=.
const mostPaths = 32

// isolate returns the isolation of the entry alone, to be changed.
func (p *Plan) isolate() *Isolation {
	if p.Isolation == nil {
		p.Isolation = &Isolation{}
	}
	return p.Isolation
}

// parsePaths reads paths with commas between them.
func parsePaths(text string) ([]string, error) {
	return parseList(text, "paths", mostPaths, func(_ []string, item string) (string, error) {
		return item, checkOwnPath(item)
	})
}

// checkOwnPath rejects paths that have another form too: the daemon compares them.
func checkOwnPath(text string) error {
	if _, err := parsePath(text); err != nil {
		return err
	}
	switch clean := path.Clean(text); {
	case text != clean:
		return fmt.Errorf("%s is not in its shortest form, %s", diagnostic.Quote(text), diagnostic.Quote(clean))
	case !utf8.ValidString(text):
		return fmt.Errorf("%s is not valid UTF-8", diagnostic.Quote(text))
	}
	return nil
}

// parseWritable rejects / because a sandbox with it restricts nothing.
func parseWritable(text string) ([]string, error) {
	paths, err := parsePaths(text)
	if slices.Contains(paths, "/") {
		return nil, errors.New("/ contains all files: name directories, or write `sandbox=off`")
	}
	return paths, err
}

// Contradiction returns a path of read-only= inside one of write=, or "". A sandbox can only add
// rights on the way down.
func (i *Isolation) Contradiction() string {
	for _, inner := range i.ReadOnly {
		for _, outer := range i.Write {
			if inner == outer || strings.HasPrefix(inner, outer+"/") {
				return inner
			}
		}
	}
	return ""
}
