package board

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

func filterBoard() *Board {
	b := New()
	b.Apply(api.BoardUpdate{Complete: true, Rows: []api.Row{
		{Job: "etl-orders", Command: "/opt/etl/run orders", User: "etl", Crontab: "/etc/cron.d/etl", Schedule: "*/5 * * * *", Labels: "team:data,env:prod", State: job.StateFailing, Streak: 3, Took: 12 * time.Second, Why: "it failed"},
		{Job: "pg-backup", Command: "pg_dumpall -f /var/backups/all", User: "postgres", Crontab: "/var/spool/cron/crontabs/postgres", Labels: "team:db", Contact: "Ops team", State: job.StateOK, Took: 10 * time.Minute, Zone: "Europe/Berlin"},
		{Job: "sitemap", Command: "php Sitemap.php", User: "www", Crontab: "/etc/cron.d/web", Labels: "team:web", State: job.StateRunning, Paused: true, Node: "db-02"},
		{Job: "new-one", Command: "true", User: "www", Crontab: "/etc/cron.d/web", State: job.StateNew},
	}})
	return b
}

func TestFilterSelects(t *testing.T) {
	b := filterBoard()
	for text, want := range map[string]string{
		"":                           "etl-orders new-one pg-backup sitemap",
		"etl":                        "etl-orders",
		"ETL ORDERS":                 "etl-orders",
		"etl backup":                 "",
		`"run orders"`:               "etl-orders",
		`"run  orders"`:              "",
		"pgb":                        "pg-backup",
		"etlodrers":                  "etl-orders",
		"stiemap !php":               "",
		"label:team:web":             "sitemap",
		"label:team":                 "etl-orders pg-backup sitemap",
		"!label:team":                "new-one",
		"user:www":                   "new-one sitemap",
		"user:www !new":              "sitemap",
		"state:fail":                 "etl-orders",
		"state:fail,new":             "etl-orders new-one",
		"state:paused":               "sitemap",
		"!state:ok":                  "etl-orders new-one sitemap",
		"took>5m":                    "pg-backup",
		"took<=12s":                  "etl-orders",
		"!took>5m":                   "etl-orders new-one sitemap",
		"fails>=3":                   "etl-orders",
		"file:etl":                   "etl-orders",
		"file:cron.d user:www":       "new-one sitemap",
		"job:etl":                    "etl-orders",
		"command:etl":                "etl-orders",
		"command:new":                "",
		"schedule:*/5":               "etl-orders",
		"zone:berlin":                "pg-backup",
		"host:db-02":                 "sitemap",
		"why:failed":                 "etl-orders",
		"owner:ops":                  "pg-backup",
		"/^pg|^new/":                 "new-one pg-backup",
		"/all$/":                     "pg-backup",
		"/Sitemap/":                  "sitemap",
		"/SITEMAP/":                  "",
		"/etl.*orders/ user:etl":     "etl-orders",
		"/opt/etl":                   "etl-orders",
		"!/orders|backup/ label:web": "sitemap",
		"http://x":                   "",
		"user: ! label:":             "etl-orders new-one pg-backup sitemap",
	} {
		l := b.List(Query{Text: text, Order: ByName})
		var got []string
		for i := range l.Len() {
			got = append(got, string(l.At(i).Job))
		}
		if got := strings.Join(got, " "); l.Err() != nil || got != want {
			t.Errorf("%q: got %q, error %v, want %q", text, got, l.Err(), want)
		}
	}
}

func TestFilterReportsErrors(t *testing.T) {
	b := filterBoard()
	for text, want := range map[string]string{
		"lable:web":  "no field is called lable: did you mean label?",
		"took>5":     "took>: expected a time such as 5m",
		"took>":      "took>: expected a time such as 5m",
		"took:5m":    "took is compared: took>5m",
		"fails>many": "fails>: expected a number such as 2",
		"user>www":   "user contains a text: user:TEXT",
		"state:bad":  "invalid state bad: expected failing, late, running, held, paused, disabled, ok, new",
		"/(/":        "invalid /(/: missing closing )",
		"/a{2000}/":  "invalid /a{2000}/: invalid repeat count",
	} {
		l := b.List(Query{Text: "etl"})
		l.Set(Query{Text: text})
		if l.Err() == nil || l.Err().Error() != want || l.Len() != 1 {
			t.Errorf("%q: got %v and %d jobs, want %q and the job of the filter before", text, l.Err(), l.Len(), want)
		}
		if l.Set(Query{}); l.Err() != nil || l.Len() != 4 {
			t.Errorf("%q: then without a filter: got %v and %d jobs", text, l.Err(), l.Len())
		}
	}
}

// A person types a condition behind another one: the half typed word lists nothing, and the error
// that follows brings the jobs back.
func TestFilterErrorAfterNothing(t *testing.T) {
	l := filterBoard().List(Query{Text: "etl took"})
	before := l.Len()
	if l.Set(Query{Text: "etl took>"}); before != 0 || l.Err() == nil || l.Len() != 1 {
		t.Errorf("got %d jobs, then %d and %v, want 0, then 1 and an error", before, l.Len(), l.Err())
	}
}

// FuzzFilter: any text is parsed without a panic, and a regular expression finds the same with and
// without the search for its literal.
func FuzzFilter(f *testing.F) {
	for _, text := range []string{"label:team:web user:www state:fail took>5m file:etl /regex/ !x", `!"a b" /a(bc)+d?/`, "/(?i)X/", "/\\/x/", "state:,", "\xff:"} {
		f.Add(text, "etl-orders")
	}
	f.Fuzz(func(t *testing.T, text, name string) {
		b := New()
		b.Apply(api.BoardUpdate{Rows: []api.Row{{Job: job.ID(name), Command: text}}})
		terms, err := parseFilter(text)
		if err != nil {
			return
		}
		b.List(Query{Text: text})
		for _, term := range terms {
			if term.expr == nil {
				continue
			}
			plain := regexp.MustCompile(term.expr.String())
			for _, in := range []string{name, text} {
				if !term.exact {
					in = strings.ToLower(in)
				}
				if got, want := term.matches(in), plain.MatchString(in); got != want {
					t.Fatalf("%q in %q: got %t, want %t (literal %q)", text, in, got, want, term.literal)
				}
			}
		}
	})
}
