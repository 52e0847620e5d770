package analysis

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/inventory"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/dependency"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/engine/catalog"
	"github.com/cronring/cronring/daemon/spool"
)

type lintFlags struct {
	cli.FormatFlags
	strict    bool
	portable  bool
	installed bool
	root      string
}

// NewLint returns the command lint.
func NewLint(a *cli.App) *cobra.Command {
	var f lintFlags
	var out *cli.Output
	cmd := &cobra.Command{
		Use:   "lint FILE...|-|--installed [--strict] [--portable]",
		Short: "Find errors and doubtful lines in crontab files",
		Long: `Find errors and doubtful lines in crontab files; - is standard input.

An error means that the line is ignored, that its entry is held, that an option has
no effect, or that other crons would not read it; the exit code is then 8. Lines
with warnings and notices do count; with --strict, the exit code is 8 for warnings
too.

If cron would reject a whole crontab because of its owner, mode, type or a link,
that is an error too. A file that cron ignores because of its name is a notice.
--installed checks all crontabs of this host.

For other crons #@ options are comments. --portable adds a warning for each option
with what the entry does there.`,
		Example: "  cronring lint /etc/crontab /etc/cron.d/*\n  crontab -l | cronring lint -\n  cronring lint --installed\n  cronring lint --portable --strict my.crontab",
		Args: func(cmd *cobra.Command, args []string) error {
			if f.installed {
				return cobra.NoArgs(cmd, args)
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return lint(cmd.Context(), a, args, f, out)
		},
	}
	cmd.Flags().BoolVar(&f.strict, "strict", false, "exit with code 8 for warnings too")
	cmd.Flags().BoolVar(&f.portable, "portable", false, "show what entries do under a cron that ignores options")
	cmd.Flags().BoolVar(&f.installed, "installed", false, "all crontabs of this host, as the daemon reads them")
	cmd.Flags().StringVar(&f.root, "root", "", "of a host whose files are in `DIR`, such as a mounted disk or a container")
	f.Add(cmd)
	out = a.TextOutput(cmd, cli.FormText, cli.FormJSON, cli.FormSARIF)
	a.AddColor(cmd)
	a.AddQuiet(cmd)
	return cmd
}

func lint(ctx context.Context, a *cli.App, names []string, f lintFlags, out *cli.Output) error {
	source, err := CrontabsAt(a, f.root)
	if err != nil {
		return err
	}
	l := &linted{texts: map[string]string{}}
	if f.installed {
		var c config.Config
		if f.root == "" {
			c = config.Read(config.Dir)
			l.texts = ConfigTexts(config.Dir)
		}
		l.host(ctx, source, f, c)
	} else {
		l.files(ctx, a, names, f, source)
	}
	return cmp.Or(l.unread, Conclude(a, l.diagnostics, l.texts, out, f.strict))
}

// Conclude prints diagnostics and their numbers, and returns the exit code.
func Conclude(a *cli.App, diagnostics []crontab.Diagnostic, texts map[string]string, out *cli.Output, strict bool) error {
	if err := PrintLint(a, diagnostics, texts, out); err != nil {
		return err
	}
	a.Infof("%s, %s", display.Count(len(texts), "file"), cli.CountDiagnostics(api.NewDiagnostics(diagnostics)))
	if Fails(diagnostics, strict) {
		return cli.ExitCode(cli.ExitProblems)
	}
	return nil
}

// CrontabsAt is the crontabs of this host, or of one whose root is at a directory.
func CrontabsAt(a *cli.App, root string) (spool.SourceOptions, error) {
	m := inventory.This(a.Now)
	if root != "" {
		root, err := filepath.Abs(root)
		if err == nil {
			_, err = os.Stat(root)
		}
		if err != nil {
			return spool.SourceOptions{}, cli.FileError(root, err)
		}
		m = inventory.At(root, a.Now)
	}
	source := m.SourceOptions()
	if root == "" {
		c := config.Read(config.Dir)
		source.MaxEntries = c.EntriesPerUser()
	}
	return source, nil
}

// linted collects the findings in all files.
type linted struct {
	diagnostics []crontab.Diagnostic
	texts       map[string]string // of the files that were read
	unread      error             // the last file that was not
}

// files checks the contents of files. In directories of cron it also checks whether cron
// would read them.
func (l *linted) files(ctx context.Context, a *cli.App, names []string, f lintFlags, source spool.SourceOptions) {
	var crontabs []*crontab.File
	for _, name := range names {
		refusal := l.judge(ctx, name, source)
		if refusal != nil && (refusal.Code == spool.CodeType || refusal.Code == spool.CodeSize) {
			l.diagnostics = append(l.diagnostics, refusal.Diagnostic())
			continue // a pipe would be waited for
		}
		s, err := a.ReadSource(name)
		if err != nil {
			if l.unread != nil {
				a.Report(l.unread)
			}
			l.unread = err
			continue
		}
		if refusal != nil {
			l.diagnostics = append(l.diagnostics, refusal.Diagnostic())
		}
		file, found := crontab.Parse(s.Name, s.Text, f.Config(source, s.Name))
		l.texts[name] = s.Text
		l.diagnostics = append(l.diagnostics, found...)
		l.addLosses(file, f)
		crontabs = append(crontabs, file)
	}
	l.addEdges(crontabs, false)
}

// addLosses adds what the entries of a crontab lose under other crons, if that is
// asked for.
func (l *linted) addLosses(file *crontab.File, f lintFlags) {
	if f.portable {
		l.diagnostics = append(l.diagnostics, file.Losses()...)
	}
}

func (l *linted) judge(ctx context.Context, name string, source spool.SourceOptions) *spool.Refusal {
	if name == "-" {
		return nil
	}
	refusal, ignored := source.Judge(ctx, name)
	if ignored != nil {
		l.diagnostics = append(l.diagnostics, ignored.Diagnostic())
	}
	return refusal
}

// host checks all crontabs that the daemon would read, and what the configuration says
// about their entries.
func (l *linted) host(ctx context.Context, source spool.SourceOptions, f lintFlags, c config.Config) {
	source.Sidecar = c.Sidecar
	if f.root == "" {
		source.Settings = c.OfCrontabs()
	}
	found := spool.OpenSource(source).Scan(ctx)
	l.diagnostics = append(append(l.diagnostics, c.Diagnostics...), UnusedOf(c, found)...)
	for _, r := range found.Refused {
		l.diagnostics = append(l.diagnostics, r.Diagnostic())
	}
	for _, i := range found.Ignored {
		l.diagnostics = append(l.diagnostics, i.Diagnostic())
	}
	l.diagnostics = append(l.diagnostics, found.Diagnostics...)
	for _, file := range found.Crontabs {
		l.addLosses(file, f)
	}
	l.addEdges(found.Crontabs, true)
	for _, c := range found.Changes {
		if c.Kind == spool.Loaded {
			l.texts[c.Path] = c.Text
		}
	}
}

// addEdges adds errors in after= and on= across all crontabs. An unknown name may be in a
// file that lint was not given; if all is set, there is no such file.
func (l *linted) addEdges(crontabs []*crontab.File, all bool) {
	for _, d := range slices.Compact(catalog.New(crontabs, nil, nil).Diagnostics()) { // once for all shards
		if d.Code == dependency.CodeNobody && !all {
			d.Severity = crontab.Warning
			d.Message = strings.TrimSuffix(d.Message, ": the entry is held") + " in these files: if none is elsewhere, the entry is held"
		}
		l.diagnostics = append(l.diagnostics, d)
	}
}

// Fails reports whether diagnostics include an error, or with strict a warning.
func Fails(diagnostics []crontab.Diagnostic, strict bool) bool {
	return slices.ContainsFunc(diagnostics, func(d crontab.Diagnostic) bool {
		return d.Severity == crontab.Error || strict && d.Severity == crontab.Warning
	})
}

// PrintLint prints diagnostics with the lines of texts, or as JSON or SARIF.
func PrintLint(a *cli.App, diagnostics []crontab.Diagnostic, texts map[string]string, out *cli.Output) error {
	switch out.Value {
	case cli.FormJSON:
		return a.PrintJSON(api.NewDiagnostics(diagnostics))
	case cli.FormSARIF:
		return a.PrintJSON(newSARIF(diagnostics, texts))
	}
	lines := map[string][]string{}
	for _, d := range api.NewDiagnostics(diagnostics) {
		if lines[d.File] == nil {
			lines[d.File] = strings.Split(texts[d.File], "\n")
		}
		a.PrintDiagnostic(d)
		if d.Line >= 1 && d.Line <= len(lines[d.File]) {
			a.PrintExcerpt(d, strings.TrimSuffix(lines[d.File][d.Line-1], "\r"))
		}
		if d.Fix != "" {
			a.Printf("      fix: %s\n", display.Text(d.Fix))
		}
	}
	return nil
}
