package transport

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/processes"
)

// pipeGrace is the time for reading what an ended process left in its pipes.
const pipeGrace = 500 * time.Millisecond

// Command is a target that is started as a child process in a process group of its
// own.
type Command struct {
	Argv  []string
	Env   []string         // added to the environment of this process
	Dir   string           // working directory; "" for that of this process
	Guard *processes.Guard // ends the process group should this process be killed; may be nil
	stdio
}

func (c Command) String() string { return ShellQuote(c.Argv) }

// WithGuard returns the command with a guard.
func (c Command) WithGuard(start func() (*processes.Guard, error)) (Target, *processes.Guard, error) {
	guard, err := start()
	if err != nil {
		return nil, nil, err
	}
	c.Guard = guard
	return c, guard, nil
}

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
	group, err := processes.Start(cmd, c.Guard)
	if err != nil {
		for _, f := range []*os.File{in, out, errRead} {
			f.Close()
		}
		return nil, fmt.Errorf("start %s: %w", c, err)
	}
	p := &process{
		group:   group,
		ended:   make(chan struct{}),
		errPipe: errRead,
		drained: make(chan struct{}),
	}
	go p.drainStderr()
	go p.wait()
	return &Stream{in: in, out: NewLineReader(out, 0), pipe: out, peer: p}, nil
}

// A process is a child process with its descendants.
type process struct {
	group   *processes.Group
	ended   chan struct{}
	result  string
	errPipe *os.File // its standard error
	log     Tail     // of errPipe
	drained chan struct{}
}

func (p *process) wait() {
	defer close(p.ended)
	err := p.group.Wait()
	p.result = p.group.State().String()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.result = err.Error()
	}
}

func (p *process) drainStderr() {
	defer close(p.drained)
	io.Copy(&p.log, p.errPipe)
	p.errPipe.Close()
}

func (p *process) done() <-chan struct{} { return p.ended }
func (p *process) status() string        { return p.result }

// stderr waits for the rest of the standard error of a process that has ended. The
// wait is short, since a descendant may hold the pipe open.
func (p *process) stderr() string {
	select {
	case <-p.ended:
		waitFor(p.drained, pipeGrace)
	default:
	}
	return p.log.String()
}

func (p *process) terminate() { p.group.Terminate() }

func (p *process) kill() {
	p.group.Kill()
	<-p.ended
	waitFor(p.drained, pipeGrace)
	p.errPipe.Close() // a descendant that was not found may hold the other end open
}
