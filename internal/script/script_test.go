package script

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
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

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/client"
)

// The test binary plays the bridge and the clients: its first argument names
// one.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && strings.HasPrefix(os.Args[1], "peer-") {
		peer(os.Args[1], os.Args[2:])
		return
	}
	os.Exit(m.Run())
}

func peer(role string, args []string) {
	switch role {
	case "peer-bridge":
		if s, err := RunBridge(args[0], os.Stdin, os.Stdout); err != nil || s != nil {
			fmt.Fprintln(os.Stderr, s, err)
			os.Exit(1)
		}
	case "peer-absent": // a client that never starts its server, and goes on
		signal.Ignore(syscall.SIGTERM)
		time.Sleep(time.Minute)
	case "peer-gone": // one that ends without
		fmt.Fprintln(os.Stderr, "no such server")
		os.Exit(3)
	case "peer-dies", "peer-lingers", "peer-orphans", "peer-kills", "peer-signals":
		c := exec.Command(args[0], args[1:]...)
		if role == "peer-orphans" { // the server outlives the client, out of its group
			c.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		}
		in, _ := c.StdinPipe()
		out, _ := c.StdoutPipe()
		c.Start()
		fmt.Fprintf(in, "%s\n", `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`)
		line, _ := transport.NewLineReader(out, 0).Next()
		switch role {
		case "peer-dies":
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		case "peer-kills":
			c.Process.Kill()
			c.Wait()
		case "peer-signals":
			c.Process.Signal(syscall.SIGTERM)
			c.Wait()
		case "peer-lingers", "peer-orphans":
			os.WriteFile(os.Getenv("PEER_PID"), []byte(strconv.Itoa(c.Process.Pid)), 0o600)
			if role == "peer-lingers" {
				time.Sleep(time.Minute)
			}
			fmt.Fprintln(os.Stderr, len(line.Bytes))
		}
	}
}

// options are short waits; a process under the race detector takes a second to
// end, which is not to count as silence.
func options() Options {
	return Options{Due: 2 * time.Second, Window: 5 * time.Millisecond, Start: 5 * time.Second, Idle: 2500 * time.Millisecond, Grace: time.Second, MaxFrames: 10_000, MaxBytes: 64 << 20}
}

func clientCommand(role string, env ...string) Command {
	return Command{Command: transport.Command{Argv: []string{os.Args[0], role, Placeholder}, Env: env}, Bridge: []string{os.Args[0], "peer-bridge"}}
}

func TestTheCommandOfTheServerIsPutIn(t *testing.T) {
	server := []string{"/opt/my tools/mcpcheck", "__bridge", "/tmp/s"}
	for _, c := range []struct {
		argv, want []string
		err        string
	}{
		{[]string{"c", "{server}"}, []string{"c", "/opt/my tools/mcpcheck", "__bridge", "/tmp/s"}, ""},
		{[]string{"c", "--", "{server}", "x"}, []string{"c", "--", "/opt/my tools/mcpcheck", "__bridge", "/tmp/s", "x"}, ""},
		{[]string{"c", "--cmd={server}"}, []string{"c", "--cmd='/opt/my tools/mcpcheck' __bridge /tmp/s"}, ""},
		{[]string{"{server}", "{server}!"}, []string{"/opt/my tools/mcpcheck", "__bridge", "/tmp/s", "'/opt/my tools/mcpcheck' __bridge /tmp/s!"}, ""},
		{[]string{"c", "{url}"}, nil, "{url}"},
		{[]string{"c", "--to={url}", "{server}"}, nil, "{url}"},
		{[]string{"c", "server"}, nil, "{server}"},
	} {
		got, err := Expand(c.argv, server)
		if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || !slices.Equal(got, c.want) {
			t.Errorf("%q became %q, %v", c.argv, got, err)
		}
	}
	out, err := exec.Command("sh", "-c", `printf '%s|' `+transport.Quote(server)).Output()
	if err != nil || string(out) != strings.Join(server, "|")+"|" {
		t.Errorf("a shell reads %q, %v", out, err)
	}
}

// Bytes of every kind come through the bridge unchanged, in both directions,
// however they are cut into writes.
func TestTheBridgeIsTrueToTheByte(t *testing.T) {
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	data := make([]byte, 3<<20)
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range data {
		data[i] = byte(rnd.Uint32())
	}
	got := make(chan []byte, 1)
	go func() {
		conn, err := l.Accept()
		if err != nil {
			got <- nil
			return
		}
		written := make(chan struct{})
		go func() {
			conn.Write(data)
			close(written)
		}()
		in := &chunkReader{r: conn}
		all, _ := io.ReadAll(in)
		if what, closed := in.ended(); !closed {
			t.Errorf("the bridge says %q at the end of the input", what)
		}
		<-written
		conn.Close()
		got <- all
	}()
	c := exec.Command(os.Args[0], "peer-bridge", filepath.Join(dir, "s"))
	in, _ := c.StdinPipe()
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, os.Stderr
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	for rest := data; len(rest) > 0; {
		n := min(len(rest), 1+rnd.IntN(100_000))
		in.Write(rest[:n])
		rest = rest[n:]
	}
	in.Close()
	if !bytes.Equal(<-got, data) {
		t.Error("the server was given other bytes than the client wrote")
	}
	if err := c.Wait(); err != nil || !bytes.Equal(out.Bytes(), data) {
		t.Errorf("the client was given %d other bytes than the server wrote: %v", out.Len(), err)
	}
}

func TestHowAClientEndsTheServerIsTold(t *testing.T) {
	for role, want := range map[string]struct {
		graceful bool
		what     string
	}{
		"peer-dies":    {true, "closed the input"},
		"peer-signals": {false, "terminated"},
		"peer-kills":   {false, "cut"},
	} {
		t.Run(role, func(t *testing.T) {
			p, err := Perform(t.Context(), clientCommand(role), Plain(spec.V2025_11_25), options())
			if err != nil || len(p.Transcripts) != 1 {
				t.Fatalf("%d connections, %v: %s", len(p.Transcripts), err, p.Output)
			}
			end := p.Transcripts[0].Ending()
			if end == nil || end.Asked || end.Graceful != want.graceful || !strings.Contains(end.What, want.what) {
				t.Errorf("the ending is %+v", end)
			}
			if n := len(p.Transcripts[0].Frames(0)); n < 2 {
				t.Errorf("%d frames were recorded", n)
			}
		})
	}
}

func TestAClientThatDoesNotConnectIsTold(t *testing.T) {
	o := options()
	o.Start = 300 * time.Millisecond
	o.Grace = 100 * time.Millisecond
	for role, want := range map[string]string{"peer-absent": "did not start the server", "peer-gone": ""} {
		p, err := Perform(t.Context(), clientCommand(role), Plain(spec.V2025_11_25), o)
		if !errors.Is(err, ErrNeverConnected) || !strings.Contains(p.Ended, want) || (want == "") != (p.Ended == "") {
			t.Errorf("%s: %v, ended because %q", role, err, p.Ended)
		}
		if role == "peer-gone" && (p.Status != "exit status 3" || p.Output != "no such server") {
			t.Errorf("%s: status %q, output %q", role, p.Status, p.Output)
		}
	}
}

// Neither a client that never ends nor a bridge that its client left behind in
// a session of its own outlives the performance.
func TestNoProcessIsLeft(t *testing.T) {
	for _, role := range []string{"peer-lingers", "peer-orphans"} {
		t.Run(role, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "pid")
			p, err := Perform(t.Context(), clientCommand(role, "PEER_PID="+file), Plain(spec.V2025_11_25), options())
			if err != nil {
				t.Fatal(err)
			}
			if lingered := p.Ended != ""; lingered != (role == "peer-lingers") {
				t.Errorf("ended because %q", p.Ended)
			}
			if end := p.Transcripts[0].Ending(); role == "peer-lingers" && !end.Asked {
				t.Errorf("the ending is %+v", end)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			pid, _ := strconv.Atoi(string(text))
			for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
				if gone(pid) {
					return
				}
				if time.Now().After(deadline) {
					t.Fatalf("the bridge %d lives on", pid)
				}
			}
		})
	}
}

func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && strings.Contains(string(stat), ") Z ")
}

func TestTheSocketIsPrivateAndRemoved(t *testing.T) {
	s := NewStage(Plain(spec.V2025_11_25), options())
	path, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(filepath.Dir(path))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory has mode %v, %v", info.Mode(), err)
	}
	s.Close()
	if _, err := os.Stat(filepath.Dir(path)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the directory is still there: %v", err)
	}
}

func TestAPathTooLongForASocketIsNotTaken(t *testing.T) {
	long := filepath.Join(t.TempDir(), strings.Repeat("long", 30))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TMPDIR", long)
	s := NewStage(Plain(spec.V2025_11_25), options())
	if _, err := s.Listen(); err != nil {
		t.Error(err)
	}
	s.Close()
}

// servers are all scripted servers, and what their messages are held against.
func servers() map[string]Server {
	all := map[string]Server{"older": Older(), "newer": Newer(), "modern-only": ModernOnly(), "foreign": Foreign(), "bare": Bare(), "trespasser": Trespasser()}
	for _, rev := range spec.Revisions() {
		all["plain "+string(rev)] = Plain(rev)
	}
	return all
}

// Everything that a scripted server sends fits our schemas, but for what it
// does on purpose.
func TestOurMessagesFitTheSchema(t *testing.T) {
	legacy := client.Defaults()
	legacy.LegacyFirst = true
	seen := map[string]int{}
	for name, s := range servers() {
		for _, o := range []client.Options{client.Defaults(), legacy} {
			p, err := Perform(t.Context(), InProcess{Name: "client", Run: func(ctx context.Context, server transport.Starter) error {
				_ = client.Run(ctx, server, o) // some of the servers have nothing to say to it
				return nil
			}}, s, options())
			if err != nil {
				t.Fatal(err)
			}
			for _, transcript := range p.Transcripts {
				conform(t, name, s.Rev, transcript, seen)
			}
		}
	}
	for _, method := range []string{"server/discover", "initialize", "tools/list", "tools/call", "resources/list", "resources/read", "prompts/list", "prompts/get", "ping"} {
		if seen[method] == 0 {
			t.Errorf("no answer to %s was seen", method)
		}
	}
}

func conform(t *testing.T, name string, rev spec.Revision, transcript *wire.Transcript, seen map[string]int) {
	t.Helper()
	asks := map[string]string{}
	for _, e := range transcript.Entries() {
		m := e.Message
		if e.From == wire.Client {
			if m.Kind == wire.Request {
				asks[m.ID().Key()] = m.Method()
			}
			continue
		}
		if version := m.Result().Get("protocolVersion").String(); version != "" {
			if r, err := spec.ParseRevision(version); err == nil {
				rev = r
			}
		}
		set := schema.For(rev)
		switch m.Kind {
		case wire.Result:
			method := asks[m.ID().Key()]
			seen[method]++
			def := set.ResultOf(method, []byte(m.Result().Raw))
			if def == "" {
				t.Errorf("%s at %s: %s has no result there", name, rev, method)
				continue
			}
			for _, v := range set.Validate(def, []byte(m.Result().Raw)) {
				t.Errorf("%s at %s: the result of %s: %v\n%s", name, rev, method, v, m.Raw)
			}
		case wire.Request, wire.Notification:
			if strings.Contains(m.Method(), "mcpcheck") || name == "trespasser" {
				continue
			}
			if !set.SentBy(wire.Server, m.Method()) {
				t.Errorf("%s at %s: no server sends %s", name, rev, m.Method())
			}
		}
	}
}

// What a client is given in pages is found again by one that follows cursors.
func TestEveryPageIsReached(t *testing.T) {
	for _, rev := range spec.Revisions() {
		lists := map[string]string{}
		o := client.Defaults()
		o.Log = func(format string, args ...any) {
			if strings.HasSuffix(format, ": %d") {
				lists[fmt.Sprint(args[0])] = fmt.Sprint(args[1])
			}
		}
		_, err := Perform(t.Context(), InProcess{Name: "client", Run: func(ctx context.Context, server transport.Starter) error {
			return client.Run(ctx, server, o)
		}}, Plain(rev), options())
		if err != nil || lists["tools/list"] != "3" || lists["resources/list"] != "2" || lists["prompts/list"] != "2" {
			t.Errorf("%s: %v, %v", rev, lists, err)
		}
	}
}

// A client that answers late is waited for; one that never does costs Due, not
// more.
func TestAnswersThatAreDueAreWaitedFor(t *testing.T) {
	for _, late := range []time.Duration{50 * time.Millisecond, time.Hour} {
		o := options()
		o.Due = 200 * time.Millisecond
		p, err := Perform(t.Context(), InProcess{Name: "client", Run: func(ctx context.Context, server transport.Starter) error {
			c := client.Defaults()
			c.LegacyFirst = true
			c.Answer = func(next client.Answerer) client.Answerer {
				return func(m wire.Message) []byte {
					if late > o.Due {
						return nil
					}
					time.Sleep(late)
					return next(m)
				}
			}
			return client.Run(ctx, server, c)
		}}, Plain(spec.V2025_11_25), o)
		if err != nil {
			t.Fatal(err)
		}
		entries := p.Transcripts[0].Entries()
		at := func(match func(wire.Entry) bool) int { return slices.IndexFunc(entries, match) }
		answer := at(func(e wire.Entry) bool { return e.From == wire.Client && e.Message.IsResponse() })
		next := at(func(e wire.Entry) bool {
			return e.From == wire.Server && e.Message.IsResponse() && e.Index > 2
		})
		ask := at(func(e wire.Entry) bool { return e.From == wire.Server && e.Message.Kind == wire.Request })
		switch waited := entries[next].At - entries[ask].At; {
		case late < o.Due && (answer < 0 || answer > next):
			t.Errorf("the client's next request was answered at frame %d, before its answer at %d", next, answer)
		case late > o.Due && waited < o.Due:
			t.Errorf("only %s were waited for the answer", waited)
		}
	}
}

func TestAClientThatFloodsIsLeft(t *testing.T) {
	o := options()
	o.MaxFrames = 100
	p, err := Perform(t.Context(), InProcess{Name: "client", Run: func(ctx context.Context, server transport.Starter) error {
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
	}}, Plain(spec.V2025_11_25), o)
	if err != nil {
		t.Fatal(err)
	}
	if end := p.Transcripts[0].Ending(); end == nil || !end.Asked || !strings.Contains(end.What, "more than 100 frames") || p.Transcripts[0].Len() > 101 {
		t.Errorf("%d frames, ending %+v", p.Transcripts[0].Len(), end)
	}
}
