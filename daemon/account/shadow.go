package account

import "time"

type shadow struct{}

// Refusal is why no job may run as an account at a time, and empty when one
// may. It decides as pam_unix does: by the dates of /etc/shadow, not by whether
// the password is locked. root is never refused.
func (d *Directory) Refusal(a Account, now time.Time) string { return "" }
