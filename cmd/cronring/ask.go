package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// input is where questions are answered.
type input struct {
	in      io.Reader
	noInput bool // --no-input
}

// asksPerson tells whether somebody sits before a terminal.
func (a *app) asksPerson() bool {
	if a.noInput {
		return false
	}
	in, ok := a.in.(*os.File)
	talk, talks := a.err.(*os.File)
	return ok && talks && isTerminal(in) && isTerminal(talk)
}

// ask puts a question and reads one line.
func (a *app) ask(question string) string {
	a.out.Flush()
	fmt.Fprint(a.err, question)
	answer, _ := readAnswer(a.in)
	return answer
}

// readAnswer reads one line byte by byte, as what follows may be the editor's.
func readAnswer(in io.Reader) (string, bool) {
	var line []byte
	one := make([]byte, 1)
	for len(line) < longestAnswer {
		n, err := in.Read(one)
		if n == 1 && one[0] == '\n' {
			return strings.TrimSpace(string(line)), true
		}
		if n == 1 {
			line = append(line, one[0])
		}
		if err != nil {
			return strings.TrimSpace(string(line)), len(line) > 0
		}
	}
	return "", false
}

// longestAnswer is longer than any answer.
const longestAnswer = 1 << 10

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}
