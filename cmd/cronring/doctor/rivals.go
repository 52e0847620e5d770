package doctor

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/cronring/cronring/cmd/cronring/cli"
	"github.com/cronring/cronring/cmd/cronring/inventory"
	"github.com/cronring/cronring/daemon/filelock"
)

// rivalUnits are the units of other crons. systemd-cron has a target in place
// of a daemon.
var rivalUnits = []string{"cron.service", "crond.service", "cronie.service", "dcron.service", "fcron.service", "bcron.service", "cron.target"}

// rivalPrograms are the file names of other cron daemons that do not take the lock of
// cron's daemons. Debian's cron and cronie take it. Their processes without it are not
// daemons: they wait for a job of a cron that has ended.
var rivalPrograms = []string{busyboxCron, "fcron", "bcron-sched", "bcron-start"}

const busyboxCron = "busybox crond"

// foreignCrontabs reports a cron with crontabs of its own: nothing of it runs
// twice.
func foreignCrontabs(name string) bool { return strings.HasPrefix(name, "fcron") }

// checkRivals searches for another cron in three ways, because each misses some: the
// units, the lock of most crons, and the processes of the others.
func checkRivals(ctx context.Context, e *examination) []finding {
	found, known := e.rivalUnits(ctx)
	processes, blind := e.rivalProcesses()
	if p, ok := e.lockHolder(); ok {
		processes = slices.Insert(processes, 0, p)
	}
	for _, p := range processes {
		if slices.ContainsFunc(known, func(unit string) bool { return sameCron(unit, p.Name) }) {
			continue
		}
		found = append(found, e.rival(p.String(), p.Name, "kill "+strconv.Itoa(p.PID)))
	}
	if len(found) == 0 && blind {
		return []finding{{Grade: gradeUnseen, What: "no second cron is seen, but processes of other users are hidden here", Fix: advice("run as root")}}
	}
	if len(found) == 0 {
		found = []finding{{Grade: gradeOK, What: "no second cron runs"}}
	}
	return append(found, e.anacron(ctx)...)
}

// sameCron reports whether a process belongs to a unit.
func sameCron(unit, program string) bool {
	stem, _, _ := strings.Cut(unit, ".")
	return stem == program || stem == "crond" && program == busyboxCron || stem == "cronie" && program == "crond" || stem == "dcron" && program == "crond" || strings.HasPrefix(program, stem+"-")
}

// rival describes the effect of another cron beside cronring.
func (e *examination) rival(what, program, fix string) finding {
	if foreignCrontabs(program) {
		return finding{Grade: gradeWarning, What: what + " is also active: its jobs are in crontabs of its own, and not seen here"}
	}
	twice := cli.Entries(inventory.CountEntries(e.crontabs))
	if !e.privileged {
		twice = "at least " + twice
	}
	return finding{Grade: gradeProblem, What: what + " is also active: " + twice + " would run twice", Fix: advice(fix)}
}

// rivalUnits queries systemd for units of other crons. active holds the names of those
// that run.
func (e *examination) rivalUnits(ctx context.Context) (found []finding, active []string) {
	if !e.Booted() {
		return nil, nil
	}
	units, err := show(ctx, e.Machine, []string{"Id", "ActiveState", "UnitFileState"}, rivalUnits...)
	if err != nil {
		return []finding{{Grade: gradeUnseen, What: "systemd does not report which units are active", Why: err.Error()}}, nil
	}
	for i, u := range units {
		if u["Id"] != rivalUnits[i] {
			continue // a second name of another unit: cron.service can be ours
		}
		stem := strings.TrimSuffix(u["Id"], ".service")
		switch {
		case u["ActiveState"] == "active" || u["ActiveState"] == "activating" || u["ActiveState"] == "reloading":
			active = append(active, u["Id"])
			found = append(found, e.rival(u["Id"], stem, "systemctl disable --now "+stem))
		case u["UnitFileState"] == "enabled":
			found = append(found, finding{Grade: gradeWarning, What: u["Id"] + " is enabled: it starts again at the next boot",
				Fix: advice("systemctl disable " + stem)})
		}
	}
	return found, active
}

// rivalProcesses searches /proc for crons in this PID namespace; the cron of a container
// does not count. Only processes of root count, because every user can choose the name of
// a process. blind reports whether some could not be seen.
func (e *examination) rivalProcesses() (list []filelock.Process, blind bool) {
	entries, err := os.ReadDir(e.Path("/proc"))
	if err != nil {
		return nil, true
	}
	home, err := os.Readlink(e.Path("/proc/self/ns/pid"))
	blind = err != nil || !e.privileged && hidesProcesses(e.Machine)
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if name := e.cronOf(entry.Name(), home); name != "" {
			list = append(list, filelock.Process{PID: pid, Name: name})
		}
	}
	slices.SortFunc(list, func(a, b filelock.Process) int { return a.PID - b.PID })
	return list, blind
}

// hidesProcesses reports whether /proc is mounted so that accounts do not see
// each other's processes.
func hidesProcesses(m *inventory.Machine) bool {
	text, _ := m.Read("/proc/self/mountinfo")
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) > 4 && words[4] == "/proc" && strings.Contains(line, "hidepid=") && !strings.Contains(line, "hidepid=0") && !strings.Contains(line, "hidepid=off") {
			return true
		}
	}
	return false
}

// cronOf is the cron that a process is, or "".
func (e *examination) cronOf(pid, home string) string {
	directory := filepath.Join("/proc", pid)
	info, err := os.Stat(e.Path(directory))
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != e.owner {
		return ""
	}
	if own, err := os.Readlink(e.Path(directory + "/ns/pid")); err == nil && own != home {
		return ""
	}
	text, err := e.Read(directory + "/comm")
	if err != nil {
		return ""
	}
	name := strings.TrimSuffix(text, "\n")
	if program, err := os.Readlink(e.Path(directory + "/exe")); err == nil {
		program = strings.TrimSuffix(filepath.Base(program), " (deleted)")
		if program == "busybox" && name == "crond" {
			return busyboxCron
		}
		name = program
	}
	if !slices.Contains(rivalPrograms, name) {
		return ""
	}
	if e.isChild(directory, name) {
		return ""
	}
	return name
}

// isChild reports a process whose parent is the same program: cron forks for
// each job.
func (e *examination) isChild(directory, name string) bool {
	text, _ := e.Read(directory + "/status")
	for line := range strings.Lines(text) {
		if parent, ok := strings.CutPrefix(line, "PPid:"); ok {
			program, err := os.Readlink(e.Path("/proc/" + strings.TrimSpace(parent) + "/exe"))
			return err == nil && strings.TrimSuffix(filepath.Base(program), " (deleted)") == name
		}
	}
	return false
}

// lockHolder returns the process that holds the lock of Debian's cron and of
// cronie, if that is not our daemon. The kernel's list is read: taking the lock
// to try it could keep a cron from starting.
func (e *examination) lockHolder() (filelock.Process, bool) {
	f, err := e.Open("/run/crond.pid")
	if err != nil {
		return filelock.Process{}, false
	}
	defer f.Close()
	p, ok := filelock.In(e.Root, f)
	return p, ok && p.PID != e.status.PID && p.Name != "cronringd"
}

// anacron reports whether anacron or cronring runs anacron's jobs.
func (e *examination) anacron(ctx context.Context) []finding {
	if !e.AnacronInstalled() {
		return nil
	}
	found := finding{Grade: gradeOK, What: "anacron is installed and does its own jobs: cronring leaves /etc/anacrontab to it"}
	if !e.Booted() {
		return []finding{found}
	}
	units, err := show(ctx, e.Machine, []string{"Id", "LoadState", "ActiveState"}, "anacron.timer")
	if err == nil && units[0]["LoadState"] == "loaded" && units[0]["ActiveState"] != "active" {
		found = finding{Grade: gradeWarning, What: "anacron is installed, but anacron.timer is not active: its jobs run only when something else starts it",
			Why: "lines of /etc/crontab leave the daily, weekly and monthly scripts to anacron where it is installed",
			Fix: advice("systemctl enable --now anacron.timer")}
	}
	return []finding{found}
}
