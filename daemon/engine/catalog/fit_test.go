package catalog

import (
	"testing"

	"github.com/cronring/cronring/crontab/option"
)

func TestMisfitNamesTheLabel(t *testing.T) {
	label := []option.Label{{Key: "disk", Value: "ssd"}}
	labels := map[string]string{"disk": "ssd"}
	for _, tc := range []struct {
		options option.Options
		labels  map[string]string
		want    string
	}{
		{option.Options{Need: label}, nil, "need= requires disk:ssd"},
		{option.Options{Need: label}, labels, ""},
		{option.Options{Avoid: label}, nil, ""},
		{option.Options{Avoid: label}, labels, "avoid= names disk:ssd"},
	} {
		if got := Misfit(&tc.options, tc.labels).Words(); got != tc.want {
			t.Errorf("need=%v avoid=%v with %v: got %q, want %q", tc.options.Need, tc.options.Avoid, tc.labels, got, tc.want)
		}
	}
}
