package account

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestGroupsOf(t *testing.T) {
	h := newTestDirectory(t, basic(switchSSS))
	h.Directory.tools = func() tools { return tools{"getent", "id"} }
	asked, down := 0, false
	h.options.Exec = func(_ context.Context, argv ...string) ([]byte, int, error) {
		if down {
			return nil, 0, errors.New("the service does not answer")
		}
		switch line := strings.Join(argv, " "); line {
		case "id -G -- bob":
			return []byte("1000 4 9001 9002\n"), 0, nil
		case "getent -- group 9001 9002":
			asked++
			return []byte("oncall:*:9001:bob\nother:*:77:bob\n"), 2, nil
		default:
			t.Errorf("asked %s", line)
			return nil, 1, nil
		}
	}
	want := []string{"adm", "bob", "oncall", "sudo", "users"}
	now := time.Now()
	h.now = func() time.Time { return now }
	for range 3 {
		if got, err := h.GroupsOf(t.Context(), "bob"); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %v, %v, want %v", got, err, want)
		}
	}
	if asked != 1 {
		t.Errorf("asked for the names of groups %d times in a minute, want once", asked)
	}
	down, now = true, now.Add(time.Hour)
	if got, err := h.GroupsOf(t.Context(), "bob"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("while the service is down: got %v, %v, want the last answer", got, err)
	}
	now = now.Add(48 * time.Hour)
	if got, err := h.GroupsOf(t.Context(), "bob"); err != nil || !reflect.DeepEqual(got, []string{"adm", "bob", "sudo", "users"}) {
		t.Errorf("after two days: got %v, %v, want those of the files", got, err)
	}
	if _, err := h.GroupsOf(t.Context(), "nobody-at-all"); err == nil {
		t.Error("an unknown user has groups")
	}
}
