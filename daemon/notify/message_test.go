package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/daemon/outbox"
	"github.com/cronring/cronring/man/mantest"
)

// chat is a template as people write them: texts between quotes, and whole
// values by json.
const chat = `{"text": "*{{.Job}}* on {{.Host}}: {{.Text}}", "all": {{json .Text}}, "color": "{{if eq .On "recover"}}green{{else}}red{{end}}", "n": {{or .Streak "null"}}}`

func TestTemplateIsABody(t *testing.T) {
	c := Channel{Name: "ops", Type: Webhook, URL: "https://example.org", Template: chat}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	tmpl, err := c.template()
	if err != nil {
		t.Fatal(err)
	}
	m := newMessage(notice("backup"), "", "id", "lab", "ops")
	m.Text = `It said "no" <&> \`
	got, err := c.render(tmpl, &m)
	want := `{"text": "*backup* on lab: It said \"no\" \u003c\u0026\u003e \\", "all": "It said \"no\" \u003c\u0026\u003e \\", "color": "red", "n": 3}`
	if err != nil || string(got) != want {
		t.Errorf("got %s, error %v\nwant %s", got, err, want)
	}

	c.Template, c.Header = "{{.Job}}: {{.Text}}", map[string]string{"content-type": "text/plain"}
	if tmpl, err = c.template(); err != nil {
		t.Fatal(err)
	}
	m.Text = "a \"b\"\r\nc"
	if got, err := c.render(tmpl, &m); err != nil || string(got) != `backup: a "b"  c` {
		t.Errorf("as text: %q, error %v", got, err)
	}
}

// The templates of the manual pages are bodies as the service expects them: JSON, also for
// a text with quotation marks.
func TestTemplatesOfTheManual(t *testing.T) {
	pages, err := mantest.Pages("../../man")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, page := range pages {
		for _, m := range regexp.MustCompile(`(?s)template = '''(.*?)'''`).FindAllStringSubmatch(mantest.Plain(page), -1) {
			found++
			c := Channel{Name: "ops", Type: Webhook, URL: "https://example.org", Template: m[1]}
			tmpl, err := c.template()
			if err != nil {
				t.Fatal(err)
			}
			message := newMessage(notice("backup"), "", "id", "lab", "ops")
			message.Text = `It said "no"`
			got, err := c.render(tmpl, &message)
			if err != nil || !json.Valid(got) || !strings.Contains(string(got), `backup: It said \"no\"`) {
				t.Errorf("%s: got %s, error %v", c.Template, got, err)
			}
		}
	}
	if found < 3 {
		t.Errorf("got %d templates, want at least 3", found)
	}
}

func TestChannelCheck(t *testing.T) {
	webhook := func(change func(*Channel)) Channel {
		c := Channel{Name: "ops", Type: Webhook, URL: "https://example.org/" + secret}
		change(&c)
		return c
	}
	for _, c := range []struct {
		channel Channel
		want    string // in the error; "": none
	}{
		{webhook(func(*Channel) {}), ""},
		{Channel{Name: "ops", Type: Mail, To: []string{"ops@example.org", "root"}}, ""},
		{Channel{Name: "ops", Type: Command, Command: []string{"/bin/page", "-v"}, User: "root", Timeout: time.Second}, ""},
		{Channel{Name: "mail", Type: Mail, To: []string{"x"}}, "built-in"},
		{Channel{Name: "a b", Type: Mail, To: []string{"x"}}, `channel "a b": a name has`},
		{Channel{Name: "", Type: Mail, To: []string{"x"}}, "a name has"},
		{Channel{Name: "ops", Type: "pigeon"}, `channel ops: type is "pigeon"`},
		{Channel{Name: "ops", Type: Mail}, "to is missing"},
		{Channel{Name: "ops", Type: Mail, To: []string{"-oQ/tmp"}}, "not a plain address"},
		{Channel{Name: "ops", Type: Mail, To: []string{"a,b"}}, "not a plain address"},
		{Channel{Name: "ops", Type: Mail, To: []string{""}}, "not a plain address"},
		{Channel{Name: "ops", Type: Mail, To: []string{"x"}, URL: "https://" + secret}, "url has no meaning for a channel of type mail"},
		{Channel{Name: "ops", Type: Command}, "command is missing"},
		{Channel{Name: "ops", Type: Command, Command: []string{"page -v"}}, "not an absolute path"},
		{Channel{Name: "ops", Type: Command, Command: []string{"/bin/x", "a\x00b"}}, "NUL"},
		{Channel{Name: "ops", Type: Command, Command: []string{"/bin/x"}, Template: "x"}, "template has no meaning"},
		{webhook(func(c *Channel) { c.URL = "" }), "one of url and url-file"},
		{webhook(func(c *Channel) { c.URLFile = "/x" }), "one of url and url-file"},
		{webhook(func(c *Channel) { c.URL = "ftp://h/" + secret }), "neither with https://"},
		{webhook(func(c *Channel) { c.URL = "https:///" + secret }), "no host"},
		{webhook(func(c *Channel) { c.URL = "https://h:" + secret + "/" }), "makes no sense"},
		{webhook(func(c *Channel) { c.URL += strings.Repeat("x", longestURL) }), "makes no sense"},
		{webhook(func(c *Channel) { c.SecretFile = "key" }), "not an absolute path"},
		{webhook(func(c *Channel) { c.Header = map[string]string{"A b": secret} }), "not a valid name"},
		{webhook(func(c *Channel) { c.Header = map[string]string{"X": secret + "\nY: z"} }), "control characters"},
		{webhook(func(c *Channel) { c.Header = map[string]string{"host": secret} }), "Host is not to be set"},
		{webhook(func(c *Channel) { c.Header = map[string]string{"cronring-signature": secret} }), "not to be set"},
		{webhook(func(c *Channel) { c.Template = "{{.Jobb}}" }), "Jobb"},
		{webhook(func(c *Channel) { c.Template = "{{" }), "template"},
		{webhook(func(c *Channel) { c.Template = "{{.Text}}" }), "does not produce JSON"},
		{webhook(func(c *Channel) { c.Template = `{"n": {{.Run}}}` }), "does not produce JSON"}, // not every notice has a run
		{webhook(func(c *Channel) { c.Template = `"{{range 9999999999}}x{{end}}"` }), "longer than 256 KiB"},
		{webhook(func(c *Channel) { c.User = "root" }), "user has no meaning"},
		{webhook(func(c *Channel) { c.Timeout = time.Hour }), "timeout is longer than 5m"},
		{webhook(func(c *Channel) { c.Retry = -1 }), "retry"},
	} {
		err := c.channel.Check()
		text := ""
		if err != nil {
			text = err.Error()
		}
		if (err != nil) != (c.want != "") || !strings.Contains(text, c.want) || strings.Contains(text, secret) {
			t.Errorf("%+v: error %v, want %q", c.channel, err, c.want)
		}
	}
}

// FuzzMessage checks the guarantees of every form of a message for any name and output of a job.
func FuzzMessage(f *testing.F) {
	f.Add("backup", "It failed.", "exit 3", 3)
	f.Add(`", "x": "`, "\"}\n{{.Job}}\x00", "a\r\nb\u2028c", -1)
	f.Add("\xff\xfe", `</script>\u0022\`, strings.Repeat("é", longestText), 0)
	tmpl, err := (&Channel{Template: chat}).template()
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, name, text, failure string, streak int) {
		n := notice(name)
		n.Text, n.Streak = text, streak
		n.User = failure
		n.Run.Outcome = job.Outcome{Kind: job.NotStarted, Error: failure}
		m := newMessage(n, "", "id", "lab", "ops")
		for _, v := range m.environ() {
			if !strings.HasPrefix(v, "CRONRING_NOTICE_") || strings.IndexFunc(v, unicode.IsControl) >= 0 {
				t.Errorf("the variable %q", v)
			}
		}
		whole, err := m.json()
		var back Message
		if err != nil || json.Unmarshal(whole, &back) != nil || back.Text != m.Text || strings.ContainsRune(string(whole), '\n') {
			t.Errorf("the document %s, error %v", whole, err)
		}
		if len(m.Text) > longestText+len("…") || !utf8.ValidString(m.Text) {
			t.Errorf("the text has %d bytes", len(m.Text))
		}
		body, err := (&Channel{Template: chat}).render(tmpl, &m)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(body, &got); err != nil || len(got) != 4 {
			t.Fatalf("the template makes %s: %v", body, err)
		}
		clean := strings.ToValidUTF8(oneLine(m.Text), "\uFFFD")
		if got["all"] != clean || !strings.HasSuffix(got["text"].(string), " on lab: "+clean) || got["color"] != "red" {
			t.Errorf("the template makes %s of %q", body, m.Text)
		}
	})
}

// FuzzEnvelope reads any file of the queue.
func FuzzEnvelope(f *testing.F) {
	n := notice("backup")
	text, err := json.Marshal(envelope{time.Unix(1_700_000_000, 0).UTC(), newMessage(n, "It failed.\x1b[31m", "id", "lab", "ops")})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)-1])
	f.Add([]byte(`{"born":"0000-01-01T00:00:00+23:59","message":{"channel":"x"}}`))
	f.Add([]byte(`{"born":"\u001b[31m"}`))
	f.Add([]byte(`{"message":{"job":7}}`))
	f.Add([]byte(`{"message":{"channel":"x","Run":{"Parents":[],"Env":{}}}}`))
	f.Add([]byte("{\"born\":\"\x7f\"}\n")) // the error of package time quotes it
	f.Fuzz(func(t *testing.T, text []byte) {
		e, err := readEnvelope(bytes.NewReader(text))
		key, identified := identify(bytes.NewReader(text))
		if err != nil {
			if _, damaged := errors.AsType[*outbox.DamagedError](err); !damaged || strings.ContainsFunc(err.Error(), unicode.IsControl) || len(err.Error()) > 1000 {
				t.Errorf("%q: the error %q, %T", text, err, err)
			}
			if identified == nil {
				t.Errorf("%q: a key for a file with %v", text, err)
			}
			return
		}
		if identified != nil || key.Lane == "" || key.Lane != e.Message.Channel || key.User != e.Message.User {
			t.Errorf("%+v has the key %+v, error %v", e, key, identified)
		}
		written, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		if len(written) > longestFile {
			return
		}
		again, err := readEnvelope(bytes.NewReader(written))
		if err != nil {
			t.Fatalf("%q, written and read again: %v", written, err)
		}
		// In text, as an empty list is not written and read again as none.
		if back, err := json.Marshal(again); err != nil || !bytes.Equal(back, written) {
			t.Errorf("read %q, written and read again %q, %v", written, back, err)
		}
	})
}
