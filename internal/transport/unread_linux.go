package transport

import (
	"os"
	"syscall"
	"unsafe"
)

// unreadBytes returns the number of bytes in a pipe that its reader has not read.
func unreadBytes(pipe *os.File) (n int, known bool) {
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
