package server

import (
	"net/http"
	"strings"
	"testing"
)

// If a job does not exist, the error suggests the same command for the job with the nearest name.
func TestNearestJobIsSuggestedWithItsCommand(t *testing.T) {
	for command, r := range map[string]string{
		"show":                    "GET /v1/job?job=REF",
		"config show":             "GET /v1/config/job?job=REF",
		"report metrics":          "GET /v1/metrics?jobs=true&job=REF",
		"state get k --job":       "GET /v1/state?key=k&job=REF",
		"state set k VALUE --job": `POST /v1/state?{"key":"k","value":"","job":"REF"}`,
		"state delete k --job":    `POST /v1/state?{"key":"k","delete":true,"job":"REF"}`,
		"why":                     "GET /v1/why?job=REF",
		"next":                    "GET /v1/next?job=REF",
		"history":                 "GET /v1/runs?job=REF",
		"access --job":            "GET /v1/access?job=REF",
		"config env":              "GET /v1/env?job=REF",
		"state list --job":        "GET /v1/state?job=REF",
		"report stats":            "GET /v1/stats?job=REF",
		"report timeline":         "GET /v1/timeline?job=REF",
		"report clashes":          "GET /v1/clashes?job=REF",
		"report graph":            "GET /v1/graph?job=REF",
		"report events":           "GET /v1/events?job=REF",
		"logs":                    "GET /v1/output?run=REF",
		"run":                     `POST /v1/run?{"jobs":["REF"]}`,
		"retry":                   `POST /v1/retry?{"refs":["REF"]}`,
		"dead retry":              `POST /v1/redrive?{"refs":["REF"]}`,
		"dead drop":               `POST /v1/drop?{"refs":["REF"]}`,
	} {
		w := deadWorld(t)
		method, path, _ := strings.Cut(strings.ReplaceAll(r, "REF", "ann-jop"), " ")
		path, input, _ := strings.Cut(path, "?")
		q := walked{query: input}
		if method == http.MethodPost {
			q = walked{body: input}
		}
		if _, text := w.walk(0, method, path, q); !strings.Contains(text, `"fix":"cronring `+command+" ann-job    or list: cronring list") {
			t.Errorf("%s: got %s, want %q in its fix", r, text, "cronring "+command)
		}
	}
}
