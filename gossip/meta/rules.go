package meta

import (
	"cmp"
	"fmt"
	"time"
)

// Rules are the settings that must be the same on all members.
type Rules struct {
	Strict  bool          `json:"strict,omitempty"`
	HoldOff time.Duration `json:"hold_off"`
}

func (r Rules) String() string {
	mode := "available"
	if r.Strict {
		mode = "strict"
	}
	return fmt.Sprintf("mode %s and hold-off %s", mode, r.HoldOff)
}

// Compare orders rules by how few runs they allow.
func (r Rules) Compare(x Rules) int {
	switch {
	case r.Strict == x.Strict:
		return cmp.Compare(r.HoldOff, x.HoldOff)
	case r.Strict:
		return 1
	}
	return -1
}
