package main

import (
	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
)

// newTopics are the topics of help: commands without a Run.
func newTopics(a *cli.App) []*cobra.Command {
	return []*cobra.Command{
		newExitCodes(),
		{
			Use:   "environment",
			Short: "Which variables have an effect",
			Long: `Variables that have an effect:

  CRONRING_HOST      the host whose daemon is asked, as -H
  CRONRING_SOCKET    the daemon's socket, as --socket
  CRONRING_OUTPUT    the form of results that can have it, as -o
  CRONRING_COLOR     when to use colour, as --color
  CRONRING_GLYPHS    signs: full, safe (no braille) or ascii; else by the locale
  CRONRING_AMBIGUOUS 2 if the terminal draws box characters two cells wide
  CRONRING_THEME     the dashboard's colours: ansi, dark, light or cvd
  CRONRING_ANIMATION off for a dashboard on which nothing moves by itself
  CRONRING_PAGER     what help, history and logs are paged with; cat for nothing
  CRONRING_EDITOR    the editor of cronring edit
  CRONRING_NO_INPUT  if not empty, no question is asked, as --no-input
  CRONRING_TIMEOUT   as --timeout
  CRONRING_DEBUG     if neither empty nor 0, each request to the daemon and how long
                     it took are told on standard error

  NO_COLOR           if not empty, no colour
  CLICOLOR_FORCE     if neither empty nor 0, colour even without a terminal
  TERM               no colour if it is dumb
  COLORTERM, PAGER, LESS, VISUAL, EDITOR, TZ, LANG, LC_ALL, LC_CTYPE,
  XDG_CONFIG_HOME, XDG_STATE_HOME, HOME

A flag goes before a variable, CRONRING_COLOR before NO_COLOR, and that before
CLICOLOR_FORCE. Secrets are never taken from flags or variables. What a job
finds in its environment tells: cronring config env JOB`,
		},
		{
			Use:   "formatting",
			Short: "The forms of results, and how to choose from them",
			Long: `Forms of results, by -o:

  table   for eyes, as wide as the terminal; the default there
  wide    the same with nothing cut
  plain   tabs between fields, times in RFC 3339; the default where the result
          is no terminal
  text    a page to read
  json    one document, with "v":1; fields are added, never renamed
  jsonl   one document on each line
  name    names or numbers alone

--json prints JSON, --json=FIELDS only these fields of it, and --json=? their
names; job.id is the field id within job. Where the result is a list, the fields are those of
its items. --jq EXPR sends the document through an expression of jq. --fields
of list chooses the columns of a table so, and custom-columns their titles too:

  cronring list --json=job.id,state,next
  cronring list --fields=job,state,job.zone
  cronring list -o custom-columns=JOB:job,ZONE:job.zone
  cronring list --jq '.jobs[] | select(.state == "failing") | .job.id'`,
		},
		{
			Use:   "accessibility",
			Short: "How to use cronring without colours, signs or a moving screen",
			Long: `Nothing is told by colour, position or motion alone: a word stands beside it.

  --color never, or NO_COLOR=1   no colour
  CRONRING_GLYPHS=ascii          signs of ASCII alone
  -o plain                       one line for each thing, with tabs, no drawing
  cronring top --plain           the dashboard as lines of text, for readers of screens

Every screen of the dashboard has a command that says the same in words; no
command moves the cursor or draws anew what was there, but for -w on a terminal.`,
		},
	}
}
