package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Stage is where one scripted server stands ready to be started by a client,
// any number of times, each start being a connection of its own.
type Stage struct {
	server Server
	opts   Options

	mu       sync.Mutex
	conns    []*Conn
	asked    bool
	listener net.Listener
	dir      string
	closed   bool
	web      *web
}

// NewStage returns a stage of the server. It is to be closed.
func NewStage(s Server, o Options) *Stage { return &Stage{server: s, opts: o} }

// play serves one connection and returns when it has ended.
func (s *Stage) play(in inlet, out io.WriteCloser) {
	if c := s.connect(lines{in, out}); c != nil {
		c.serve()
	}
}

// connect makes a connection; nil where the stage was closed.
func (s *Stage) connect(by link) *Conn {
	c := newConn(s.server, s.opts, by)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		by.hang()
		return nil
	}
	s.conns = append(s.conns, c)
	c.asked = s.asked
	return c
}

// Target returns the server as what a client in this process starts.
func (s *Stage) Target() transport.Starter {
	return transport.InProcess{Name: "scripted server", Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
		s.play(&pipeInlet{ReadCloser: in.(io.ReadCloser), ctx: ctx}, out.(io.WriteCloser))
		return nil
	}}
}

// A pipeInlet is the input of a server in this process. The context ends when
// the client signals the server.
type pipeInlet struct {
	io.ReadCloser
	ctx    context.Context
	closed bool
}

func (p *pipeInlet) Read(b []byte) (int, error) {
	n, err := p.ReadCloser.Read(b)
	if err != nil {
		p.closed = errors.Is(err, io.EOF) && p.ctx.Err() == nil
		err = io.EOF
	}
	return n, err
}

func (p *pipeInlet) ended() (string, bool) {
	if p.closed {
		return "the client closed the input", true
	}
	return "a signal came before the input was closed", false
}

// maxSocketPath is the longest path of a unix socket that every system takes.
const maxSocketPath = 100

// Listen opens the socket that bridges connect to, and returns its path. It is
// open to this user alone and removed by Close.
func (s *Stage) Listen() (string, error) {
	dir, err := os.MkdirTemp("", "mcpcheck-")
	if err != nil {
		return "", fmt.Errorf("make the socket of the scripted server: %w", err)
	}
	path := filepath.Join(dir, "s")
	if len(path) > maxSocketPath {
		os.RemoveAll(dir)
		if dir, err = os.MkdirTemp("/tmp", "mcpcheck-"); err != nil {
			return "", fmt.Errorf("make the socket of the scripted server: %w", err)
		}
		path = filepath.Join(dir, "s")
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		os.RemoveAll(dir)
		return "", fmt.Errorf("make the socket of the scripted server: %w", err)
	}
	s.mu.Lock()
	s.listener, s.dir = listener, dir
	s.mu.Unlock()
	go s.accept(listener)
	return path, nil
}

func (s *Stage) accept(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go s.play(&chunkReader{r: conn}, conn)
	}
}

// Conns returns the connections so far, ended ones too.
func (s *Stage) Conns() []*Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]*Conn(nil), s.conns...)
}

// Transcripts returns what was said on every connection so far.
func (s *Stage) Transcripts() []*wire.Transcript {
	var out []*wire.Transcript
	for _, c := range s.Conns() {
		out = append(out, c.Transcript)
	}
	return out
}

// idle returns for how long no connection has seen anything of the client,
// since the given time at most.
func (s *Stage) idle(since time.Time) time.Duration {
	least := time.Since(since)
	for _, c := range s.Conns() {
		least = min(least, c.idle())
	}
	return least
}

// ask notes that we are ending the client, so that how its connections end
// tells nothing of it.
func (s *Stage) ask() {
	s.mu.Lock()
	s.asked = true
	conns := s.conns
	s.mu.Unlock()
	for _, c := range conns {
		c.mu.Lock()
		c.asked = true
		c.mu.Unlock()
	}
}

// left notes that the client has ended: over HTTP its sessions end with it.
func (s *Stage) left() {
	s.mu.Lock()
	web := s.web
	s.mu.Unlock()
	if web != nil {
		web.left()
	}
}

// settle waits until every connection has ended, no longer than the grace. A
// bridge tells how the client ended it only a moment after the client is gone.
func (s *Stage) settle() {
	limit := time.NewTimer(s.opts.Grace)
	defer limit.Stop()
	for _, c := range s.Conns() {
		select {
		case <-c.ended:
		case <-limit.C:
			return
		}
	}
}

// Close ends every connection and removes the socket.
func (s *Stage) Close() {
	s.ask()
	s.mu.Lock()
	s.closed = true
	listener, dir, conns, web := s.listener, s.dir, s.conns, s.web
	s.mu.Unlock()
	if web != nil {
		defer web.close()
	}
	if listener != nil {
		listener.Close()
		os.RemoveAll(dir)
	}
	for _, c := range conns {
		c.Close()
		<-c.ended
	}
}
