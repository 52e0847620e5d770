package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/BurntSushi/toml"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/engine/slots"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/notify"
	"github.com/cronring/cronring/man/mantest"
)

// read reads texts as cronring.toml and then files of conf.d. In the places the
// directory is left out.
func read(t *testing.T, texts ...string) Config {
	t.Helper()
	dir := t.TempDir()
	for i, text := range texts {
		name := "cronring.toml"
		if i > 0 {
			name = fmt.Sprintf("conf.d/%d0.toml", i)
		}
		filetest.Write(t, filepath.Join(dir, name), text, 0o644)
	}
	c := Read(dir)
	for i := range c.Diagnostics {
		c.Diagnostics[i].File = strings.TrimPrefix(c.Diagnostics[i].File, dir+"/")
	}
	return c
}

func TestReadOfAHostWithoutConfiguration(t *testing.T) {
	c := Read(t.TempDir())
	if c.Err() != nil || c.Session != SessionAuto || c.Log.CronLines != nil || c.Sidecar != nil || !reflect.DeepEqual(c.Limits, slots.Limits{MaxPerUser: 200}) {
		t.Errorf("got %+v, error %v", c, c.Err())
	}
}

func TestReadDropInsCountOverTheMainFile(t *testing.T) {
	c := read(t,
		"session = \"pam\"\nmax-running = 5\n[mail]\noff = true\n[log]\nto = \"syslog\"\n[default]\ngrace = \"5s\"\nretry = 1\n[job.a]\nuser = \"bob\"\ntimeout = \"1m\"\n[pool.wan]\nsize = 2\nrate = \"10/m\"\n[[match]]\nuser = \"ann\"\n",
		"[log]\ncron-lines = false\n[default]\nretry = 2\n[job.a]\ntimeout = \"2m\"\n[pool.wan]\nsize = 3\n",
		"max-running = 6\n[log]\nto = \"journal\"\n[[match]]\nuser = \"eve\"\n")
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	if c.Session != "pam" || !c.Mail.Off || c.Log.To != "journal" || c.Log.CronLines == nil || *c.Log.CronLines || c.Limits.MaxRunning != 6 {
		t.Errorf("got %+v", c)
	}
	if want := (slots.Pool{Size: 3, Rate: 10, Per: time.Minute}); !reflect.DeepEqual(c.Limits.Pools["wan"], want) {
		t.Errorf("got pool %+v, want %+v", c.Limits.Pools["wan"], want)
	}
	s := c.Sidecar
	if len(s.Default) != 2 || s.Default[1].Value != "2" || filepath.Base(s.Default[1].File) != "10.toml" || s.Default[1].Line != 4 {
		t.Errorf("got defaults %+v, want retry of line 4 of 10.toml", s.Default)
	}
	if j := s.Jobs["a"]; j.User != "bob" || len(j.Set) != 1 || j.Set[0].Value != "2m" {
		t.Errorf("got job %+v, want the timeout of the drop-in", j)
	}
	if len(s.Matches) != 2 || s.Matches[0].User != "ann" || s.Matches[1].User != "eve" || s.Matches[0].At.Line != 16 {
		t.Errorf("got matches %+v, want ann's and eve's", s.Matches)
	}
}

// TestReadTakesAllThatThereIs is the example of every kind of key.
func TestReadTakesAllThatThereIs(t *testing.T) {
	c := read(t, `max-running-per-user = 4
queue-max = 100
[default]
grace = "64s"
enabled = true
retry = 3
catchup = "once"

[job.sysstat-collect]
overlap = "skip"
[job."cron.daily"]
user = "root"

[[match]]
file = "/etc/cron.d/certbot"
command = "certbot *"
set = { name = "certbot", jitter = "1h" }
[[match]]
user = "ann"
[match.set]
timeout = "2m"

[pool.wan]
size = 2
rate = "5/30s"
users = ["ann", "bob"]

[channel.ops]
type = "webhook"
url-file = "/etc/credstore/ops-hook"
header = { "X-Team" = "ops" }
timeout = "10s"
retry = "1h"
[channel.pager]
type = "command"
command = ["/usr/bin/page", "--now"]
user = "pager"
users = ["*"]
`)
	if len(c.Diagnostics) > 0 {
		t.Fatal(c.Diagnostics)
	}
	limits := slots.Limits{MaxPerUser: 4, QueueMax: 100, Pools: map[string]slots.Pool{"wan": {Size: 2, Rate: 5, Per: 30 * time.Second, Users: []string{"ann", "bob"}}}}
	channels := []notify.Channel{
		{Name: "ops", Type: "webhook", URLFile: "/etc/credstore/ops-hook", Header: map[string]string{"X-Team": "ops"}, Timeout: 10 * time.Second, Retry: time.Hour},
		{Name: "pager", Type: "command", Command: []string{"/usr/bin/page", "--now"}, User: "pager", Users: []string{"*"}},
	}
	if !reflect.DeepEqual(c.Limits, limits) || !reflect.DeepEqual(c.Channels, channels) {
		t.Errorf("got %+v\n%+v\nwant %+v\n%+v", c.Limits, c.Channels, limits, channels)
	}
	var got []string
	for _, row := range sidecarRows(c.Sidecar) {
		got = append(got, fmt.Sprintf("%d %s=%s", row.At.Line, row.Key, row.Value))
	}
	want := []string{
		"4 default.grace=64s", "5 default.enabled=yes", "6 default.retry=3", "7 default.catchup=once",
		"14 match.1.file=/etc/cron.d/certbot", "14 match.1.command=certbot *", "17 match.1.set.name=certbot", "17 match.1.set.jitter=1h",
		"18 match.2.user=ann", "21 match.2.set.timeout=2m",
		`11 job."cron.daily".user=root`, "10 job.sysstat-collect.overlap=skip",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestReadSaysWhatIsWrongAndKeepsTheRest(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"unknown key":       {"session = \"pam\"\n[mail]\nofff = true\n", "cronring.toml:3: unknown key mail.offf"},
		"unknown top":       {"session = \"pam\"\nmax-runing = 3\n", "cronring.toml:2: unknown key max-runing"},
		"unknown table":     {"session = \"pam\"\n\n[calender.cn]\nfile = \"x\"\n", "cronring.toml:3: unknown key calender.cn"},
		"ring key":          {"session = \"pam\"\n[ring]\nnme = \"a\"\n", "cronring.toml:3: unknown key ring.nme"},
		"ring name":         {"session = \"pam\"\n[ring]\nseeds = [\"a\"]\n", "cronring.toml:2: ring.name: it is missing"},
		"ring without key":  {"session = \"pam\"\n[ring]\nname = \"a\"\n", "cronring.toml:2: ring.key-file: it is missing"},
		"ring port":         {"session = \"pam\"\n[ring]\nname = \"a\"\nbind = \"127.0.0.1:65536\"\n", "cronring.toml:4: ring.bind: invalid port"},
		"ring member":       {"session = \"pam\"\n[ring]\nmember = \"a,b\"\n", "cronring.toml:3: ring.member: want 1 to 63 letters"},
		"ring host":         {"session = \"pam\"\n[ring]\nbind = \"db-01:7946\"\n", "cronring.toml:3: ring.bind: want an address"},
		"ring mode":         {"session = \"pam\"\n[ring]\nmode = \"quick\"\n", "cronring.toml:3: ring.mode: it is \"quick\""},
		"ring voters":       {"session = \"pam\"\n[ring]\nname = \"a\"\nbind = \"127.0.0.1\"\nmode = \"strict\"\nvoters = [\"a\", \"b\"]\n", "cronring.toml:6: ring.voters: there are 2"},
		"ring voter twice":  {"session = \"pam\"\n[ring]\nname = \"a\"\nbind = \"127.0.0.1\"\nmode = \"strict\"\nvoters = [\"a\", \"b\", \"a\"]\n", "cronring.toml:6: ring.voters: one is named twice"},
		"ring voters alone": {"session = \"pam\"\n[ring]\nname = \"a\"\nbind = \"127.0.0.1\"\nvoters = [\"a\"]\n", "cronring.toml:5: ring.voters: they are for mode"},
		"ring weight":       {"session = \"pam\"\n[ring]\nweight = 0\n", "cronring.toml:3: ring.weight: want a number above 0"},
		"ring hold-off":     {"session = \"pam\"\n[ring]\nhold-off = \"2m\"\n", "cronring.toml:3: ring.hold-off: want a duration from 1s to 1m"},
		"ring labels":       {"session = \"pam\"\n[ring.labels]\na = \"x\"\n" + strings.Repeat("b", 63) + " = \"" + strings.Repeat("x", 63) + "\"\n" + strings.Repeat("c", 63) + " = \"" + strings.Repeat("x", 63) + "\"\n", "cronring.toml:5: ring.labels." + strings.Repeat("c", 63) + ": it does not fit"},
		"ring label":        {"session = \"pam\"\n[ring]\nlabels = { zone = \"a,b\" }\n", "cronring.toml:3: ring.labels.zone: a label"},
		"pool key":          {"session = \"pam\"\n[pool.a]\nsize = 1\nspeed = 2\n", "cronring.toml:4: unknown key pool.a.speed"},
		"second match":      {"session = \"pam\"\n[[match]]\nuser = \"a\"\n[[match]]\nusr = \"b\"\nuser = \"b\"\n", "cronring.toml:5: unknown key match.1.usr"},
		"channel key":       {"session = \"pam\"\n[channel.a]\ntyp = \"mail\"\n", "cronring.toml:3: unknown key channel.a.typ"},
		"deep":              {"session = \"pam\"\n[job.a.b]\nc = 1\n", "cronring.toml:2: unknown key job.a.b"},
		"syntax":            {"session = \"pam\"\nmail = [\n", "nothing of this file counts"},
		"session":           {"session = \"ldap\"\n", `cronring.toml:1: session: it is "ldap", want "auto", "none" or "pam"`},
		"log":               {"session = \"pam\"\n[log]\nto = \"printer\"\n", `cronring.toml:3: log.to: it is "printer", want "auto",`},
		"type":              {"session = \"pam\"\n[mail]\noff = \"yes\"\n", "cronring.toml:3: mail.off: want true or false"},
		"number":            {"session = \"pam\"\nmax-running = -1\n", "cronring.toml:2: max-running: want a number from 0 to"},
		"rate":              {"session = \"pam\"\n[pool.a]\nrate = \"10/ms\"\n", "cronring.toml:3: pool.a.rate: want a rate"},
		"rate of 0":         {"session = \"pam\"\n[pool.a]\nrate = \"0/m\"\n", "cronring.toml:3: pool.a.rate: want a rate"},
		"words":             {"session = \"pam\"\n[pool.a]\nusers = \"bob\"\n", "cronring.toml:3: pool.a.users: want a list"},
		"list":              {"session = \"pam\"\n[default]\nok = [0, 1]\n", "cronring.toml:3: default.ok: want a text"},
		"empty blackout":    {"session = \"pam\"\n[blackout.a]\nreason = \"x\"\n", "cronring.toml:2: blackout.a: it has no `hours` and no `until`"},
		"blackout hours":    {"session = \"pam\"\n[blackout.a]\nhours = \"8-9\"\n", "cronring.toml:2: blackout.a: hours: \"8-9\" is not a time"},
		"blackout times":    {"session = \"pam\"\n[blackout.a]\nfrom = \"2027-01-02\"\nuntil = \"2027-01-02\"\n", "cronring.toml:2: blackout.a: `until` is not after `from`"},
		"blackout zone":     {"session = \"pam\"\n[blackout.a]\nzone = \"Mars\"\nuntil = \"2027-01-02\"\n", "cronring.toml:2: blackout.a: zone: "},
		"blackout always":   {"session = \"pam\"\n[blackout.a]\nhours = \"00:00-24:00\"\n", "cronring.toml:2: blackout.a: `hours` leaves no time"},
		"blackout key":      {"session = \"pam\"\n[blackout.a]\nhour = \"8-9\"\nuntil = \"2027-01-02\"\n", "cronring.toml:3: unknown key blackout.a.hour"},
		"option":            {"session = \"pam\"\n[default]\n\nretry = 3\ntimeout = \"x\"\n", "cronring.toml:5: timeout: "},
		"guard":             {"session = \"pam\"\n[job.a]\noverlap = \"skpi\"\n", "cronring.toml:3: overlap: "},
		"match of nothing":  {"session = \"pam\"\n[[match]]\nset = { nice = 5 }\n", "cronring.toml:2: a [[match]] requires file, user or command"},
		"several in a line": {"session = \"pam\"\n[[match]]\nuser = \"a\"\nset = { timeout = \"1m\", tiemout = \"2m\" }\n", "cronring.toml:4: unknown option \"tiemout\""},
	} {
		t.Run(name, func(t *testing.T) {
			got := read(t, c.text)
			if err := got.Err(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
			if name != "session" && name != "syntax" && got.Session != "pam" {
				t.Errorf("session is %q: what was right does not count", got.Session)
			}
		})
	}
}

func TestReadRing(t *testing.T) {
	c := read(t, `
[ring]
name = "prod"
bind = "10.0.0.1"
seeds = ["10.0.0.2", "db-03:7000", "fd77::4"]
key-file = "/etc/cronring/ring.key"
mode = "strict"
voters = ["10.0.0.1:7946", "10.0.0.2:7946", "db-03:7000"]
weight = 2
hold-off = "3s"
labels = { zone = "a", role = "db" }
`)
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	want := Ring{
		Name: "prod", Bind: "10.0.0.1:7946", Seeds: []string{"10.0.0.2:7946", "db-03:7000", "[fd77::4]:7946"},
		KeyFile: "/etc/cronring/ring.key", Strict: true, Voters: []string{"10.0.0.1:7946", "10.0.0.2:7946", "db-03:7000"},
		Weight: 2, HoldOff: 3 * time.Second, Labels: map[string]string{"zone": "a", "role": "db"},
	}
	if !reflect.DeepEqual(c.Ring, want) {
		t.Errorf("got  %+v\nwant %+v", c.Ring, want)
	}
	if c := read(t, "[ring]\nlabels = { zone = \"a\" }\n"); c.Err() != nil || c.Ring.Name != "" || c.Ring.Labels["zone"] != "a" {
		t.Errorf("labels alone: got %+v, %v", c.Ring, c.Err())
	}
}

// TestReadCalendars holds that the dates of a file count when it is read again,
// and that a file that cannot be trusted has none.
func TestReadCalendars(t *testing.T) {
	dir := t.TempDir()
	filetest.Write(t, filepath.Join(dir, "cronring.toml"), `
[calendar.list]
file = "dates/list"
[calendar.open]
file = "dates/open"
[calendar.none]
[calendar.weekend]
file = "dates/list"
[calendar."a b"]
file = "dates/list"
[calendar.key]
fiel = "dates/list"
`, 0o644)
	list := filepath.Join(dir, "dates/list")
	filetest.Write(t, list, "2026-12-24\n", 0o644)
	filetest.Write(t, filepath.Join(dir, "dates/open"), "2026-12-24\n", 0o666)
	c := Read(dir)
	var got []string
	for _, d := range c.Diagnostics {
		got = append(got, fmt.Sprintf("%d:%s:%s", d.Line, d.Code, strings.ReplaceAll(d.Message, dir+"/", "")))
	}
	want := []string{
		"0:B605:calendar.key: it has no `file`: jobs with this calendar are held",
		"0:B605:calendar.none: it has no `file`: jobs with this calendar are held",
		"5:B605:calendar.open: dates/open: other users can change it (mode 0666): run chmod go-w on it: jobs with this calendar are held",
		"8:B604:calendar.\"weekend\": the name is not valid, or taken by the calendar of all weekends",
		"10:B604:calendar.\"a b\": the name is not valid, or taken by the calendar of all weekends",
		"12:B604:unknown key calendar.key.fiel",
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	dates := c.Dates()["list"].Dates
	if dates == nil || c.ReadCalendars() || c.Dates()["list"].Dates != dates {
		t.Error("an unchanged file has other dates")
	}
	filetest.Write(t, list, "2026-12-25\n", 0o644)
	if !c.ReadCalendars() || c.Dates()["list"].Dates == dates || c.Dates()["open"].Dates != nil {
		t.Errorf("a changed file: got %v", c.Dates())
	}
	if err := os.Remove(list); err != nil {
		t.Fatal(err)
	}
	if !c.ReadCalendars() || c.Dates()["list"].Dates != nil || c.Dates()["list"].Unread == "" {
		t.Errorf("a missing file: got %v", c.Dates())
	}
}

func TestReadHintsAtWhatWasMeant(t *testing.T) {
	c := read(t, "[mail]\nofff = true\n[pool.a]\nsise = 1\n[jbo.a]\nretry = 1\n")
	var got []string
	for _, d := range c.Diagnostics {
		got = append(got, d.Fix)
	}
	if want := []string{"write `mail.off`", "write `pool.a.size`", ""}; !slices.Equal(got, want) {
		t.Errorf("got fixes %q, want %q", got, want)
	}
}

func TestReadOfAnybodyElseIsRefused(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "cronring.toml")
	filetest.Write(t, file, "session = \"pam\"\n", 0o666)
	if c := Read(dir); c.Err() == nil || c.Session != SessionAuto || !strings.Contains(c.Err().Error(), "run chmod go-w on it") {
		t.Errorf("a file that everybody may write counts: session %q, error %v", c.Session, c.Err())
	}
	hosttest.Root(t, "only root can give a file away")
	filetest.Write(t, file, "session = \"pam\"\n", 0o644)
	if err := os.Chown(file, 12345, 0); err != nil {
		t.Fatal(err)
	}
	if c := Read(dir); c.Err() == nil || c.Session != SessionAuto || !strings.Contains(c.Err().Error(), "uid 12345") {
		t.Errorf("a stranger's file counts: session %q, error %v", c.Session, c.Err())
	}
}

func TestRowsShowNoSecret(t *testing.T) {
	c := read(t, "[channel.ops]\ntype = \"webhook\"\nurl = \"https://hooks.example.org/T0/s3cret\"\nheader = { Authorization = \"Bearer s3cret\" }\n[channel.odd]\nurl = \"s3cret\"\n")
	if err := c.Err(); err == nil || !strings.Contains(err.Error(), "cronring.toml:6: channel odd: type is") {
		t.Errorf("error %v, want what is wrong with the second channel at its line", err)
	}
	text := fmt.Sprint(c.Rows(), c.Err())
	if strings.Contains(text, "s3cret") || !strings.Contains(text, "https://hooks.example.org/...") || !strings.Contains(text, "Authorization") {
		t.Errorf("got %s", text)
	}
	for _, row := range c.Rows() {
		if row.Key == "channel.ops.header" && row.At.Line != 4 || row.Key == "max-running" && (row.Value != "none" || row.At.Line != 0) {
			t.Errorf("got %+v", row)
		}
	}
}

// FuzzScan holds the finder of places to the decoder: it must find each value
// of a text that is taken, once, in a line that the text has.
func FuzzScan(f *testing.F) {
	for _, text := range []string{
		"a = 1\n[b.c] # x\n\"d.e\" = 'f'\n[[g]]\nh = { i = 1, j.k = [ { l = 2 }, { l = 3 } ] }\n[[g]]\n[g.m]\nn = \"\"\"\\\n x\"\"\"\"\n",
		"[ a . \"b\\u0041\" ]\nc=[1,#]\n[2,3]]\nd = '''\n'x'''\ne.f = 2024-01-01 00:00:00\n",
		"x = \"a\\\"]\" # = [\r\ny = [\n\t'#',\n]\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		document := map[string]any{}
		_, err := toml.Decode(text, &document)
		keys := scan(text) // must return for any text
		if err != nil {
			return
		}
		found, lines := map[string]bool{}, 1+strings.Count(text, "\n")
		for _, k := range keys {
			id := dotted(k.path)
			if v := find(document, k.path); !isTable(v) && found[id] || k.line < 1 || k.line > lines {
				t.Fatalf("%q: found %s in line %d, again %t", text, id, k.line, found[id])
			}
			found[id] = true
		}
		if missed := missing(document, nil, found); missed != nil {
			t.Fatalf("%q: %q was not found among %v", text, missed, keys)
		}
	})
}

// missing is the path of a value that was not found.
func missing(v any, path []string, found map[string]bool) []string {
	under := func(part string, v any) []string { return missing(v, append(slices.Clone(path), part), found) }
	switch v := v.(type) {
	case map[string]any:
		for name, v := range v {
			if m := under(name, v); m != nil {
				return m
			}
		}
		return nil
	case []map[string]any:
		for i, v := range v {
			if m := under(fmt.Sprint(i), v); m != nil {
				return m
			}
		}
		return nil
	}
	if isTable(v) {
		for i, v := range v.([]any) {
			if m := under(fmt.Sprint(i), v); m != nil {
				return m
			}
		}
		return nil
	}
	if !found[dotted(path)] {
		return path
	}
	return nil
}

// FuzzRead reads any file: nothing of it may end the daemon.
func FuzzRead(f *testing.F) {
	f.Add("[default]\nretry = 3\n[[match]]\nuser = \"a\"\nset = { name = \"b\" }\n[pool.x]\nrate = \"1/m\"\n[channel.c]\nheader = { a = \"b\" }\n")
	f.Add("match = [ { user = \"a\" }, 1 ]\nmail = 3\njob = { a = { retry = 1.5 } }\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		filetest.Write(t, filepath.Join(dir, "cronring.toml"), text, 0o644)
		c := Read(dir)
		c.Rows()
		for _, d := range c.Diagnostics {
			if d.Line < 0 || d.Line > 1+strings.Count(text, "\n") || d.Message == "" || d.Code == "" {
				t.Fatalf("%q: %+v", text, d)
			}
		}
		if err := c.Err(); err != nil && errors.Unwrap(err) != nil {
			t.Fatal(err)
		}
		if s := c.Sidecar; s != nil {
			crontab.Parse("t", "#@ name=a\n0 1 * * * x\n", crontab.Config{Sidecar: s, Owner: "a"})
		}
	})
}

// TestManual holds the page to what is read, both ways.
func TestManual(t *testing.T) {
	text, err := os.ReadFile("../../man/cronring.toml.5")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	var want []string
	for _, s := range settings {
		want = append(want, s.key)
	}
	for _, path := range [][]string{{"match", "x"}, {"pool", "x"}, {"channel", "x"}, {"calendar", "x"}, {"blackout", "x"}, {"token", "x"}} {
		want = append(want, knownKeys(path)...)
	}
	want = append(want, "user") // of a job
	var got []string
	for line := range strings.Lines(page) {
		if item, ok := strings.CutPrefix(line, ".It Cm "); ok {
			key, _, _ := strings.Cut(item, " ")
			got = append(got, key)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("the page has the keys\n%q\nwant\n%q", got, want)
	}
	for _, table := range []string{"[default]", "[job. Ns Ar name", "[[match]]", "[pool. Ns Ar name", "[channel. Ns Ar name", "[calendar. Ns Ar name", "[token. Ns Ar name"} {
		if !strings.Contains(page, ".It Li "+table) {
			t.Errorf("the page does not tell of %s", table)
		}
	}
}

// TestManualExamplesAreRead has every example of configuration of the manual
// pages read.
func TestManualExamplesAreRead(t *testing.T) {
	pages, err := mantest.Pages("../../man")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for name, text := range pages {
		examples, err := mantest.Examples(name, text)
		if err != nil {
			t.Error(err)
		}
		for _, e := range examples {
			if e.Kind != mantest.TOML {
				continue
			}
			found++
			text := e.Text
			if e.More == "of a channel" {
				text = "[channel.x]\ntype = \"webhook\"\nurl = \"https://localhost/x\"\n" + text
			}
			holidays := filepath.Join(t.TempDir(), "holidays")
			filetest.Write(t, holidays, "2027-01-01\n", 0o644)
			token := filepath.Join(t.TempDir(), "token")
			filetest.Write(t, token, strings.Repeat("0", minSecret), 0o600)
			text = strings.NewReplacer("calendars/de-2027.dates", holidays, "ci.token", token).Replace(text)
			if c := read(t, text); len(c.Diagnostics) > 0 {
				t.Errorf("%v: got %v, want no diagnostic", e, c.Diagnostics)
			}
		}
	}
	if found < 4 {
		t.Errorf("got %d examples of configuration, want at least 4", found)
	}
}

func TestReadBlackouts(t *testing.T) {
	c := read(t, "[blackout.upgrade]\nfrom = \"2027-03-01T22:00\"\nuntil = \"2027-03-02T04:00\"\nzone = \"Asia/Tokyo\"\nreason = \"storage\"\n[blackout.mondays]\nhours = \"mon/02:00-03:00\"\n",
		"[blackout.upgrade]\nuntil = \"2027-03-02T05:00\"\n")
	checkBlackouts(t, c)
	c = read(t, "blackout.mondays.hours = \"mon/02:00-03:00\"\nblackout.upgrade = {from = \"2027-03-01T22:00\", until = \"2027-03-02T05:00\", zone = \"Asia/Tokyo\", reason = \"storage\"}\n")
	checkBlackouts(t, c)
}

func checkBlackouts(t *testing.T, c Config) {
	t.Helper()
	if err := c.Err(); err != nil {
		t.Fatal(err)
	}
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	all := c.HostBlackouts(berlin)
	for at, want := range map[string]string{
		"2027-03-01T12:59:59Z": "", "2027-03-01T13:00:00Z": "blackout.upgrade: storage", "2027-03-01T20:00:00Z": "",
		"2027-03-08T01:30:00Z": "blackout.mondays", "2027-03-08T02:30:00Z": "",
	} {
		instant, _ := time.Parse(time.RFC3339, at)
		if _, against := all.Opens(nil, instant); against != want {
			t.Errorf("at %s: got %q, want %q", at, against, want)
		}
	}
}
