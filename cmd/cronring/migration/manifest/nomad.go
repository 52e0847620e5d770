package manifest

import (
	"fmt"
	"strings"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/crontab/option"
	"github.com/cronring/cronring/daemon/job"
)

// The groups of fields of a job of Nomad. The group and the task are called run.
const (
	groupPath = "group/"
	taskPath  = groupPath + "task/"
)

const mostNomadName = 128

// Nomad returns the periodic batch job that comes nearest to an entry, as HCL.
// Comments list the differences.
func Nomad(id job.ID, e *crontab.Entry) File {
	m := newManifest(id, e, nomad)
	m.lack("output goes to the log of the task and is not mailed")
	m.lack("after downtime, Nomad starts a missed run once, however late")
	m.set("type", "batch")
	m.set("meta", map[string]string{"cronring_job": string(id)})
	fields, zone := m.cron()
	m.set("periodic/crons", []string{fields})
	if zone != "" {
		m.set("periodic/time_zone", zone)
	}
	m.set("periodic/prohibit_overlap", false)
	m.set(groupPath+"reschedule/attempts", 0)
	m.set(groupPath+"reschedule/unlimited", false)
	m.set(groupPath+"restart/attempts", 0)
	m.set(groupPath+"restart/mode", "fail")
	m.set(taskPath+"driver", "exec")
	m.set(taskPath+"user", e.User())
	command := m.shell()
	m.set(taskPath+"config/command", command[0])
	m.set(taskPath+"config/args", command[1:])
	if strings.Contains(strings.Join(command, " ")+strings.Join(e.Env(), " "), "${") {
		m.lack("Nomad replaces ${NAME} in the command and the environment before the shell sees it: write $NAME")
	}
	if env := e.Env(); len(env) > 0 {
		values := map[string]string{}
		for _, entry := range env {
			name, value, _ := strings.Cut(entry, "=")
			values[name] = value
		}
		m.set(taskPath+"env", values)
	}
	m.apply()
	m.set("periodic/enabled", !m.off)
	var b strings.Builder
	b.WriteString(m.comments() + "job " + hcl(m.name(mostNomadName)) + " {\n")
	m.root.hcl(&b, "  ")
	b.WriteString("}\n")
	return File{"cronring-" + m.name(mostNomadName) + ".nomad.hcl", b.String()}
}

// restart sets the attempts after a failure.
func (m *manifest) restart() string {
	o := m.entry.Options()
	delay := max(1, wholeSeconds(o.Backoff.Min))
	m.set(groupPath+"restart/attempts", o.Retry)
	m.set(groupPath+"restart/delay", fmt.Sprintf("%ds", delay))
	m.set(groupPath+"restart/interval", fmt.Sprintf("%ds", max(24*60*60, 2*delay*int64(o.Retry)))) // Nomad rejects one in which they do not fit
	if o.Backoff.Max > o.Backoff.Min {
		return "the wait between attempts does not grow in Nomad"
	}
	return ""
}

// constraint adds a condition on the client that runs the job.
func (m *manifest) constraint(attribute, operator, value string) {
	path := fmt.Sprintf("constraint#%d/", len(m.root.inner))
	m.set(path+"attribute", attribute)
	m.set(path+"operator", operator)
	m.set(path+"value", value)
}

func (m *manifest) constraints(operator string, labels []option.Label) string {
	for _, l := range labels {
		m.constraint("${meta."+l.Key+"}", operator, l.Value)
	}
	return ""
}

// hcl writes the fields within n. What follows # in a key only keeps blocks of the same name
// apart.
func (n *node) hcl(b *strings.Builder, indent string) {
	for _, c := range n.inner {
		key, _, _ := strings.Cut(c.key, "#")
		switch {
		case c.inner == nil:
			b.WriteString(indent + key + " = " + hcl(c.value) + "\n")
			continue
		case key == "group" || key == "task":
			key += ` "run"`
		}
		b.WriteString(indent + key + " {\n")
		c.hcl(b, indent+"  ")
		b.WriteString(indent + "}\n")
	}
}

// hcl returns a value in HCL, escaped so that nothing is expanded.
func hcl(value any) string {
	return strings.NewReplacer("${", "$${", "%{", "%%{").Replace(literal(value))
}
