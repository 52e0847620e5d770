package call

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/job"
)

// checkTexts returns an error if a text or a list in the body of a request is
// too long: a text may have job.MaxText bytes and a list api.MaxItems elements,
// unless the field has a tag such as max:"4096" for its texts. Bytes, such as
// the text of a crontab, have limits of their own.
func checkTexts(document any) error { return checkValue(reflect.ValueOf(document), "", job.MaxText) }

func checkValue(v reflect.Value, name string, most int) error {
	switch v.Kind() {
	case reflect.String:
		return checkText(name, v.String(), most)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			return nil
		}
		if err := checkCount(name, v.Len()); err != nil {
			return err
		}
		for i := range v.Len() {
			if err := checkValue(v.Index(i), name, most); err != nil {
				return err
			}
		}
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(v.Type()) {
			if !f.IsExported() {
				continue
			}
			field, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			own, _ := strconv.Atoi(f.Tag.Get("max"))
			if err := checkValue(v.FieldByIndex(f.Index), field, cmp.Or(own, most)); err != nil {
				return err
			}
		}
	}
	return nil
}

// CheckQuery is checkTexts for the parameters of a request without a body.
func CheckQuery(query url.Values) error {
	for _, name := range slices.Sorted(maps.Keys(query)) {
		most := job.MaxText
		if name == "file" || name == "crontab" {
			most = api.MaxPath
		}
		if err := checkCount(name, len(query[name])); err != nil {
			return err
		}
		for _, text := range query[name] {
			if err := checkText(name, text, most); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkText(name, text string, most int) error {
	if len(text) <= most {
		return nil
	}
	return &api.Error{
		Kind: api.Usage, What: fmt.Sprintf("the text of %q is too long", job.CutText(name)),
		Why: fmt.Sprintf("it has %d bytes, at most %d are accepted", len(text), most), Fix: "use a shorter text",
	}
}

func checkCount(name string, n int) error {
	if n <= api.MaxItems {
		return nil
	}
	return &api.Error{
		Kind: api.Usage, What: fmt.Sprintf("the list of %q is too long", job.CutText(name)),
		Why: fmt.Sprintf("it has %d elements, at most %d are accepted", n, api.MaxItems), Fix: "use a pattern, or several requests",
	}
}
