package crontab

import (
	"strings"

	"github.com/cronring/cronring/crontab/lex"
)

// longestAddress keeps each address on one header line that no mail transfer
// agent breaks.
const longestAddress = 900

// InvalidAddress returns the offset of the first byte that the crons of a family do not accept in the
// addresses of MAILTO and MAILFROM, or -1: a header and a command line get them. They accept a letter
// or a digit first, then also a few other characters. Parts between commas must be short, so that no
// mail agent breaks them into header lines.
func InvalidAddress(text string, family Family) int {
	others := "@!:%-.,_+=/"
	if family == RHEL {
		others = "@!:%-.,_+"
	}
	for i := range len(text) {
		c := text[i]
		if !lex.IsLetter(c) && (c < '0' || c > '9') && (i == 0 || strings.IndexByte(others, c) < 0) {
			return i
		}
	}
	at := 0
	for address := range strings.SplitSeq(text, ",") {
		if len(address) > longestAddress {
			return at
		}
		at += len(address) + 1
	}
	return -1
}
