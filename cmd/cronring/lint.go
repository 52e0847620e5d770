package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/spool"
)

func newLint(a *app) *cobra.Command {
	var f formatFlags
	var strict bool
	var out *output
	cmd := &cobra.Command{
		Use:   "lint FILE...|- [--strict]",
		Short: "Find errors and doubtful lines in crontab files",
		Long: `Find errors and doubtful lines in crontab files; - is standard input.

An error means that the line does not count, or that its entry is held; the exit
code is then 8. Lines with warnings and notices do count; with --strict warnings,
too, make the exit code 8.`,
		Example: "  cronring lint /etc/crontab /etc/cron.d/*\n  crontab -l | cronring lint -",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return a.lint(args, f, strict, out)
		},
	}
	cmd.Flags().BoolVar(&strict, "strict", false, "warnings, too, make the exit code 8")
	f.add(cmd)
	out = a.textOutput(cmd, formText, formJSON, formSARIF)
	a.addColor(cmd)
	a.addQuiet(cmd)
	return cmd
}

func (a *app) lint(names []string, f formatFlags, strict bool, out *output) error {
	var remarks []crontab.Diagnostic
	texts := map[string]string{}
	var unread error
	host := spool.ThisHost()
	for _, name := range names {
		s, err := a.read(name)
		if err != nil {
			if unread != nil {
				a.report(unread)
			}
			unread = err
			continue
		}
		_, found := f.parse(s, host.Zone)
		texts[name] = s.text
		remarks = append(remarks, found...)
	}
	if err := a.printLint(remarks, texts, out); err != nil {
		return err
	}
	written := api.NewDiagnostics(remarks)
	a.say("%s, %s", plural(len(texts), "file"), counts(written))
	switch {
	case unread != nil:
		return unread
	case fails(remarks, strict):
		return exit(exitProblems)
	}
	return nil
}

func fails(remarks []crontab.Diagnostic, strict bool) bool {
	for _, d := range remarks {
		if d.Severity == crontab.Error || strict && d.Severity == crontab.Warning {
			return true
		}
	}
	return false
}

func (a *app) printLint(remarks []crontab.Diagnostic, texts map[string]string, out *output) error {
	switch out.word {
	case formJSON:
		return a.printJSON(api.NewDiagnostics(remarks))
	case formSARIF:
		return a.printJSON(newSARIF(remarks, texts))
	}
	lines := map[string][]string{}
	for _, d := range api.NewDiagnostics(remarks) {
		if lines[d.File] == nil {
			lines[d.File] = strings.Split(texts[d.File], "\n")
		}
		a.printRemark(d)
		if d.Line >= 1 && d.Line <= len(lines[d.File]) {
			a.printExcerpt(d, strings.TrimSuffix(lines[d.File][d.Line-1], "\r"))
		}
		if d.Fix != "" {
			a.printf("      fix: %s\n", cleanCell(d.Fix))
		}
	}
	return nil
}

var severityTone = map[string]tone{"error": bad, "warning": doubt, "notice": faint}

// printRemark writes one remark in one line, as compilers do.
func (a *app) printRemark(d api.Diagnostic) {
	place := fmt.Sprintf("%s:%d", cleanCell(d.File), d.Line)
	if d.Column > 0 {
		place += fmt.Sprintf(":%d", d.Column)
	}
	a.printf("%s %s %s %s\n", place, a.paint(severityTone[d.Severity], fmt.Sprintf("%-7s", d.Severity)), d.Code, cleanCell(d.Message))
}

// excerptSide is how much of a long line is shown on either side of the place.
const excerptSide = 60

// printExcerpt shows the line, with carets under the place of the remark.
func (a *app) printExcerpt(d api.Diagnostic, line string) {
	at := min(max(d.Column-1, 0), len(line))
	end := min(at+max(d.Length, 1), len(line))
	from, to := max(at-excerptSide, 0), min(at+excerptSide, len(line))
	end = min(end, to)
	before, marked, after := shown(line[from:at]), shown(line[at:end]), shown(line[end:to])
	if from > 0 {
		before = "..." + before
	}
	if to < len(line) {
		after += "..."
	}
	a.printf("      %s%s%s\n", before, marked, after)
	if d.Column > 0 {
		a.printf("      %s%s\n", strings.Repeat(" ", cells(before)), a.paint(severityTone[d.Severity], strings.Repeat("^", max(cells(marked), 1))))
	}
}

// shown is a part of a line in which a tab takes one cell, so that carets fit.
func shown(text string) string { return cleanCell(strings.ReplaceAll(text, "\t", " ")) }

// counts sums remarks up: "1 error, 2 warnings".
func counts(remarks []api.Diagnostic) string {
	n := map[string]int{}
	for _, d := range remarks {
		n[d.Severity]++
	}
	parts := []string{plural(n["error"], "error"), plural(n["warning"], "warning")}
	if n["notice"] > 0 {
		parts = append(parts, plural(n["notice"], "notice"))
	}
	return strings.Join(parts, ", ")
}
