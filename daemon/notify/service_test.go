package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/cronring/cronring/daemon/job"
)

// posted sends a message through a channel to a server, and returns its path and its document. The
// document of a service has no field that its documentation does not name.
func posted(t *testing.T, c Channel, m Message, document any) (path string) {
	t.Helper()
	var body []byte
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.RequestURI()
		body, _ = io.ReadAll(r.Body)
		if document != nil && r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("the type of the body is %q", r.Header.Get("Content-Type"))
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	c.Name = "ops"
	c.URL = server.URL + c.URL
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	n := newTestNotifier(t, t.TempDir(), c)
	if f := n.send(t.Context(), &c, &m); f != nil {
		t.Fatal(f.Full())
	}
	if document == nil || path == "" {
		return path
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(document); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return path
}

// hostile is a message whose texts are as long as they can be, and try to be more than text.
func hostile() Message {
	n := notice("back/up")
	n.Text = "<!channel> [x](http://evil) *&" + strings.Repeat("ä&", 3000)
	return newMessage(n, Tail("\x1b[31mred\x1b[0m\r\n```<@U1>\n"+strings.Repeat("é", 5000)+"\nlast <!here> ``` `x` [a](b)\x00\n\n"), "id", "lab", "ops")
}

func short(t *testing.T, what, text string, most int) {
	t.Helper()
	if n := utf8.RuneCountInString(text); n == 0 || n > most {
		t.Errorf("%s has %d characters, want 1 to %d", what, n, most)
	}
}

// The limits are those of docs.slack.dev: a message has up to 50 blocks, a section 1 to 3000
// characters.
func TestSlack(t *testing.T) {
	var got struct {
		Text   string `json:"text"`
		Blocks []struct {
			Type string `json:"type"`
			Text struct {
				Type     string `json:"type"`
				Text     string `json:"text"`
				Verbatim bool   `json:"verbatim"`
			} `json:"text"`
		} `json:"blocks"`
	}
	if path := posted(t, Channel{Type: Slack, URL: "/services/T/B/x"}, hostile(), &got); path != "/services/T/B/x" {
		t.Errorf("path %s", path)
	}
	if got.Text == "" || len(got.Blocks) != 2 {
		t.Fatalf("text %q, %d blocks", got.Text, len(got.Blocks))
	}
	for _, b := range got.Blocks {
		short(t, "a section", b.Text.Text, 3000)
		if b.Type != "section" || b.Text.Type != "mrkdwn" || !b.Text.Verbatim || strings.ContainsAny(b.Text.Text, "<>") {
			t.Errorf("block %+v", b)
		}
	}
	if code := got.Blocks[1].Text.Text; !strings.HasPrefix(code, "```") || strings.Count(code, "```") != 2 || !strings.Contains(code, "last &lt;!here&gt;") {
		t.Errorf("the output is %q", code)
	}
}

// The elements and their values are those of the schema of Adaptive Cards 1.4.
func TestTeams(t *testing.T) {
	type element struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		Weight   string `json:"weight"`
		Color    string `json:"color"`
		FontType string `json:"fontType"`
		Wrap     bool   `json:"wrap"`
		Facts    []struct {
			Title string `json:"title"`
			Value string `json:"value"`
		} `json:"facts"`
	}
	var got struct {
		Type        string `json:"type"`
		Attachments []struct {
			ContentType string `json:"contentType"`
			Content     struct {
				Schema  string    `json:"$schema"`
				Type    string    `json:"type"`
				Version string    `json:"version"`
				Body    []element `json:"body"`
			} `json:"content"`
		} `json:"attachments"`
	}
	posted(t, Channel{Type: Teams, URL: "/workflows/x"}, hostile(), &got)
	if got.Type != "message" || len(got.Attachments) != 1 || got.Attachments[0].ContentType != "application/vnd.microsoft.card.adaptive" {
		t.Fatalf("message %+v", got)
	}
	card := got.Attachments[0].Content
	if card.Type != "AdaptiveCard" || card.Version != "1.4" || card.Schema != "http://adaptivecards.io/schemas/adaptive-card.json" || len(card.Body) != 3 {
		t.Errorf("card %+v", card)
	}
	for _, e := range card.Body {
		isText := e.Type == "TextBlock" && e.Text != "" && len(e.Facts) == 0
		isFacts := e.Type == "FactSet" && e.Text+e.Weight+e.Color+e.FontType == "" && len(e.Facts) > 3
		if !isText && !isFacts || !slices.Contains([]string{"", "default", "lighter", "bolder"}, e.Weight) ||
			!slices.Contains([]string{"", "default", "dark", "light", "accent", "good", "warning", "attention"}, e.Color) ||
			!slices.Contains([]string{"", "default", "monospace"}, e.FontType) || strings.Contains(strings.ReplaceAll(e.Text, `\]`, ""), "](") {
			t.Errorf("element %.200v", fmt.Sprintf("%+v", e))
		}
	}
	text, _ := json.Marshal(got)
	if len(text) > 28<<10 {
		t.Errorf("the message has %d bytes, Teams accepts 28 KiB", len(text))
	}
}

// The fields and limits are those of "Publish as JSON" in docs.ntfy.sh.
func TestNtfy(t *testing.T) {
	var got struct {
		Topic    string   `json:"topic"`
		Title    string   `json:"title"`
		Message  string   `json:"message"`
		Priority int      `json:"priority"`
		Tags     []string `json:"tags"`
	}
	if path := posted(t, Channel{Type: Ntfy, URL: "/sub/cron-lab"}, hostile(), &got); path != "/sub" {
		t.Errorf("path %s, want the one above the topic", path)
	}
	if got.Topic != "cron-lab" || got.Priority < 1 || got.Priority > 5 || len(got.Message) > 4096 || got.Title == "" {
		t.Errorf("message %+v", got)
	}
	if path := posted(t, Channel{Type: Ntfy, URL: "/cron-lab"}, hostile(), &got); path != "/" {
		t.Errorf("path %s, want /", path)
	}
	if path := posted(t, Channel{Type: Ntfy, URL: "/cron-{{.Job}}"}, hostile(), &got); path != "/" || got.Topic != "cron-back-up" {
		t.Errorf("the name of a job chooses path %s and topic %s, want / and cron-back-up", path, got.Topic)
	}
}

// The fields and limits are those of "Send an event to PagerDuty" in developer.pagerduty.com.
func TestPagerDuty(t *testing.T) {
	type event struct {
		RoutingKey string `json:"routing_key"`
		Action     string `json:"event_action"`
		Dedup      string `json:"dedup_key"`
		Client     string `json:"client"`
		Payload    *struct {
			Summary   string            `json:"summary"`
			Source    string            `json:"source"`
			Severity  string            `json:"severity"`
			Timestamp string            `json:"timestamp"`
			Component string            `json:"component"`
			Class     string            `json:"class"`
			Details   map[string]string `json:"custom_details"`
		} `json:"payload"`
	}
	c := Channel{Type: PagerDuty, URL: "/v2/enqueue", SecretFile: writeSecret(t, strings.Repeat("k", 32))}
	dedup := ""
	for _, on := range []job.NoticeOn{job.OnFail, job.OnDead, job.OnLost, job.OnMissed, job.OnLate, job.OnHeld, job.OnOdd} {
		var got event
		m := hostile()
		m.On = on
		posted(t, c, m, &got)
		if got.RoutingKey != strings.Repeat("k", 32) || got.Action != "trigger" || got.Payload == nil {
			t.Fatalf("%s: event %+v", on, got)
		}
		short(t, "dedup_key", got.Dedup, 255)
		short(t, "summary", got.Payload.Summary, 1024)
		short(t, "source", got.Payload.Source, 1024)
		if _, err := time.Parse(time.RFC3339, got.Payload.Timestamp); err != nil || !slices.Contains([]string{"critical", "error", "warning", "info"}, got.Payload.Severity) {
			t.Errorf("%s: payload %+v", on, got.Payload)
		}
		dedup = got.Dedup
	}
	for _, on := range []job.NoticeOn{job.OnRecover, job.OnSuccess} {
		var got event
		m := hostile()
		m.On = on
		posted(t, c, m, &got)
		if got.Action != "resolve" || got.Dedup != dedup {
			t.Errorf("%s: event %+v, want that it resolves %s", on, got, dedup)
		}
	}
	m := hostile()
	if m.On = job.OnStart; posted(t, c, m, &event{}) != "" {
		t.Error("a start was sent")
	}
	c.Name, c.URL = "ops", ""
	if err := c.Check(); err != nil {
		t.Error(err)
	}
	if r, err := c.request(&Message{Notice: sample}); err != nil || r.URL.String() != "https://events.pagerduty.com/v2/enqueue" {
		t.Errorf("without url: %v, %v", r, err)
	}
	if c.SecretFile = ""; c.Check() == nil {
		t.Error("a channel without a routing key is valid")
	}
}

func TestPing(t *testing.T) {
	for on, want := range map[job.NoticeOn]string{
		job.OnStart: "/ping/a%2Fb%20%26/start?create=1", job.OnSuccess: "/ping/a%2Fb%20%26?create=1", job.OnRecover: "/ping/a%2Fb%20%26?create=1",
		job.OnFail: "/ping/a%2Fb%20%26/fail?create=1", job.OnDead: "/ping/a%2Fb%20%26/fail?create=1", job.OnLost: "/ping/a%2Fb%20%26/fail?create=1",
		job.OnMissed: "", job.OnLate: "", job.OnHeld: "",
	} {
		m := hostile()
		m.On, m.Job = on, "a/b &"
		if path := posted(t, Channel{Type: Ping, URL: "/ping/{{.Job}}?create=1"}, m, nil); path != want {
			t.Errorf("%s: sent to %q, want %q", on, path, want)
		}
	}
	for on, state := range map[job.NoticeOn]string{job.OnStart: "run", job.OnSuccess: "complete", job.OnFail: "fail"} {
		u, err := url.Parse("https://cronitor.link/p/KEY/backup?env=prod")
		if err != nil {
			t.Fatal(err)
		}
		m := hostile()
		m.On = on
		pingBody(&m, u)
		if q := u.Query(); u.Path != "/p/KEY/backup" || q.Get("state") != state || q.Get("env") != "prod" || q.Get("host") != "lab" || len(q.Get("message")) > 0 != (on == job.OnFail) {
			t.Errorf("%s: Cronitor gets %s", on, u)
		}
	}
}

// A name in a URL adds no part to it, and chooses no host.
func TestURLTemplate(t *testing.T) {
	m := newMessage(sample, "", "id", "lab", "ops")
	m.Job = `../x?y#z@evil/ä"`
	u, err := m.url("https://h.example/p/{{.Job}}?j={{.Job}}&on={{.On}}")
	if err != nil || u.Host != "h.example" || u.Path != "/p/"+string(m.Job) || u.Query().Get("j") != string(m.Job) || u.Query().Get("on") != "fail" || u.Fragment != "" {
		t.Errorf("got %v, error %v", u, err)
	}
	for _, bad := range []string{"https://{{.Job}}.example/", "https://x{{.User}}/", "https://h/{{.Nope}}", "https://h/{{", "{{.Job}}://h/"} {
		if err := checkURL(bad); err == nil || strings.Contains(err.Error(), "example") {
			t.Errorf("%s: error %v", bad, err)
		}
	}
}

func TestTail(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "one\n": "one", "\n\n a \n\nb\n\n\n": " a\n\nb", "\x1b[1;31mred\x1b[0m\x07 \xff\x00x": "red  \uFFFD x", "10%\r20%\r\n": "10%\n20%",
		strings.Repeat("x", 3000) + "\n" + strings.Repeat("y", 2000) + "\nend": strings.Repeat("y", 2000) + "\nend",
	} {
		if got := Tail(text); got != want {
			t.Errorf("Tail(%.20q) is %q, want %q", text, got, want)
		}
	}
	if got := Tail(strings.Repeat("é", 5000)); len(got) > LongestOutput || !utf8.ValidString(got) || got[0] != 0xc3 {
		t.Errorf("one long line became %d bytes, %.10q", len(got), got)
	}
}

// Output is in each form of a message, and adds no line to what stands around it.
func TestOutputIsInTheMessage(t *testing.T) {
	m := newMessage(notice("backup"), "first\nrun: 99 \"x\"", "id", "lab", "ops")
	if _, text := m.Email(); !strings.HasSuffix(text, "\n\nThe end of its output:\n\n    first\n    run: 99 \"x\"\n") {
		t.Errorf("the letter is %q", text)
	}
	if got := variable(m.environ(), "CRONRING_NOTICE_OUTPUT"); got != `first run: 99 "x"` {
		t.Errorf("the variable is %q", got)
	}
	text, err := m.json()
	var back Message
	if err := errors.Join(err, json.Unmarshal(text, &back)); err != nil || back.Output != m.Output {
		t.Errorf("the document is %s, error %v", text, err)
	}
	for kind, want := range map[string]string{"application/json": `{"o": "first\nrun: 99 \"x\""}`, "text/plain": `{"o": "first run: 99 "x""}`} {
		c := Channel{Name: "ops", Type: Webhook, URL: "https://h/", Template: `{"o": "{{.Output}}"}`, Header: map[string]string{"Content-Type": kind}}
		tmpl, err := c.template()
		if err != nil {
			t.Fatal(err)
		}
		if got, err := c.render(tmpl, &m); err != nil || string(got) != want {
			t.Errorf("as %s: %s, %v; want %s", kind, got, err, want)
		}
	}
}

// Pings are tried for a quarter of an hour, because later they mean nothing.
func TestPingIsTriedBriefly(t *testing.T) {
	n := newTestNotifier(t, t.TempDir(), Channel{Name: "hc", Type: Ping, URL: "https://h/x"}, Channel{Name: "ops", Type: Ntfy, URL: "https://h/x", Retry: time.Hour})
	if got := fmt.Sprint(n.lifetime("hc"), n.lifetime("ops"), n.lifetime("gone")); got != "15m0s 1h0m0s 24h0m0s" {
		t.Errorf("lifetimes %s", got)
	}
}

// ping= sends to the URL itself. A URL that the service refuses is not a problem of the host, and
// leaves no file; users do not wait for each other.
func TestPingOption(t *testing.T) {
	var paths []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths = append(paths, r.URL.Path)
		if strings.HasPrefix(r.URL.Path, "/gone") {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	n := newTestNotifier(t, dir)
	give := func(on job.NoticeOn, path string) {
		one := notice("backup")
		one.On, one.Ping = on, server.URL+path
		n.Enqueue(one, "output")
	}
	give(job.OnStart, "/x/{{.Job}}")
	give(job.OnFail, "/x/{{.Job}}")
	give(job.OnSuccess, "/gone/"+secret)
	n.start()
	n.log.await(t, "is given up")
	if want := []string{"/x/backup/start", "/x/backup/fail", "/gone/" + secret}; !slices.Equal(paths, want) {
		t.Errorf("requests %q, want %q", paths, want)
	}
	if got := n.Problems(); len(got) != 0 {
		t.Errorf("problems %q", got)
	}
	n.silent(errors.New("none"))
	if n.lifetime(pingLane(&job.Notice{User: "ann", Ping: server.URL})) != pingRetry {
		t.Error("a ping is tried for too long")
	}
	if a, b := pingLane(&job.Notice{User: "ann", Ping: server.URL}), pingLane(&job.Notice{User: "bob", Ping: server.URL}); a == b {
		t.Errorf("ann and bob share %q", a)
	}
}
