package job

import (
	"slices"
	"strconv"
	"strings"
)

// details has the words of the codes of facts.
var details = map[string]func(a arguments) string{
	"text":  func(a arguments) string { return a.text(0) },
	"list":  func(a arguments) string { return strings.Join(a.texts, "; ") },
	"names": func(a arguments) string { return joinNames(a.texts) },

	"names-and-others": func(a arguments) string { return joinNames(a.texts) + " and others" },

	// Requests.
	"because":      func(a arguments) string { return a.text(0) + ": " + a.text(1) },
	"by-user":      func(a arguments) string { return "by " + a.text(0) },
	"as-run":       func(a arguments) string { return "as run " + a.text(0) + ", by " + a.text(1) },
	"reprocess":    func(a arguments) string { return "--reprocess=" + a.text(0) },
	"emitted":      func(a arguments) string { return a.text(0) + ", by " + a.text(1) },
	"acknowledged": func(a arguments) string { return "run " + a.text(0) + ", by " + a.text(1) },
	"stop": func(a arguments) string {
		text := "by " + a.text(0)
		if a.text(1) != "" {
			text += ": " + a.text(1)
		}
		if a.text(2) != "" {
			text += ", KILL after " + a.text(2)
		}
		return text
	},

	// Pauses that the daemon begins or ends.
	"pause-end":       func(a arguments) string { return "the pause was until " + a.time(0) },
	"breaker":         func(a arguments) string { return "breaker=, " + failures(a.text(0)) },
	"failed-for-good": func(a arguments) string { return "run " + a.text(0) + " failed for good: " + a.text(1) },

	// The host and the ring.
	"version":        func(a arguments) string { return "version " + a.text(0) },
	"being-replaced": func(arguments) string { return "the daemon is about to be replaced" },
	"suspend":        func(a arguments) string { return "after " + a.text(0) },
	"host":           func(a arguments) string { return "this is " + a.text(0) },
	"need":           func(a arguments) string { return "need= requires " + a.text(0) + ":" + a.text(1) },
	"avoid":          func(a arguments) string { return "avoid= names " + a.text(0) + ":" + a.text(1) },
	"from-host":      func(a arguments) string { return "from " + a.text(0) },
	"ran-too":        func(a arguments) string { return "ran on " + a.text(0) + " too, as run " + a.text(1) },
	"crontabs":       func(a arguments) string { return a.text(0) + " jobs from " + a.text(1) + " crontabs" },
	"clock-set":      func(a arguments) string { return "the clock was set " + a.text(0) + " by " + a.text(1) },
	"awaits-older": func(arguments) string {
		return "the voters have not answered the claim of an older occurrence"
	},
	"few-members": func(a arguments) string {
		return "the number of members that this one sees is " + a.text(0) + ", but quorum=" + a.text(1)
	},
	"no-agreement": func(a arguments) string {
		return a.text(0) + " does not agree yet: the occurrence is not due by its clock, or the two members do not see each other"
	},
	"files": func(a arguments) string {
		switch path, others := a.text(0), a.text(1); {
		case path == "":
			return others + " files"
		case others == "0":
			return path
		default:
			return path + " and " + others + " more"
		}
	},

	// The conditions of the host.
	"not-below": func(a arguments) string {
		return measured(a) + " is " + a.text(2) + a.text(4) + ", and must be below " + a.text(3) + a.text(4)
	},
	"too-small":    func(a arguments) string { return measured(a) + " is " + a.text(2) + ", and must be " + a.text(3) },
	"not-measured": func(a arguments) string { return measured(a) + " is not known: " + a.text(2) },
	"on-battery":   func(arguments) string { return "the host runs on battery" },
	"unmeasured":   func(arguments) string { return "too many runs of the user wait to be measured" },

	// Times.
	"day":           func(a arguments) string { return "on " + a.text(0) },
	"late":          func(a arguments) string { return a.text(0) + " late" },
	"until":         func(a arguments) string { return "until " + a.time(0) },
	"rule-until":    func(a arguments) string { return a.text(0) + ", until " + a.time(1) },
	"rule-and-run":  func(a arguments) string { return a.text(0) + "; " + a.text(1) },
	"breaker-until": func(a arguments) string { return "until " + a.time(0) + ", after " + failures(a.text(1)) },
	"succeeded":     func(a arguments) string { return "the occurrence of " + a.time(0) + " succeeded" },
	"until-by-rule": func(a arguments) string { return "until " + a.time(0) + ", " + a.text(1) },

	// Other runs and jobs.
	"result":           resultOf,
	"after-result":     func(a arguments) string { return "after " + a.text(0) },
	"after-preemption": func(a arguments) string { return "after it was " + a.text(0) },
	"probe":            func(a arguments) string { return "run " + a.text(0) + " tests whether the job succeeds again" },
	"queued":           func(a arguments) string { return "run " + a.text(0) + " is queued for " + a.time(1) },
	"run":              func(a arguments) string { return "run " + a.text(0) + " (" + a.text(1) + ")" },
	"run-of-user":      func(a arguments) string { return "run " + a.text(0) + " of " + a.text(1) },
	"job-and-run":      func(a arguments) string { return a.text(0) + " (run " + a.text(1) + ")" },
	"for-jobs":         func(a arguments) string { return "for " + a.text(0) },
	"parent": func(a arguments) string {
		return a.text(0) + " " + Verdict(a.text(1)).Words() + " (run " + a.text(2) + ")"
	},
	"running":  func(a arguments) string { return "run " + a.text(0) + " had been running for " + a.text(1) },
	"waits":    waitOf,
	"starting": func(a arguments) string { return "run " + a.text(0) + " is about to start" },

	// Why a backfill stops.
	"without-entry": func(arguments) string { return "the entry was removed from its crontab" },
	"no-schedule":   func(arguments) string { return "the clock names no occurrences of the entry any more" },
	"at-limit":      func(a arguments) string { return "it has reached the limit of " + a.text(0) + " occurrences" },

	// Limits and slots.
	"queue-max": func(a arguments) string { return "queue-max is " + a.text(0) },
	"instances": func(a arguments) string {
		names := a.from(2)
		if active, err := strconv.Atoi(a.text(0)); err == nil && active > len(names) {
			names = append(slices.Clip(names), strconv.Itoa(active-len(names))+" more")
		}
		return a.text(0) + " of " + a.text(1) + ": run " + joinNames(names)
	},
	"unstarted-runs": func(a arguments) string {
		return a.text(0) + " of " + a.text(1) + ", counting waiting runs, the jobs in their after=, and each KiB of their variables; " + a.text(2) + " are of this job"
	},
	"host-slots": func(a arguments) string {
		return a.text(0) + " of " + a.text(1) + " slots of the host are taken, " + a.text(2) + " by " + a.text(3)
	},
	"user-slots": func(a arguments) string {
		return a.text(0) + " of " + a.text(1) + " slots of " + a.text(2) + " are taken" + a.text(3)
	},
	"pool-slots": func(a arguments) string {
		text := "pool " + a.text(0) + ": " + a.text(1) + " of " + a.text(2) + " slots are taken" + a.text(3)
		if needed := a.text(4); needed != "" && needed != "1" {
			text += ", and the run needs " + needed
		}
		return text
	},
	"pool-rate": func(a arguments) string {
		return "pool " + a.text(0) + ": " + a.text(1) + " starts in " + a.text(2) + " are all that its rate allows, the next in " + a.text(3)
	},
	"others-first": func(a arguments) string {
		if pool := a.text(0); pool != "" {
			return "pool " + pool + ": other runs are ahead in the queue"
		}
		return "other runs are ahead in the queue"
	},
	"holders": func(a arguments) string {
		runs := a.from(1)
		switch others := a.text(0); {
		case others != "0" && len(runs) > 0:
			runs = append(slices.Clip(runs), others+" more")
		case others != "0":
			runs = []string{"runs of other users"}
		}
		return " by " + joinNames(runs)
	},
}

func joinNames(names []string) string { return strings.Join(names, ", ") }

func failures(n string) string {
	if n == "1" {
		return "1 failure"
	}
	return n + " failures in a row"
}

// measured names what the first two arguments describe.
func measured(a arguments) string {
	switch key, name := a.text(0), a.text(1); key {
	case "pressure":
		return "pressure of " + name
	case "need-memory":
		return "free memory"
	case "need-disk":
		return "free space in " + name
	default:
		return key
	}
}

func resultOf(a arguments) string {
	n, _ := strconv.Atoi(a.text(1))
	r := Run{
		State: RunEnded, Outcome: Outcome{Kind: OutcomeKind(a.text(0)), Code: n, Signal: n, Error: a.text(2)},
		Reason: Reason(a.text(3)), Verdict: Verdict(a.text(4)),
	}
	return r.result(a.text(5))
}

// waitOf returns what a run waits for: the arguments are the run, the reason and the time at which it continues.
func waitOf(a arguments) string {
	text := "run " + a.text(0) + " waits for "
	switch Reason(a.text(1)) {
	case WaitsForDelay, WaitsForHours:
		return text + "its time at " + a.time(2)
	case WaitsForRetry:
		return text + "its retry at " + a.time(2)
	case WaitsForConditions:
		return text + "the conditions of its entry"
	case WaitsForCheck:
		return text + "the command of if="
	case WaitsForParents:
		return text + "the runs that after= names"
	case WaitsForSlot:
		return text + "a slot"
	case WaitsForClaim:
		return text + "the ring"
	}
	return text + "an earlier one"
}
