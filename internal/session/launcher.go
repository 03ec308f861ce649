package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// A Launcher starts instances of the target and counts them. Once two instances ran
// at the same time, it starts a spare in advance, so that no caller waits for a
// start.
type Launcher struct {
	target transport.Target
	opts   Options
	taken  atomic.Int64 // numbers of connections

	mu        sync.Mutex
	starts    int
	remaining int    // starts that are still expected
	parallel  bool   // two instances ran at the same time
	serial    string // why instances run one after another; "" if they need not
	spare     chan startResult
	instances []*Conn
	traits    []string
}

type startResult struct {
	conn *Conn
	err  error
}

// NewLauncher returns a launcher of a target.
func NewLauncher(target transport.Target, opts Options) *Launcher {
	l := &Launcher{target: target, opts: opts}
	if opts.Serial {
		l.serial = "asked for"
	}
	return l
}

// ExpectStarts sets how many instances are still to be taken. The launcher starts no
// spare beyond them.
func (l *Launcher) ExpectStarts(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.remaining = n
}

// Take returns a started instance to which nothing was sent.
func (l *Launcher) Take(ctx context.Context) (*Conn, error) {
	l.mu.Lock()
	l.remaining = max(0, l.remaining-1)
	spare := l.spare
	l.spare = nil
	l.mu.Unlock()
	if spare != nil {
		got := <-spare
		if got.err == nil && got.conn.ConnectionError() == nil {
			l.startSpare()
			return got.conn, nil
		}
		why := "a spare instance could not be started"
		if got.err == nil {
			why = fmt.Sprintf("a spare instance ended before it was used: %v", got.conn.ConnectionError())
		}
		l.forceSerial(why)
	}
	if l.SerialReason() != "" {
		l.displaceAll()
	}
	conn, err := l.start(ctx)
	if err != nil && l.SerialReason() == "" && l.RunningCount() > 0 {
		l.forceSerial(fmt.Sprintf("a second connection beside the first failed: %v", err))
		l.displaceAll()
		conn, err = l.start(ctx)
	}
	if err != nil {
		conn, err = l.startAgain(ctx, err)
	}
	if err == nil {
		l.startSpare()
	}
	return conn, err
}

// displaceAll ends all connections, so that another one can be opened.
func (l *Launcher) displaceAll() {
	for _, c := range l.snapshot() {
		if c.ConnectionError() == nil && !c.endWasRequested() {
			c.displaced.Store(true)
		}
	}
	l.closeAll()
}

// retryDelay is the time between two attempts to connect to a server that has not
// noticed the end of the connections before.
const retryDelay = 50 * time.Millisecond

// startAgain repeats a connection over HTTP that failed after all others have ended: a
// server that serves one connection at a time may not have noticed their end. It does so
// for the grace.
func (l *Launcher) startAgain(ctx context.Context, err error) (*Conn, error) {
	_, overHTTP := l.target.(transport.HTTPTarget)
	if !overHTTP || l.StartCount() == 0 || l.RunningCount() > 0 {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.opts.Grace)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(retryDelay):
		}
		conn, again := l.start(ctx)
		if again == nil {
			return conn, nil
		}
	}
}

// RunningCount returns the number of running instances, the spare included.
func (l *Launcher) RunningCount() int {
	n := 0
	for _, c := range l.snapshot() {
		if c.ConnectionError() == nil {
			n++
		}
	}
	return n
}

// forget drops a connection that has ended.
func (l *Launcher) forget(c *Conn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.instances = slices.DeleteFunc(l.instances, func(kept *Conn) bool { return kept == c })
}

func (l *Launcher) snapshot() []*Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.instances)
}

func (l *Launcher) start(ctx context.Context) (*Conn, error) { return l.connect(ctx, l.target) }

// connectAs returns a connection with another access token.
func (l *Launcher) connectAs(ctx context.Context, token string) (*Conn, error) {
	site, ok := l.target.(transport.HTTPTarget)
	if !ok {
		return nil, errNotHTTP
	}
	site.Endpoint = site.Endpoint.WithBearer(token)
	return l.connect(ctx, site)
}

// RateLimitedCount returns the number of answers with HTTP status 429; 0 on stdio.
func (l *Launcher) RateLimitedCount() int64 {
	if site, ok := l.target.(transport.HTTPTarget); ok {
		return site.Endpoint.RateLimitedCount()
	}
	return 0
}

func (l *Launcher) connect(ctx context.Context, target transport.Target) (*Conn, error) {
	if p := l.target.Process(); p != nil && p.WaitForExit(l.opts.Grace) != "" {
		if err := l.restart(ctx); err != nil {
			return nil, err
		}
	}
	conn, err := connect(ctx, target, l.opts, l, int(l.taken.Add(1)-1))
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.starts++
	l.instances = append(l.instances, conn)
	l.mu.Unlock()
	return conn, nil
}

// restart starts a server at a URL again. It ends the sessions with the server.
func (l *Launcher) restart(ctx context.Context) error {
	for _, c := range l.snapshot() {
		c.Kill()
	}
	return l.target.Process().Restart(ctx)
}

// startSpare starts the spare if another instance is expected and instances may run
// at the same time.
func (l *Launcher) startSpare() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.parallel || l.serial != "" || l.remaining == 0 || l.spare != nil {
		return
	}
	spare := make(chan startResult, 1)
	l.spare = spare
	go func() {
		conn, err := l.start(context.Background())
		spare <- startResult{conn, err}
	}()
}

// allowParallel notes that two instances ran at the same time.
func (l *Launcher) allowParallel() {
	l.mu.Lock()
	l.parallel = true
	l.mu.Unlock()
	l.startSpare()
}

// forceSerial makes further instances run one after another.
func (l *Launcher) forceSerial(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.serial == "" {
		l.serial = why
	}
}

// SerialReason returns why instances run one after another; "" if they need not.
func (l *Launcher) SerialReason() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.serial
}

// StartCount returns the number of instances that were started.
func (l *Launcher) StartCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.starts
}

// Close ends all instances at the same time.
func (l *Launcher) Close() {
	l.mu.Lock()
	spare := l.spare
	l.spare, l.remaining = nil, 0
	l.mu.Unlock()
	if spare != nil {
		<-spare
	}
	l.closeAll()
}

func (l *Launcher) closeAll() {
	var wait sync.WaitGroup
	for _, c := range l.snapshot() {
		wait.Go(c.Close)
	}
	wait.Wait()
}

// setTrait notes a property of the target that holds at every revision.
func (l *Launcher) setTrait(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.traits, what) {
		l.traits = append(l.traits, what)
	}
}

// hasTrait reports whether a property of the target was noted.
func (l *Launcher) hasTrait(what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Contains(l.traits, what)
}

// traitCount returns the number of properties that were noted.
func (l *Launcher) traitCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.traits)
}

// dropTraits drops the properties that were noted since there were so many.
func (l *Launcher) dropTraits(since int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.traits = l.traits[:min(since, len(l.traits))]
}
