package analysis

import (
	"os"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/atomicfile"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/spool"
)

// UnusedOf returns the parts of a configuration that no entry uses. Only root can know,
// because others cannot read all crontabs.
func UnusedOf(c config.Config, s spool.Snapshot) []crontab.Diagnostic {
	if c.Sidecar == nil || os.Geteuid() != 0 {
		return nil
	}
	return crontab.UnusedInSidecar(c.Sidecar, s.Crontabs)
}

// ConfigTexts is the files that can be read, to show lines of them.
func ConfigTexts(dir string) map[string]string {
	texts := map[string]string{}
	for _, path := range config.Files(dir) {
		if text, err := atomicfile.ReadRegular(path, crontab.MaxText); err == nil {
			texts[path] = text
		}
	}
	return texts
}
