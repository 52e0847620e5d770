// Command manifests checks files that "cronring export" wrote for Kubernetes (.yaml) and
// Nomad (.hcl) with the code of these engines. It is a module of its own: nothing of it is
// linked into cronring's programs.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/hashicorp/cronexpr"
	"github.com/hashicorp/nomad/jobspec2"
	"github.com/robfig/cron/v3"
	batch "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	status := 0
	for _, path := range os.Args[1:] {
		check := checkCronJob
		if filepath.Ext(path) == ".hcl" {
			check = checkJob
		}
		text, err := os.ReadFile(path)
		if err == nil {
			err = check(text)
		}
		if err != nil {
			fmt.Printf("%s: %v\n%s\n", filepath.Base(path), err, text)
			status = 1
		}
	}
	os.Exit(status)
}

// checkCronJob decodes a CronJob as strictly as the API server does.
func checkCronJob(text []byte) error {
	var c batch.CronJob
	if err := yaml.UnmarshalStrict(text, &c); err != nil {
		return err
	}
	pod := c.Spec.JobTemplate.Spec.Template.Spec
	switch {
	case c.APIVersion != "batch/v1" || c.Kind != "CronJob" || c.Name == "" || len(c.Name) > 52:
		return fmt.Errorf("it is %s %s %q, want batch/v1 CronJob and a name of up to 52 bytes", c.APIVersion, c.Kind, c.Name)
	case len(pod.Containers) != 1 || pod.Containers[0].Image == "" || len(pod.Containers[0].Command) < 3 || pod.RestartPolicy != "Never":
		return fmt.Errorf("got the pod %+v, want one container that is not restarted", pod)
	case c.Spec.ConcurrencyPolicy != batch.AllowConcurrent && c.Spec.ConcurrencyPolicy != batch.ForbidConcurrent && c.Spec.ConcurrencyPolicy != batch.ReplaceConcurrent:
		return fmt.Errorf("concurrencyPolicy: got %q", c.Spec.ConcurrencyPolicy)
	case c.Spec.Suspend == nil || c.Spec.JobTemplate.Spec.BackoffLimit == nil:
		return fmt.Errorf("suspend and backoffLimit have other defaults than cronring, and are not set")
	}
	for name, amount := range pod.Containers[0].Resources.Limits {
		if amount.Sign() <= 0 {
			return fmt.Errorf("the limit of %s: got %v, want more than 0", name, amount)
		}
	}
	if c.Spec.TimeZone != nil {
		if _, err := time.LoadLocation(*c.Spec.TimeZone); err != nil {
			return err
		}
	}
	return sameTimes(c.Spec.Schedule)
}

// sameTimes compares the parser of Kubernetes with the one of Nomad over 70 occurrences.
func sameTimes(fields string) error {
	kubernetes, err := cron.ParseStandard(fields)
	if err != nil {
		return err
	}
	nomad, err := cronexpr.Parse(fields)
	if err != nil {
		return err
	}
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for range 70 {
		want := kubernetes.Next(at)
		if got := nomad.Next(at); !got.Equal(want) {
			return fmt.Errorf("%s after %v: Kubernetes has %v, Nomad %v", fields, at, want, got)
		}
		at = want
	}
	return nil
}

// checkJob parses a job as "nomad job validate" does before it asks a server.
func checkJob(text []byte) error {
	job, err := jobspec2.ParseWithConfig(&jobspec2.ParseConfig{Body: text, Strict: true})
	if err != nil {
		return err
	}
	job.Canonicalize()
	if job.Periodic == nil || len(job.Periodic.Specs) != 1 || len(job.TaskGroups) != 1 || len(job.TaskGroups[0].Tasks) != 1 {
		return fmt.Errorf("got %+v, want a periodic job with one task", job)
	}
	group := job.TaskGroups[0]
	if *group.RestartPolicy.Mode != "fail" || *group.ReschedulePolicy.Attempts != 0 || *group.ReschedulePolicy.Unlimited {
		return fmt.Errorf("got %+v and %+v, want attempts on one client alone", group.RestartPolicy, group.ReschedulePolicy)
	}
	return nil
}
