package cgroup

import (
	"fmt"
	"strconv"

	"github.com/cronring/cronring/crontab/option"
)

// limit is one option and the files that set it, by version.
type limit struct {
	option     string
	controller string
	first      string // the controller of version 1; "": version 1 does not support the option
	files      []file // of version 2: the first existing file is written; one must exist
	old        []file // of version 1, likewise
	before     []file // of either version: all existing files are also written
	after      []file
}

// file is a file of a group and the text to write.
type file struct{ name, text string }

// period is the period of the CPU quota, in microseconds. longPeriod is for quotas that would
// otherwise be below the kernel's minimum.
const (
	period     = 100_000
	longPeriod = 1_000_000
	leastQuota = 1_000
)

// needed returns the files for a run's limits. The memory limit includes swap: otherwise a run with
// a memory limit fills the host's swap.
func needed(r *option.Resources) (all []limit) {
	if r == nil {
		return nil
	}
	if r.Memory > 0 {
		bytes := strconv.FormatInt(r.Memory, 10)
		all = append(all, limit{
			option: "memory", controller: "memory", first: "memory",
			files: []file{{"memory.max", bytes}},
			old:   []file{{"memory.limit_in_bytes", bytes}},
			after: []file{{"memory.swap.max", "0"}, {"memory.oom.group", "1"}, {"memory.memsw.limit_in_bytes", bytes}},
		})
	}
	if r.MemoryHigh > 0 {
		all = append(all, limit{
			option: "memory-high", controller: "memory",
			files: []file{{"memory.high", strconv.FormatInt(r.MemoryHigh, 10)}},
		})
	}
	if r.Tasks > 0 {
		most := strconv.Itoa(r.Tasks)
		all = append(all, limit{
			option: "tasks", controller: "pids", first: "pids",
			files: []file{{"pids.max", most}}, old: []file{{"pids.max", most}},
		})
	}
	if r.CPU > 0 {
		quota, of := quota(r.CPU)
		all = append(all, limit{
			option: "cpu", controller: "cpu", first: "cpu",
			before: []file{{"cpu.cfs_period_us", of}},
			files:  []file{{"cpu.max", quota + " " + of}},
			old:    []file{{"cpu.cfs_quota_us", quota}},
		})
	}
	if r.CPUWeight > 0 {
		all = append(all, limit{
			option: "cpu-weight", controller: "cpu", first: "cpu",
			files: []file{{"cpu.weight", strconv.Itoa(r.CPUWeight)}},
			old:   []file{{"cpu.shares", strconv.Itoa(max(2, r.CPUWeight*1024/100))}},
		})
	}
	if r.IOWeight > 0 {
		weight := strconv.Itoa(r.IOWeight)
		all = append(all, limit{
			option: "io-weight", controller: "io", first: "blkio",
			files: []file{{"io.weight", "default " + weight}, {"io.bfq.weight", "default " + bfq(r.IOWeight)}},
			old:   []file{{"blkio.bfq.weight", bfq(r.IOWeight)}, {"blkio.weight", bfq(r.IOWeight)}},
		})
	}
	return all
}

// quota converts thousandths of one processor to microseconds of a period.
func quota(thousandths int) (quota, of string) {
	p := period
	if thousandths*p/1000 < leastQuota {
		p = longPeriod
	}
	return strconv.Itoa(max(leastQuota, thousandths*(p/1000))), strconv.Itoa(p)
}

// bfq converts a weight of 1 to 10000 to the range of BFQ, 1 to 1000. The default is 100 in both.
func bfq(weight int) string {
	if weight <= 100 {
		return strconv.Itoa(weight)
	}
	return strconv.Itoa(min(1000, 100+(weight-100)*900/9900))
}

// place is a location for groups: a delegated group in each hierarchy that contains it.
type place map[string]string

// of returns the hierarchy of a limit and the files that set it; neither if that is impossible.
func (p place) of(l limit) (hierarchy string, files []file) {
	if has(p[v2], l.files) != (file{}) {
		return v2, l.files
	}
	if l.first != "" && has(p[l.first], l.old) != (file{}) {
		return l.first, l.old
	}
	return "", nil
}

// has returns the first of the files that a group has.
func has(dir string, files []file) file {
	if dir == "" {
		return file{}
	}
	for _, f := range files {
		if exists(dir, f.name) {
			return f
		}
	}
	return file{}
}

// missing returns which of a run's limits cannot be set here.
func (p place) missing(r *option.Resources) string {
	for _, l := range needed(r) {
		if _, files := p.of(l); files != nil {
			continue
		}
		if l.first == "" && p[l.controller] != "" {
			return l.option + "= needs control groups of version 2, and this host has version 1"
		}
		return fmt.Sprintf("the kernel cannot enforce %s= here: control groups are without %s; delete the option, or boot a kernel that has it", l.option, l.controller)
	}
	return ""
}

// set writes a limit into a group.
func set(dir string, l limit, files []file) error {
	all := present(dir, l.before)
	all = append(all, has(dir, files))
	all = append(all, present(dir, l.after)...)
	for _, f := range all {
		if err := write(dir, f.name, f.text); err != nil {
			return fmt.Errorf("set %s=: %w", l.option, err)
		}
	}
	return nil
}

func present(dir string, files []file) (all []file) {
	for _, f := range files {
		if exists(dir, f.name) {
			all = append(all, f)
		}
	}
	return all
}
