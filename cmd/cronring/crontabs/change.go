package crontabs

// This file has what add, set, rm, apply and edit share: they read a crontab, change its
// text, show what the change does, and install the text through the daemon.

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/direct"
	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/draft"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/review"
	"github.com/cronring/cronring/daemon/spool"
)

// changer reads and changes crontabs: the daemon, or for root without a daemon the files
// themselves.
type changer interface {
	CrontabFiles(ctx context.Context) ([]api.CrontabFile, error)
	Places(ctx context.Context) (*api.Places, error)
	CrontabText(ctx context.Context, file, user string) (api.CrontabText, error)
	InstallCrontabFile(ctx context.Context, r api.CrontabFileRequest) (api.Installed, error)
	List(ctx context.Context, q api.Query) ([]job.Status, error)
}

// changeFlags are the flags of all commands that change crontabs.
type changeFlags struct {
	dryRun  bool
	yes     bool
	offline bool
}

func (f *changeFlags) add(a *cli.App, cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "show what would change, and change nothing")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&f.offline, "offline", false, "change the files also if the daemon is not running; for root")
	a.AddColor(cmd)
	a.AddQuiet(cmd)
}

// openCrontabs returns the daemon, or the files themselves if the host's own daemon does not
// run. A daemon that was named must answer. f is nil if nothing will be changed.
func openCrontabs(ctx context.Context, a *cli.App, f *changeFlags) (changer, error) {
	_, err := a.Daemon().Health(ctx)
	if err == nil {
		return a.Daemon(), nil
	}
	named := a.Host != "" || a.Socket != "" || os.Getenv("CRONRING_SOCKET") != ""
	if e, ok := errors.AsType[*api.Error](err); ok {
		e.What = strings.Replace(e.What, "cannot see the health", "cannot reach the crontabs", 1)
	}
	if api.KindOf(err) != api.Unreachable || named || os.Geteuid() != 0 {
		return nil, err
	}
	if f != nil && !f.dryRun {
		if a.ReadOnly {
			return nil, err
		}
		if err := f.goOffline(a, err); err != nil {
			return nil, err
		}
	}
	a.Infof("cronringd does not answer; continuing without it")
	return direct.NewHostCrontabs(), nil
}

// goOffline asks whether to change files without the daemon. If no user can be asked,
// --offline is required.
func (f *changeFlags) goOffline(a *cli.App, unreachable error) error {
	if f.offline {
		return nil
	}
	if e, ok := errors.AsType[*api.Error](unreachable); ok && !a.CanAsk() {
		return &api.Error{Kind: e.Kind, What: e.What, Why: e.Why, Fix: "systemctl start cronring    or change the files without it: --offline"}
	}
	return confirm(a, "change the files although cronringd does not answer", "yes", f)
}

// Change is one crontab that is being changed.
type Change struct {
	by     changer
	verb   string // of api.FileVerbs, or ""
	Old    api.CrontabText
	config crontab.Config
	file   *crontab.File
	draft  *draft.Draft
	before []crontab.Diagnostic
}

// openChange reads the crontab at a path, or that of a user.
func openChange(ctx context.Context, by changer, file, user string) (*Change, error) {
	old, err := readCrontab(ctx, by, file, user)
	if err != nil {
		return nil, err
	}
	c := &Change{by: by, Old: old, config: old.Config(spool.LoadZone)}
	c.file, c.before = crontab.Parse(old.File, string(old.Text), c.config)
	c.draft = draft.New(string(old.Text), c.config.Format)
	return c, nil
}

// review compares the draft with the installed text, and rejects a draft with new errors.
func (c *Change) review(now time.Time) ([]review.Difference, error) {
	text := c.draft.Text()
	file, diagnostics := crontab.Parse(c.Old.File, text, c.config)
	fresh := review.NewErrors(review.Text{Text: string(c.Old.Text), Diagnostics: c.before}, review.Text{Text: text, Diagnostics: diagnostics})
	if len(fresh) > 0 {
		first := fresh[0]
		first.Line += c.Old.Above()
		return nil, cli.UsageError("change "+c.Old.File, first.Error()+" ("+string(first.Code)+")", first.Fix)
	}
	found := review.Compare(review.NewVersion(c.file), review.NewVersion(file))
	review.Count(found, now, review.Week(now))
	return found, nil
}

// readCrontab reads the crontab at a path, or that of a user.
func readCrontab(ctx context.Context, by changer, file, user string) (api.CrontabText, error) {
	return atPath(file, func(file string) (api.CrontabText, error) { return by.CrontabText(ctx, file, user) })
}

// atPath calls do with the absolute path of a crontab, or if there is none with the name as it is: a
// daemon started with relative names keeps them.
func atPath[T any](file string, do func(file string) (T, error)) (T, error) {
	if file == "" || filepath.IsAbs(file) {
		return do(file)
	}
	whole, err := filepath.Abs(file)
	if err != nil {
		var none T
		return none, cli.FileError(file, err)
	}
	t, err := do(whole)
	if api.KindOf(err) != api.NotFound {
		return t, err
	}
	if named, again := do(file); again == nil {
		return named, nil
	}
	return t, err
}

func (c *Change) request() api.CrontabFileRequest {
	return api.CrontabFileRequest{File: c.Old.File, Text: []byte(c.draft.Text()), Base: c.Old.Sum, Verb: c.verb}
}

// carryOut shows what a change does and, unless it is only to be shown, makes it.
func carryOut(ctx context.Context, a *cli.App, c *Change, f *changeFlags) error {
	loc := a.Location()
	found, err := c.review(a.Now())
	if err != nil {
		return err
	}
	printDifferences(a, found, loc)
	if c.draft.Text() == string(c.Old.Text) && !c.Old.Missing {
		a.Infof("%s stays as it is", display.Text(c.Old.File))
		return nil
	}
	return install(ctx, a, c.by, c.request(), f)
}

// install makes a change and prints how to undo it.
func install(ctx context.Context, a *cli.App, by changer, r api.CrontabFileRequest, f *changeFlags) error {
	if f.dryRun {
		a.Infof("%s is not changed: this was a dry run", display.Text(r.File))
		return nil
	}
	done, err := by.InstallCrontabFile(ctx, r)
	if err != nil {
		return err
	}
	verb := "changed"
	if done.Gone {
		verb = "removed"
	}
	text := fmt.Sprintf("%s %s, %s", verb, display.Text(done.File), cli.Entries(done.Entries))
	if done.Before != 0 {
		text += fmt.Sprintf("; undo: cronring undo %d", done.Before)
	}
	a.Infof("%s", text)
	if done.Notice != "" {
		a.Infof("%s", display.Text(done.Notice))
	}
	return nil
}

// FoundEntry is an entry of a crontab that a command was asked to change.
type FoundEntry struct {
	Id    job.ID
	Entry *crontab.Entry
}

// ListFor lists the jobs that cmd needs. An error names cmd instead of list: verb is what it does, and
// command its arguments with JOB in the place of the job. If there are flags or other jobs, the advice
// stays "cronring list", because command does not contain them.
func ListFor(cmd *cobra.Command, by changer, verb, command string, refs []string) ([]job.Status, error) {
	jobs, err := by.List(cmd.Context(), api.Query{Refs: refs})
	if e, ok := errors.AsType[*api.Error](err); ok {
		e.What = strings.Replace(e.What, "cannot list", "cannot "+verb, 1)
		if rest, ok := strings.CutPrefix(e.Fix, "cronring list "); ok && !strings.HasPrefix(rest, "-") && len(refs) == 1 && cmd.Flags().NFlag() == 0 {
			name, _, _ := strings.Cut(rest, "    or ")
			e.Fix = "cronring " + strings.Replace(command, "JOB", name, 1) + strings.TrimPrefix(rest, name)
		}
	}
	return jobs, err
}

// OpenJobs finds the entries of jobs, grouped by crontab and in the order of its lines. cmd, verb and
// command are those of ListFor.
func OpenJobs(cmd *cobra.Command, by changer, verb, command string, refs []string) ([]*Change, map[*Change][]FoundEntry, error) {
	jobs, err := ListFor(cmd, by, verb, command, refs)
	if err != nil {
		return nil, nil, err
	}
	var order []*Change
	byFile, entries := map[string]*Change{}, map[*Change][]FoundEntry{}
	for i := range jobs {
		j := &jobs[i].Job
		c := byFile[j.Crontab]
		if c == nil {
			if c, err = openChange(cmd.Context(), by, j.Crontab, ""); err != nil {
				return nil, nil, err
			}
			byFile[j.Crontab], order = c, append(order, c)
		}
		e, err := c.find(j)
		if err != nil {
			return nil, nil, err
		}
		entries[c] = append(entries[c], FoundEntry{j.ID, e})
	}
	for _, list := range entries {
		slices.SortFunc(list, func(a, b FoundEntry) int { return a.Entry.Line() - b.Entry.Line() })
	}
	return order, entries, nil
}

// find finds a job's entry in the text, which may have been changed since the
// daemon read it.
func (c *Change) find(j *job.Job) (*crontab.Entry, error) {
	line := j.Line - c.Old.Above()
	for i := range c.file.Entries {
		if e := &c.file.Entries[i]; e.Line() == line && e.Command() == j.Command && e.User() == j.User {
			return e, nil
		}
	}
	return nil, &api.Error{
		Kind: api.Conflict, What: fmt.Sprintf("cannot find %s in %s", j.ID, j.Crontab),
		Why: fmt.Sprintf("line %d is another one by now: the file was changed since the daemon read it", j.Line), Fix: "cronring reload",
	}
}

// confirm requires the user to type a word. If no user can be asked, it returns an error
// that mentions -y.
func confirm(a *cli.App, what, word string, f *changeFlags) error {
	if f.yes || f.dryRun {
		return nil
	}
	if !a.CanAsk() {
		return cli.UsageError(what+" unasked", "no person can be asked here", "say that it is meant: -y")
	}
	answer := a.Ask(fmt.Sprintf("Type %s to %s: ", display.Text(word), what))
	if answer != word {
		return &api.Error{Kind: api.Conflict, What: "nothing is changed: the answer was not " + word}
	}
	return nil
}

// oneOfFileAndUser rejects --file together with --user, except for a system crontab, whose entries name
// their users.
func oneOfFileAndUser(file, user string) error {
	if file != "" && user != "" && !spool.SystemCrontab(file) {
		return cli.UsageError("change "+file+" of "+user, "a file already belongs to one user", "give one of --file and --user")
	}
	return nil
}

// joinWords joins arguments to a shell command.
func joinWords(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	return display.ShellLine(words)
}

// escapePercent escapes each %, which would end the command in cron. An escaped one stays.
func escapePercent(command string) string {
	var b strings.Builder
	for i := 0; i < len(command); i++ {
		switch {
		case command[i] == '\\' && i+1 < len(command):
			b.WriteByte(command[i])
			i++
		case command[i] == '%':
			b.WriteByte('\\')
		}
		b.WriteByte(command[i])
	}
	return b.String()
}
