package packaging

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// tool is the program /lab/labtool of the proofs inside a machine.
func tool(args []string) int {
	tools := map[string]func(args []string) error{
		"probe": probe, "edits": edits, "attack": attack, "flood": flood,
		"attacks": driveAttacks, "attacker": attacker, "listen": listen,
		"entry": entryTool, "place": placeTool,
	}
	err := errors.New("usage: labtool probe|edits|attack|flood|attacks|attacker|listen|entry|place ...")
	if len(args) > 0 && tools[args[0]] != nil {
		err = tools[args[0]](args[1:])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "labtool:", err)
		return 1
	}
	return 0
}

// report is the kernel's view of a job's shell.
type report struct {
	Name, User, Minute string
	Facts              map[string]string // argv, cwd, "env NAME", "limit NAME", ...
}

// probe NAME PID writes a report on the process PID to /lab/out/probe.
func probe(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: labtool probe NAME PID")
	}
	proc := filepath.Join("/proc", args[1])
	awaitShell(proc)
	facts := map[string]string{}
	for _, entry := range strings.Split(strings.TrimRight(read(proc, "environ"), "\x00"), "\x00") {
		name, value, _ := strings.Cut(entry, "=")
		facts["env "+name] = value
	}
	facts["argv"] = fmt.Sprintf("%q", strings.Split(read(proc, "cmdline"), "\x00"))
	facts["cwd"], _ = os.Readlink(proc + "/cwd")
	facts["oom_score_adj"] = strings.TrimSpace(read(proc, "oom_score_adj"))
	for line := range strings.Lines(read(proc, "status")) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		if slices.Contains([]string{"Umask", "Uid", "Gid", "Groups", "SigBlk", "SigIgn", "NoNewPrivs", "CapEff", "CapBnd", "Seccomp"}, name) {
			facts[name] = strings.TrimSpace(value)
		}
	}
	for line := range strings.Lines(read(proc, "limits")) {
		if cells := regexp.MustCompile(` {2,}`).Split(strings.TrimSpace(line), -1); len(cells) > 2 {
			facts["limit "+cells[0]] = cells[1] + " " + cells[2]
		}
	}
	describeSession(facts, proc)
	typed, _ := io.ReadAll(os.Stdin)
	facts["stdin"] = string(typed)
	fmt.Println("probe", args[0])

	r := report{Name: args[0], User: facts["Uid"], Minute: time.Now().UTC().Format("15:04"), Facts: facts}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	return os.WriteFile(fmt.Sprintf("/lab/out/probe/%s.%s.%s", r.Name, r.Minute, args[1]), text, 0o644)
}

// awaitShell waits until a shell sleeps. dash blocks all signals while it starts a program, and on
// a busy machine the program runs before dash unblocks them and waits for it.
func awaitShell(proc string) {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if filepath.Base(proc) == fmt.Sprint(os.Getpid()) || strings.Contains(read(proc, "status"), "State:\tS") {
			return
		}
	}
}

// describeSession adds who leads what, priority, and the open descriptors.
func describeSession(facts map[string]string, proc string) {
	stat := read(proc, "stat")
	f := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:])
	if len(f) > 16 {
		pid := filepath.Base(proc)
		facts["leads its group"] = fmt.Sprint(f[2] == pid)
		facts["leads its session"] = fmt.Sprint(f[3] == pid)
		facts["terminal"] = f[4]
		facts["nice"] = f[16]
		facts["parent"] = strings.TrimSpace(read("/proc/"+f[1], "comm"))
	}
	facts["login of the audit log"] = read(proc, "loginuid")
	fds, _ := os.ReadDir(proc + "/fd")
	digits := regexp.MustCompile(`\[\d+\]|#\d+|tmpf?[A-Za-z0-9]{6}`)
	for _, fd := range fds {
		target, _ := os.Readlink(proc + "/fd/" + fd.Name())
		facts["fd "+fd.Name()] = digits.ReplaceAllString(target, "X")
	}
}

func read(dir, name string) string {
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		return "unreadable: " + err.Error()
	}
	return string(text)
}

// edits PATH N installs N versions of a crontab, each renamed over the previous one like an
// editor, and reports the duration. The last version names a job "final".
func edits(args []string) error {
	if len(args) != 2 {
		return errors.New("usage: labtool edits PATH N")
	}
	var n int
	if _, err := fmt.Sscan(args[1], &n); err != nil {
		return err
	}
	path, begun := args[0], time.Now()
	draft := filepath.Join(filepath.Dir(path), "."+filepath.Base(path)+".swp")
	for i := range n {
		name := fmt.Sprint("draft", i)
		if i == n-1 {
			name = "final"
		}
		text := fmt.Sprintf("#@ name=%s every=1s\n* * * * * root echo %s >>/lab/out/edited\n", name, name)
		if err := os.WriteFile(draft, []byte(text), 0o644); err != nil {
			return err
		}
		if err := os.Rename(draft, path); err != nil {
			return err
		}
	}
	fmt.Printf("%d edits in %d ms\n", n, time.Since(begun).Milliseconds())
	return nil
}
