package analysis

import (
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/api"
)

// object is an object of SARIF 2.1.0, of which lint writes a part for code scanners:
// https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
type object = map[string]any

var sarifLevels = map[crontab.Severity]string{crontab.Error: "error", crontab.Warning: "warning", crontab.Note: "note"}

// newSARIF converts diagnostics to SARIF. It needs texts because SARIF counts columns in
// characters, and diagnostics count bytes.
func newSARIF(diagnostics []crontab.Diagnostic, texts map[string]string) object {
	rules, results := []object{}, []object{}
	lines, known := map[string][]string{}, map[crontab.Code]bool{}
	for _, d := range diagnostics {
		if !known[d.Code] {
			rules, known[d.Code] = append(rules, object{"id": d.Code}), true
		}
		if lines[d.File] == nil {
			lines[d.File] = strings.Split(texts[d.File], "\n")
		}
		message := d.Message
		if d.Fix != "" {
			message += "; fix: " + d.Fix
		}
		results = append(results, object{
			"ruleId": d.Code, "level": sarifLevels[d.Severity], "message": object{"text": message},
			"locations": []object{{"physicalLocation": object{"artifactLocation": object{"uri": fileURI(d.File)}, "region": region(d, lines[d.File])}}},
		})
	}
	driver := object{"name": "cronring", "version": api.Release(), "informationUri": "https://github.com/cronring/cronring", "rules": rules}
	return object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{"tool": object{"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}},
	}
}

// fileURI is the path as a URI reference; an absolute one names its scheme.
func fileURI(name string) string {
	u := url.URL{Path: name}
	if strings.HasPrefix(name, "/") {
		u.Scheme = "file"
	}
	return u.String()
}

func region(d crontab.Diagnostic, lines []string) object {
	r := object{"startLine": max(d.Line, 1)}
	if d.Column == 0 || d.Line < 1 || d.Line > len(lines) {
		return r
	}
	line := lines[d.Line-1]
	at := min(d.Column-1, len(line))
	end := min(at+max(d.Length, 1), len(line))
	first := utf8.RuneCountInString(line[:at]) + 1
	r["startColumn"], r["endColumn"] = first, max(utf8.RuneCountInString(line[:end])+1, first)
	return r
}
