package notify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"strings"

	"github.com/cronring/cronring/daemon/outbox"
)

// Program is one run of a channel's command.
type Program struct {
	User  string // whom it runs as
	Argv  []string
	Env   []string // beside what the account itself brings: HOME, LOGNAME, USER, SHELL, PATH
	Stdin []byte
}

// run passes a message to a channel's program once.
func (n *Notifier) run(ctx context.Context, c *Channel, m *Message) *outbox.Failure {
	text, err := m.json()
	if err != nil {
		return &outbox.Failure{Why: err.Error(), Final: true}
	}
	outcome, errput, err := n.options.Run(ctx, Program{
		User: cmp.Or(c.User, Nobody), Argv: c.Command, Env: m.environ(), Stdin: append(text, '\n'),
	})
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &outbox.Failure{Why: "the program did not end in time and was killed", Silent: true}
	case err != nil:
		return failed(err)
	case !outcome.OK():
		return &outbox.Failure{Why: "the program ended with " + outcome.String(), Response: hint(errput)}
	}
	return nil
}

// hint returns the start of a program's error output, as one line.
func hint(output []byte) string {
	const most = 300
	words := bytes.Join(bytes.Fields(output), []byte(" "))
	text := oneLine(strings.ToValidUTF8(string(words[:min(len(words), most)]), ""))
	if len(words) > most {
		text += "…"
	}
	return text
}
