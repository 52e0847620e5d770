package manifest

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cronring/cronring/crontab/option"
)

// engine is a program that manifests are for.
type engine int

const (
	kubernetes engine = iota
	nomad
	systemd
	engines
)

func (e engine) String() string { return [...]string{"Kubernetes", "Nomad", "systemd"}[e] }

// rule sets the fields for an option that the entry has, and returns how the engine
// differs; "" if it does not.
type rule func(m *manifest, value string) string

// equivalents are the rules of options for Kubernetes, Nomad and systemd. An engine has
// nothing for an option without a rule.
var equivalents = map[string][engines]rule{
	"name":    {same, same, same},
	"desc":    {entryOf("metadata/annotations", "cronring/desc"), entryOf("meta", "desc"), same},
	"labels":  {labels("metadata/labels"), labels("meta"), nil},
	"owner":   {entryOf("metadata/annotations", "cronring/owner"), entryOf("meta", "owner"), nil},
	"enabled": {off, off, off},
	"access":  {theirs, theirs, theirs},

	"tz":      {same, same, same}, // cron and OnCalendar read the zone
	"every":   {same, same, nil},  // cron reads it
	"phase":   {same, same, nil},
	"delay":   {nil, nil, same}, // the timer has it
	"trigger": {off, off, off},
	"jitter":  {nil, nil, lasting("Timer/RandomizedDelaySec")},
	"spread":  {nil, nil, fixedDelay},

	"catchup": {func(m *manifest, value string) string {
		if strings.HasPrefix(value, "all") {
			return "Kubernetes starts the newest missed run alone"
		}
		return "" // startingDeadline reads it
	}, nil, func(m *manifest, value string) string {
		m.set("Timer/Persistent", value != "skip")
		if value != "once" && value != "skip" {
			return "systemd starts one missed run alone"
		}
		return ""
	}},
	"deadline": {same, nil, nil},                 // startingDeadline reads it
	"overlap":  {concurrency, prohibition, same}, // systemd's own rule is in a comment

	"if": {nil, nil, func(m *manifest, value string) string {
		m.set("Service/ExecCondition", execution([]string{m.shell()[0], "-c", value}))
		return ""
	}},

	"timeout": {
		converted(podPath+"activeDeadlineSeconds", func(o *option.Options) any { return wholeSeconds(o.Timeout) }), nil,
		converted("Service/TimeoutStartSec", func(o *option.Options) any { return fmt.Sprintf("%dms", o.Timeout.Milliseconds()) }),
	},
	"stop-signal": {nil, converted(taskPath+"kill_signal", stopSignal), converted("Service/KillSignal", stopSignal)},
	"stop-grace": {
		converted(podPath+"terminationGracePeriodSeconds", func(o *option.Options) any { return wholeSeconds(o.StopGrace) }),
		func(m *manifest, _ string) string {
			m.set(taskPath+"kill_timeout", fmt.Sprintf("%ds", wholeSeconds(m.entry.Options().StopGrace)))
			return "a client of Nomad limits it: max_kill_timeout"
		},
		lasting("Service/TimeoutStopSec"),
	},
	"cwd":       {text(containerPath + "workingDir"), text(taskPath + "config/work_dir"), foreign("Service/WorkingDirectory")},
	"umask":     {nil, nil, text("Service/UMask")},
	"env":       {same, same, same}, // Entry.Env has it
	"group":     {nil, nil, foreign("Service/Group")},
	"ok":        {nil, nil, statuses},
	"skip-code": {nil, nil, statuses},
	"retry": {func(m *manifest, _ string) string {
		m.set(jobPath+"backoffLimit", m.entry.Options().Retry)
		return "Kubernetes waits 10s, 20s, 40s and so on up to 6m between attempts"
	}, func(m *manifest, _ string) string { return m.restart() }, nil},
	"backoff": {nil, same, nil}, // restart reads it
	"retry-on": {func(m *manifest, _ string) string {
		return m.exitCodes("NotIn", m.entry.Options().RetryOn)
	}, nil, nil},
	"no-retry-on": {func(m *manifest, _ string) string {
		return m.exitCodes("In", m.entry.Options().NoRetryOn)
	}, nil, nil},

	"priority": {nil, converted("priority", func(o *option.Options) any { return 10 * o.Priority }), nil},
	"nice":     {nil, nil, text("Service/Nice")},
	"idle": {nil, nil, func(m *manifest, _ string) string {
		m.set("Service/CPUSchedulingPolicy", "idle")
		m.set("Service/IOSchedulingClass", "idle")
		return ""
	}},
	"io-weight":  {nil, nil, text("Service/IOWeight")},
	"cpu-weight": {nil, nil, text("Service/CPUWeight")},
	"memory": {
		resource(containerPath+"resources/limits/memory", func(r *option.Resources) any { return strconv.FormatInt(r.Memory, 10) }),
		resource(taskPath+"resources/memory", func(r *option.Resources) any { return (r.Memory + 1<<20 - 1) >> 20 }),
		resource("Service/MemoryMax", func(r *option.Resources) any { return r.Memory }),
	},
	"memory-high": {nil, nil, resource("Service/MemoryHigh", func(r *option.Resources) any { return r.MemoryHigh })},
	"cpu": {
		resource(containerPath+"resources/limits/cpu", func(r *option.Resources) any { return fmt.Sprintf("%dm", r.CPU) }),
		nil,
		resource("Service/CPUQuota", func(r *option.Resources) any { return strconv.FormatFloat(float64(r.CPU)/10, 'f', -1, 64) + "%" }),
	},
	"tasks":   {nil, nil, text("Service/TasksMax")},
	"nofile":  {nil, nil, text("Service/LimitNOFILE")},
	"slice":   {nil, nil, resource("Service/Slice", func(r *option.Resources) any { return r.Slice })},
	"network": {nil, nil, func(m *manifest, _ string) string { m.set("Service/PrivateNetwork", true); return "" }},

	"keep": {func(m *manifest, _ string) string {
		if runs := m.entry.Options().Keep.Runs; runs > 0 {
			m.set("spec/successfulJobsHistoryLimit", runs)
			m.set("spec/failedJobsHistoryLimit", runs)
		}
		return "Kubernetes counts successes and failures apart, and has no age"
	}, nil, nil},

	"scope": {onMembers, func(m *manifest, value string) string {
		if value == "all" {
			m.set("type", "sysbatch")
		}
		return ""
	}, nil},
	"host": {func(m *manifest, _ string) string {
		hosts := m.entry.Options().Hosts
		if len(hosts) > 1 {
			m.off = true
			return "a nodeSelector can name one host alone: the job does not start by itself"
		}
		m.metadata(podPath+"nodeSelector", "kubernetes.io/hostname", hosts[0])
		return ""
	}, func(m *manifest, _ string) string {
		m.constraint("${attr.unique.hostname}", "set_contains_any", strings.Join(m.entry.Options().Hosts, ","))
		return ""
	}, nil},
	"need":  {labels(podPath + "nodeSelector"), func(m *manifest, _ string) string { return m.constraints("=", m.entry.Options().Need) }, nil},
	"avoid": {nil, func(m *manifest, _ string) string { return m.constraints("!=", m.entry.Options().Avoid) }, nil},
}

// same is the rule of options whose effect the engine has anyway, or that are read
// where the manifest begins.
func same(*manifest, string) string { return "" }

// theirs is the rule of options about users, for which each engine has its own rules.
func theirs(m *manifest, _ string) string {
	return fmt.Sprintf("%s has rules of its own for this", m.engine)
}

func off(m *manifest, _ string) string { m.off = true; return "" }

// text sets a field to the value as it was written.
func text(path string) rule {
	return func(m *manifest, value string) string { m.set(path, value); return "" }
}

// foreign sets a field of a unit to text that systemd must not expand.
func foreign(path string) rule {
	return func(m *manifest, value string) string { m.set(path, unitText(value)); return "" }
}

// lasting sets a field of a unit to a duration as it was written, in systemd's form.
func lasting(path string) rule {
	return func(m *manifest, value string) string {
		d, err := option.ParseDuration(value)
		if err != nil {
			return err.Error()
		}
		m.set(path, fmt.Sprintf("%ds", wholeSeconds(d)))
		return ""
	}
}

func fixedDelay(m *manifest, value string) string {
	m.set("Timer/FixedRandomDelay", true)
	return lasting("Timer/RandomizedDelaySec")(m, value)
}

// converted sets a field to an option as the engine writes it.
func converted(path string, value func(*option.Options) any) rule {
	return func(m *manifest, _ string) string { m.set(path, value(m.entry.Options())); return "" }
}

func resource(path string, value func(*option.Resources) any) rule {
	return func(m *manifest, _ string) string {
		if r := m.entry.Options().Resources; r != nil {
			m.set(path, value(r))
		}
		return ""
	}
}

func stopSignal(o *option.Options) any { return "SIG" + option.SignalName(o.StopSignal) }

// metadata adds a value to a map of the manifest.
func (m *manifest) metadata(path, key, value string) {
	at := m.at(path)
	values, _ := at.value.(map[string]string)
	if values == nil {
		values = map[string]string{}
	}
	values[key] = value
	at.value = values
}

// entryOf adds the value to a map.
func entryOf(path, key string) rule {
	return func(m *manifest, value string) string { m.metadata(path, key, value); return "" }
}

// validLabel matches the texts that Kubernetes accepts on both sides of a label.
var validLabel = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$`)

// labels adds labels to a map.
func labels(path string) rule {
	return func(m *manifest, value string) string {
		for label := range strings.SplitSeq(value, ",") {
			key, value, _ := strings.Cut(label, ":")
			if m.engine == kubernetes && !(validLabel.MatchString(key) && validLabel.MatchString(value)) {
				m.off = m.off || path != "metadata/labels"
				return "Kubernetes does not accept " + label
			}
			m.metadata(path, key, value)
		}
		return ""
	}
}

func concurrency(m *manifest, value string) string {
	switch m.entry.Options().Overlap {
	case option.OverlapSkip:
		m.set("spec/concurrencyPolicy", "Forbid")
	case option.OverlapReplace:
		m.set("spec/concurrencyPolicy", "Replace")
	case option.OverlapKill:
		m.set("spec/concurrencyPolicy", "Replace")
		return "Kubernetes lets the old run end within terminationGracePeriodSeconds"
	case option.OverlapQueue, option.OverlapQueueAll:
		m.set("spec/concurrencyPolicy", "Forbid")
		return "Kubernetes has no queue: the new run starts later only within startingDeadlineSeconds"
	}
	return ""
}

func prohibition(m *manifest, value string) string {
	m.set("periodic/prohibit_overlap", true)
	if m.entry.Options().Overlap != option.OverlapSkip {
		return "Nomad can only skip the new run"
	}
	return ""
}

func onMembers(m *manifest, value string) string {
	if value == "all" {
		m.off = true
		return "a CronJob runs on one node: the job does not start by itself"
	}
	return ""
}

// statuses adds exit statuses that are not failures.
func statuses(m *manifest, value string) string {
	o := m.entry.Options()
	var list []string
	for _, code := range append(append([]uint8{}, o.OK...), o.SkipCodes...) {
		list = append(list, strconv.Itoa(int(code)))
	}
	m.set("Service/SuccessExitStatus", strings.Join(list, " "))
	return ""
}
