package spawn

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/crontab"
	"github.com/cronring/cronring/daemon/account"
	"github.com/cronring/cronring/daemon/engine"
	"github.com/cronring/cronring/daemon/job"
)

// stageName is argv[0] of a first stage: our own program between fork and the
// job's shell, for what only a process can do to itself, and only as root.
const stageName = "cronring-stage"

// stageFiles is where a first stage finds its plan and tells how far it came.
const (
	stagePlan = 3 + iota
	stageStatus
)

// stageEnviron is all that a first stage gets: what the job's table sets is
// for its shell, not for a Go program that is still root. It is short-lived
// and has one thing to do.
var stageEnviron = []string{"GOMAXPROCS=1", "GOGC=off", "GOTRACEBACK=none"}

// plan is what a first stage does. Texts are bytes, as a table may hold any.
type plan struct {
	Path   []byte
	Argv   [][]byte
	Env    [][]byte
	Dir    []byte
	Anyhow bool // in / where Dir cannot be entered
	Become bool
	UID    uint32
	GID    uint32
	Groups []uint32
	Limits []account.Limit
	Nice   *int
	Doors  [][]byte // files of control groups that it enters
	Wants  wants
}

// wants is what an entry's options ask of its process, by whose word.
type wants struct {
	NoFile int // most open files; 0 leaves it
	Nice   *int
	Idle   bool

	// These say that it is the account's own word, which the kernel holds to
	// what the account may do; else it is root's.
	OwnNoFile, OwnNice bool
}

func wanted(start *engine.Start) wants {
	r := options(start).Resources
	if r == nil {
		return wants{}
	}
	return wants{
		NoFile: r.NoFile, Nice: r.Nice, Idle: r.Idle,
		OwnNoFile: isOwn(start.Entry, "nofile"), OwnNice: isOwn(start.Entry, "nice"),
	}
}

// isOwn says that an option is the word of the account itself: it stands in its
// table, and not in the daemon's configuration.
func isOwn(e *crontab.Entry, key string) (own bool) {
	if e == nil || e.Table().Format != crontab.User {
		return false
	}
	for _, it := range e.Options().Items {
		if it.Key == key { // the last one counts
			own = it.Origin == crontab.FromDefault || it.Origin == crontab.FromDirective
		}
	}
	return own
}

func (w wants) any() bool { return w.NoFile != 0 || w.Nice != nil || w.Idle }

func (cmd command) needsStage() bool {
	return len(cmd.limits.Resources) > 0 || cmd.limits.Nice != nil || cmd.wants.any() || len(cmd.doors) > 0
}

// forkStage starts a command by way of a first stage. It does not wait until
// the command runs: the pump learns that.
func (s *Spawner) forkStage(cmd command, io *stdio) (pid int, err error) {
	text, err := json.Marshal(cmd.plan(s.files.original()))
	if err != nil {
		return 0, fmt.Errorf("plan first stage: %w", err)
	}
	input, err := openInput(string(text))
	if err != nil {
		return 0, fmt.Errorf("plan first stage: %w", err)
	}
	defer s.files.release(input)
	status, err := openPipe(nil)
	if err != nil {
		return 0, fmt.Errorf("start first stage: %w", err)
	}
	defer s.files.release(status[1])
	pid, err = forkExec(command{
		path: "/proc/self/exe",
		argv: []string{stageName},
		env:  stageEnviron,
		dir:  "/",
	}, append(io.files(), uintptr(input), uintptr(status[1])))
	if err != nil {
		s.files.release(status[0])
		return 0, fmt.Errorf("start first stage: %w", err)
	}
	io.status = status[0]
	io.stage = &staging{Command: cmd.path, Dir: cmd.dir}
	return pid, nil
}

// plan says in full how many files may be open, as Go raises that limit in
// every program of its own.
func (cmd command) plan(files unix.Rlimit) plan {
	p := plan{
		Path:   []byte(cmd.path),
		Argv:   texts(cmd.argv),
		Env:    texts(cmd.env),
		Dir:    []byte(cmd.dir),
		Anyhow: cmd.anyhow,
		Limits: slices.Clone(cmd.limits.Resources),
		Nice:   cmd.limits.Nice,
		Doors:  texts(cmd.doors),
		Wants:  cmd.wants,
	}
	if cmd.cred != nil {
		p.Become, p.UID, p.GID, p.Groups = true, cmd.cred.Uid, cmd.cred.Gid, cmd.cred.Groups
	}
	isFiles := func(l account.Limit) bool { return l.Resource == unix.RLIMIT_NOFILE }
	if i := slices.IndexFunc(p.Limits, isFiles); i >= 0 {
		files = p.Limits[i].Over(files)
		p.Limits = slices.Delete(p.Limits, i, i+1)
	}
	if cmd.wants.NoFile == 0 || cmd.wants.OwnNoFile { // root's word takes the place of the account's limit
		p.Limits = append(p.Limits, account.Limit{Resource: unix.RLIMIT_NOFILE, Soft: &files.Cur, Hard: &files.Max})
	}
	return p
}

func texts(from []string) [][]byte {
	to := make([][]byte, len(from))
	for i, text := range from {
		to[i] = []byte(text)
	}
	return to
}

// The steps of a first stage. Each report is a step, a detail, an error
// number and, for a fatal step, the end.
const (
	stepReady  = 'r' // all is done but exec
	stepDir    = 'd' // Dir cannot be entered; it went on in /
	stepLimit  = 'l' // a limit cannot be set; the detail says which
	stepNice   = 'n'
	stepGroups = 'G' // from here on fatal
	stepGID    = 'g'
	stepUID    = 'u'
	stepHome   = 'h'
	stepExec   = 'x'
	stepMask   = 'm'
	stepDoor   = 'c'
	stepFiles  = 'f'
	stepWorth  = 'p'
	stepIdle   = 'i'
)

const stepBytes = 6

// staging is what is known of a first stage, from its reports.
type staging struct {
	Command string // what it is to run
	Dir     string
	Reports []byte
}

// Stage is to be called first of all by each program that runs a Spawner. In
// a first stage it takes the place of the rest of the program: it does what
// its plan says and becomes the job's shell. Elsewhere it does nothing.
//
// That it can be reached by a name is no danger: it has no rights but its
// caller's, and the plan is its caller's too.
func Stage() {
	switch {
	case len(os.Args) != 1:
		return
	case os.Args[0] == logName:
		logStage()
	case os.Args[0] != stageName:
		return
	}
	if err := runStage(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", stageName, err)
	}
	os.Exit(stageFailed)
}

// stageFailed is the exit status of a first stage. Nobody sees it, as the
// daemon goes by the reports.
const stageFailed = 125

func runStage() error {
	if os.Geteuid() != os.Getuid() || os.Getegid() != os.Getgid() {
		return errors.New("refused: the program is set-user-id or set-group-id")
	}
	syscall.CloseOnExec(stagePlan)
	syscall.CloseOnExec(stageStatus)
	p, err := readPlan()
	if err != nil {
		return fmt.Errorf("read plan (this is a part of the daemon, not a command): %w", err)
	}
	ready, err := p.prepare()
	if err != nil {
		return err
	}
	debug.SetGCPercent(-1)
	runtime.LockOSThread()
	onHeap.Store(ready)
	onHeap.Load().exec()
	return nil
}

// onHeap keeps what the kernel is told the address of from moving, as things
// on a stack may.
var onHeap atomic.Pointer[prepared]

func readPlan() (p plan, err error) {
	if _, err := unix.FcntlInt(stagePlan, unix.F_GET_SEALS, 0); err != nil {
		return p, err // a file in memory can be sealed, and the daemon's is
	}
	file := os.NewFile(stagePlan, "plan")
	data, err := io.ReadAll(file)
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(data, &p)
}

// prepared is a plan in the kernel's form. From the first limit on nothing may
// be allocated: the limit may be one of memory, and Go dies without.
type prepared struct {
	plan
	path, dir, root *byte
	argv, env       []*byte
	groups          []uint32
	limits          []unix.Rlimit
	doors           []int // open
	files           unix.Rlimit
	zero            [1]byte
	idle            int32 // struct sched_param
	report          [stepBytes]byte
	mask            unix.Sigset_t
}

func (p plan) prepare() (*prepared, error) {
	r := &prepared{plan: p}
	var err [5]error
	r.path, err[0] = syscall.BytePtrFromString(string(p.Path))
	r.dir, err[1] = syscall.BytePtrFromString(string(p.Dir))
	r.root, err[2] = syscall.BytePtrFromString("/")
	r.argv, err[3] = pointers(p.Argv)
	r.env, err[4] = pointers(p.Env)
	r.groups = append(r.groups, p.Groups...)
	for _, limit := range p.Limits {
		var present unix.Rlimit
		if err := unix.Getrlimit(limit.Resource, &present); err != nil {
			return nil, fmt.Errorf("read limit %d: %w", limit.Resource, err)
		}
		r.limits = append(r.limits, limit.Over(present))
	}
	r.zero[0] = '0'
	r.files = unix.Rlimit{Cur: uint64(p.Wants.NoFile), Max: uint64(p.Wants.NoFile)}
	for _, door := range p.Doors {
		fd, err := unix.Open(string(door), unix.O_WRONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			r.tell(stepDoor, 0, errnoOf(err))
			return nil, fmt.Errorf("open %s: %w", door, err)
		}
		r.doors = append(r.doors, fd)
	}
	return r, errors.Join(err[:]...)
}

// pointers ends with nil, as execve wants.
func pointers(from [][]byte) ([]*byte, error) {
	to := make([]*byte, len(from)+1)
	for i, text := range from {
		var err error
		if to[i], err = syscall.BytePtrFromString(string(text)); err != nil {
			return nil, err
		}
	}
	return to, nil
}

// exec becomes the command, or reports why not and returns. It works on one
// thread alone, with bare system calls: exec ends the others, and what they
// are allowed until then is the daemon's to give.
func (r *prepared) exec() {
	_ = syscall.Umask(0o022)
	r.setNice()
	if r.Become && !r.setGroups() {
		return
	}
	r.setLimits()
	if !r.enterGroups() || !r.setWants(false) {
		return
	}
	if r.Become && !r.call(stepUID, sysSetresuid, uintptr(r.UID), uintptr(r.UID), uintptr(r.UID)) {
		return
	}
	if !r.setWants(true) || !r.setIdle() {
		return
	}
	if !r.enter() || !r.call(stepMask, unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&r.mask)), 0) {
		return
	}
	r.tell(stepReady, 0, 0)
	r.call(stepExec, unix.SYS_EXECVE, uintptr(unsafe.Pointer(r.path)), uintptr(unsafe.Pointer(&r.argv[0])), uintptr(unsafe.Pointer(&r.env[0])))
}

// setNice sets it for this thread, which is the one that stays.
func (r *prepared) setNice() {
	if r.Nice == nil {
		return
	}
	if _, _, e := syscall.RawSyscall(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, uintptr(*r.Nice)); e != 0 {
		r.tell(stepNice, 0, e)
	}
}

// The calls of old take numbers of 16 bits on the two architectures that are
// as old, and would cut an account's number off.
var sysSetgroups, sysSetresgid, sysSetresuid = func() (groups, gid, uid uintptr) {
	if runtime.GOARCH == "386" || runtime.GOARCH == "arm" {
		return 206, 210, 208
	}
	return unix.SYS_SETGROUPS, unix.SYS_SETRESGID, unix.SYS_SETRESUID
}()

func (r *prepared) setGroups() bool {
	var list unsafe.Pointer
	if len(r.groups) > 0 {
		list = unsafe.Pointer(&r.groups[0])
	}
	return r.call(stepGroups, sysSetgroups, uintptr(len(r.groups)), uintptr(list), 0) &&
		r.call(stepGID, sysSetresgid, uintptr(r.GID), uintptr(r.GID), uintptr(r.GID))
}

// setLimits goes on after one that cannot be set, as in a container whose root
// may raise none: a job with another limit is better than none.
func (r *prepared) setLimits() {
	for i := range r.limits {
		_, _, e := syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, uintptr(r.Limits[i].Resource), uintptr(unsafe.Pointer(&r.limits[i])), 0, 0, 0)
		if e != 0 {
			r.tell(stepLimit, byte(r.Limits[i].Resource), e)
		}
	}
}

// enterGroups comes late, when this program makes no thread any more: the group
// may allow one process alone, and memory for that one.
func (r *prepared) enterGroups() bool {
	for _, fd := range r.doors {
		if !r.call(stepDoor, unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&r.zero[0])), 1) {
			return false
		}
	}
	return true
}

// The numbers of sched_setscheduler(2) and ioprio_set(2).
const (
	schedIdle      = 5
	ioprioProcess  = 1
	ioprioIdleOnly = 3 << 13
)

// setWants does what the options of the entry ask for, by one of the two words.
// What cannot be done is not left out: the run does not begin.
func (r *prepared) setWants(own bool) bool {
	w := &r.Wants
	return (w.NoFile == 0 || w.OwnNoFile != own || r.call(stepFiles, unix.SYS_PRLIMIT64, 0, unix.RLIMIT_NOFILE, uintptr(unsafe.Pointer(&r.files)))) &&
		(w.Nice == nil || w.OwnNice != own || r.call(stepWorth, unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, uintptr(*w.Nice)))
}

func (r *prepared) setIdle() bool {
	return !r.Wants.Idle || (r.call(stepIdle, unix.SYS_SCHED_SETSCHEDULER, 0, schedIdle, uintptr(unsafe.Pointer(&r.idle))) &&
		r.call(stepIdle, unix.SYS_IOPRIO_SET, ioprioProcess, 0, ioprioIdleOnly))
}

func (r *prepared) enter() bool {
	_, _, e := syscall.RawSyscall(unix.SYS_CHDIR, uintptr(unsafe.Pointer(r.dir)), 0, 0)
	switch {
	case e == 0:
		return true
	case !r.Anyhow:
		r.tell(stepHome, 0, e)
		return false
	}
	r.tell(stepDir, 0, e)
	return r.call(stepHome, unix.SYS_CHDIR, uintptr(unsafe.Pointer(r.root)), 0, 0)
}

func (r *prepared) call(step byte, trap, a1, a2, a3 uintptr) bool {
	a4 := uintptr(0)
	if trap == unix.SYS_RT_SIGPROCMASK {
		a4 = 8 // the size of the mask; the others take three arguments
	}
	_, _, e := syscall.RawSyscall6(trap, a1, a2, a3, a4, 0, 0)
	if e != 0 {
		r.tell(step, 0, e)
	}
	return e == 0
}

func (r *prepared) tell(step, detail byte, e syscall.Errno) {
	r.report[0], r.report[1] = step, detail
	binary.LittleEndian.PutUint32(r.report[2:], uint32(e))
	_, _, _ = syscall.RawSyscall(unix.SYS_WRITE, stageStatus, uintptr(unsafe.Pointer(&r.report[0])), stepBytes)
}

// endStage is called when nothing more is to come from a first stage: the
// command runs, or never will.
func (s *Spawner) endStage(c *child) {
	for report := range slices.Chunk(c.stage.Reports, stepBytes) {
		if text := c.stage.remark(report); text != "" {
			s.note(c, "%s", text)
		}
	}
	began := c.stage.began()
	if began {
		c.stage = nil
	}
	if began && !c.check {
		s.events <- engine.Started{Run: c.run, PID: c.pid, At: now()}
	}
	s.mu.Lock()
	s.staged--
	s.mu.Unlock()
	s.nudge() // the hand may wait for this in order to hold
}

// remark is what a job's output says about a step that went wrong and was no
// reason to stop.
func (g *staging) remark(report []byte) string {
	err := stepError(report)
	switch report[0] {
	case stepDir:
		return fmt.Sprintf(inRoot, g.Dir, err)
	case stepLimit:
		return fmt.Sprintf("cannot set limit %s: %v", limitName(report[1]), err)
	case stepNice:
		return fmt.Sprintf("cannot set nice value: %v", err)
	}
	return ""
}

func errnoOf(err error) syscall.Errno {
	e, _ := errors.AsType[syscall.Errno](err)
	return e
}

func stepError(report []byte) syscall.Errno {
	if len(report) < stepBytes {
		return 0
	}
	return syscall.Errno(binary.LittleEndian.Uint32(report[2:]))
}

var limitNames = map[byte]string{
	unix.RLIMIT_AS: "as", unix.RLIMIT_CORE: "core", unix.RLIMIT_CPU: "cpu", unix.RLIMIT_DATA: "data",
	unix.RLIMIT_FSIZE: "fsize", unix.RLIMIT_LOCKS: "locks", unix.RLIMIT_MEMLOCK: "memlock",
	unix.RLIMIT_MSGQUEUE: "msgqueue", unix.RLIMIT_NICE: "nice", unix.RLIMIT_NOFILE: "nofile",
	unix.RLIMIT_NPROC: "nproc", unix.RLIMIT_RSS: "rss", unix.RLIMIT_RTPRIO: "rtprio",
	unix.RLIMIT_SIGPENDING: "sigpending", unix.RLIMIT_STACK: "stack",
}

func limitName(resource byte) string { return cmp.Or(limitNames[resource], fmt.Sprint(resource)) }

// last is the last step that was reported, and its error.
func (g *staging) last() (step byte, err syscall.Errno) {
	if len(g.Reports) < stepBytes {
		return 0, 0
	}
	report := g.Reports[len(g.Reports)-stepBytes:]
	return report[0], stepError(report)
}

func (g *staging) began() bool {
	step, _ := g.last()
	return step == stepReady
}

// judge turns the end of a first stage that never became its command into an
// outcome of the run.
func (g *staging) judge(end job.Outcome) job.Outcome {
	return job.Outcome{Kind: job.NotStarted, Error: g.why(end)}
}

func (g *staging) why(end job.Outcome) string {
	step, err := g.last()
	switch step {
	case stepGroups:
		return fmt.Sprintf("set groups: %v", err)
	case stepGID:
		return fmt.Sprintf("become group: %v", err)
	case stepUID:
		return fmt.Sprintf("become user: %v", err)
	case stepHome:
		return fmt.Sprintf("chdir HOME failed: %s: %v", g.Dir, err)
	case stepMask:
		return fmt.Sprintf("set signal mask: %v", err)
	case stepDoor:
		return fmt.Sprintf("enter control group: %v", err)
	case stepFiles:
		return fmt.Sprintf("set nofile=: %v; ask for no more than the account's hard limit, see ulimit -Hn", err)
	case stepWorth:
		return fmt.Sprintf("set nice=: %v; an account may not raise its own priority", err)
	case stepIdle:
		return fmt.Sprintf("set idle: %v", err)
	case stepExec:
		return explain(command{path: g.Command, anyhow: true}, err).Error()
	}
	return "ended before its command began: " + end.String()
}
