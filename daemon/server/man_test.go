package server

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cronring/cronring/daemon/server/call"
)

// TestManAPI compares the requests on man/cronring-api.7 with the routes, the words with
// their types, and the status codes of errors.
func TestManAPI(t *testing.T) {
	text, err := os.ReadFile("../../man/cronring-api.7")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	want, got := map[string]bool{}, map[string]bool{}
	for _, r := range newWorld(t, "").server().routes() {
		want[r.method+" "+r.path] = r.permission == admin
	}
	open, rooted, _ := strings.Cut(page, ".Ss For root only")
	for admin, part := range map[bool]string{false: open, true: rooted} {
		for _, m := range regexp.MustCompile(`(?m)^\.It Li ((?:GET|POST) \S+)$`).FindAllStringSubmatch(part, -1) {
			got[m[1]] = admin
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("requests and whether only root may; daemon and page differ (-daemon +page):\n%s", diff)
	}
	for kind, code := range call.HTTPStatus {
		if row := fmt.Sprintf(".It Li %s Ta %d Ta ", kind, code); !strings.Contains(page, row) {
			t.Errorf("the page has no row %q", row)
		}
	}
}
