package diagnostic

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	jobs := []string{"etl-orders", "etl-nightly", "certbot-renew", "pg-backup", strings.Repeat("x", 300)}
	for text, want := range map[string]string{
		"etl-order": "etl-orders", "elt-orders": "etl-orders", "backup": "pg-backup", "CERTBOT": "certbot-renew",
		"nothing-like-it": "", "": "", strings.Repeat("y", 300): "",
	} {
		if got := Nearest(text, jobs); got != want {
			t.Errorf("Nearest(%.20q) = %q, want %q", text, got, want)
		}
	}
}
