package notify

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/cronring/cronring/daemon/job"
)

// Message is the content of a notification, and the JSON document that commands and webhooks get.
// Its ID is the same at each try.
type Message struct {
	V       int    `json:"v"` // 1; fields may be added
	ID      string `json:"id"`
	Host    string `json:"host"`
	Channel string `json:"channel"`
	Test    bool   `json:"test,omitempty"`   // a test of the channel; no event happened
	Output  string `json:"output,omitempty"` // the end of what the run printed
	job.Notice
}

// longestText bounds each text of a message, in bytes.
const longestText = 4 << 10

// newMessage makes a message for one channel, with its texts limited in length.
func newMessage(n job.Notice, output, id, host, channel string) Message {
	n.Channels = nil
	n.Text = clip(n.Text)
	if n.Run != nil {
		run := *n.Run
		run.Outcome.Error = clip(run.Outcome.Error)
		run.Env = nil // for the run, not for the world
		run.Parents = run.Parents[:min(len(run.Parents), 100)]
		n.Run = &run
	}
	return Message{V: 1, ID: id, Host: host, Channel: channel, Output: output, Notice: n}
}

// clip bounds a text and splits no character.
func clip(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= longestText {
		return text
	}
	return job.Cut(text, longestText) + "…"
}

func (m *Message) json() ([]byte, error) { return json.Marshal(m) }

// fact is one value of a message, with its name in variables (CRONRING_NOTICE_NAME) and in
// templates (.Name).
type fact struct{ variable, name, value string }

// facts returns the values of a message, each as one line.
func (m *Message) facts() []fact {
	r := cmp.Or(m.Run, &job.Run{})
	list := []fact{
		{"ID", "ID", m.ID},
		{"HOST", "Host", m.Host},
		{"CHANNEL", "Channel", m.Channel},
		{"TEST", "Test", word(m.Test, "yes")},
		{"ON", "On", string(m.On)},
		{"AT", "At", instant(m.At)},
		{"JOB", "Job", string(m.Job)},
		{"USER", "User", m.User},
		{"DUE", "Due", instant(m.Due)},
		{"REASON", "Reason", string(m.Reason)},
		{"TEXT", "Text", m.Text},
		{"DESC", "Desc", m.Desc},
		{"OWNER", "Owner", m.Contact},
		{"STREAK", "Streak", number(m.Streak)},
		{"RUN", "Run", number(int(r.ID))},
		{"ATTEMPT", "Attempt", number(r.Attempt)},
		{"OUTCOME", "Outcome", word(m.Run != nil, r.Result())},
		{"OUTPUT", "Output", m.Output},
	}
	for i := range list {
		list[i].value = oneLine(list[i].value)
	}
	return list
}

func word(is bool, text string) string {
	if is {
		return text
	}
	return ""
}

func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// oneLine makes a blank of each control character, and of what else ends a
// line somewhere.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}

// environ returns a message as variables, including empty ones.
func (m *Message) environ() []string {
	var list []string
	for _, f := range m.facts() {
		list = append(list, "CRONRING_NOTICE_"+f.variable+"="+f.value)
	}
	return list
}

// Email is a message as mail: its subject, after the name of account and host,
// and its text.
func (m *Message) Email() (subject, text string) {
	subject = fmt.Sprintf("%s: %s", m.Job, m.On)
	if m.Test {
		subject = "a test of channel " + m.Channel
	}
	var b strings.Builder
	b.WriteString(oneLine(m.Text) + "\n\n")
	for _, f := range m.facts() {
		if f.value != "" && f.name != "Text" && f.name != "Output" {
			fmt.Fprintf(&b, "%-9s%s\n", strings.ToLower(f.name)+":", f.value)
		}
	}
	if m.Output != "" {
		b.WriteString("\nThe end of its output:\n\n    " + strings.ReplaceAll(m.Output, "\n", "\n    ") + "\n")
	}
	return oneLine(subject), b.String()
}

// sample is a notice with a value for each field.
var sample = job.Notice{
	At: time.Unix(0, 0), Due: time.Unix(0, 0), On: job.OnFail, Job: "job", User: "user", Reason: job.OverTime, Text: "text", Run: &job.Run{ID: 1},
}

// inside is a text that a template puts between the quotes of a JSON string:
// printed, it cannot end the string. To the functions of templates it is a
// string like any other.
type inside string

func (s inside) String() string {
	text, _ := json.Marshal(string(s)) // a string always has a JSON form
	return string(text[1 : len(text)-1])
}

// longestBody bounds what a template makes.
const longestBody = 256 << 10

var errLongBody = errors.New("the body is longer than 256 KiB")

type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > longestBody {
		return 0, errLongBody
	}
	return b.Buffer.Write(p)
}

// template reads the channel's template, and tries it, so that a slip is found
// when the configuration is read and not when a job fails. nil: it has none.
func (c *Channel) template() (*template.Template, error) {
	if c.Template == "" {
		return nil, nil
	}
	t, err := newTemplate().Funcs(template.FuncMap{
		"json": func(v any) (string, error) {
			text, err := json.Marshal(v)
			return string(text), err
		},
	}).Parse(c.Template)
	if err != nil {
		return nil, err
	}
	for _, n := range []job.Notice{sample, {At: sample.At, On: job.OnMissed, Job: sample.Job}} {
		m := newMessage(n, "", "id", "host", c.Name)
		if _, err := c.render(t, &m); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func newTemplate() *template.Template { return template.New("template").Option("missingkey=error") }

// url returns the URL of a template for a message. Its values are escaped, so that they add no part.
func (m *Message) url(text string) (*url.URL, error) {
	t, err := newTemplate().Parse(text)
	if err != nil {
		return nil, errors.New("its template makes no sense")
	}
	data := map[string]string{}
	for _, f := range m.facts() {
		data[f.name] = strings.ReplaceAll(url.QueryEscape(f.value), "+", "%20")
	}
	var b bounded
	if err := t.Execute(&b, data); err != nil {
		return nil, errors.New("its template uses a value that does not exist, or is too long")
	}
	return parseURL(b.String())
}

// isJSON reports whether the body must be a JSON document: unless a Content-Type header specifies
// another type.
func (c *Channel) isJSON() bool {
	kind := "application/json"
	for name, value := range c.Header {
		if http.CanonicalHeaderKey(name) == "Content-Type" {
			kind = value
		}
	}
	return strings.Contains(strings.ToLower(kind), "json")
}

// render is the body that a webhook is sent.
func (c *Channel) render(t *template.Template, m *Message) ([]byte, error) {
	if t == nil {
		return m.json()
	}
	data := map[string]any{}
	for _, f := range m.facts() {
		data[f.name] = f.value
		if c.isJSON() {
			data[f.name] = inside(f.value)
		}
	}
	if c.isJSON() {
		data["Output"] = inside(m.Output) // with its line ends, which JSON escapes
	}
	var b bounded
	if err := t.Execute(&b, data); err != nil {
		return nil, err
	}
	if c.isJSON() && !json.Valid(b.Bytes()) {
		return nil, errors.New("the template does not produce JSON; for another kind of body, set the header Content-Type")
	}
	return b.Bytes(), nil
}
