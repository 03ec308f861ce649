package transport

import (
	"os"
	"syscall"
	"unsafe"
)

// unread returns how many bytes stand in a pipe that its reader has not taken.
func unread(pipe *os.File) (n int, known bool) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, false
	}
	var count int32
	err = raw.Control(func(fd uintptr) {
		_, _, e := syscall.Syscall(syscall.SYS_IOCTL, fd, syscall.TIOCINQ, uintptr(unsafe.Pointer(&count)))
		known = e == 0
	})
	return int(count), known && err == nil
}
