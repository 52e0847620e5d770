package crontab

// blanks are the bytes that separate words: blank and tab.
const blanks = " \t"

// byteOrderMark is the byte order mark of UTF-8.
const byteOrderMark = "\ufeff"

// isBlank reports whether c separates words.
func isBlank(c byte) bool { return c == ' ' || c == '\t' }

// skipBlanks returns the first byte of line from at that is not a blank.
func skipBlanks(line string, at int) int {
	for at < len(line) && isBlank(line[at]) {
		at++
	}
	return at
}

// wordEnd returns the end of the word at byte at.
func wordEnd(line string, at int) int {
	for at < len(line) && !isBlank(line[at]) {
		at++
	}
	return at
}

// isLetter reports whether c is a letter of ASCII.
func isLetter(c byte) bool { return c|0x20-'a' < 26 }

// isIdentifier reports whether name can be the name of a variable of a shell.
func isIdentifier(name string) bool {
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	for i := range len(name) {
		if !isIdentifierByte(name[i]) {
			return false
		}
	}
	return true
}

// isIdentifierByte reports whether c can be in the name of a variable.
func isIdentifierByte(c byte) bool { return c == '_' || isLetter(c) || c >= '0' && c <= '9' }
