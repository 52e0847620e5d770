package main

import "github.com/spf13/cobra"

// newTopics are the topics of help: commands without a Run.
func newTopics() []*cobra.Command {
	return []*cobra.Command{
		newExitCodes(),
		{
			Use:   "environment",
			Short: "The environment variables that cronring reads",
			Long: `cronring reads these environment variables:

  CRONRING_HOST      the host of the daemon, like -H
  CRONRING_SOCKET    the daemon's socket, like --socket
  CRONRING_OUTPUT    the output format, like -o
  CRONRING_COLOR     when to use colour, like --color
  CRONRING_GLYPHS    symbols: full or ascii; default: by the locale
  CRONRING_AMBIGUOUS 2 if the terminal draws box characters two cells wide
  CRONRING_THEME     the dashboard's colours: ansi, dark, light or cvd
  CRONRING_ANIMATION off: nothing on the dashboard moves by itself
  CRONRING_PAGER     the pager of help, history and logs; cat for none
  CRONRING_EDITOR    the editor of cronring edit
  CRONRING_NO_INPUT  if not empty, cronring asks no questions, like --no-input
  CRONRING_TIMEOUT   like --timeout
  CRONRING_DEBUG     if neither empty nor 0, cronring prints each request to the
                     daemon, with its duration, to standard error

  NO_COLOR           if not empty, no colour
  CLICOLOR_FORCE     if neither empty nor 0, colour even without a terminal
  TERM               no colour if it is dumb
  COLORTERM, PAGER, LESS, VISUAL, EDITOR, TZ, LANG, LC_ALL, LC_CTYPE,
  XDG_CONFIG_HOME, XDG_STATE_HOME, HOME

A flag overrides a variable, CRONRING_COLOR overrides NO_COLOR, and NO_COLOR
overrides CLICOLOR_FORCE. Secrets are never read from flags or variables. To see
the environment of a job: cronring config env JOB`,
		},
		{
			Use:   "formatting",
			Short: "Output formats, and how to select fields",
			Long: `Output formats, selected by -o:

  table   for people, as wide as the terminal; the default on a terminal
  wide    the same without truncated columns
  plain   tabs between fields, times in RFC 3339; the default elsewhere
  text    a page to read
  json    one document, with "v":1; fields are added, never renamed
  jsonl   one document per line
  name    only names or numbers

--json prints JSON, --json=FIELDS only these fields, and --json=? the names of
all fields. job.id is the field id in the object job. If the result is a list,
FIELDS are fields of its items. --jq EXPR filters the document through a jq
expression. list --fields selects the columns of the table in the same way, and
-o custom-columns also sets their titles:

  cronring list --json=job.id,state,next
  cronring list --fields=job,state,job.zone
  cronring list -o custom-columns=JOB:job,ZONE:job.zone
  cronring list --jq '.jobs[] | select(.state == "failing") | .job.id'`,
		},
		{
			Use:   "accessibility",
			Short: "How to use cronring without colours, symbols or a changing screen",
			Long: `Colour, position and motion never carry information alone: there is always a word too.

  --color never, or NO_COLOR=1   no colour
  CRONRING_GLYPHS=ascii          ASCII symbols only
  -o plain                       one line per item, with tabs, no drawing
  cronring top --plain           the dashboard as lines of text, for screen readers

Every screen of the dashboard has a command that prints the same in words. No
command moves the cursor or redraws lines, except with -w on a terminal.`,
		},
	}
}
