package starter

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/cronring/cronring/daemon/atomicfile"
)

// socket is the starter's end of the socket.
const socket = 3

// Serve is the whole program of the starter, and does nothing in any other
// process. Programs that use a Starter call it first of all.
//
// It is safe that everybody can run the program under this name: it has only
// its caller's rights, and commands come from its caller too.
func Serve() {
	if len(os.Args) != 1 || os.Args[0] != Name {
		return
	}
	if err := serve(); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", Name, err)
		os.Exit(ExitFailed)
	}
	os.Exit(0)
}

// ExitFailed is the exit status of a starter that cannot work, and of a process
// that could not execute its command.
const ExitFailed = 125

// RejectSetID returns an error if this process has more rights than its caller. Each helper process of
// the daemon must call it first, because every user can run the program as a helper.
func RejectSetID() error {
	if os.Geteuid() != os.Getuid() || os.Getegid() != os.Getgid() {
		return errors.New("refused: the program is set-user-id or set-group-id")
	}
	return nil
}

// RequireSocket returns an error if a descriptor is not a unix socket: then the daemon did not start this
// helper process.
func RequireSocket(fd int) error {
	if kind, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN); err != nil || kind != unix.AF_UNIX {
		return errors.New("this is a part of the daemon, not a command")
	}
	return nil
}

func serve() error {
	if err := cmp.Or(RejectSetID(), RequireSocket(socket)); err != nil {
		return err
	}
	unix.CloseOnExec(socket)
	removeHandlers()
	_ = os.WriteFile("/proc/self/comm", []byte(Name), 0) // for ps, which would show exe
	syscall.Umask(0o022)
	var (
		buf  = make([]byte, 64<<10)
		oob  = make([]byte, unix.CmsgSpace(4*(maxFiles+2)))
		next process
		own  memory
	)
	own.limit()
	for {
		request, fds, err := receive(&buf, oob)
		if err != nil || request == nil {
			return err
		}
		errno := next.prepare(request, fds)
		answer := reply{errno: uint32(errno)}
		if errno == 0 {
			own.shareFor(&next, request)
			answer.pid, answer.errno = next.start()
		}
		if answer.errno == 0 {
			next.writeMark(answer.pid)
		}
		for _, fd := range fds {
			_ = unix.Close(fd)
		}
		clear(request) // no later process of another user may find it in its memory
		if len(buf) > 1<<20 {
			buf = make([]byte, 64<<10)
		}
		if err := respond(answer); err != nil {
			return err
		}
	}
}

// writeMark makes the link that Command.Mark describes.
func (p *process) writeMark(pid uint32) {
	path := unix.BytePtrToString(p.mark)
	if path == "" {
		return
	}
	var up unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_BOOTTIME, &up) // every kernel has it
	atomicfile.Link(path, fmt.Sprintf("%s %d %d", unix.BytePtrToString(p.markText), pid, up.Nano()))
}

// removeHandlers sets the default action for every signal, so that no handler of the Go runtime can
// run in a process that was forked and has only one of the runtime's threads. The runtime does not
// need them here: its preemption signal is ignored by default.
func removeHandlers() {
	var action [4]uint64 // struct sigaction: zero is the default action on every architecture
	for sig := uintptr(1); sig <= 64; sig++ {
		_, _, _ = syscall.RawSyscall6(unix.SYS_RT_SIGACTION, sig, uintptr(unsafe.Pointer(&action)), 0, maskSize, 0, 0) // fails for SIGKILL and SIGSTOP
	}
}

// receive reads one message into buf, which grows for it. It returns nil at the
// end.
func receive(buf *[]byte, oob []byte) (request []byte, fds []int, err error) {
	got := 0
	for length := 8; got < length; {
		n, rights, _, _, err := unix.Recvmsg(socket, (*buf)[got:], oob, unix.MSG_CMSG_CLOEXEC)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("receive a command: %w", err)
		case n == 0:
			return nil, nil, nil
		}
		got += n
		if rights > 0 {
			if fds, err = descriptors(oob[:rights]); err != nil {
				return nil, nil, err
			}
		}
		if got < 8 {
			continue
		}
		length = int(min(binary.LittleEndian.Uint64(*buf), maxMessage))
		if length > len(*buf) {
			larger := make([]byte, length)
			copy(larger, (*buf)[:got])
			*buf = larger
		}
	}
	return (*buf)[:got], fds, nil
}

func descriptors(oob []byte) ([]int, error) {
	messages, err := unix.ParseSocketControlMessage(oob)
	if err != nil || len(messages) != 1 {
		return nil, errors.Join(errors.New("receive descriptors"), err)
	}
	return unix.ParseUnixRights(&messages[0])
}

func respond(r reply) error {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err == nil {
		r.peak = uint32(used.Maxrss)
	}
	var answer [replySize]byte
	r.encode(answer[:])
	if _, err := unix.Write(socket, answer[:]); err != nil {
		return fmt.Errorf("answer: %w", err)
	}
	return nil
}
