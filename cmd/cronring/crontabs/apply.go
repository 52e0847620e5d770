package crontabs

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/crontab/draft"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// The names in a directory that apply makes the host match.
const (
	applyCrontab    = "crontab"
	applyAnacrontab = "anacrontab"
	applyCronD      = "cron.d"
	applyUsers      = "users"
)

// NewApply returns the command apply.
func NewApply(a *cli.App) *cobra.Command {
	f := &changeFlags{}
	var prune bool
	cmd := &cobra.Command{
		Use:   "apply DIR [--dry-run] [--prune]",
		Short: "Make crontabs match the files of a directory",
		Long: `Make crontabs match the files of a directory:

  DIR/crontab        /etc/crontab
  DIR/anacrontab     /etc/anacrontab
  DIR/cron.d/NAME    /etc/cron.d/NAME
  DIR/users/NAME     the crontab of the user NAME

All files are checked before the first is written: a new error in one of them
leaves all as they are. Files that say the same already are not touched.

With --prune what DIR/cron.d and DIR/users do not have goes from where they lead;
a directory that is not in DIR prunes nothing.

With -H the files go to where the other host has them.`,
		Example: "  cronring apply --dry-run /srv/config/cron\n  cronring apply --prune -y /srv/config/cron",
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return apply(cmd.Context(), a, args[0], prune, f) },
	}
	cmd.Flags().BoolVar(&prune, "prune", false, "remove crontabs that DIR does not have")
	f.add(a, cmd)
	a.AddZone(cmd, "of the times")
	return cmd
}

func apply(ctx context.Context, a *cli.App, dir string, prune bool, f *changeFlags) error {
	by, err := openCrontabs(ctx, a, f)
	if err != nil {
		return err
	}
	places, err := placesOf(ctx, by)
	if err != nil {
		return err
	}
	wanted, err := readApplied(dir, places)
	if err != nil {
		return err
	}
	plan, err := planApply(ctx, a, by, wanted)
	if err != nil {
		return err
	}
	if prune {
		gone, err := planPrune(ctx, a, by, dir, wanted, places)
		if err != nil {
			return err
		}
		if len(gone) > 1 {
			if err := confirm(a, "remove them", strconv.Itoa(len(gone)), f); err != nil {
				return err
			}
		}
		plan = append(plan, gone...)
	}
	if len(plan) == 0 {
		a.Infof("everything matches %s already", display.Text(dir))
	}
	for _, r := range plan {
		if err := install(ctx, a, by, r, f); err != nil {
			return err
		}
	}
	return nil
}

// placesOf returns where the files of a directory belong on the daemon's host, which can
// be another one.
func placesOf(ctx context.Context, by changer) (*api.Places, error) {
	places, err := by.Places(ctx)
	if err == nil && places == nil {
		err = &api.Error{
			Kind: api.Conflict, What: "cannot apply a directory: the daemon does not manage the host's crontabs",
			Why: "it was started with a list of files, or has an older version", Fix: "use the host's daemon: omit --socket    or see: cronring --version",
		}
	}
	return places, err
}

// applied is a file of the directory and the crontab that it is for.
type applied struct {
	source string
	file   string // "" for a user's
	user   string
}

// readApplied lists what the directory has. What it should not have is an
// error: a file that is passed over in silence would be missed later.
func readApplied(dir string, places *api.Places) ([]applied, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, cli.FileError(dir, err)
	}
	var all []applied
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		switch name := e.Name(); {
		case name == applyCrontab && !e.IsDir():
			all = append(all, applied{source: path, file: places.Crontab})
		case name == applyAnacrontab && !e.IsDir():
			all = append(all, applied{source: path, file: places.Anacrontab})
		case (name == applyCronD || name == applyUsers) && e.IsDir():
			inside, err := os.ReadDir(path)
			if err != nil {
				return nil, cli.FileError(path, err)
			}
			for _, e := range inside {
				one := applied{source: filepath.Join(path, e.Name()), user: e.Name()}
				if name == applyCronD {
					one.user, one.file = "", filepath.Join(places.CronD, e.Name())
				}
				if e.Name() != ".placeholder" {
					all = append(all, one)
				}
			}
		case name[0] != '.' && name != "README" && name != "README.md":
			return nil, cli.UsageError("apply "+path, "it is none of crontab, anacrontab, cron.d/NAME and users/NAME", "cronring apply --help")
		}
	}
	return all, nil
}

// planApply checks every file and returns the changes to make.
func planApply(ctx context.Context, a *cli.App, by changer, wanted []applied) ([]api.CrontabFileRequest, error) {
	loc := a.Location()
	var plan []api.CrontabFileRequest
	var bad []error
	for _, w := range wanted {
		if err := onlyRegular(w.source); err != nil {
			return nil, err
		}
		s, err := a.ReadSource(w.source)
		if err != nil {
			return nil, err
		}
		c, err := openChange(ctx, by, w.file, w.user)
		if err != nil {
			return nil, err
		}
		if s.Text == string(c.Old.Text) && !c.Old.Missing {
			continue
		}
		c.verb, c.draft = "apply", draft.New(s.Text, c.config.Format)
		found, err := c.review(a.Now())
		if err != nil {
			bad = append(bad, err)
			continue
		}
		a.Printf("%s\n", display.Text(c.Old.File))
		printDifferences(a, found, loc)
		plan = append(plan, c.request())
	}
	for i, err := range bad {
		if i == len(bad)-1 {
			return nil, err
		}
		a.Report(err)
	}
	return plan, nil
}

// onlyRegular rejects everything but regular files: a pipe would never end.
func onlyRegular(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return cli.FileError(path, err)
	}
	if !info.Mode().IsRegular() {
		return cli.UsageError("apply "+path, "it is not a regular file", "cronring apply --help")
	}
	return nil
}

// planPrune returns the crontabs that the directory could contain but does not.
func planPrune(ctx context.Context, a *cli.App, by changer, dir string, wanted []applied, places *api.Places) ([]api.CrontabFileRequest, error) {
	crontabs, err := by.CrontabFiles(ctx)
	if err != nil {
		return nil, err
	}
	var plan []api.CrontabFileRequest
	for _, t := range crontabs {
		kept := slices.ContainsFunc(wanted, func(w applied) bool {
			return w.file == t.File || t.User != "" && w.user == t.User
		})
		from := applyCronD
		if t.User != "" {
			from = applyUsers
		} else if filepath.Dir(t.File) != places.CronD {
			continue
		}
		if _, err := os.Stat(filepath.Join(dir, from)); kept || t.Missing || errors.Is(err, fs.ErrNotExist) {
			continue
		}
		now, err := by.CrontabText(ctx, t.File, "")
		if err != nil {
			return nil, err
		}
		a.Printf("%s %s  %s\n", a.Paint(cli.Warn, "-"), display.Text(t.File), cli.Entries(now.Entries))
		plan = append(plan, api.CrontabFileRequest{File: t.File, Gone: true, Base: now.Sum, Verb: "apply"})
	}
	return plan, nil
}
