package crontabs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/crontab1"
	"github.com/cronring/cronring/cmd/cronring/dashboard"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/draft"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// editFlags are the flags of edit.
type editFlags struct {
	changeFlags
	user   string
	editor string
	tui    bool
}

// NewEdit returns the command edit. root is that of dashboard.NewTop.
func NewEdit(a *cli.App, root func(*cli.App) *cobra.Command) *cobra.Command {
	f := &editFlags{}
	cmd := &cobra.Command{
		Use:   "edit [FILE] [--user U] [--editor CMD|--tui]",
		Short: "Edit a crontab, and see the effect before it is installed",
		Long: `Edit a crontab with your editor: your own, that of --user, or the one at FILE.

Before the file is installed you see new errors and warnings, and the jobs that it
adds, changes and removes. Then you install it, continue editing, or cancel. The
file does not change while you edit; a change by another user in the meantime is
reported, and not overwritten.

--tui uses the dashboard's editor, which shows for each line while you type when
it runs next, how often a year, and errors.

The editor is --editor, else $CRONRING_EDITOR, $VISUAL, $EDITOR, or the host's.`,
		Example: "  cronring edit\n  sudo cronring edit /etc/cron.d/etl --editor nano",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, _ := cli.Single(args)
			if f.tui {
				return editShown(a, cmd, root, file, f)
			}
			return edit(cmd.Context(), a, file, f)
		},
	}
	cmd.Flags().StringVarP(&f.user, "user", "u", "", "the crontab of the user `NAME`")
	cmd.Flags().StringVar(&f.editor, "editor", "", "edit with `COMMAND`")
	cmd.Flags().BoolVar(&f.tui, "tui", false, "edit in the dashboard, which looks at each line while it is typed")
	cmd.MarkFlagsMutuallyExclusive("editor", "tui")
	f.changeFlags.add(a, cmd)
	a.AddZone(cmd, "of the times")
	return cmd
}

// editShown opens the dashboard's editor.
func editShown(a *cli.App, cmd *cobra.Command, root func(*cli.App) *cobra.Command, file string, f *editFlags) error {
	if err := f.check(file); err != nil {
		return err
	}
	t, err := readCrontab(cmd.Context(), a.Daemon(), file, f.user)
	if err != nil {
		return err
	}
	return dashboard.Show(a, cmd, root, "files", t.File)
}

func (f *editFlags) check(file string) error {
	if file != "" && f.user != "" {
		return cli.UsageError("edit "+file+" of "+f.user, "a file already belongs to one user", "cronring edit "+display.Quote(file))
	}
	return nil
}

func edit(ctx context.Context, a *cli.App, file string, f *editFlags) error {
	if err := f.check(file); err != nil {
		return err
	}
	by, err := openCrontabs(ctx, a, &f.changeFlags)
	if err != nil {
		return err
	}
	c, err := openChange(ctx, by, file, f.user)
	if err != nil {
		return err
	}
	start := c.Old.Text
	if c.Old.Missing && c.config.Format == crontab.User {
		start = []byte(crontab1.FirstLines)
	}
	terminal := crontab1.New()
	if editor := cmp.Or(f.editor, os.Getenv("CRONRING_EDITOR")); editor != "" {
		terminal.Env = func(name string) string {
			if name == "VISUAL" {
				return editor
			}
			return os.Getenv(name)
		}
	}
	d, err := terminal.NewDraft(start)
	if err != nil {
		return editError(c, err)
	}
	defer d.Close()
	return editRounds(ctx, a, c, terminal, d, f)
}

// editError is an error of the part that is shared with crontab(1), in this
// program's form.
func editError(c *Change, err error) error {
	return &api.Error{What: "cannot edit " + c.Old.File, Why: strings.TrimPrefix(err.Error(), "crontab: ")}
}

// editRounds edits until the text is installed or given up. After trouble the
// draft stays, as it may be an hour's work.
func editRounds(ctx context.Context, a *cli.App, c *Change, terminal *crontab1.Program, d *crontab1.Draft, f *editFlags) error {
	for {
		if err := terminal.RunEditor(d); err != nil {
			return keepDraft(a, d, editError(c, err))
		}
		text, err := d.Read()
		if err != nil {
			return keepDraft(a, d, editError(c, err))
		}
		if bytes.Equal(text, d.Start) {
			a.Infof("%s stays as it is", display.Text(c.Old.File))
			return nil
		}
		c.draft = draft.New(string(text), c.config.Format)
		again, err := judgeDraft(ctx, a, c, f)
		switch {
		case again:
			continue
		case errors.Is(err, errGivenUp):
			a.Infof("%s stays as it is", display.Text(c.Old.File))
			return nil
		}
		return keepDraft(a, d, err)
	}
}

func keepDraft(a *cli.App, d *crontab1.Draft, err error) error {
	if err != nil {
		d.Keep = true
		a.Infof("what you wrote is in %s", display.Text(d.Path))
	}
	return err
}

// errGivenUp is a person's no.
var errGivenUp = errors.New("given up")

// judgeDraft shows the effect of the text and installs it. It reports whether the user
// wants to edit again.
func judgeDraft(ctx context.Context, a *cli.App, c *Change, f *editFlags) (again bool, err error) {
	blocked := showDraft(a, c)
	asks := a.CanAsk() && !f.yes && !f.dryRun
	if blocked != nil {
		if !asks {
			return false, blocked
		}
		a.Report(blocked)
		return choose(a, "edit again, or give up? (e/g) ", "e", "g") == "e", errGivenUp
	}
	if asks {
		switch choose(a, "install, edit again, or give up? (i/e/g) ", "i", "e", "g") {
		case "e":
			return true, nil
		case "g":
			return false, errGivenUp
		}
	}
	err = install(ctx, a, c.by, c.request(), &f.changeFlags)
	if api.KindOf(err) != api.Conflict || !asks {
		return false, err
	}
	a.Report(err)
	if choose(a, "install yours over it, or give up? (i/g) ", "i", "g") == "g" {
		return false, errGivenUp
	}
	now, err := c.by.CrontabText(ctx, c.Old.File, "")
	if err != nil {
		return false, err
	}
	c.Old.Sum = now.Sum
	return false, install(ctx, a, c.by, c.request(), &f.changeFlags)
}

// choose asks until the answer begins with one of some letters. The end of the input
// counts as the last of them.
func choose(a *cli.App, question string, letters ...string) string {
	for {
		a.Out.Flush()
		fmt.Fprint(a.Err, question)
		answer, ok := cli.ReadAnswer(a.In)
		for _, letter := range letters {
			if strings.HasPrefix(strings.ToLower(answer), letter) {
				return letter
			}
		}
		if !ok {
			return letters[len(letters)-1]
		}
	}
}

// showDraft shows the diagnostics of new lines and the effect of the change. blocked is
// the reason that it cannot be installed.
func showDraft(a *cli.App, c *Change) (blocked error) {
	text := c.draft.Text()
	_, diagnostics := crontab.Parse(c.Old.File, text, c.config)
	showDiagnostics(a, c, text, diagnostics)
	found, blocked := c.review(a.Now())
	printDifferences(a, found, a.Location())
	if blocked == nil && len(found) == 0 {
		a.Infof("no job changes")
	}
	return blocked
}

// showDiagnostics prints what is doubtful about lines that the old text did not
// have.
func showDiagnostics(a *cli.App, c *Change, text string, diagnostics []crontab.Diagnostic) {
	known := map[string]bool{}
	for line := range strings.Lines(string(c.Old.Text)) {
		known[line] = true
	}
	lines := strings.SplitAfter(text, "\n")
	shown := 0
	for _, d := range api.NewDiagnostics(diagnostics) {
		if d.Severity == crontab.Note.String() || d.Line < 1 || d.Line > len(lines) || known[lines[d.Line-1]] {
			continue
		}
		if shown++; shown > crontab1.ShownDiagnostics {
			a.Infof("more diagnostics: cronring lint FILE")
			return
		}
		a.PrintDiagnostic(d)
		a.PrintExcerpt(d, strings.TrimRight(lines[d.Line-1], "\r\n"))
	}
}
