package finder

import (
	"cmp"
	"slices"
	"strings"

	"github.com/cronring/cronring/tui/keys"
)

// Verb is a command of the command line that the dashboard also has.
type Verb struct {
	Word   string
	Action keys.Action
	About  Reach
	Help   string
}

// Reach is the number of jobs that a verb takes.
type Reach uint8

// The reaches.
const (
	NoJob Reach = iota
	OneJob
	SomeJobs
)

// verbs lists the commands as they are offered.
var verbs = []Verb{
	{"run", keys.Run, SomeJobs, "run now"},
	{"why", keys.Explain, OneJob, "explain the last missed or failed occurrence"},
	{"logs", keys.ShowOutput, OneJob, "see its output"},
	{"show", keys.Open, OneJob, "everything about it"},
	{"pause", keys.Pause, SomeJobs, "stop scheduling it, or schedule it again"},
	{"stop", keys.Stop, SomeJobs, "end what runs of it"},
	{"ack", keys.Acknowledge, SomeJobs, "acknowledge its failure"},
	{"retry", keys.Retry, SomeJobs, "run the same occurrence again"},
	{"backfill", keys.Backfill, OneJob, "run its past"},
	{editWord, keys.Edit, OneJob, "edit its line"},
	{"rm", keys.Delete, SomeJobs, "delete its entry"},
	{"dst", keys.ShowDST, OneJob, "what the next changes of the clocks do"},
	{"list", keys.ShowJobs, NoJob, "the jobs"},
	{"history", keys.ShowRuns, NoJob, "every run, newest first"},
	{"timeline", keys.ShowTimeline, NoJob, "past and coming runs on one axis"},
	{"files", keys.ShowFiles, NoJob, "the crontab files"},
	{"ring", keys.ShowRing, NoJob, "the ring of hosts"},
	{"hosts", keys.ShowHosts, NoJob, "other hosts, and their dashboards"},
	{"incident", keys.ShowGroups, NoJob, "failures by shared cause"},
	{"stats", keys.ShowStats, OneJob, "success, durations and wasted time of each day"},
	{"next", keys.ShowUpcoming, NoJob, "the runs of the next hour"},
	{"add", keys.Add, NoJob, "add an entry"},
	{"undo", keys.Undo, NoJob, "undo the last change"},
	{"reload", keys.Reload, NoJob, "read all crontab files again"},
	{"views", keys.Views, NoJob, "saved views"},
	{"options", keys.ShowOptions, NoJob, "settings of the dashboard"},
	{"log", keys.CommandLog, NoJob, "what was done here"},
	{"help", keys.Help, NoJob, "the keys of this screen"},
	{"quit", keys.Quit, NoJob, "end the dashboard"},
}

// editWord is the verb that also takes a crontab file.
const editWord = "edit"

// verbsFor returns the verbs that begin with a word, an exact match first.
func verbsFor(word string) []Verb {
	var found []Verb
	for _, v := range verbs {
		if strings.HasPrefix(v.Word, strings.ToLower(word)) {
			found = append(found, v)
		}
	}
	if word != "" {
		slices.SortStableFunc(found, func(a, b Verb) int { return cmp.Compare(len(a.Word), len(b.Word)) })
	}
	return found
}
