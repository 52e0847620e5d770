package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cronring/cronring/daemon/api"
	"github.com/cronring/cronring/daemon/filetest"
	"github.com/cronring/cronring/daemon/hosttest"
	"github.com/cronring/cronring/daemon/job"
	"github.com/cronring/cronring/man/mantest"
)

// setupExamples are the examples of cronring-ring-setup(7) for a ring, and the crontabs
// between them.
func setupExamples(t *testing.T, ring string) (all []mantest.Example) {
	t.Helper()
	pages, err := mantest.Pages("../../man")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := mantest.Examples("cronring-ring-setup.7", pages["cronring-ring-setup.7"])
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		if e.Kind == mantest.Ring && strings.HasPrefix(e.More, "of "+ring) || strings.HasPrefix(e.More, "as ") {
			all = append(all, e)
		}
	}
	return all
}

func linesOf(e mantest.Example) []string {
	return strings.Split(strings.TrimSpace(strings.ReplaceAll(e.Text, "\\\n", " ")), "\n")
}

// upOn returns the number of members that take part, as a daemon sees them.
func upOn(t *testing.T, c *api.Client) int {
	r, _ := c.Ring(t.Context())
	return takingPart(&r)
}

func takingPart(r *api.Ring) (up int) {
	for i := range r.Members {
		if r.Joined && r.Members[i].State == api.MemberUp {
			up++
		}
	}
	return up
}

// TestRingSetupOfTwoHosts follows cronring-ring-setup(7) on two hosts.
func TestRingSetupOfTwoHosts(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: -short excludes tests that boot hosts")
	}
	t.Parallel()
	bin := hosttest.Programs(t)
	network := newNetwork(t, 2)
	hosts := map[string]*namespaceHost{"1": network.boot(0, bin), "2": network.boot(1, bin)}
	for i, h := range hosts {
		h.shell("ip addr flush dev eth0; ip addr add 10.0.0." + i + "/24 dev eth0")
	}
	var owner, other *namespaceHost
	for _, e := range setupExamples(t, "two") {
		if e.Kind == mantest.System {
			for _, h := range hosts {
				h.write("/etc/cron.d/first", e.Text)
			}
			await(t, "the shared job runs", func() bool {
				owner, other = hosts["1"], hosts["2"]
				if !hasRun(t, owner, "first") {
					owner, other = other, owner
				}
				return hasRun(t, owner, "first")
			})
			hosts["owner"] = owner
			continue
		}
		_, where, _ := strings.Cut(e.More, " on ")
		for _, i := range strings.Fields(where) {
			for _, line := range linesOf(e) {
				doOn(t, e, hosts[i], hosts["1"], line)
			}
		}
	}
	await(t, "the other host runs the job", func() bool { return hasRun(t, other, "first") })
}

// hasRun reports whether a host has run a job.
func hasRun(t *testing.T, h *namespaceHost, name string) bool {
	runs, err := h.daemon.client.History(t.Context(), api.Filter{Refs: []string{name}, Limit: 1})
	return err == nil && len(runs.Runs) > 0
}

// doOn carries out a line of the page on a host.
func doOn(t *testing.T, e mantest.Example, h, first *namespaceHost, line string) {
	t.Helper()
	words := strings.Fields(line)
	switch words[0] {
	case "systemctl":
		if h.daemon != nil {
			h.stop(syscall.SIGTERM)
		}
		if words[1] == "restart" {
			h.start()
		}
		return
	case "scp":
		_, from, _ := strings.Cut(words[2], ":")
		key, err := os.ReadFile(first.path(from))
		if err != nil {
			t.Fatal(err)
		}
		h.write(filepath.Join(words[3], filepath.Base(from)), string(key))
		return
	}
	if line == "cronring ring" {
		await(t, h.name()+" sees two members that are up", func() bool { return upOn(t, h.daemon.client) == 2 })
	}
	out := h.shell(line)
	for command, want := range map[string]string{
		"cronring ring":                       `(?m)^n1\tup\t(?s:.*)^n2\tup\t`,
		"cronring ring init":                  `wrote /etc/cronring/conf.d/ring.toml`,
		"cronring ring join 10.0.0.1":         `^wrote /etc/cronring/conf.d/ring.toml\nnext:`, // and no diagnostic: n1 answers
		"cronring history --member all first": `first`,
		"cronring next first":                 `\bn[12]\b`,
	} {
		if line == command && !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("%v: %s on %s: got\n%s\nwant %q", e, line, h.name(), out, want)
		}
	}
}

// scheduledTimes are the five fields of an entry's schedule.
var scheduledTimes = regexp.MustCompile(`(?m)^([0-9*]\S* ){4}\S+`)

// TestRingExamples runs the examples of cronring-ring-setup(7) in a ring of as many hosts. Their jobs
// are due every two seconds here, and do nothing. Most occurrences of each job run once: some may run
// twice if a busy machine delays the reports of members by more than hold-off.
func TestRingExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: -short excludes tests that boot hosts")
	}
	pages, err := mantest.Pages("../../man")
	if err != nil {
		t.Fatal(err)
	}
	examples, err := mantest.Examples("cronring-ring-setup.7", pages["cronring-ring-setup.7"])
	if err != nil {
		t.Fatal(err)
	}
	for hosts, c := range map[string]struct{ n, jobs int }{"two hosts": {2, 1}, "five hosts": {5, 2 + 8}} {
		t.Run(hosts, func(t *testing.T) {
			t.Parallel()
			files := map[mantest.Kind]string{}
			for _, e := range examples {
				if e.More == "of "+hosts {
					files[e.Kind] = e.Text
				}
			}
			text := scheduledTimes.ReplaceAllString(files[mantest.System], "* * * * *")
			text = regexp.MustCompile(`/usr/local/bin/\w+`).ReplaceAllString(text, "true")
			text = strings.ReplaceAll(text, "#@ ", "#@ sec=*/2 ")
			bin, network := hosttest.Programs(t), newNetwork(t, c.n)
			var all []*namespaceHost
			for i := range c.n {
				h := network.boot(i, bin)
				h.shell(fmt.Sprintf("ip addr flush dev eth0; ip addr add 10.0.0.%d/24 dev eth0", i+1))
				for k, user := range []string{"reports", "shop", "mirror", "scan"} {
					h.shell(fmt.Sprintf("echo %s:x:%d:65534::/:/bin/sh >>/etc/passwd", user, 70_001+k))
				}
				h.write("/etc/cronring/cronring.toml", files[mantest.TOML])
				h.write("/etc/cronring/ring.key", base64.StdEncoding.EncodeToString(make([]byte, 32))+"\n")
				h.write("/etc/cron.d/example", text)
				h.start()
				all = append(all, h)
			}
			for _, h := range all {
				await(t, h.name()+" sees all members", func() bool { return upOn(t, h.daemon.client) == c.n })
			}
			type occurrence struct {
				job job.ID
				due int64
			}
			oldest := time.Now().Unix()
			await(t, "all jobs run, and once", func() bool {
				starts := map[occurrence]int{}
				settled := time.Now().Add(-10 * time.Second).Unix() // nobody starts these any more
				for _, h := range all {
					runs, err := h.daemon.client.History(t.Context(), api.Filter{Limit: 10_000})
					if err != nil {
						t.Fatal(err)
					}
					for _, r := range runs.Runs {
						if o := (occurrence{r.Job, r.Due.Unix()}); o.due > oldest && o.due < settled {
							starts[o]++
						}
					}
				}
				once, doubled := map[job.ID]int{}, map[job.ID]int{}
				for o, n := range starts {
					if n == 1 {
						once[o.job]++
					} else {
						doubled[o.job]++
					}
				}
				enough := len(once) == c.jobs
				for job, n := range once {
					enough = enough && n > 1 && n > doubled[job]
				}
				return enough
			})
		})
	}
}

// TestRingSetupOfThreeDaemons follows cronring-ring-setup(7) on one host and
// without root.
func TestRingSetupOfThreeDaemons(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED, NOT TESTED: -short excludes tests that boot hosts")
	}
	t.Parallel()
	h := newNetwork(t, 1).boot(0, hosttest.Programs(t)) // its ports are free
	const dir = "/run/laptop"
	h.shell("install -d -o 65534 " + dir + "; install -D -t /run/bin " + h.bin + "/*")
	h.bin = "/run/bin" // which others than root can reach
	as := func(line string) *exec.Cmd {
		return h.command("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "env", "-C", dir, "HOME="+dir, "sh", "-ec", line)
	}
	// A daemon that is not root's answers its own user alone.
	ask := func(member, what string, answer any) {
		out, err := as("cronring --socket " + member + "/state/cronring.sock " + what + " -o json").Output()
		if err == nil {
			err = json.Unmarshal(out, answer)
		}
		if err != nil {
			t.Fatalf("ask %s: %s: %v\n%s", member, what, err, out)
		}
	}
	newest := func(member, name string) job.RunID {
		var runs api.Runs
		if ask(member, "history -n 1 "+name, &runs); len(runs.Runs) == 0 {
			return 0
		}
		return runs.Runs[0].ID
	}
	var daemons []*running
	for _, e := range setupExamples(t, "three") {
		switch {
		case e.Kind == mantest.Crontab:
			filetest.Write(t, h.path(dir+"/my.crontab"), e.Text, 0o644)
		case e.Kind == mantest.Ring && strings.HasSuffix(e.More, "daemons"):
			for _, line := range linesOf(e) {
				d := &running{t: t, cmd: as("exec " + line), client: api.Dial("")}
				d.begin()
				daemons = append(daemons, d)
			}
			for _, member := range []string{"a", "b", "c"} {
				await(t, "three members are up", func() bool {
					var r api.Ring
					ask(member, "ring", &r)
					return takingPart(&r) == 3
				})
			}
			await(t, "a shared job runs", func() bool { return newest("a", "red")+newest("b", "red")+newest("c", "red") > 0 })
		case e.Kind == mantest.Ring:
			for _, line := range linesOf(e) {
				out, err := as(line).CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %s: %v\n%s", e, line, err, out)
				}
				if strings.HasSuffix(line, " ring") && !regexp.MustCompile(`(?m)^a\tup\t(?s:.*)^b\tup\t(?s:.*)^c\tup\t`).Match(out) {
					t.Errorf("%v: %s: got\n%s\nwant three members that are up", e, line, out)
				}
			}
		}
	}
	syscall.Kill(childOf(daemons[1].cmd.Process.Pid, "cronringd"), syscall.SIGKILL)
	for _, name := range []string{"red", "green", "blue"} {
		a, c := newest("a", name), newest("c", name)
		await(t, "the others run "+name, func() bool { return newest("a", name) > a || newest("c", name) > c })
	}
}
