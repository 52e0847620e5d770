// Package lex owns the division of a line of a crontab into words. The parsers of time fields and of
// lines share it.
package lex

import "strings"

// Blanks are the bytes that separate words: blank and tab.
const Blanks = " \t"

// ByteOrderMark is the byte order mark of UTF-8.
const ByteOrderMark = "\ufeff"

// IsBlank reports whether c separates words.
func IsBlank(c byte) bool { return c == ' ' || c == '\t' }

// SkipBlanks returns the first byte of line from at that is not a blank.
func SkipBlanks(line string, at int) int {
	for at < len(line) && IsBlank(line[at]) {
		at++
	}
	return at
}

// WordEnd returns the end of the word at byte at.
func WordEnd(line string, at int) int {
	for at < len(line) && !IsBlank(line[at]) {
		at++
	}
	return at
}

// Words returns the words of text. Other than strings.Fields, it does not divide at bytes such as \f
// and \v, which are part of a word in a crontab.
func Words(text string) []string {
	return strings.FieldsFunc(text, func(c rune) bool { return c == ' ' || c == '\t' })
}

// IsLetter reports whether c is a letter of ASCII.
func IsLetter(c byte) bool { return c|0x20-'a' < 26 }

// IsIdentifier reports whether name can be the name of a variable of a shell.
func IsIdentifier(name string) bool {
	if name == "" || name[0] >= '0' && name[0] <= '9' {
		return false
	}
	for i := range len(name) {
		if !IsIdentifierByte(name[i]) {
			return false
		}
	}
	return true
}

// IsIdentifierByte reports whether c can be in the name of a variable.
func IsIdentifierByte(c byte) bool { return c == '_' || IsLetter(c) || c >= '0' && c <= '9' }

// LooksLikeAccount reports whether word could be a user of some host or of a
// directory service (DOMAIN\bob, bob@example.org).
func LooksLikeAccount(word string) bool {
	for i := range len(word) {
		if c := word[i]; !IsIdentifierByte(c) && c < 0x80 && c != '-' && c != '.' && c != '$' && c != '@' && c != '\\' && c != '+' {
			return false
		}
	}
	return word[0] != '$' && word[0] != '.'
}
