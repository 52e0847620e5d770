package option

import (
	"fmt"
	"slices"
	"strings"

	"github.com/cronring/cronring/crontab/diagnostic"
	"github.com/cronring/cronring/crontab/lex"
)

// Access narrows the roles of a host for one job: only these users and @groups have them. A nil list
// does not narrow.
type Access struct {
	View    []string // who may see it; who operates it must be among them too
	Operate []string // who may run, stop and pause it
}

// mostAccess is the highest number of users and groups of access=.
const mostAccess = 100

// parseAccess reads view:@ops+bob,operate:@oncall.
func parseAccess(text string) (*Access, error) {
	a := &Access{}
	n := 0
	for item := range strings.SplitSeq(text, ",") {
		role, names, _ := strings.Cut(item, ":")
		list := map[string]*[]string{"view": &a.View, "operate": &a.Operate}[role]
		if list == nil {
			return nil, fmt.Errorf("%s begins with neither view: nor operate: as expected", diagnostic.Quote(item))
		}
		if *list != nil {
			return nil, fmt.Errorf("%s: is there twice", role)
		}
		*list = strings.Split(names, "+")
		for i, name := range *list {
			if err := CheckMember(name); err != nil {
				return nil, err
			}
			if slices.Contains((*list)[:i], name) {
				return nil, fmt.Errorf("%s is there twice", diagnostic.Quote(name))
			}
		}
		if n += len(*list); n > mostAccess {
			return nil, fmt.Errorf("more than %d users and groups", mostAccess)
		}
	}
	return a, nil
}

// CheckMember returns an error if text is neither a user nor a group with @ before it.
func CheckMember(text string) error {
	if name := strings.TrimPrefix(text, "@"); name == "" || len(name) > 256 || !lex.LooksLikeAccount(name) {
		return fmt.Errorf("%s is neither a user nor a group such as @ops", diagnostic.Quote(text))
	}
	return nil
}
