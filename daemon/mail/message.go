package mail

import (
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Text returns the whole message. Output that cannot be read to its end is sent as
// far as it goes.
func (l *Message) Text() []byte {
	message := append([]byte(nil), l.Header...)
	body, err := io.ReadAll(io.LimitReader(l.Body, MaxBody+1<<10))
	message = append(message, body...)
	if err != nil {
		message = append(message, "\n[cronring: the rest of the output cannot be read: "+visible(err.Error())+"]\n"...)
	}
	return message
}

// Close releases output that will not be read.
func (l *Message) Close() { _ = closeOutput(l.Body) } // it was read, or is not wanted

// Excerpt returns the first bytes of what a mailer printed, as one line.
func Excerpt(output string) string {
	return cut(visible(strings.Join(strings.Fields(output), " ")), 300)
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
