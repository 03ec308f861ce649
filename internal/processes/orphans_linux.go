package processes

import (
	"syscall"
	"unsafe"
)

// The operations of prctl on the attribute "child subreaper" (man pr_set_child_subreaper).
const (
	prSetChildSubreaper = 36
	prGetChildSubreaper = 37
)

// AdoptOrphans makes descendants of this process whose parent ends children of this
// process, so that they can be found. It changes the whole process, so that only a
// program may call it, no library.
func AdoptOrphans() { _, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0) }

// adoptsOrphans reports whether AdoptOrphans was called.
func adoptsOrphans() bool {
	var is int32
	_, _, e := syscall.RawSyscall(syscall.SYS_PRCTL, prGetChildSubreaper, uintptr(unsafe.Pointer(&is)), 0)
	return e == 0 && is != 0
}
