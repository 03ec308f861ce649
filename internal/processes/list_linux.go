package processes

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// list returns all processes of the system.
func list() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	var out []process
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := find(pid); ok {
				out = append(out, p)
			}
		}
	}
	return out
}

// The fields of /proc/PID/stat after the name of the program, which may hold any
// characters (man proc_pid_stat).
const (
	fieldState   = 0
	fieldParent  = 1
	fieldStarted = 19
)

// find returns a process; ok is false if there is none of the number.
func find(pid int) (p process, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return p, false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	if len(fields) <= fieldStarted {
		return p, false
	}
	p.pid = pid
	p.isZombie = fields[fieldState] == "Z" || fields[fieldState] == "X"
	p.parent, _ = strconv.Atoi(fields[fieldParent])
	p.started, _ = strconv.ParseUint(fields[fieldStarted], 10, 64)
	return p, true
}

// hasMark reports whether the environment of a process has a variable that is equal to a
// mark, or begins with it. It is false for a process of another user.
func hasMark(p process, mark string, whole bool) bool {
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.pid))
	if err != nil {
		return false
	}
	for variable := range bytes.SplitSeq(environ, []byte{0}) {
		if whole && string(variable) == mark || !whole && bytes.HasPrefix(variable, []byte(mark)) {
			return true
		}
	}
	return false
}

// killProcess kills a process that was listed, unless another one has its number now.
func killProcess(p process) {
	if now, ok := find(p.pid); ok && now.started == p.started {
		_ = syscall.Kill(p.pid, syscall.SIGKILL)
	}
}

// reap removes the entry of a child that has ended.
func reap(p process) { _, _ = syscall.Wait4(p.pid, nil, syscall.WNOHANG, nil) }
