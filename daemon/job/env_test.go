package job

import (
	"fmt"
	"strings"
	"testing"
)

func TestCheckEnv(t *testing.T) {
	var many []string
	for i := range MaxEnv + 1 {
		many = append(many, fmt.Sprintf("V%d=", i))
	}
	for _, tc := range []struct {
		env  []string
		want string // a part of the complaint; "": none
	}{
		{nil, ""},
		{[]string{"FULL=yes", "_a1=", "a=b=c d\n\xff"}, ""},
		{many[:MaxEnv], ""},
		{many, "at most 64"},
		{[]string{"A=" + strings.Repeat("x", maxEnvText-2)}, ""},
		{[]string{"A=" + strings.Repeat("x", maxEnvText-2), "B="}, "more than 16 KiB"},
		{[]string{"FULL"}, "expected NAME=value"},
		{[]string{"=x"}, "not a variable name"},
		{[]string{"1A=x"}, "not a variable name"},
		{[]string{"A-B=x"}, "not a variable name"},
		{[]string{"\xc1B=x"}, "not a variable name"},
		{[]string{"A=\x00"}, "no variable can have"},
		{[]string{"A=1", "B=2", "A=3"}, "A is given twice"},
		{[]string{"CRONRING_JOB=x"}, "CRONRING_JOB cannot be set for one run"},
		{[]string{"MAILTO=x"}, "MAILTO cannot be set for one run"},
		{[]string{"SHELL=/bin/x"}, "SHELL cannot be set for one run"},
	} {
		err := CheckEnv(tc.env)
		if got := fmt.Sprint(err); tc.want == "" && err != nil || !strings.Contains(got, tc.want) && tc.want != "" {
			t.Errorf("CheckEnv(%.60q): got %v, want %q", tc.env, err, tc.want)
		}
	}
}
