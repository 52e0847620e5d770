package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"path"
	"path/filepath"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/atomicfile"
)

// Token is a [token.NAME]: the requests that the listener accepts with the secret in a file.
type Token struct {
	File   string
	Allow  []string
	Sum    [sha256.Size]byte `json:"-"` // of the secret
	Unread string            // why there is no secret
}

// The permissions of tokens.
const (
	AllowMetrics = "metrics"
	AllowRun     = "run:"  // and a job, or a pattern such as USER/*
	AllowEmit    = "emit:" // and an event, or a pattern of names
)

func checkAllow(text string) error {
	pattern, run := strings.CutPrefix(text, AllowRun)
	pattern, emit := strings.CutPrefix(pattern, AllowEmit)
	if _, err := path.Match(pattern, ""); text == AllowMetrics || run != emit && pattern != "" && err == nil {
		return nil
	}
	return fmt.Errorf("%s allows nothing: want \"metrics\", \"run:\" with a job, or \"emit:\" with an event, or with a pattern such as \"run:alice/*\"", diagnostic.Quote(text))
}

// IsLoopback reports whether an address has a loopback IP address.
func IsLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	return err == nil && net.ParseIP(host).IsLoopback()
}

func (r *reader) token(name string) Token {
	return element(&r.Tokens, name, Token{Unread: "it has no file"})
}

// setToken applies a key of [token.NAME]. A relative path begins at the directory of the
// configuration.
func (r *reader) setToken(name, key string, v value) (err error) {
	t := r.token(name)
	switch key {
	case "file":
		if t.File, err = v.text(); err == nil && !filepath.IsAbs(t.File) {
			t.File = filepath.Join(r.dir, t.File)
		}
	case "allow":
		t.Allow, err = v.texts()
		for _, text := range t.Allow {
			err = errors.Join(err, checkAllow(text))
		}
	default:
		return errUnknown
	}
	if err == nil {
		r.Tokens[name] = t
	}
	return err
}

// minSecret is the minimum length of a secret, so that it cannot be guessed.
const minSecret = 20

// ReadTokens reads the files of tokens. A token without a secret of its own is not valid.
func (c *Config) ReadTokens() {
	names := map[[sha256.Size]byte]string{} // of valid tokens
	for _, name := range sortedKeys(c.Tokens) {
		t := c.Tokens[name]
		if t.File == "" {
			continue
		}
		secret, err := atomicfile.ReadTrusted(t.File, maxFile, atomicfile.Readable)
		secret = strings.TrimSpace(secret)
		if err != nil {
			err = fmt.Errorf("%s: %w", t.File, err)
		} else if len(secret) < minSecret {
			err = fmt.Errorf("the secret has fewer than %d characters", minSecret)
		}
		t.Sum, t.Unread = sha256.Sum256([]byte(secret)), ""
		if other := names[t.Sum]; err == nil && other != "" {
			err = fmt.Errorf("it has the same secret as token.%s", other)
		}
		if err != nil {
			t.Unread = err.Error()
		} else {
			names[t.Sum] = name
		}
		c.Tokens[name] = t
	}
}

func (r *reader) finishListen() {
	r.ReadTokens()
	warn := func(key string, code diagnostic.Code, message, fix string) {
		at := r.position(key)
		r.Diagnostics = append(r.Diagnostics, diagnostic.Diagnostic{
			File: at.File, Line: at.Line, Severity: diagnostic.Warning, Code: code, Message: message, Fix: fix,
		})
	}
	for _, name := range sortedKeys(r.Tokens) {
		if err := option.CheckName(name); err != nil {
			r.report(r.position("token."+name), unknown, "token."+diagnostic.Quote(name)+": "+err.Error(), "choose another name")
			delete(r.Tokens, name)
		} else if t := r.Tokens[name]; t.Unread != "" {
			warn("token."+name, UnusableToken, "token."+name+" is not valid: "+t.Unread, "create a secret that only root can read: umask 077; openssl rand -hex 32 > FILE")
		}
	}
	if a := r.Listen; a != "" && !IsLoopback(a) {
		warn("listen.address", OpenListener, "listen.address "+diagnostic.Quote(a)+" is not loopback: tokens travel over the network unencrypted", "listen on 127.0.0.1 and put a reverse proxy with TLS in front of it")
	}
}

// address reads an IP address with a port.
func (v value) address() (string, error) {
	text, err := v.text()
	if err != nil || text == "" {
		return "", err
	}
	host, port, err := net.SplitHostPort(text)
	if err != nil || net.ParseIP(host) == nil || port == "" || strings.Trim(port, "0123456789") != "" {
		return "", errors.New(`want an IP address and a port between quotes: "127.0.0.1:8623"`)
	}
	return text, nil
}
