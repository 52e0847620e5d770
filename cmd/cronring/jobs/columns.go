package jobs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/display"
	"github.com/cronring/cronring/daemon/job"
)

// column is a column of a list of jobs.
type column struct {
	name      string
	plain     func(*jobRow) string
	forPeople func(*jobRow) cli.Cell           // nil: as plain
	order     func(one, other *job.Status) int // nil: by the text
}

// jobRow is a job that is being written as a row.
type jobRow struct {
	*job.Status
	a        *cli.App
	loc      *time.Location
	document any // the JSON form, made when the first of its fields is needed
}

// jobColumns are the columns of a list of jobs.
var jobColumns = []column{
	{"state", func(r *jobRow) string { return string(r.State) }, (*jobRow).stateCell,
		func(one, other *job.Status) int { return cmp.Compare(one.State.Severity(), other.State.Severity()) }},
	{"job", func(r *jobRow) string { return string(r.Job.ID) }, nil, nil},
	{"schedule", func(r *jobRow) string { return r.Job.StartsOn() }, nil, nil},
	{"next", func(r *jobRow) string { return cli.FormatPlain(r.Next, r.loc) }, (*jobRow).nextCell,
		func(one, other *job.Status) int { return soonest(one.Next, other.Next) }},
	{"last", (*jobRow).began, (*jobRow).lastCell,
		func(one, other *job.Status) int { return lastStart(other).Compare(lastStart(one)) }},
	{"took", func(r *jobRow) string { return r.a.Took(r.Last) }, nil,
		func(one, other *job.Status) int { return cmp.Compare(lastLength(other), lastLength(one)) }},
	{"user", func(r *jobRow) string { return r.Job.User }, nil, nil},
	{"source", func(r *jobRow) string { return fmt.Sprintf("%s:%d", r.Job.Crontab, r.Job.Line) }, nil,
		func(one, other *job.Status) int {
			return cmp.Or(cmp.Compare(one.Job.Crontab, other.Job.Crontab), cmp.Compare(one.Job.Line, other.Job.Line))
		}},
	{"command", func(r *jobRow) string { return r.Job.Command }, nil, nil},
	{"labels", func(r *jobRow) string { return r.Job.Options["labels"] }, nil, nil},
}

// nextCell also shows the owner of the next occurrence of a ring job.
func (r *jobRow) nextCell() cli.Cell {
	text := display.Away(r.Next, r.a.Now())
	if delay := r.Job.Options["delay"]; delay != "" && r.Next.IsZero() && len(r.Running) > 0 {
		text = job.AfterEnd(delay)
	}
	if r.Node != "" {
		text += " on " + r.Node
	}
	return cli.Cell{Text: text}
}

// lastCell shows the member that had the newest occurrence, if it was another one.
func (r *jobRow) lastCell() cli.Cell {
	if e := r.Elsewhere; e != nil {
		return cli.Cell{Text: display.Ago(e.Due, r.a.Now()) + " on " + e.Node}
	}
	return cli.Cell{Text: r.a.Ago(r.Last)}
}

// stateCell has the mark of a pause between the sign and the word of another state. A failure that a
// user has acknowledged is not a success.
func (r *jobRow) stateCell() cli.Cell {
	look, ok := cli.StateLook[r.State]
	if !ok { // it is no longer in the list
		return cli.Cell{Text: string(r.State), Tone: cli.Faint}
	}
	if r.State == job.StateOK && r.Ack != nil {
		return cli.Cell{Text: cli.StateSign(job.StateFailing) + " ack", Tone: cli.Faint}
	}
	between := " "
	if r.Hold != nil && r.State != job.StatePaused {
		between = cli.StateSign(job.StatePaused)
	}
	return cli.Cell{Text: cli.StateSign(r.State) + between + look.Word, Tone: look.Tone}
}

func (r *jobRow) began() string {
	if r.Last == nil {
		return ""
	}
	return cli.FormatPlain(r.Last.Started, r.loc)
}

// soonest compares instants. The zero time is the last.
func soonest(one, other time.Time) int {
	switch {
	case one.Equal(other):
		return 0
	case one.IsZero():
		return 1
	case other.IsZero():
		return -1
	}
	return one.Compare(other)
}

func lastStart(j *job.Status) time.Time {
	if j.Last == nil {
		return time.Time{}
	}
	return j.Last.Started
}

func lastLength(j *job.Status) time.Duration {
	if j.Last == nil || j.Last.Started.IsZero() {
		return -1
	}
	return j.Last.Length()
}

// sortJobs sorts a list, in which the worst jobs are first, by a column. Jobs with the same value keep
// their order.
func sortJobs(jobs []job.Status, by string) {
	i := slices.IndexFunc(jobColumns, func(c column) bool { return c.name == by })
	c := &jobColumns[i]
	slices.SortStableFunc(jobs, func(one, other job.Status) int {
		if c.order != nil {
			return c.order(&one, &other)
		}
		return cmp.Compare(c.plain(&jobRow{Status: &one}), c.plain(&jobRow{Status: &other}))
	})
}

func columnNames() (names []string) {
	for _, c := range jobColumns {
		names = append(names, c.name)
	}
	return names
}

// jobFields returns the names that --fields accepts: the columns, and the other fields of
// the JSON form.
func jobFields() []string {
	names := columnNames()
	for _, name := range cli.FieldNames(reflect.TypeFor[job.Status]()) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}

// columnOf returns the column with a name.
func columnOf(name string) (column, error) {
	name = strings.TrimPrefix(name, ".") // as kubectl writes it
	if i := slices.IndexFunc(jobColumns, func(c column) bool { return c.name == name }); i >= 0 {
		return jobColumns[i], nil
	}
	known := jobFields()
	if !slices.Contains(known, name) && !strings.HasPrefix(name, "job.options.") {
		return column{}, cli.UnknownField(name, known, "--fields alone")
	}
	return column{name: name, plain: func(r *jobRow) string { return r.field(name) }}, nil
}

// field formats a field of the JSON form: "" if it is missing, JSON if it is not a plain
// value.
func (r *jobRow) field(name string) string {
	if r.document == nil {
		text, err := json.Marshal(r.Status)
		if err != nil || json.Unmarshal(text, &r.document) != nil {
			return ""
		}
	}
	value := cli.FieldOf(r.document, name)
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return value
	}
	text, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(text)
}

// chosenColumns are the columns of --fields or of -o custom-columns=.
type chosenColumns struct {
	columns []column
	names   bool // only print the names of the columns
}

// orDefault chooses all columns but labels, if the user chose none.
func (f *chosenColumns) orDefault() {
	if f.columns == nil {
		f.columns = slices.DeleteFunc(slices.Clone(jobColumns), func(c column) bool { return c.name == "labels" })
	}
}

// set applies --fields. It rejects unknown fields before the daemon is asked for jobs.
func (f *chosenColumns) set(text string) error {
	if text == cli.ListFields {
		f.names = true
		return nil
	}
	for name := range strings.SplitSeq(text, ",") {
		c, err := columnOf(name)
		if err != nil {
			return err
		}
		f.columns = append(f.columns, c)
	}
	return nil
}

// customColumns is the prefix of the form of -o with columns and titles of the user's
// choice: custom-columns=NAME:field,...
const customColumns = "custom-columns="

// customForm is the -o flag of list.
type customForm struct {
	*cli.Output
	fields *chosenColumns
}

func (f *customForm) Set(text string) error {
	list, custom := strings.CutPrefix(text, customColumns)
	if !custom {
		return f.Output.Set(text)
	}
	for part := range strings.SplitSeq(list, ",") {
		title, name, ok := strings.Cut(part, ":")
		if !ok || title == "" {
			return fmt.Errorf("%q is not NAME:field", part)
		}
		c, err := columnOf(name)
		if err != nil {
			return err
		}
		c.name = title
		f.fields.columns = append(f.fields.columns, c)
	}
	if !f.ForPeople() {
		f.Value = cli.FormPlain
	}
	return nil
}

// jobTable writes jobs as rows of columns.
func jobTable(a *cli.App, jobs []job.Status, columns []column, out *cli.Output, loc *time.Location) *cli.Table {
	t := &cli.Table{}
	for i := range columns {
		t.Header = append(t.Header, columns[i].name)
	}
	for i := range jobs {
		r := &jobRow{Status: &jobs[i], a: a, loc: loc}
		row := make([]cli.Cell, len(columns))
		for k := range columns {
			if c := &columns[k]; out.ForPeople() && c.forPeople != nil {
				row[k] = c.forPeople(r)
			} else {
				row[k].Text = c.plain(r)
			}
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}
