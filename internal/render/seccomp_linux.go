//go:build linux && (amd64 || arm64)

package render

import (
	"os"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Where the kernel puts what a filter looks at.
const (
	atCall     = 0
	atArch     = 4
	atArgument = 16 // eight bytes each, the low half first
)

// What a filter answers.
const (
	retAllow  = 0x7fff0000
	retErrno  = 0x00050000
	retRefuse = retErrno | uint32(unix.EPERM)
)

// calls are what the runtime needs while it computes, reads its input and writes its answer: nothing that opens, connects,
// starts or looks at anything. The frequent ones are first.
var calls = append([]uint32{
	unix.SYS_FUTEX, unix.SYS_READ, unix.SYS_WRITE, unix.SYS_MADVISE, unix.SYS_MUNMAP, unix.SYS_NANOSLEEP, unix.SYS_EPOLL_PWAIT,
	unix.SYS_SCHED_YIELD, unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_RT_SIGRETURN, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGACTION,
	unix.SYS_SIGALTSTACK, unix.SYS_CLOCK_GETTIME, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_GETTIMEOFDAY, unix.SYS_GETRANDOM,
	unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_RESTART_SYSCALL, unix.SYS_GETRUSAGE, unix.SYS_SCHED_GETAFFINITY,
	unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_MEMBARRIER, unix.SYS_MINCORE, unix.SYS_BRK, unix.SYS_MREMAP,
	unix.SYS_CLOSE, unix.SYS_FCNTL, unix.SYS_FSTAT, unix.SYS_EPOLL_CTL,
}, callsOfArch...)

// Signs in arguments.
const (
	cloneThread = 0x10000 // another thread and not another process
	protExec    = 0x4     // memory that holds a program
)

// callFilter refuses every call but these. Where an argument decides, the call is looked at by itself.
func callFilter() ([]bpf.RawInstruction, error) {
	program := []bpf.Instruction{
		bpf.LoadAbsolute{Off: atArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: retRefuse},
		bpf.LoadAbsolute{Off: atCall, Size: 4},
	}
	for _, call := range calls {
		program = append(program,
			bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: 1},
			bpf.RetConstant{Val: retAllow})
	}
	argument := func(call uint32, number int, allowed ...bpf.Instruction) {
		block := append([]bpf.Instruction{bpf.LoadAbsolute{Off: atArgument + 8*uint32(number), Size: 4}}, allowed...)
		block = append(block, bpf.RetConstant{Val: retRefuse})
		program = append(program, bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: uint8(len(block))})
		program = append(program, block...)
	}
	// No memory becomes a program.
	withoutExec := []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: protExec, SkipTrue: 1}, bpf.RetConstant{Val: retAllow},
	}
	argument(unix.SYS_MMAP, 2, withoutExec...)
	argument(unix.SYS_MPROTECT, 2, withoutExec...)
	// Threads, and no processes.
	argument(unix.SYS_CLONE, 0, bpf.JumpIf{Cond: bpf.JumpBitsSet, Val: cloneThread, SkipFalse: 1}, bpf.RetConstant{Val: retAllow})
	// Signals to its own threads: the runtime stops goroutines by them.
	argument(unix.SYS_TGKILL, 0, bpf.JumpIf{Cond: bpf.JumpEqual, Val: uint32(os.Getpid()), SkipFalse: 1}, bpf.RetConstant{Val: retAllow})
	// Its arguments cannot be seen; the C library then takes clone.
	argument(unix.SYS_CLONE3, 0, bpf.RetConstant{Val: retErrno | uint32(unix.ENOSYS)})
	// The runtime gives names to memory, and stops when it hears that there are none.
	argument(unix.SYS_PRCTL, 0, bpf.RetConstant{Val: retErrno | uint32(unix.EINVAL)})
	program = append(program, bpf.RetConstant{Val: retRefuse})
	return bpf.Assemble(program)
}
