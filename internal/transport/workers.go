package transport

import (
	"context"
	"sync"
)

// workers run functions on goroutines that they use again: the stack of a goroutine
// grows several times in the first request that it sends.
type workers struct {
	ended   <-chan struct{} // closed at the end of the session
	waiting chan func()     // received by goroutines that have nothing to do
	running sync.WaitGroup  // functions
}

func newWorkers(session context.Context) *workers {
	return &workers{ended: session.Done(), waiting: make(chan func())}
}

// Go runs a function on a goroutine.
func (w *workers) Go(f func()) {
	w.running.Add(1)
	select {
	case w.waiting <- f:
	default:
		go w.run(f)
	}
}

// run runs functions until the session ends.
func (w *workers) run(f func()) {
	for {
		f()
		w.running.Done()
		select {
		case f = <-w.waiting:
		case <-w.ended:
			return
		}
	}
}

// Wait waits until no function runs any more.
func (w *workers) Wait() { w.running.Wait() }
