package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

// pipeGrace is how long what a process left in its pipes is waited for.
const pipeGrace = 500 * time.Millisecond

// stderrKept is how much of a peer's standard error is kept, its end.
const stderrKept = 64 << 10

// Command is a target that is started as a child process in a process group
// of its own.
type Command struct {
	Argv      []string
	Env       []string // added to the environment of this process
	Dir       string   // working directory, "" for ours
	LineLimit int      // 0 for DefaultLineLimit
	Guard     *Guard   // ends the group should this process be killed; may be nil
}

func (c Command) String() string { return Quote(c.Argv) }

// Start starts the process.
func (c Command) Start(ctx context.Context) (*Stream, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	peerIn, in, peerOut, out, err := pipes()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", c, err)
	}
	defer peerIn.Close()
	defer peerOut.Close()
	errRead, errWrite, err := os.Pipe()
	if err != nil {
		in.Close()
		out.Close()
		return nil, fmt.Errorf("start %s: %w", c, err)
	}
	defer errWrite.Close()
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Dir = c.Dir
	cmd.Stdin, cmd.Stdout, cmd.Stderr = peerIn, peerOut, errWrite
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		for _, f := range []*os.File{in, out, errRead} {
			f.Close()
		}
		return nil, fmt.Errorf("start %s: %w", c, err)
	}
	p := &process{pid: cmd.Process.Pid, ended: make(chan struct{}), log: &tail{source: errRead, read: make(chan struct{})}, guard: c.Guard}
	c.Guard.watch(p.pid)
	go p.log.drain()
	go p.wait(cmd)
	return &Stream{in: in, out: NewLineReader(out, c.LineLimit), pipe: out, peer: p}, nil
}

// A process is the leader of a process group.
type process struct {
	pid    int
	ended  chan struct{}
	result string
	log    *tail
	guard  *Guard
}

func (p *process) wait(cmd *exec.Cmd) {
	defer close(p.ended)
	err := cmd.Wait()
	p.result = cmd.ProcessState.String()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.result = err.Error()
	}
}

func (p *process) done() <-chan struct{} { return p.ended }
func (p *process) status() string        { return p.result }

// stderr of a process that has ended is read to its end, but not for longer
// than a moment: a descendant may hold the pipe.
func (p *process) stderr() string {
	select {
	case <-p.ended:
		settled(p.log.read)
	default:
	}
	return p.log.String()
}

// settled waits a moment for what a process that has ended left in its pipes to
// be read.
func settled(read <-chan struct{}) {
	limit := time.NewTimer(pipeGrace)
	defer limit.Stop()
	select {
	case <-read:
	case <-limit.C:
	}
}

// The group outlives its leader while a descendant lives, so that signals go
// to the group also after the leader was reaped; the kernel does not give the
// number of a living group away.
func (p *process) terminate() { syscall.Kill(-p.pid, syscall.SIGTERM) }

func (p *process) kill() {
	syscall.Kill(-p.pid, syscall.SIGKILL)
	p.guard.forget(p.pid)
	<-p.ended
	settled(p.log.read)
	p.log.close()
}

// A tail keeps the end of a stream.
type tail struct {
	source *os.File
	read   chan struct{} // closed once everything was read
	mu     sync.Mutex
	kept   []byte
}

func (t *tail) drain() {
	defer close(t.read)
	io.Copy(t, t.source)
	t.source.Close()
}

// close stops reading: a descendant that left the group may hold the pipe.
func (t *tail) close() { t.source.Close() }

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	if over := len(t.kept) - stderrKept; over > 0 {
		t.kept = append(t.kept[:0], t.kept[over:]...)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
