package meta

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Rules are the settings that must be the same on all members.
type Rules struct {
	Strict  bool          `json:"strict,omitempty"`
	HoldOff time.Duration `json:"hold_off"`
	Voters  uint64        `json:"voters,omitempty"` // see VotersSum
}

// VotersSum identifies a list of voters, for comparison. No voters are 0.
func VotersSum(voters []string) uint64 {
	if len(voters) == 0 {
		return 0
	}
	sum := Sum([]byte(strings.Join(slices.Sorted(slices.Values(voters)), "\n")))
	return binary.BigEndian.Uint64(sum[:])
}

func (r Rules) String() string {
	mode := "available"
	if r.Strict {
		mode = "strict"
	}
	text := fmt.Sprintf("mode %s and hold-off %s", mode, r.HoldOff)
	if r.Voters != 0 {
		text += fmt.Sprintf(" and voters with the digest %016x", r.Voters)
	}
	return text
}

// Compare orders rules by how few runs they allow.
func (r Rules) Compare(x Rules) int {
	switch {
	case r.Strict == x.Strict:
		return cmp.Or(cmp.Compare(r.HoldOff, x.HoldOff), cmp.Compare(r.Voters, x.Voters))
	case r.Strict:
		return 1
	}
	return -1
}
