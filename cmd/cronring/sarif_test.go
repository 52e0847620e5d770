package main

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/cronring/cronring/cmd/cronring/cli"
)

// TestSARIFRequiredFields holds lint to what the schema of SARIF 2.1.0 requires
// of the objects that it writes.
func TestSARIFRequiredFields(t *testing.T) {
	stdout, _, code := Called(t, "61 * * * * true\n0 0 13 * 5 echo 100%\n", "lint", "-", "-o", "sarif")
	if code != cli.ExitProblems {
		t.Fatalf("lint: got exit %d, want %d", code, cli.ExitProblems)
	}
	var log struct {
		Version string
		Runs    []struct {
			Tool struct {
				Driver struct {
					Name  string
					Rules []struct{ ID string }
				}
			}
			ColumnKind string
			Results    []struct {
				RuleID    string
				Level     string
				Message   struct{ Text string }
				Locations []struct {
					PhysicalLocation struct {
						ArtifactLocation struct{ URI string }
						Region           struct{ StartLine, StartColumn, EndColumn int }
					}
				}
			}
		}
	}
	if err := json.Unmarshal([]byte(stdout), &log); err != nil {
		t.Fatal(err)
	}
	if log.Version != "2.1.0" || len(log.Runs) != 1 || log.Runs[0].Tool.Driver.Name == "" {
		t.Fatalf("got %s, want version 2.1.0 and one run with the name of the tool", stdout)
	}
	run := log.Runs[0]
	if !slices.Contains([]string{"utf16CodeUnits", "unicodeCodePoints"}, run.ColumnKind) || len(run.Results) < 2 {
		t.Errorf("got columnKind %q and %d results, want one of the schema's and at least 2", run.ColumnKind, len(run.Results))
	}
	for _, r := range run.Results {
		if !slices.Contains([]string{"none", "note", "warning", "error"}, r.Level) || r.Message.Text == "" || r.RuleID == "" || len(r.Locations) != 1 {
			t.Errorf("got result %+v, want level, message, rule and place", r)
		}
		p := r.Locations[0].PhysicalLocation
		if p.ArtifactLocation.URI == "" || p.Region.StartLine < 1 || p.Region.StartColumn < 1 || p.Region.EndColumn <= p.Region.StartColumn {
			t.Errorf("got place %+v, want a URI and a region", p)
		}
	}
}
