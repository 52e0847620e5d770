package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/cronring/cronring/cmd/cronring/inventory"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/display"
)

// greet requests the daemon's status. A connection to the socket would make systemd start
// a stopped daemon, and stop another cron for that. So a daemon that systemd reports as
// stopped is not contacted.
func (e *examination) greet(ctx context.Context) (api.Status, error) {
	state := ""
	if e.socket == api.SystemSocket && e.Booted() {
		units, err := show(ctx, e.Machine, []string{"Id", "LoadState", "ActiveState"}, "cronring.service")
		if err == nil && units[0]["LoadState"] == "loaded" {
			state = units[0]["ActiveState"]
		}
	}
	if slices.Contains([]string{"inactive", "failed"}, state) {
		return api.Status{}, &api.Error{
			Kind: api.Unreachable, What: "cronringd does not run", Why: "cronring.service is " + state,
			Fix: "systemctl start cronring",
		}
	}
	status, err := e.ask(ctx)
	if _, missing := os.Lstat(e.Path(e.socket)); state == "active" && api.KindOf(err) == api.Unreachable && errors.Is(missing, fs.ErrNotExist) {
		return status, &api.Error{
			Kind: api.Unreachable, What: "cronringd runs without its socket",
			Why: e.socket + " was removed, or cronring.socket was stopped", Fix: "systemctl restart cronring",
		}
	}
	return status, err
}

// checkDaemon checks the daemon's own status.
func checkDaemon(_ context.Context, e *examination) []finding {
	if !e.answers() {
		return []finding{unanswered(e.statusErr)}
	}
	s := &e.status
	found := []finding{{Grade: gradeOK, What: fmt.Sprintf("cronringd %s answers on %s: %s of %s",
		s.Version, e.socket, display.Count(s.Loaded, "job"), display.Count(s.Crontabs, "crontab"))}}
	for _, p := range s.Problems {
		found = append(found, finding{Grade: gradeProblem, What: p.What, Why: p.Why, Fix: maybe(p.Fix)})
	}
	if s.Lost > 0 {
		found = append(found, finding{Grade: gradeProblem, What: display.Count(s.Lost, "record") + " of runs could not be kept",
			Why: "the history was not writable for too long"})
	}
	if s.Unwritten > 0 {
		found = append(found, finding{Grade: gradeWarning, What: "the daemon must still write " + display.Count(s.Unwritten, "record") + " of runs",
			Why: "the history is not writable now"})
	}
	if s.Draining {
		found = append(found, finding{Grade: gradeWarning, What: "the daemon is stopping: it starts nothing more"})
	}
	return found
}

func maybe(fix string) []remedy {
	if fix == "" {
		return nil
	}
	return advice(fix)
}

func unanswered(err error) finding {
	found := finding{Grade: gradeProblem, What: "the daemon does not answer", Why: err.Error()}
	if failure, ok := errors.AsType[*api.Error](err); ok {
		found.What, found.Why, found.Fix = strings.TrimPrefix(failure.What, "cannot see the status: "), failure.Why, maybe(failure.Fix)
		if failure.Kind == api.NotAllowed {
			found.Grade = gradeUnseen
		}
	}
	return found
}

// unitProperties are the properties that checkUnit reads from systemd.
var unitProperties = []string{
	"Id", "LoadState", "ActiveState", "SubState", "Result", "UnitFileState", "KillMode", "WatchdogUSec", "Restart",
	"NRestarts", "NeedDaemonReload", "DropInPaths",
}

// checkUnit checks the service with systemd.
func checkUnit(ctx context.Context, e *examination) []finding {
	if !e.Booted() {
		return []finding{{Grade: gradeUnseen, What: "systemd does not run this host: make sure that cronringd is started at each boot"}}
	}
	units, err := show(ctx, e.Machine, unitProperties, "cronring.service", "cronring.socket")
	if err != nil {
		return []finding{{Grade: gradeUnseen, What: "systemd does not report the state of cronring.service", Why: err.Error()}}
	}
	service, socket := units[0], units[1]
	if service["LoadState"] == "not-found" {
		return []finding{{Grade: gradeWarning, What: "cronring.service does not exist",
			Why: "the daemon does not start at boot", Fix: advice("install the package, or its unit in /etc/systemd/system")}}
	}
	found := unitState(service)
	if e.answers() && socket["LoadState"] == "loaded" && socket["ActiveState"] == "failed" {
		found = append(found, finding{Grade: gradeWarning, What: "cronring.socket failed", Fix: advice("systemctl restart cronring.socket")})
	}
	if len(found) == 0 && service["ActiveState"] != "inactive" { // checkDaemon reports that
		found = []finding{{Grade: gradeOK, What: fmt.Sprintf("cronring.service is %s and %s, with watchdog and KillMode=process",
			service["ActiveState"], service["UnitFileState"])}}
	}
	if paths := service["DropInPaths"]; paths != "" {
		found = append(found, finding{Grade: gradeOK, What: "overrides of the unit: " + paths})
	}
	return found
}

// unitState returns the problems of the service.
func unitState(service map[string]string) []finding {
	var found []finding
	add := func(wrong bool, f finding) {
		if wrong {
			found = append(found, f)
		}
	}
	state := service["UnitFileState"]
	add(service["LoadState"] == "masked" || state == "masked", finding{Grade: gradeProblem, What: "cronring.service is masked: it cannot be started",
		Fix: advice("systemctl unmask cronring")})
	add(service["LoadState"] == "error" || service["LoadState"] == "bad-setting", finding{Grade: gradeProblem,
		What: "cronring.service cannot be loaded: " + service["LoadState"], Fix: advice("systemd-analyze verify cronring.service")})
	add(service["ActiveState"] == "failed", finding{Grade: gradeProblem, What: "cronring.service failed: " + service["Result"],
		Fix: advice("journalctl -u cronring -n 50")})
	add(state == "disabled", finding{Grade: gradeProblem, What: "cronring.service is not enabled: it does not start at boot",
		Fix: advice("systemctl enable cronring")})
	add(service["KillMode"] != "process", finding{Grade: gradeProblem, What: "KillMode=" + service["KillMode"] + " is in effect",
		Why: "a stop or restart of the daemon kills running jobs; process leaves them alone", Fix: advice("systemctl edit cronring    and delete KillMode=")})
	add(service["WatchdogUSec"] == "0" || service["WatchdogUSec"] == "infinity", finding{Grade: gradeWarning, What: "no watchdog is in effect",
		Why: "a daemon that hangs is not restarted", Fix: advice("systemctl edit cronring    and delete WatchdogSec=")})
	add(service["Restart"] == "no", finding{Grade: gradeWarning, What: "Restart=no is in effect", Why: "a daemon that crashed is not started again"})
	add(service["NRestarts"] != "" && service["NRestarts"] != "0", finding{Grade: gradeWarning,
		What: "systemd had to restart the daemon " + service["NRestarts"] + " times since it was started", Fix: advice("journalctl -u cronring")})
	add(service["NeedDaemonReload"] == "yes", finding{Grade: gradeWarning, What: "the unit's files changed, and systemd still uses the old ones",
		Fix: advice("systemctl daemon-reload")})
	return found
}

// show reads properties of units from systemd. It returns a map for each unit, in their
// order.
func show(ctx context.Context, m *inventory.Machine, properties []string, units ...string) ([]map[string]string, error) {
	argv := append([]string{"systemctl", "show", "--no-pager", "-p", strings.Join(properties, ",")}, units...)
	out, status, err := m.Exec(ctx, argv...)
	if err != nil || status != 0 {
		return nil, errors.New(inventory.Failure(out, status, err))
	}
	var all []map[string]string
	for block := range strings.SplitSeq(strings.TrimSpace(out), "\n\n") {
		values := map[string]string{}
		for line := range strings.Lines(block) {
			if key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "="); ok {
				values[key] = value
			}
		}
		all = append(all, values)
	}
	if len(all) != len(units) {
		return nil, fmt.Errorf("systemctl show printed %s instead of %d", display.Count(len(all), "unit"), len(units))
	}
	return all, nil
}

// checkPAM reports how jobs start, and the cost of that.
func checkPAM(_ context.Context, e *examination) []finding {
	session := e.status.Session
	switch {
	case !e.answers() || e.socket != api.SystemSocket:
		return nil
	case session == nil:
		if p := e.Pam(e.Host.Family); p.Needs != "" {
			return []finding{{Grade: gradeWarning, What: `session = "none": jobs start without PAM`, Why: p.Needs + ": under cron this line applies to jobs"}}
		}
		return nil
	case session.PAM:
		return []finding{{Grade: gradeOK, What: "jobs get a PAM session, service " + session.Service, Why: session.Why + "; " + account.PAMCost}}
	}
	return []finding{{Grade: gradeOK, What: "jobs start without PAM: cronring itself does what /etc/pam.d/" + session.Service + " requires"}}
}
