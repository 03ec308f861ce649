package script

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Client is a client under test.
type Client interface {
	// Against returns what starts the client with the stage's server as the
	// one that it is to start.
	Against(s *Stage) (transport.Starter, error)
	fmt.Stringer
}

// KindOf returns the transport that a client is to speak over.
func KindOf(c Client) transport.Kind {
	switch c := c.(type) {
	case Site:
		return c.Kind
	case InProcessURL:
		return c.Kind
	}
	return transport.Stdio
}

// A Command is a client that is a program. In its arguments Placeholder stands
// for the command of the server.
type Command struct {
	transport.Command
	Bridge []string // the command that calls RunBridge with the address that is appended to it
}

// Against opens the socket and puts the bridge into the arguments.
func (c Command) Against(s *Stage) (transport.Starter, error) {
	address, err := s.Listen()
	if err != nil {
		return nil, err
	}
	command := c.Command
	command.Argv, err = Expand(command.Argv, append(c.Bridge[:len(c.Bridge):len(c.Bridge)], address))
	return command, err
}

// Placeholder stands for the command of the server in the arguments of a
// client, URLPlaceholder for its URL.
const (
	Placeholder    = "{server}"
	URLPlaceholder = "{url}"
)

// ExpandURL puts the URL of the server into the arguments of a client: in the place
// of {url}, or behind the last one where that stands nowhere.
func ExpandURL(argv []string, url string) ([]string, error) {
	var out []string
	found := false
	for _, a := range argv {
		if strings.Contains(a, Placeholder) {
			return nil, fmt.Errorf("%s in %q: over HTTP the client is given a URL: write %s, or nothing to have it come last", Placeholder, a, URLPlaceholder)
		}
		found = found || strings.Contains(a, URLPlaceholder)
		out = append(out, strings.ReplaceAll(a, URLPlaceholder, url))
	}
	if !found {
		out = append(out, url)
	}
	return out, nil
}

// Expand puts the command of the server into the arguments of a client: an
// argument that is the placeholder becomes its several arguments; in a longer
// one it becomes one string that a shell reads back as them.
func Expand(argv, server []string) ([]string, error) {
	var out []string
	found := false
	for _, a := range argv {
		switch {
		case a == Placeholder:
			out = append(out, server...)
			found = true
		case strings.Contains(a, Placeholder):
			out = append(out, strings.ReplaceAll(a, Placeholder, transport.Quote(server)))
			found = true
		case strings.Contains(a, URLPlaceholder):
			return nil, fmt.Errorf("%s in %q: over stdio the client is given a command: write %s, or say --transport streamable-http", URLPlaceholder, a, Placeholder)
		default:
			out = append(out, a)
		}
	}
	if !found {
		return nil, fmt.Errorf("the command of the client does not say where the command of the server goes: write %s among its arguments", Placeholder)
	}
	return out, nil
}

// InProcess is a client that is a function of this process.
type InProcess struct {
	Name string
	// Run runs the client once against a server that it may start.
	Run func(ctx context.Context, server transport.Starter) error
}

// Against returns the function as a target.
func (c InProcess) Against(s *Stage) (transport.Starter, error) {
	return transport.InProcess{Name: c.Name, Serve: func(ctx context.Context, _ io.Reader, _ io.Writer) error {
		return c.Run(ctx, s.Target())
	}}, nil
}

func (c InProcess) String() string { return c.Name }

// A Performance is what came of running a client once.
type Performance struct {
	Transcripts []*wire.Transcript // of each start of the server
	Status      string             // how the client ended: "exit status 0"
	Ended       string             // why we ended it, or "" if it ended by itself
	Output      string             // the end of its standard error, or of its output if that is empty
}

// ErrNeverConnected tells that a client did not start the server.
var ErrNeverConnected = errors.New("the client did not start the server that it was given, or call it")

// Perform runs the client once against the server and returns when it has
// ended, by itself or by us: when it never starts the server, says nothing for
// too long, or the context ends. No process of it is left.
func Perform(ctx context.Context, client Client, server Server, o Options) (p Performance, err error) {
	stage := NewStage(server, o)
	target, err := client.Against(stage)
	if err != nil {
		stage.Close()
		return p, err
	}
	stream, err := target.Start(ctx)
	if err != nil {
		stage.Close()
		return p, err
	}
	stream.CloseInput()
	out := &tail{}
	go out.drain(stream)
	p.Ended = attend(ctx, stage, stream, o)
	if p.Ended != "" {
		stage.ask()
		stream.Terminate()
		await(stream.Done(), o.Grace)
	}
	stage.left()
	stage.settle()
	stage.Close()
	stream.Kill() // the group, which may outlive its leader
	p.Status = stream.Status()
	p.Transcripts = stage.Transcripts()
	if p.Output = strings.TrimSpace(stream.Stderr()); p.Output == "" {
		p.Output = strings.TrimSpace(out.String())
	}
	if len(p.Transcripts) == 0 && ctx.Err() == nil {
		err = ErrNeverConnected
	}
	return p, err
}

// attend waits for the client to end by itself, and returns why it is to be
// ended if it does not.
func attend(ctx context.Context, stage *Stage, stream *transport.Stream, o Options) string {
	began := time.Now()
	for {
		left := o.Start - time.Since(began)
		if len(stage.Conns()) > 0 {
			left = o.Idle - stage.idle(began)
		}
		if left <= 0 {
			if len(stage.Conns()) == 0 {
				return fmt.Sprintf("it did not start the server within %s", o.Start)
			}
			return fmt.Sprintf("it said nothing for %s and did not end", o.Idle)
		}
		// A connection or a frame moves the limit, so it is looked at again at
		// the latest when the shorter of the two could have passed.
		timer := time.NewTimer(min(left, max(o.Idle/4, time.Millisecond)))
		select {
		case <-stream.Done():
			timer.Stop()
			return ""
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx).Error()
		case <-timer.C:
		}
	}
}

func await(done <-chan struct{}, within time.Duration) {
	limit := time.NewTimer(within)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
	}
}

// A tail keeps the end of what a client prints.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

const tailKept = 64 << 10

func (t *tail) drain(s *transport.Stream) {
	for {
		line, err := s.ReadLine()
		if err != nil {
			return
		}
		t.mu.Lock()
		t.kept = append(append(t.kept, line.Bytes...), '\n')
		if over := len(t.kept) - tailKept; over > 0 {
			t.kept = append(t.kept[:0], t.kept[over:]...)
		}
		t.mu.Unlock()
	}
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}
