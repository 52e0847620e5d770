// Package metrics owns the writer of metrics in Prometheus' text format, version 0.0.4, which
// node_exporter reads from files, too.
package metrics

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// ContentType is the HTTP content type of the text.
const ContentType = "text/plain; version=0.0.4; charset=utf-8"

// Kind is the type of a family.
type Kind string

// The kinds.
const (
	Gauge     Kind = "gauge"
	Counter   Kind = "counter"
	Histogram Kind = "histogram"
)

// Text collects families of samples in the exposition format. It escapes label values; names are
// the program's own, and an invalid one panics.
type Text struct {
	text   []byte
	common string // labels of each sample
	family string
	kind   Kind
	known  map[string]bool
}

// New begins a text whose samples all have some labels: names and values alternate.
func New(labels ...string) *Text {
	return &Text{common: string(appendLabels(nil, labels)), known: map[string]bool{}}
}

// Bytes returns the text.
func (t *Text) Bytes() []byte { return t.text }

// Family begins a family, which contains all samples until the next one. Each name may begin once.
func (t *Text) Family(name string, kind Kind, help string) {
	if !isName(name) || t.known[name] || (kind == Counter) != strings.HasSuffix(name, "_total") {
		panic(fmt.Sprintf("metrics: %q is not a new name of a %s", name, kind))
	}
	t.family, t.kind = name, kind
	t.known[name] = true
	t.text = fmt.Appendf(t.text, "# HELP %s %s\n# TYPE %s %s\n", name, helpEscapes.Replace(help), name, kind)
}

// Add adds a sample to the family, with labels of its own: names and values by
// turns.
func (t *Text) Add(value float64, labels ...string) { t.sample("", value, labels) }

// Distribution adds how many observations there were up to each of some bounds and
// above all of them, and their sum, to a family that is a histogram.
func (t *Text) Distribution(bounds []float64, counts []uint64, sum float64) {
	if t.kind != Histogram || len(counts) != len(bounds)+1 || !slices.IsSorted(bounds) {
		panic("metrics: " + t.family + " is not a histogram with these buckets")
	}
	all := uint64(0)
	for i, n := range counts {
		all += n
		bound := math.Inf(1)
		if i < len(bounds) {
			bound = bounds[i]
		}
		t.sample("_bucket", float64(all), []string{"le", number(bound)})
	}
	t.sample("_sum", sum, nil)
	t.sample("_count", float64(all), nil)
}

func (t *Text) sample(suffix string, value float64, labels []string) {
	t.text = append(append(t.text, t.family...), suffix...)
	if t.common != "" || len(labels) > 0 {
		t.text = append(append(t.text, '{'), t.common...)
		if t.common != "" && len(labels) > 0 {
			t.text = append(t.text, ',')
		}
		t.text = append(appendLabels(t.text, labels), '}')
	}
	t.text = append(append(append(t.text, ' '), number(value)...), '\n')
}

func number(value float64) string {
	switch {
	case math.IsInf(value, 1):
		return "+Inf"
	case math.IsInf(value, -1):
		return "-Inf"
	case value == math.Trunc(value) && math.Abs(value) < 1<<53: // 1766000000, not 1.766e+09
		return strconv.FormatFloat(value, 'f', -1, 64)
	}
	return strconv.FormatFloat(value, 'g', -1, 64)
}

var (
	helpEscapes  = strings.NewReplacer(`\`, `\\`, "\n", `\n`)
	valueEscapes = strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
)

func appendLabels(to []byte, labels []string) []byte {
	for i := 0; i+1 < len(labels); i += 2 {
		if !isName(labels[i]) {
			panic(fmt.Sprintf("metrics: %q is not the name of a label", labels[i]))
		}
		if i > 0 {
			to = append(to, ',')
		}
		to = append(append(to, labels[i]...), '=', '"')
		to = append(append(to, escaped(labels[i+1])...), '"')
	}
	return to
}

// escaped returns a value between quotation marks. It replaces invalid UTF-8, which a job's name
// may contain, because all of the text would be rejected otherwise.
func escaped(value string) string {
	if !utf8.ValidString(value) {
		value = strings.ToValidUTF8(value, "\ufffd")
	}
	return valueEscapes.Replace(value)
}

// isName reports whether a word is a valid name of a family or a label. Colons are for the rules of
// Prometheus.
func isName(name string) bool {
	for i, c := range []byte(name) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return name != ""
}
