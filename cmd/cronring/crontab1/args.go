package crontab1

import (
	"fmt"
	"strings"
)

// operation is the action that crontab(1) is called for.
type operation byte

const (
	opReplace operation = 0
	opList    operation = 'l'
	opEdit    operation = 'e'
	opRemove  operation = 'r'
	opTest    operation = 'T'
	opVersion operation = 'V'
	opHelp    operation = 'h'
)

// crontabArgs is a command line of crontab(1), in the grammar of getopt(3).
type crontabArgs struct {
	op   operation
	user string // "": the caller
	ask  bool   // -i
	dry  bool   // -n of Debian's cron
	file string // "-" is standard input
}

// Parse reads a command line. It accepts the options of both crons on every host, except for -n,
// which means different things in each.
func (c *Program) Parse(args []string) (a crontabArgs, err error) {
	var operands []string
	for i := 0; i < len(args); i++ {
		word := args[i]
		if word == "--" {
			operands = append(operands, args[i+1:]...)
			break
		}
		if len(word) < 2 || word[0] != '-' {
			operands = append(operands, word)
			continue
		}
		for at := 1; at < len(word); at++ {
			if word[at] != 'u' && word[at] != 'x' {
				if err := c.option(&a, word[at]); err != nil {
					return a, err
				}
				continue
			}
			value := word[at+1:]
			if value == "" {
				if i++; i == len(args) {
					return a, c.usageError(fmt.Sprintf("crontab: option requires an argument -- '%c'\n", word[at]), "unrecognized option")
				}
				value = args[i]
			}
			if word[at] == 'u' {
				a.user = value
			}
			break
		}
	}
	if a.op == opHelp || a.op == opVersion {
		return a, nil
	}
	return a, c.operands(&a, operands, len(args) == 0)
}

// option applies an option that has no value.
func (c *Program) option(a *crontabArgs, letter byte) error {
	switch letter {
	case 'l', 'e', 'r', 'T', 'V', 'h':
		if a.op != opReplace && a.op != operation(letter) {
			return c.usageError("", "only one operation permitted")
		}
		a.op = operation(letter)
	case 'i':
		a.ask = true
	case 'b', 's': // no copy in ~/.cache is made anyway, and SELinux needs no word
	case 'n':
		if !c.debian() {
			return errCluster
		}
		a.dry = true
	case 'c':
		return errCluster
	default:
		return c.usageError(fmt.Sprintf("crontab: invalid option -- '%c'\n", letter), "unrecognized option")
	}
	return nil
}

// errCluster refers users of cronie's two options for several hosts to the ring, which does more.
var errCluster = messageError{"crontab: -n and -c of cronie's clusters are not understood here: jobs of several hosts are the business of cronringd's ring"}

// operands applies the arguments that are not options: the file of a new crontab.
func (c *Program) operands(a *crontabArgs, operands []string, bare bool) error {
	switch {
	case a.op != opReplace && a.op != opTest:
		if len(operands) > 0 {
			return c.usageError("", "no arguments permitted after this option")
		}
	case len(operands) > 1:
		return c.usageError("", "only one file name permitted")
	case len(operands) == 1:
		a.file = operands[0]
	case bare:
		a.file = "-"
	default:
		return c.usageError("", "file name must be specified for replace")
	}
	if a.dry && a.op == opReplace {
		a.op = opTest
	}
	return nil
}

func (c *Program) usageError(before, what string) error {
	return errUsageShown{before + "crontab: usage error: " + what + "\n" + c.usage()}
}

func (c *Program) usage() string {
	text := `usage:	crontab [-u user] [-n] file
	crontab [ -u user ] [ -i ] { -e | -l | -r }

	-h	(displays this help message)

	file	(default operation is replace, per 1003.2)
	-n	(dry run: checks the syntax, then bails out)
	-T	(the same)
	-u user	(choose the user whose crontab is touched)

	-e	(edit user's crontab)
	-l	(list user's crontab)
	-r	(delete user's crontab; cronring undo brings it back)

	-i	(prompt before deleting user's crontab)
	-V	(print the version)
`
	if !c.debian() {
		text = strings.Replace(text, "[-n] file", "[-T] file", 1)
		text = strings.Replace(text, "	-n	(dry run: checks the syntax, then bails out)\n	-T	(the same)\n", "	-T	(test: checks the syntax, then bails out)\n", 1)
	}
	return text
}
