package review

import (
	"fmt"
	"strings"
	"testing"
)

func TestFindClashes(t *testing.T) {
	other := version("#@ name=dump\n30 3 * * * root dump\n#@ name=always\n* * * * * root always\n#@ name=off enabled=no\n30 3 * * * root off\n")
	const base = "#@ name=orders\n*/5 * * * * etl run\n"
	many := base
	for i := range 8 {
		many += fmt.Sprintf("#@ name=j%d\n15 4 * * * root j%d\n", i, i)
	}
	for _, tc := range []struct{ name, old, text, want string }{
		{"added beside jobs of its own and of other crontabs", base, base + "#@ name=new\n30 3 * * * root new\n", "new 11-21 03:30 [dump orders]+0"},
		{"added where nothing starts", base, base + "#@ name=new\n31 3 * * * root new\n", "new -"},
		{"the fullest of its minutes", base, base + "#@ name=new\n25-30 3 * * * root new\n", "new 11-21 03:30 [dump orders]+0"},
		{"schedule moved to where another starts", base + "#@ name=k\n1 2 * * * root k\n", base + "#@ name=k\n30 3 * * * root k\n", "k 11-21 03:30 [dump orders]+0"},
		{"schedule thinned out: its minutes are no news", base, strings.Replace(base, "*/5", "*/10", 1), "orders -"},
		{"another part changed", base + "#@ name=k\n30 3 * * * root k\n", base + "#@ name=k retry=1\n30 3 * * * root k\n", "k -"},
		{"removed", base + "#@ name=k\n30 3 * * * root k\n", base, "k -"},
		{"always", base, base + "#@ name=k\n* * * * * root k\n", "k -"},
		{"more than are named", many, many + "#@ name=k\n15 4 * * * root k\n", "k 11-21 04:15 [j0 j1 j2 j3 j4]+4"},
		{"seconds of one minute", base, base + "#@ name=k sec=*/5\n30 3 * * * root k\n", "k 11-21 03:30 [dump orders]+0"},
	} {
		old, now := version(tc.old), version(tc.text)
		found := Compare(old, now)
		FindClashes(found, noon, Week(noon), other, now)
		var got []string
		for _, d := range found {
			if d.Clash == nil {
				got = append(got, string(d.Job)+" -")
				continue
			}
			got = append(got, fmt.Sprintf("%s %s %s+%d", d.Job, d.Clash.At.Format("01-02 15:04"), d.Clash.Jobs, d.Clash.More))
		}
		if strings.Join(got, "; ") != tc.want {
			t.Errorf("%s: got %q, want %q", tc.name, strings.Join(got, "; "), tc.want)
		}
	}
}
