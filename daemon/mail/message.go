package mail

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cronring/cronring/daemon/job"
)

// Text returns the whole message. Output that cannot be read to its end is sent as
// far as it goes.
func (l *Message) Text() []byte {
	body, err := io.ReadAll(io.LimitReader(l.Body, MaxBody+1))
	over := len(body) > MaxBody
	body = body[:min(len(body), MaxBody)]
	if l.dropCR {
		body = bytes.ReplaceAll(body, []byte("\r"), nil)
	}
	message := slices.Concat(l.Header, body)
	switch {
	case err != nil:
		return append(message, "\n[cronring: the rest of the output cannot be read: "+visible(err.Error())+"]\n"...)
	case !over:
		return append(message, l.tail...)
	case !bytes.HasSuffix(message, []byte("\n")):
		message = append(message, '\n')
	}
	return append(message, l.cut...)
}

// Close releases output that will not be read.
func (l *Message) Close() {
	if c, ok := l.Body.(io.Closer); ok {
		_ = c.Close() // it was read, or is not wanted
	}
}

// Excerpt returns the first bytes of what a mailer printed, as one line.
func Excerpt(output string) string {
	return job.Cut(visible(strings.Join(strings.Fields(output), " ")), 300)
}

// Ready reports whether the mailer is there now.
func (c Config) Ready() bool {
	argv := mailer(c, Report{}, "", "")
	return len(argv) > 0 && Installed(argv[0])
}

// Installed looks for a program where execvp would with the path of administrators.
func Installed(name string) bool {
	if strings.Contains(name, "/") {
		return executable(name)
	}
	for _, dir := range []string{"/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"} {
		if executable(filepath.Join(dir, name)) {
			return true
		}
	}
	return false
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
