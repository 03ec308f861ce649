package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// withSignals returns a context that ends when a signal asks this program to end. A second
// signal ends the program at once; its guard then ends the processes that it started.
func withSignals(parent context.Context) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	ending := make(chan os.Signal, 2)
	signal.Notify(ending, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signal.Notify(ending, syscall.SIGHUP)
	}
	go func() {
		<-ending
		cancel()
		<-ending
		os.Exit(exitInterrupted)
	}()
	// A reader of the output that ends must not end this program before the reports are
	// written. Ignore would have the same effect, and the targets would inherit it.
	broken := make(chan os.Signal, 1)
	signal.Notify(broken, syscall.SIGPIPE)
	return ctx, func() {
		signal.Stop(ending)
		signal.Stop(broken)
		cancel()
	}
}
