//go:build unix

package main

import (
	"os"
	"os/signal"
	"runtime"
	"syscall"

	"github.com/mcpcheck/mcpcheck/reports"
)

// endBySignal ends this process as one that does not handle the signal.
func endBySignal(s syscall.Signal) error {
	signal.Reset(s)
	if err := syscall.Kill(os.Getpid(), s); err != nil {
		return err
	}
	select {}
}

// measureProcess returns the resources that this process used.
func measureProcess() *reports.Harness {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return nil
	}
	ms := func(t syscall.Timeval) float64 { return float64(t.Nano()) / 1e6 }
	peak := int64(u.Maxrss)
	if runtime.GOOS != "darwin" { // which counts in bytes
		peak <<= 10
	}
	return &reports.Harness{CPUMS: ms(u.Utime) + ms(u.Stime), PeakBytes: peak}
}
