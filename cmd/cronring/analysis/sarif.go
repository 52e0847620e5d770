package analysis

import (
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
)

// The part of SARIF 2.1.0 that lint writes, for code scanners:
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool       sarifTool     `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifTool struct {
		Driver sarifDriver `json:"driver"`
	}
	sarifDriver struct {
		Name           string      `json:"name"`
		Version        string      `json:"version"`
		InformationURI string      `json:"informationUri"`
		Rules          []sarifRule `json:"rules"`
	}
	sarifRule struct {
		ID string `json:"id"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		Level     string          `json:"level"`
		Message   sarifMessage    `json:"message"`
		Locations []sarifLocation `json:"locations"`
	}
	sarifMessage struct {
		Text string `json:"text"`
	}
	sarifLocation struct {
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   sarifRegion   `json:"region"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
)

var sarifLevels = map[crontab.Severity]string{crontab.Error: "error", crontab.Warning: "warning", crontab.Note: "note"}

// newSARIF converts diagnostics to SARIF. It needs texts because SARIF counts columns in
// characters, and diagnostics count bytes.
func newSARIF(diagnostics []crontab.Diagnostic, texts map[string]string) sarifLog {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver = sarifDriver{Name: "cronring", Version: api.Release(), InformationURI: "https://github.com/cronring/cronring", Rules: []sarifRule{}}
	lines := map[string][]string{}
	for _, d := range diagnostics {
		if rule := (sarifRule{string(d.Code)}); !slices.Contains(run.Tool.Driver.Rules, rule) {
			run.Tool.Driver.Rules = append(run.Tool.Driver.Rules, rule)
		}
		if lines[d.File] == nil {
			lines[d.File] = strings.Split(texts[d.File], "\n")
		}
		message := d.Message
		if d.Fix != "" {
			message += "; fix: " + d.Fix
		}
		run.Results = append(run.Results, sarifResult{
			RuleID: string(d.Code), Level: sarifLevels[d.Severity], Message: sarifMessage{message},
			Locations: []sarifLocation{{sarifPhysical{sarifArtifact{fileURI(d.File)}, region(d, lines[d.File])}}},
		})
	}
	return sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0", Runs: []sarifRun{run}}
}

// fileURI is the path as a URI reference; an absolute one names its scheme.
func fileURI(name string) string {
	u := url.URL{Path: name}
	if strings.HasPrefix(name, "/") {
		u.Scheme = "file"
	}
	return u.String()
}

func region(d crontab.Diagnostic, lines []string) sarifRegion {
	r := sarifRegion{StartLine: max(d.Line, 1)}
	if d.Column == 0 || d.Line < 1 || d.Line > len(lines) {
		return r
	}
	line := lines[d.Line-1]
	at := min(d.Column-1, len(line))
	end := min(at+max(d.Length, 1), len(line))
	r.StartColumn = utf8.RuneCountInString(line[:at]) + 1
	r.EndColumn = max(utf8.RuneCountInString(line[:end]), r.StartColumn-1) + 1
	return r
}
