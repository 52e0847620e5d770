package starter

import (
	"runtime"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// process is a Command in the kernel's form. It is reused for each command. After the fork nothing
// is allocated, no stack grows and no scheduler runs, because the new process has one thread of a
// Go program only: its functions make bare system calls and are marked nosplit, so that none of
// them enters the scheduler when another thread tries to preempt this one. No signal handler runs,
// because serve has removed them.
type process struct {
	flags       uint64
	files       []uintptr
	status      uintptr // valid with flagStatus
	group       uintptr // valid with flagGroup
	uid, gid    uintptr
	umask       uintptr
	loginSize   uintptr
	hurry       unix.Itimerval // valid with flagHurry
	noHurry     unix.Itimerval
	groups      []uint32
	limits      []limit
	nice        []Nice
	path, dir   *byte
	login       *byte
	mark        *byte
	markText    *byte
	argv, env   []*byte
	groupFiles  []*byte
	noMask      unix.Sigset_t
	report      [reportSize]byte
	noPriority  int32 // struct sched_param
	cloneWith   cloneArgs
	loopback    loopback
	placeholder [1]byte // "0", which stands for the writing process in files of control groups
}

type limit struct {
	values   unix.Rlimit
	resource int
	Rule
}

// cloneArgs is struct clone_args of clone3(2).
type cloneArgs struct {
	flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls, setTID, setTIDSize, cgroup uint64
}

// prepare reads a message, and keeps references to its texts. It returns EINVAL for a malformed
// one.
func (p *process) prepare(request []byte, fds []int) syscall.Errno {
	r := reader{rest: request}
	_ = r.number() // the length
	p.flags = r.number()
	files := int(min(r.number(), maxFiles+1))
	p.uid, p.gid = uintptr(r.number()), uintptr(r.number())
	p.umask = uintptr(r.number())
	p.groups = p.groups[:0]
	for range r.count(8) {
		p.groups = append(p.groups, uint32(r.number()))
	}
	p.limits = p.limits[:0]
	for range r.count(4 * 8) {
		l := limit{resource: int(r.number()), values: unix.Rlimit{Cur: r.number(), Max: r.number()}}
		l.Rule = r.rule()
		p.limits = append(p.limits, l)
	}
	p.nice = p.nice[:0]
	for range r.count(2 * 8) {
		p.nice = append(p.nice, Nice{Value: int(int64(r.number())), Rule: r.rule()})
	}
	p.hurry.Value = unix.NsecToTimeval(int64(r.number()) * int64(time.Second))
	p.path, p.dir = r.text(), r.text()
	p.loginSize = uintptr(r.number())
	p.login = r.text()
	p.mark, p.markText = r.text(), r.text()
	p.argv, p.env, p.groupFiles = r.texts(p.argv), r.texts(p.env), r.texts(p.groupFiles)
	if !p.takeFiles(files, fds) || r.failed || len(r.rest) > 0 || len(p.argv) < 2 {
		return syscall.EINVAL
	}
	p.placeholder[0] = '0'
	return 0
}

func (p *process) takeFiles(files int, fds []int) bool {
	next := func() uintptr {
		fd := fds[0]
		fds = fds[1:]
		return uintptr(fd)
	}
	wanted := files
	for _, flag := range []uint64{flagStatus, flagGroup} {
		if p.flags&flag != 0 {
			wanted++
		}
	}
	if files < 3 || files > maxFiles || len(fds) != wanted {
		return false
	}
	p.files = p.files[:0]
	for range files {
		p.files = append(p.files, next())
	}
	if p.flags&flagStatus != 0 {
		p.status = next()
	}
	if p.flags&flagGroup != 0 {
		p.group = next()
	}
	return true
}

// start makes the process and returns its number, or an errno.
//
//go:nosplit
//go:norace
func (p *process) start() (pid, errno uint32) {
	number, e := p.fork()
	if number == 0 && e == 0 {
		p.become()
		raw(unix.SYS_EXIT_GROUP, ExitFailed, 0, 0)
	}
	return uint32(number), uint32(e)
}

// fork makes a process that shares no memory with this one and is a child of
// this one's parent.
//
//go:nosplit
//go:norace
func (p *process) fork() (pid uintptr, errno syscall.Errno) {
	apart := uintptr(0)
	if p.flags&flagNoNetwork != 0 {
		apart = unix.CLONE_NEWNET
	}
	if p.flags&flagGroup == 0 {
		pid, _, errno = syscall.RawSyscall6(unix.SYS_CLONE, unix.CLONE_PARENT|apart|uintptr(unix.SIGCHLD), 0, 0, 0, 0, 0)
		return pid, errno
	}
	p.cloneWith = cloneArgs{flags: unix.CLONE_PARENT | unix.CLONE_INTO_CGROUP | uint64(apart), cgroup: uint64(p.group)} // the exit signal is the starter's own
	pid, _, errno = syscall.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&p.cloneWith)), unsafe.Sizeof(p.cloneWith), 0)
	return pid, errno
}

// become executes the command, or reports why not and returns.
//
//go:nosplit
//go:norace
func (p *process) become() {
	raw(unix.SYS_SETSID, 0, 0, 0)
	p.setLogin()
	p.leaveKeyring()
	raw(unix.SYS_UMASK, p.umask, 0, 0)
	if !p.setFiles() ||
		!p.setNice(false) ||
		!p.setGroups() ||
		!p.setLimits(false) ||
		!p.enterGroups() ||
		!p.raiseLoopback() ||
		!p.setUser() ||
		!p.setLimits(true) ||
		!p.setNice(true) ||
		!p.setIdle() {
		return
	}
	_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGPROCMASK, unix.SIG_SETMASK, uintptr(unsafe.Pointer(&p.noMask)), 0, maskSize, 0, 0)
	if !p.enterDirInTime() {
		return
	}
	_, _, e := syscall.RawSyscall(unix.SYS_EXECVE, address(p.path), uintptr(unsafe.Pointer(&p.argv[0])), uintptr(unsafe.Pointer(&p.env[0])))
	p.reportStep(stepExec, 0, e)
}

// maskSize is the size of a signal mask for the kernel, in bytes.
const maskSize = 8

// setFiles goes upwards: the i-th of the received descriptors is at least 4+i,
// since the starter's own are 0 to 3, so that none is overwritten before it was
// duplicated.
//
//go:nosplit
//go:norace
func (p *process) setFiles() bool {
	for i, fd := range p.files {
		if !p.call(stepFiles, unix.SYS_DUP3, fd, uintptr(i), 0) {
			return false
		}
	}
	return true
}

const loginFile = "/proc/self/loginuid\x00"

//go:nosplit
//go:norace
func (p *process) setLogin() {
	if p.loginSize == 0 {
		return
	}
	fd, _, e := syscall.RawSyscall6(unix.SYS_OPENAT, cwd, address(unsafe.StringData(loginFile)), unix.O_WRONLY|unix.O_CLOEXEC, 0, 0, 0)
	if e == 0 {
		raw(unix.SYS_WRITE, fd, address(p.login), p.loginSize)
		raw(unix.SYS_CLOSE, fd, 0, 0)
	}
}

// leaveKeyring gives a process of another user a session keyring of its own, as a login does (see
// session-keyring(7)). Otherwise it would inherit the daemon's, and any process can read and revoke what
// is in its session keyring, regardless of its user. Root makes the new one, because a user could use up
// the quota of keys. It fails only if the kernel or the container allows no keys at all.
//
//go:nosplit
//go:norace
func (p *process) leaveKeyring() {
	if p.flags&flagUser != 0 {
		raw(unix.SYS_KEYCTL, unix.KEYCTL_JOIN_SESSION_KEYRING, 0, 0)
	}
}

//go:nosplit
//go:norace
func (p *process) setNice(asUser bool) bool {
	for i := range p.nice {
		n := &p.nice[i]
		if n.AsUser != asUser {
			continue
		}
		e := raw(unix.SYS_SETPRIORITY, unix.PRIO_PROCESS, 0, uintptr(n.Value))
		switch {
		case e == 0:
		case n.Required:
			p.reportStep(stepNiceRequired, 0, e)
			return false
		default:
			p.reportStep(stepNice, 0, e)
		}
	}
	return true
}

// loopback is a struct ifreq: a name of 16 bytes, then flags.
type loopback struct {
	name  [unix.IFNAMSIZ]byte
	flags uint16
	_     [22]byte
}

// raiseLoopback sets up the only interface of a network of its own, and keeps the process from
// gaining privileges.
//
//go:nosplit
//go:norace
func (p *process) raiseLoopback() bool {
	if p.flags&flagNoNetwork == 0 {
		return true
	}
	p.loopback = loopback{name: [unix.IFNAMSIZ]byte{'l', 'o'}, flags: unix.IFF_UP}
	fd, _, e := syscall.RawSyscall(unix.SYS_SOCKET, unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if e == 0 {
		e = raw(unix.SYS_IOCTL, fd, unix.SIOCSIFFLAGS, uintptr(unsafe.Pointer(&p.loopback)))
		raw(unix.SYS_CLOSE, fd, 0, 0)
	}
	if e != 0 {
		p.reportStep(stepNetwork, 0, e)
		return false
	}
	_, _, e = syscall.RawSyscall6(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0, 0)
	if e != 0 {
		p.reportStep(stepNetwork, 0, e)
	}
	return e == 0
}

// userCalls returns the numbers of three system calls. The older ones take numbers of 16 bits on the
// two architectures that are as old, and would cut a user's number off.
//
//go:nosplit
//go:norace
func userCalls() (setgroups, setresgid, setresuid uintptr) {
	if runtime.GOARCH == "386" || runtime.GOARCH == "arm" {
		return 206, 210, 208
	}
	return unix.SYS_SETGROUPS, unix.SYS_SETRESGID, unix.SYS_SETRESUID
}

//go:nosplit
//go:norace
func (p *process) setGroups() bool {
	if p.flags&flagUser == 0 {
		return true
	}
	setgroups, setresgid, _ := userCalls()
	return p.call(stepGroups, setgroups, uintptr(len(p.groups)), uintptr(unsafe.Pointer(unsafe.SliceData(p.groups))), 0) &&
		p.call(stepGID, setresgid, p.gid, p.gid, p.gid)
}

//go:nosplit
//go:norace
func (p *process) setUser() bool {
	_, _, setresuid := userCalls()
	return p.flags&flagUser == 0 || p.call(stepUID, setresuid, p.uid, p.uid, p.uid)
}

// setLimits continues after an optional limit that cannot be set, as in a
// container whose root may raise none: a job with another limit is better than
// none.
//
//go:nosplit
//go:norace
func (p *process) setLimits(asUser bool) bool {
	for i := range p.limits {
		l := &p.limits[i]
		if l.AsUser != asUser {
			continue
		}
		_, _, e := syscall.RawSyscall6(unix.SYS_PRLIMIT64, 0, uintptr(l.resource), uintptr(unsafe.Pointer(&l.values)), 0, 0, 0)
		switch {
		case e == 0:
		case l.Required:
			p.reportStep(stepLimitRequired, byte(l.resource), e)
			return false
		default:
			p.reportStep(stepLimit, byte(l.resource), e)
		}
	}
	return true
}

//go:nosplit
//go:norace
func (p *process) enterGroups() bool {
	for i := 0; p.groupFiles[i] != nil; i++ {
		fd, _, e := syscall.RawSyscall6(unix.SYS_OPENAT, cwd, address(p.groupFiles[i]), unix.O_WRONLY|unix.O_CLOEXEC, 0, 0, 0)
		if e != 0 {
			p.reportStep(stepGroupFile, 0, e)
			return false
		}
		if !p.call(stepGroupFile, unix.SYS_WRITE, fd, uintptr(unsafe.Pointer(&p.placeholder[0])), 1) {
			return false
		}
		raw(unix.SYS_CLOSE, fd, 0, 0)
	}
	return true
}

// cwd is AT_FDCWD. The paths are absolute.
const cwd = ^uintptr(99)

// The numbers of sched_setscheduler(2) and ioprio_set(2).
const (
	schedIdle      = 5
	ioprioProcess  = 1
	ioprioIdleOnly = 3 << 13
)

//go:nosplit
//go:norace
func (p *process) setIdle() bool {
	return p.flags&flagIdle == 0 ||
		p.call(stepIdle, unix.SYS_SCHED_SETSCHEDULER, 0, schedIdle, uintptr(unsafe.Pointer(&p.noPriority))) &&
			p.call(stepIdle, unix.SYS_IOPRIO_SET, ioprioProcess, 0, ioprioIdleOnly)
}

// enterDirInTime has the kernel end the process if entering the directory takes too long. The
// report before it is then the last one. exec would keep the timer.
//
//go:nosplit
//go:norace
func (p *process) enterDirInTime() bool {
	if p.flags&flagHurry == 0 {
		return p.enterDir()
	}
	p.reportStep(stepDirSlow, 0, 0)
	raw(unix.SYS_SETITIMER, unix.ITIMER_REAL, uintptr(unsafe.Pointer(&p.hurry)), 0)
	if !p.enterDir() {
		return false
	}
	raw(unix.SYS_SETITIMER, unix.ITIMER_REAL, uintptr(unsafe.Pointer(&p.noHurry)), 0)
	p.reportStep(stepDirEntered, 0, 0)
	return true
}

// enterDir leaves the process in /, where the starter is, if it may.
//
//go:nosplit
//go:norace
func (p *process) enterDir() bool {
	if *p.dir == 0 {
		return true
	}
	e := raw(unix.SYS_CHDIR, address(p.dir), 0, 0)
	switch {
	case e == 0:
		return true
	case p.flags&flagDirOptional != 0:
		p.reportStep(stepDir, 0, e)
		return true
	}
	p.reportStep(stepDirRequired, 0, e)
	return false
}

//go:nosplit
//go:norace
func (p *process) call(step byte, trap, a1, a2, a3 uintptr) bool {
	e := raw(trap, a1, a2, a3)
	if e != 0 {
		p.reportStep(step, 0, e)
	}
	return e == 0
}

//go:nosplit
//go:norace
func (p *process) reportStep(step, detail byte, e syscall.Errno) {
	if p.flags&flagStatus == 0 {
		return
	}
	p.report = [reportSize]byte{step, detail, byte(e), byte(e >> 8), byte(e >> 16), byte(e >> 24)}
	raw(unix.SYS_WRITE, p.status, uintptr(unsafe.Pointer(&p.report[0])), reportSize)
}

//go:nosplit
//go:norace
func raw(trap, a1, a2, a3 uintptr) syscall.Errno {
	_, _, e := syscall.RawSyscall(trap, a1, a2, a3)
	return e
}

//go:nosplit
//go:norace
func address(text *byte) uintptr { return uintptr(unsafe.Pointer(text)) }
