package manifest

import (
	"strings"
	"time"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/crontab/timetable"
	"github.com/cronring/cronring/daemon/job"
)

// The groups of fields of a CronJob.
const (
	jobPath       = "spec/jobTemplate/spec/"
	podPath       = jobPath + "template/spec/"
	containerPath = podPath + "containers[]/"
)

// mostCronJobName is the longest name of a CronJob.
const mostCronJobName = 52

// Kubernetes returns the CronJob that comes nearest to an entry, as YAML. Comments
// list the differences.
func Kubernetes(id job.ID, e *crontab.Entry, image string) string {
	m := newManifest(id, e, kubernetes)
	m.lack("the command runs in a container: image must name an image that has it")
	m.lack("it runs as the user of the image, not as %s", e.User())
	m.lack("output goes to the log of the pod and is not mailed")
	m.set("apiVersion", "batch/v1")
	m.set("kind", "CronJob")
	m.set("metadata/name", m.name(mostCronJobName))
	m.set("metadata/annotations", map[string]string{"cronring/job": string(id)})
	fields, zone := m.cron()
	m.set("spec/schedule", fields)
	if zone != "" {
		m.set("spec/timeZone", zone)
	}
	m.set("spec/concurrencyPolicy", "Allow")
	m.startingDeadline()
	m.set(jobPath+"backoffLimit", 0)
	m.set(podPath+"restartPolicy", "Never")
	m.set(containerPath+"name", "job")
	m.set(containerPath+"image", image)
	command := m.shell()
	for i, word := range command {
		command[i] = undollar(word)
	}
	m.set(containerPath+"command", command)
	if env := e.Env(); len(env) > 0 {
		m.set(containerPath+"env", variables(env))
	}
	m.apply()
	m.set("spec/suspend", m.off)
	var b strings.Builder
	b.WriteString("---\n" + m.comments())
	m.root.yaml(&b, "", "")
	return b.String()
}

// startingDeadline sets how late a start may be, from deadline= and the catch-up rule:
// Kubernetes starts the newest missed one alone.
func (m *manifest) startingDeadline() {
	o := m.entry.Options()
	limit := o.Deadline
	switch late := 5 * time.Minute; o.Catchup {
	case option.CatchupSkip:
		limit = o.Grace
	case option.CatchupCron:
		if timetable.FixedTime(m.entry.Schedule) {
			late = 3 * time.Hour
		}
		if limit == 0 || limit > late {
			limit = late
		}
	}
	if limit > 0 {
		m.set("spec/startingDeadlineSeconds", wholeSeconds(limit))
	}
}

// wholeSeconds rounds a duration up, because 0 often means none.
func wholeSeconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// undollar keeps Kubernetes from expanding $(NAME).
func undollar(text string) string { return strings.ReplaceAll(text, "$", "$$") }

func variables(env []string) (list []map[string]string) {
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		list = append(list, map[string]string{"name": name, "value": undollar(value)})
	}
	return list
}

// exitCodes sets a rule that ends the job if an attempt failed with one of codes, or
// with none of them.
func (m *manifest) exitCodes(operator string, f *option.Failures) string {
	if f == nil || f.Any || len(f.Codes) == 0 {
		return "Kubernetes retries after each failure, or by exit status"
	}
	codes := make([]int, 0, len(f.Codes))
	for _, code := range f.Codes {
		if code != 0 {
			codes = append(codes, int(code))
		}
	}
	m.set(jobPath+"podFailurePolicy/rules", []any{map[string]any{
		"action": "FailJob", "onExitCodes": map[string]any{"containerName": "job", "operator": operator, "values": codes},
	}})
	if f.Timeout || f.Lost {
		return "Kubernetes decides by the exit status alone"
	}
	return ""
}

// yaml writes the fields within n. A key that ends with [] is a list with one item.
func (n *node) yaml(b *strings.Builder, first, indent string) {
	for _, c := range n.inner {
		key, list := strings.CutSuffix(c.key, "[]")
		b.WriteString(first + key + ":")
		switch {
		case c.inner == nil:
			b.WriteString(" " + literal(c.value) + "\n")
		case list:
			b.WriteString("\n")
			c.yaml(b, indent+"- ", indent+"  ")
		default:
			b.WriteString("\n")
			c.yaml(b, indent+"  ", indent+"  ")
		}
		first = indent
	}
}
