package analysis

import (
	"os"
	"path/filepath"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/spool"
)

// UnusedOf is what of a configuration is for no entry. Only root can tell, as
// others cannot see all tables.
func UnusedOf(c config.Config, s spool.Snapshot) []crontab.Diagnostic {
	if c.Sidecar == nil || os.Geteuid() != 0 {
		return nil
	}
	return c.Sidecar.Unused(s.Tables)
}

// ConfigTexts is the files that can be read, to show lines of them.
func ConfigTexts(dir string) map[string]string {
	texts := map[string]string{}
	for _, path := range ConfigFiles(dir) {
		if text, err := spool.Read(path); err == nil {
			texts[path] = text
		}
	}
	return texts
}

// ConfigFiles is what is read, in order. The first is named even if it is
// missing: it is where to begin.
func ConfigFiles(dir string) []string {
	more, _ := filepath.Glob(filepath.Join(dir, "conf.d", "*.toml"))
	return append([]string{filepath.Join(dir, "cronring.toml")}, more...)
}

// ConfigDir is where the daemon looks without --config.
const ConfigDir = "/etc/cronring"
