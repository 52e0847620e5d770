package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/daemon/config"
	"github.com/cronring/cronring/daemon/display"
)

// sendmail is the program that cron sends email with.
const sendmail = "/usr/sbin/sendmail"

// mailStuck is the age from which a queued email is a finding.
const mailStuck = time.Hour

// checkMail looks whether what jobs print reaches anybody.
func checkMail(_ context.Context, e *examination) []finding {
	named, wanted := e.mailing()
	found := e.mailQueue()
	info, err := os.Stat(e.Path(sendmail))
	switch {
	case err == nil && info.Mode().Perm()&0o111 == 0:
		found = append(found, finding{Grade: gradeWarning, What: sendmail + " cannot be executed", Fix: advice("chmod 0755 " + sendmail)})
	case err == nil:
		found = append(found, finding{Grade: gradeOK, What: fmt.Sprintf("%s is there; %s can mail, %d by MAILTO", sendmail, cli.Entries(wanted), named)})
	case e.mailConfigured():
		found = append(found, finding{Grade: gradeOK, What: "mail is set in /etc/cronring: sendmail is not needed"})
	case wanted == 0:
		found = append(found, finding{Grade: gradeOK, What: "no sendmail is found, and no entry mails"})
	default:
		found = append(found, finding{Grade: gradeWarning, What: fmt.Sprintf("no sendmail is found: what %s would mail, %d of them by MAILTO, goes nowhere", cli.Entries(wanted), named),
			Why: "the output is kept, and cronring logs shows it",
			Fix: advice("install a mail server, or set mail.command or mail.off in /etc/cronring/cronring.toml")})
	}
	return found
}

// mailing counts the entries that name a MAILTO, and all that mail.
func (e *examination) mailing() (named, wanted int) {
	for i := range e.crontabs {
		if !e.crontabs[i].Counts() || e.crontabs[i].Anacron() && e.AnacronInstalled() {
			continue
		}
		for j := range e.crontabs[i].File.Entries {
			to, set := e.crontabs[i].File.Entries[j].Lookup("MAILTO")
			switch {
			case !set:
				wanted++
			case to != "":
				named++
				wanted++
			}
		}
	}
	return named, wanted
}

// mailConfigured reports whether the configuration has settings for email.
func (e *examination) mailConfigured() bool {
	mail := config.Read(e.Path(config.Dir)).Mail
	return mail.Off || mail.Command != ""
}

// The suffixes of names in the queue: of an email that is being written, and of one that
// could not be delivered.
const (
	mailUnwritten = ".tmp"
	mailDead      = ".dead"
)

// mailQueue looks for messages that wait for too long, or wait no more.
func (e *examination) mailQueue() []finding {
	entries, err := os.ReadDir(e.Path(stateDirectory + "/mail"))
	if errors.Is(err, fs.ErrPermission) {
		return []finding{{Grade: gradeUnseen, What: "this user cannot read the mail queue"}}
	}
	var found []finding
	var oldest time.Time
	n, dead := 0, 0
	for _, entry := range entries {
		info, err := entry.Info()
		switch {
		case err != nil || !info.Mode().IsRegular() || strings.HasSuffix(entry.Name(), mailUnwritten):
			continue
		case strings.HasSuffix(entry.Name(), mailDead):
			dead++
			continue
		}
		if n++; oldest.IsZero() || info.ModTime().Before(oldest) {
			oldest = info.ModTime()
		}
	}
	if age := e.Now().Sub(oldest); n > 0 && age > mailStuck {
		found = append(found, finding{Grade: gradeWarning, What: fmt.Sprintf("%s could not be handed over, the oldest since %s", display.Count(n, "message"), display.Brief(age.Round(time.Second))),
			Why: sendmail + " refuses, or is missing", Fix: advice("journalctl -u cronring -g mail")})
	}
	if dead > 0 {
		found = append(found, finding{Grade: gradeWarning, What: fmt.Sprintf("%s could not be delivered", display.Count(dead, "message")),
			Why: "such files are kept for a person to look at", Fix: advice("ls " + stateDirectory + "/mail/*" + mailDead)})
	}
	return found
}

// The room that the daemon needs to write down what it does. Below the first
// pair history is about to be lost.
const (
	leastRoom, lowRoom     = 32 << 20, 256 << 20 // bytes
	leastInodes, lowInodes = 100, 2000
)

// checkDisk looks at the room where the daemon writes.
func checkDisk(_ context.Context, e *examination) []finding {
	var found []finding
	for _, path := range []string{stateDirectory, runtimeDirectory} {
		found = append(found, e.room(path)...)
	}
	return found
}

func (e *examination) room(path string) []finding {
	at := path
	for !e.Exists(at) && at != "/" {
		at = filepath.Dir(at)
	}
	s, err := e.statfs(e.Path(at))
	if err != nil {
		return []finding{{Grade: gradeUnseen, What: "the room for " + path + " is not known", Why: err.Error()}}
	}
	least, low := uint64(leastRoom), uint64(lowRoom)
	if path == runtimeDirectory { // holds names and small files only
		least, low = 1<<20, 8<<20
	}
	free := s.Bavail * uint64(s.Bsize)
	f := finding{Grade: gradeOK, What: fmt.Sprintf("%s has %s free", path, bytesText(free))}
	switch {
	case free < least:
		f.Grade, f.Why = gradeProblem, "the history of new runs cannot be written"
	case free < low:
		f.Grade = gradeWarning
	case s.Files == 0: // a file system that makes inodes as it goes
	case s.Ffree < leastInodes:
		f.Grade, f.What, f.Why = gradeProblem, fmt.Sprintf("%s has %d inodes free", path, s.Ffree), "the daemon will soon be unable to write there"
	case s.Ffree < lowInodes:
		f.Grade, f.What = gradeWarning, fmt.Sprintf("%s has %d inodes free", path, s.Ffree)
	}
	if f.Grade != gradeOK {
		f.Fix = advice("df -h " + at + "; df -i " + at)
	}
	return []finding{f}
}

// bytesText formats a number of bytes in a few characters.
func bytesText(n uint64) string {
	const units = "KMGTPE"
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n)/1024, 0
	for value >= 1024 && unit < len(units)-1 {
		value, unit = value/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", value, units[unit])
}

// The daemon watches a handful of directories, and the targets of links.
const (
	leastWatches   = 128
	leastInstances = 8
)

// checkInotify looks at the kernel's limits of watches on files. Without one
// the daemon looks at the crontabs once a minute instead.
func checkInotify(_ context.Context, e *examination) []finding {
	instances, err := e.limit("max_user_instances")
	watches, err2 := e.limit("max_user_watches")
	if err := errors.Join(err, err2); err != nil {
		return []finding{{Grade: gradeWarning, What: "the kernel has no inotify: edits of crontabs are seen once a minute only", Why: err.Error()}}
	}
	used, seen := e.inotifyUsed()
	const why = "edits of crontabs are then seen once a minute only"
	switch {
	case watches < leastWatches:
		return []finding{{Grade: gradeWarning, What: fmt.Sprintf("a user may watch %d files only", watches), Why: why,
			Fix: advice("sysctl fs.inotify.max_user_watches=65536")}}
	case instances < leastInstances, seen && used >= instances-1:
		return []finding{{Grade: gradeWarning, What: fmt.Sprintf("root uses %d of %d inotify instances", used, instances), Why: why,
			Fix: advice("sysctl fs.inotify.max_user_instances=512")}}
	}
	return []finding{{Grade: gradeOK, What: fmt.Sprintf("a user may watch %d files", watches)}}
}

func (e *examination) limit(name string) (int, error) {
	text, err := e.Read("/proc/sys/fs/inotify/" + name)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(strings.TrimSpace(text))
}

// inotifyUsed counts root's open instances, which only root can.
func (e *examination) inotifyUsed() (n int, seen bool) {
	if !e.privileged {
		return 0, false
	}
	processes, _ := filepath.Glob(e.Path("/proc/[0-9]*"))
	for _, p := range processes {
		info, err := os.Stat(p)
		if err != nil || info.Sys().(*syscall.Stat_t).Uid != e.owner {
			continue
		}
		descriptors, _ := os.ReadDir(filepath.Join(p, "fd"))
		for _, d := range descriptors {
			if target, err := os.Readlink(filepath.Join(p, "fd", d.Name())); err == nil && target == "anon_inode:inotify" {
				n++
			}
		}
	}
	return n, true
}
