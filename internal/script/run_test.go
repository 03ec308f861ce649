package script

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/client"
)

// The test binary is also the bridge and the clients: its first argument selects one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "peer-") {
		runPeer(os.Args[1], os.Args[2:])
		return
	}
	os.Exit(m.Run())
}

func runPeer(role string, args []string) {
	switch role {
	case "peer-bridge":
		if s, err := RunBridge(args[0], os.Stdin, os.Stdout); err != nil || s != nil {
			fmt.Fprintln(os.Stderr, s, err)
			os.Exit(1)
		}
	case "peer-no-server-runs": // does not start its server, and ignores SIGTERM
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Minute)
	case "peer-no-server-ends": // ends without starting its server
		fmt.Fprintln(os.Stderr, "no such server")
		os.Exit(3)
	case "peer-dies", "peer-keeps-running", "peer-orphans", "peer-kills", "peer-signals":
		runClientPeer(role, exec.Command(args[0], args[1:]...))
	}
}

// runClientPeer is a client that starts its server, initializes, and then ends or
// treats the server in the way of its role.
func runClientPeer(role string, server *exec.Cmd) {
	if role == "peer-orphans" { // the server outlives the client, outside of its process group
		server.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	in, _ := server.StdinPipe()
	out, _ := server.StdoutPipe()
	server.Start()
	fmt.Fprintln(in, initializeRequest)
	line, _ := transport.NewLineReader(out, 0).Next()
	switch role {
	case "peer-dies":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
	case "peer-kills":
		server.Process.Kill()
		server.Wait()
	case "peer-signals":
		server.Process.Signal(syscall.SIGTERM)
		server.Wait()
	case "peer-keeps-running", "peer-orphans":
		os.WriteFile(os.Getenv("PEER_PID"), []byte(strconv.Itoa(server.Process.Pid)), 0o600)
		if role == "peer-keeps-running" {
			time.Sleep(time.Minute)
		}
		fmt.Fprintln(os.Stderr, len(line.Bytes))
	}
}

// options returns short timeouts. Idle is longer than the second that a process under
// the race detector takes to end.
func options() Options {
	return Options{
		AnswerTimeout:   2 * time.Second,
		InitializeDelay: 5 * time.Millisecond,
		StartTimeout:    5 * time.Second,
		IdleTimeout:     2500 * time.Millisecond,
		Grace:           time.Second,
		MaxFrames:       10_000,
		MaxBytes:        64 << 20,
	}
}

func clientCommand(role string, env ...string) StdioCommand {
	return StdioCommand{
		Command: transport.Command{Argv: []string{os.Args[0], role, ServerPlaceholder}, Env: env},
		Bridge:  []string{os.Args[0], "peer-bridge"},
	}
}

// inProcess returns a client over stdio that is a function.
func inProcess(run func(ctx context.Context, server transport.Starter) error) StdioFunc {
	return StdioFunc{Name: "client", Run: run}
}

func TestEndingRecordsHowClientEndsServer(t *testing.T) {
	for role, want := range map[string]struct {
		graceful bool
		what     string
	}{
		"peer-dies":    {true, "closed the input"},
		"peer-signals": {false, "terminated"},
		"peer-kills":   {false, "cut"},
	} {
		t.Run(role, func(t *testing.T) {
			p, err := RunClient(t.Context(), clientCommand(role), FullServer(spec.V2025_11_25), options())
			if err != nil || len(p.Transcripts) != 1 {
				t.Fatalf("%d connections, %v: %s", len(p.Transcripts), err, p.Output)
			}
			end := p.Transcripts[0].Ending()
			if end == nil || end.Requested || end.Graceful != want.graceful ||
				!strings.Contains(end.Reason, want.what) {
				t.Errorf("the ending is %+v", end)
			}
			if n := len(p.Transcripts[0].Frames(0)); n < 2 {
				t.Errorf("%d frames were recorded", n)
			}
		})
	}
}

func TestClientWithoutConnectionIsAnError(t *testing.T) {
	o := options()
	o.StartTimeout = 300 * time.Millisecond
	o.Grace = 100 * time.Millisecond
	for role, want := range map[string]string{
		"peer-no-server-runs": "did not start the server",
		"peer-no-server-ends": "",
	} {
		p, err := RunClient(t.Context(), clientCommand(role), FullServer(spec.V2025_11_25), o)
		if !errors.Is(err, ErrNeverConnected) || !strings.Contains(p.StopReason, want) ||
			(want == "") != (p.StopReason == "") {
			t.Errorf("%s: %v, stopped because %q", role, err, p.StopReason)
		}
		if role == "peer-no-server-ends" && (p.Status != "exit status 3" || p.Output != "no such server") {
			t.Errorf("%s: status %q, output %q", role, p.Status, p.Output)
		}
	}
}

// Neither a client that does not end nor a bridge in a session of its own keeps
// running.
func TestLeavesNoProcess(t *testing.T) {
	for _, role := range []string{"peer-keeps-running", "peer-orphans"} {
		t.Run(role, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pid")
			p, err := RunClient(t.Context(), clientCommand(role, "PEER_PID="+file), FullServer(spec.V2025_11_25),
				options())
			if err != nil {
				t.Fatal(err)
			}
			if stopped := p.StopReason != ""; stopped != (role == "peer-keeps-running") {
				t.Errorf("stopped because %q", p.StopReason)
			}
			if end := p.Transcripts[0].Ending(); role == "peer-keeps-running" && !end.Requested {
				t.Errorf("the ending is %+v", end)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pid, _ := strconv.Atoi(string(text))
			for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
				if hasEnded(pid) {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("the bridge %d still runs", pid)
				}
			}
		})
	}
}

// hasEnded reports whether a process has ended; a zombie has.
func hasEnded(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

// The server waits for the answers of the client before it answers the next request,
// at most for the answer timeout.
func TestServerWaitsForAnswersOfTheClient(t *testing.T) {
	for _, late := range []time.Duration{50 * time.Millisecond, time.Hour} {
		o := options()
		o.AnswerTimeout = 200 * time.Millisecond
		p, err := RunClient(t.Context(), inProcess(func(ctx context.Context, server transport.Starter) error {
			c := client.DefaultOptions()
			c.HandshakeFirst = true
			c.HandleRequest = func(next client.RequestHandler) client.RequestHandler {
				return func(m wire.Message) []byte {
					if late > o.AnswerTimeout {
						return nil
					}
					time.Sleep(late)
					return next(m)
				}
			}
			return client.Run(ctx, server, c)
		}), FullServer(spec.V2025_11_25), o)
		if err != nil {
			t.Fatal(err)
		}
		entries := p.Transcripts[0].Entries()
		at := func(match func(wire.Entry) bool) int { return slices.IndexFunc(entries, match) }
		answer := at(func(e wire.Entry) bool { return e.From == wire.Client && e.Message.IsResponse() })
		next := at(func(e wire.Entry) bool {
			return e.From == wire.Server && e.Message.IsResponse() && e.Index > 2
		})
		request := at(func(e wire.Entry) bool { return e.From == wire.Server && e.Message.Kind == wire.Request })
		switch waited := entries[next].At - entries[request].At; {
		case late < o.AnswerTimeout && (answer < 0 || answer > next):
			t.Errorf("the client's next request was answered at frame %d, before its answer at %d", next, answer)
		case late > o.AnswerTimeout && waited < o.AnswerTimeout:
			t.Errorf("the server waited only %s for the answer", waited)
		}
	}
}

func TestFloodEndsTheConnection(t *testing.T) {
	o := options()
	o.MaxFrames = 100
	p, err := RunClient(t.Context(), inProcess(func(ctx context.Context, server transport.Starter) error {
		s, err := server.Start(ctx)
		if err != nil {
			return err
		}
		defer s.Kill()
		for {
			if err := s.WriteLine(ctx, []byte(`{}`)); err != nil {
				return nil
			}
		}
	}), FullServer(spec.V2025_11_25), o)
	if err != nil {
		t.Fatal(err)
	}
	end, frames := p.Transcripts[0].Ending(), p.Transcripts[0].Len()
	if end == nil || !end.Requested || !strings.Contains(end.Reason, "more than 100 frames") || frames > 101 {
		t.Errorf("%d frames, ending %+v", frames, end)
	}
}
