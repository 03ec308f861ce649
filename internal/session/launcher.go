package session

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/mcpcheck/mcpcheck/internal/transport"
)

// A Launcher starts instances of the target and counts them. Once two of them
// were seen to live side by side it keeps a spare started behind the one in
// use, so that its start costs no waiting.
type Launcher struct {
	target transport.Target
	opts   Options
	stays  atomic.Bool // an instance did not exit in all the time that we have

	mu         sync.Mutex
	starts     int
	want       int // starts still to be asked for
	sideBySide bool
	serial     string // why starts are one after another, or ""
	spare      chan started
	all        []*Conn
	learnt     map[string]bool
}

type started struct {
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

// Expect tells how many instances will be asked for from now on; no spare is
// started beyond them.
func (l *Launcher) Expect(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.want = n
}

// Take returns a started instance on which nothing was sent.
func (l *Launcher) Take(ctx context.Context) (*Conn, error) {
	l.mu.Lock()
	l.want = max(0, l.want-1)
	spare := l.spare
	l.spare = nil
	l.mu.Unlock()
	if spare != nil {
		got := <-spare
		if got.err == nil && got.conn.Over() == nil {
			l.prepare()
			return got.conn, nil
		}
		why := "a spare instance could not be started"
		if got.err == nil {
			why = fmt.Sprintf("a spare instance ended before it was used: %v", got.conn.Over())
		}
		l.GoSerial(why)
	}
	if l.Serial() != "" {
		l.closeAll()
	}
	conn, err := l.start(ctx)
	if err == nil {
		l.prepare()
	}
	return conn, err
}

// Living returns how many instances have not ended, the spare included.
func (l *Launcher) Living() int {
	n := 0
	for _, c := range l.conns() {
		if c.Over() == nil {
			n++
		}
	}
	return n
}

func (l *Launcher) conns() []*Conn {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.all)
}

func (l *Launcher) start(ctx context.Context) (*Conn, error) { return l.reach(ctx, l.target) }

// as returns a connection of somebody who has another bearer token.
func (l *Launcher) as(ctx context.Context, token string) (*Conn, error) {
	site, ok := l.target.(transport.Site)
	if !ok {
		return nil, errNoHTTP
	}
	site.Endpoint = site.Endpoint.WithBearer(token)
	return l.reach(ctx, site)
}

// Limited returns how many requests a limit on their rate turned away
// (transport.Endpoint.Limited); 0 on stdio.
func (l *Launcher) Limited() int64 {
	if site, ok := l.target.(transport.Site); ok {
		return site.Endpoint.Limited()
	}
	return 0
}

func (l *Launcher) reach(ctx context.Context, target transport.Target) (*Conn, error) {
	conn, err := connect(ctx, target, l.opts, &l.stays)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	l.starts++
	l.all = append(l.all, conn)
	l.mu.Unlock()
	return conn, nil
}

// prepare starts the spare, if one is wanted and may live beside others.
func (l *Launcher) prepare() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.sideBySide || l.serial != "" || l.want == 0 || l.spare != nil {
		return
	}
	spare := make(chan started, 1)
	l.spare = spare
	go func() {
		conn, err := l.start(context.Background())
		spare <- started{conn, err}
	}()
}

// SideBySide tells the launcher that two instances were seen to serve at once.
func (l *Launcher) SideBySide() {
	l.mu.Lock()
	l.sideBySide = true
	l.mu.Unlock()
	l.prepare()
}

// GoSerial has instances started one after another from now on.
func (l *Launcher) GoSerial(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.serial == "" {
		l.serial = why
	}
}

// Serial returns why instances are started one after another, or "".
func (l *Launcher) Serial() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.serial
}

// Starts returns how many instances were started.
func (l *Launcher) Starts() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.starts
}

// Close ends every instance, side by side.
func (l *Launcher) Close() {
	l.mu.Lock()
	spare := l.spare
	l.spare, l.want = nil, 0
	l.mu.Unlock()
	if spare != nil {
		<-spare
	}
	l.closeAll()
}

func (l *Launcher) closeAll() {
	var wait sync.WaitGroup
	for _, c := range l.conns() {
		wait.Go(c.Close)
	}
	wait.Wait()
}

// Learn notes something of the target that holds at every revision.
func (l *Launcher) Learn(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.learnt == nil {
		l.learnt = map[string]bool{}
	}
	l.learnt[what] = true
}

// Learnt tells whether something was noted of the target.
func (l *Launcher) Learnt(what string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.learnt[what]
}
