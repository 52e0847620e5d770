package cli

import (
	"bytes"
	"encoding"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"slices"
	"strings"

	"github.com/itchyny/gojq"
	"github.com/spf13/cobra"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/daemon/display"
)

// chosen is the part of a document that --json=FIELDS and --jq select.
type chosen struct {
	document reflect.Type
	names    bool // only print the names of the fields
	fields   []string
	query    *gojq.Code
}

// AddSelection adds --json and --jq to a command whose result is a document.
func (p *Printer) AddSelection(verb *cobra.Command, out *Output, document any) {
	form, of := &out.Choice, reflect.TypeOf(document)
	verb.Flags().Func("json", "the result as JSON, of it only these `FIELDS`; --json=? lists them", func(text string) error {
		return p.setFields(text, form, of)
	})
	verb.Flags().Func("jq", "the result as JSON, through this `EXPR` of jq", func(text string) error { return p.setQuery(text, form) })
	verb.Flags().Lookup("json").NoOptDefVal = allFields
	args, run := verb.Args, verb.RunE
	verb.Args = func(cmd *cobra.Command, words []string) error {
		if p.chosen.names || args == nil {
			return nil
		}
		return args(cmd, words)
	}
	verb.RunE = func(cmd *cobra.Command, words []string) error {
		if !p.chosen.names {
			return run(cmd, words)
		}
		for _, name := range FieldNames(itemOf(of)) {
			p.Printf("%s\n", name)
		}
		return nil
	}
}

// ListFields is the value of --json that lists the names of the fields, and allFields is its value
// if none is given. No field has one of these names.
const (
	ListFields = "?"
	allFields  = "*"
)

// setFields applies --json to a command with a document of a type. It refuses a field that there is
// not, before anybody is asked anything.
func (p *Printer) setFields(text string, form *Choice, of reflect.Type) error {
	switch text {
	case ListFields:
		p.chosen.names = true
		return nil
	case allFields:
		return form.Set(FormJSON)
	}
	known := FieldNames(itemOf(of))
	for name := range strings.SplitSeq(text, ",") {
		if !slices.Contains(known, name) {
			return UnknownField(name, known, "--json=?")
		}
		p.chosen.fields = append(p.chosen.fields, name)
	}
	p.chosen.document = of
	return form.Set(FormJSON)
}

// UnknownField is the error of a field that there is not; list is the flag that lists all.
func UnknownField(name string, known []string, list string) error {
	hint := ""
	if near := diagnostic.Nearest(name, known); near != "" {
		hint = fmt.Sprintf("; nearest is %q", near)
	}
	return fmt.Errorf("unknown field %q%s; %s lists the fields", name, hint, list)
}

// setQuery applies --jq. Its expression can reach neither files nor the environment.
func (p *Printer) setQuery(text string, form *Choice) error {
	code, err := compile(text)
	if err != nil {
		return err
	}
	p.chosen.query = code
	return form.Set(FormJSON)
}

func compile(text string) (*gojq.Code, error) {
	query, err := gojq.Parse(text)
	if err != nil {
		return nil, err
	}
	return gojq.Compile(query)
}

// itemOf is the type whose fields are chosen: that of the items, where the
// document is nothing but a list, else that of the document.
func itemOf(document reflect.Type) reflect.Type {
	if key := listKeys(document); len(key) > 0 {
		return document.Field(1).Type.Elem()
	}
	return document
}

// listKeys are the names of a document's lists, where it has nothing else
// beside its version.
func listKeys(document reflect.Type) (keys []string) {
	for i := range document.NumField() {
		f := document.Field(i)
		switch name := jsonName(f); {
		case name == "v":
		case f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct:
			keys = append(keys, name)
		default:
			return nil
		}
	}
	return keys
}

func jsonName(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	return name
}

// FieldNames are the names of the fields of a type, and of those within them:
// "job.id".
func FieldNames(t reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(t) {
		name := jsonName(f)
		if name == "" || name == "-" || !f.IsExported() {
			continue
		}
		names = append(names, name)
		inner := f.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		if inner.Kind() == reflect.Struct && !inner.Implements(textType) {
			for _, below := range FieldNames(inner) {
				names = append(names, name+"."+below)
			}
		}
	}
	return names
}

// textType marks types that are text in JSON, such as times.
var textType = reflect.TypeFor[encoding.TextMarshaler]()

// chooseFrom prints what was chosen of a document, if anything was.
func (p *Printer) chooseFrom(document any) (done bool, err error) {
	c := &p.chosen
	if c.fields == nil && c.query == nil {
		return false, nil
	}
	text, err := json.Marshal(document)
	if err != nil {
		return true, err
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		return true, err
	}
	if c.fields != nil {
		plain = c.pick(plain)
	}
	if c.query == nil {
		return true, p.encodeJSON(plain)
	}
	return true, p.printQuery(c.query.Run(plain))
}

// PrintProperty prints one field of a document: text as it is, with control
// characters escaped, anything else as JSON.
func (p *Printer) PrintProperty(document any, name string) error {
	if err := p.setFields(name, OneOf(FormJSON), reflect.TypeOf(document)); err != nil {
		return UsageError("show a property", err.Error(), "cronring show --json=?")
	}
	var err error
	if p.chosen.query, err = compile(".[]"); err != nil {
		return err
	}
	_, err = p.chooseFrom(document)
	return err
}

// pick leaves out what was not chosen.
func (c *chosen) pick(document any) any {
	keys := listKeys(c.document)
	if len(keys) == 0 {
		return c.fieldsOf(document)
	}
	items := []any{}
	for _, key := range keys {
		list, _ := document.(map[string]any)[key].([]any)
		for _, item := range list {
			items = append(items, c.fieldsOf(item))
		}
	}
	return items
}

// fieldsOf returns an object with the chosen fields. A field that the item lacks is null.
func (c *chosen) fieldsOf(item any) map[string]any {
	object := map[string]any{}
	for _, field := range c.fields {
		object[field] = FieldOf(item, field)
	}
	return object
}

// FieldOf returns a field of a decoded document, as "job.id"; nil: the document lacks it.
func FieldOf(document any, field string) any {
	for name := range strings.SplitSeq(field, ".") {
		inner, _ := document.(map[string]any)
		document = inner[name]
	}
	return document
}

// printQuery prints what comes of an expression: text as it is, as far as that
// is fit for a terminal, and all else as JSON, one on a line.
func (p *Printer) printQuery(results gojq.Iter) error {
	for {
		v, more := results.Next()
		if !more {
			return nil
		}
		switch v := v.(type) {
		case error:
			if halt, ok := v.(*gojq.HaltError); ok && halt.Value() == nil {
				return nil
			}
			return UsageError("carry out --jq", v.Error(), "")
		case string:
			for line := range strings.SplitSeq(v, "\n") {
				p.Printf("%s\n", display.Text(line))
			}
		default:
			text, err := gojq.Marshal(v)
			if err != nil {
				return err
			}
			fmt.Fprintf(p.jsonOut(), "%s\n", bytes.TrimSpace(text))
		}
	}
}

// PrintAnswer writes a result that is a page of text: the document, or what text prints.
func (p *Printer) PrintAnswer(o *Output, document any, text func()) error {
	if o.Value == FormJSON {
		return p.PrintJSON(document)
	}
	text()
	return nil
}

// PrintJSON writes v as an indented document, or what --json and --jq choose
// of it.
func (p *Printer) PrintJSON(v any) error {
	if done, err := p.chooseFrom(v); done {
		return err
	}
	return p.encodeJSON(v)
}

func (p *Printer) encodeJSON(v any) error {
	enc := json.NewEncoder(p.jsonOut())
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// PrintLine writes v as one line of JSON.
func (p *Printer) PrintLine(v any) error {
	enc := json.NewEncoder(p.jsonOut())
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// jsonOut returns the writer for JSON. For a terminal it escapes control characters as
// \uXXXX, which does not change the document.
func (p *Printer) jsonOut() io.Writer {
	if p.Terminal {
		return display.JSON{W: p.Out}
	}
	return p.Out
}

// PrintLines writes one JSON object per line.
func PrintLines[T any](a *App, items []T) error {
	for i := range items {
		if err := a.PrintLine(items[i]); err != nil {
			return err
		}
	}
	return nil
}
