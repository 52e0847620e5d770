package cli

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// input is the source of answers to questions.
type input struct {
	In      io.Reader
	NoInput bool // --no-input
}

// CanAsk reports whether input and messages are a terminal and questions are allowed.
func (a *App) CanAsk() bool {
	if a.NoInput {
		return false
	}
	in, ok := a.In.(*os.File)
	messages, isFile := a.Err.(*os.File)
	return ok && isFile && IsTerminal(in) && IsTerminal(messages)
}

// Ask puts a question and reads one line.
func (a *App) Ask(question string) string {
	a.Out.Flush()
	fmt.Fprint(a.Err, question)
	answer, _ := ReadAnswer(a.In)
	return answer
}

// ReadAnswer reads one line byte by byte, as what follows may be the editor's. It returns false at
// the end of the input.
func ReadAnswer(in io.Reader) (string, bool) {
	var line []byte
	one := make([]byte, 1)
	for {
		n, err := in.Read(one)
		whole := n == 1 && one[0] == '\n'
		if n == 1 && len(line) < maxAnswer {
			line = append(line, one[0])
		}
		if whole || err != nil {
			return strings.TrimSpace(string(line)), len(line) > 0
		}
	}
}

// maxAnswer limits what is kept of a line, in bytes.
const maxAnswer = 4 << 10

// IsTerminal reports whether f is a terminal.
func IsTerminal(f *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ) // every terminal has a size, if only 0
	return err == nil
}
