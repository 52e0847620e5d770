package doctor

import (
	"context"

	"github.com/cronring/cronring/daemon/config"
)

// checkListener checks the address and the tokens of the listener in the configuration.
func checkListener(_ context.Context, e *examination) []finding {
	c := config.Read(e.Path(config.Dir))
	if c.Listen == "" {
		return []finding{{Grade: gradeOK, What: "no port is opened"}}
	}
	if !e.privileged {
		return []finding{{Grade: gradeUnseen, What: "this user cannot read the files of tokens"}}
	}
	var found []finding
	for _, d := range c.Diagnostics {
		if d.Code == config.UnusableToken || d.Code == config.OpenListener {
			found = append(found, finding{Grade: gradeWarning, What: d.Message, Fix: maybe(d.Fix)})
		}
	}
	if found == nil {
		found = []finding{{Grade: gradeOK, What: "listens on " + c.Listen}}
	}
	return found
}
