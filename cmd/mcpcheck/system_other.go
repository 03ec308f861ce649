//go:build !unix

package main

import (
	"os"
	"syscall"

	"github.com/mcpcheck/mcpcheck/reports"
)

// endBySignal ends this process: no process ends by a signal on this system.
func endBySignal(syscall.Signal) error {
	os.Exit(exitInterrupted)
	return nil
}

// measureProcess returns nil: the resources of a process are not measured on this system.
func measureProcess() *reports.Harness { return nil }
