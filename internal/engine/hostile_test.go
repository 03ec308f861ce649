package engine

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
	"github.com/mcpcheck/mcpcheck/reports"
)

// shortDeadlines are for peers in this process.
func shortDeadlines() session.Options {
	o := session.DefaultOptions()
	o.Timeout, o.StartTimeout, o.Grace = 500*time.Millisecond, 2*time.Second, 300*time.Millisecond
	return o
}

// mediumDeadlines are for peers in this process that leave some requests unanswered. The
// other answers arrive in time on a busy machine.
func mediumDeadlines() session.Options {
	o := session.DefaultOptions()
	o.Timeout, o.StartTimeout, o.Grace = 2*time.Second, 10*time.Second, 500*time.Millisecond
	return o
}

// longDeadlines are for peers in this process that answer every request. The answers
// arrive in time on a busy machine.
func longDeadlines() session.Options {
	o := session.DefaultOptions()
	o.Timeout, o.StartTimeout, o.Grace = 5*time.Second, 10*time.Second, time.Second
	return o
}

// functionTarget returns a server that answers each request by a function; "" is no
// answer.
func functionTarget(name string, answer func(m wire.Message) string) transport.Target {
	return transport.InProcess{Name: name, Serve: func(_ context.Context, in io.Reader, out io.Writer) error {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 64<<20)
		batches := false // whether the negotiated revision has batches
		for lines.Scan() {
			m := wire.Parse([]byte(lines.Text()))
			if v := m.Params().Get("protocolVersion").String(); m.Method() == "initialize" {
				batches = v == "2025-03-26"
			}
			if m.Kind == wire.Batch && !batches {
				_, _ = io.WriteString(out, `{"jsonrpc":"2.0","id":null,`+
					`"error":{"code":-32600,"message":"No batches here"}}`+"\n")
				continue
			}
			var texts []string
			for _, e := range m.Elements() {
				if text := answer(e); e.Kind == wire.Request && text != "" {
					texts = append(texts, text)
				}
			}
			text := strings.Join(texts, ",")
			if m.Kind == wire.Batch && text != "" {
				text = "[" + text + "]"
			}
			if text != "" {
				if _, err := io.WriteString(out, text+"\n"); err != nil {
					return err
				}
			}
		}
		return nil
	}}
}

func methodNotFound(m wire.Message) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID().Raw)
}

// answerMinimally answers initialize and ping only, which a server without capabilities
// must answer.
func answerMinimally(m wire.Message) string {
	switch m.Method() {
	case "initialize":
		version := m.Params().Get("protocolVersion")
		if m.Params().Get("capabilities").IsObject() && m.Params().Get("clientInfo").IsObject() && version.Exists() {
			offered := version.String()
			if _, err := spec.ParseRevision(offered); err != nil || offered == "2026-07-28" {
				offered = "2025-11-25"
			}
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":%q,"capabilities":{},`+
				`"serverInfo":{"name":"minimal","version":"1"}}}`, m.ID().Raw, offered)
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32602,"message":"Invalid params"}}`, m.ID().Raw)
	case "ping":
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID().Raw)
	}
	return methodNotFound(m)
}

func runAllChecks(t *testing.T, target transport.Target, edit ...func(*Options)) *reports.Run {
	t.Helper()
	o := Options{Session: shortDeadlines(), Allow: func(string) bool { return true }}
	for _, e := range edit {
		e(&o)
	}
	run, err := Run(t.Context(), target, o)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func idsWithVerdict(run *reports.Run, v reports.Verdict) (ids []string) {
	for _, o := range run.Outcomes {
		if o.Verdict == v {
			ids = append(ids, o.ID+"@"+string(o.Revision))
		}
	}
	return ids
}

func TestPassesMinimalServer(t *testing.T) {
	run := runAllChecks(t, functionTarget("minimal", answerMinimally))
	if fails := idsWithVerdict(run, reports.Fail); len(fails) > 0 {
		t.Errorf("failed: %v", fails)
	}
	if len(idsWithVerdict(run, reports.Pass)) == 0 {
		t.Error("no check passed")
	}
}

func TestEmptyPeersPassNoCheck(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(wire.Message) string{
		"not found": methodNotFound,
		"empty result": func(m wire.Message) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID().Raw)
		},
	} {
		run := runAllChecks(t, functionTarget(name, answer))
		if passed := idsWithVerdict(run, reports.Pass); len(passed) > 0 {
			t.Errorf("%s: the checks %v pass", name, passed)
		}
		if fails := idsWithVerdict(run, reports.Fail); !slices.Equal(fails,
			[]string{"lifecycle.initialize.answered@2025-11-25"}) {
			t.Errorf("%s: failed %v", name, fails)
		}
		for _, o := range run.Outcomes {
			if o.Verdict == reports.NotRun && o.Cause != "lifecycle.initialize.answered" {
				t.Errorf("%s: %s was not run because of %q", name, o.ID, o.Cause)
			}
		}
	}
}

// A server that answers no request shows nothing that a rule speaks of. Perhaps it is no
// server over stdio.
func TestPeerThatAnswersNothingIsAnError(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{"silent": "", "garbage": "hello"} {
		target := functionTarget(name, func(wire.Message) string { return line })
		_, err := Run(t.Context(), target, Options{Session: shortDeadlines()})
		if !errors.Is(err, ErrNoAnswer) || !strings.Contains(err.Error(), line) {
			t.Errorf("%s: error %v, want %v", name, err, ErrNoAnswer)
		}
	}
}

// A server that answers other requests, but no opening, breaks the rule of the opening.
func TestPeerThatAnswersNoOpeningFails(t *testing.T) {
	t.Parallel()
	target := functionTarget("no opening", func(m wire.Message) string {
		if m.Method() != "ping" {
			return ""
		}
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID().Raw)
	})
	run := runAllChecks(t, target)
	if fails := idsWithVerdict(run, reports.Fail); !slices.Equal(fails, []string{openingHandshake + "@2025-11-25"}) {
		t.Errorf("failed %v", fails)
	}
}

func TestPeerThatExitsAtOnceIsAnError(t *testing.T) {
	exits := transport.InProcess{Name: "exits", Serve: func(context.Context, io.Reader, io.Writer) error { return nil }}
	if _, err := Run(t.Context(), exits, Options{Session: shortDeadlines()}); !errors.Is(err, ErrNotStarted) {
		t.Errorf("error %v, want %v", err, ErrNotStarted)
	}
}

// The client connects by TLS to a server without TLS.
func TestUnreachablePeerIsAnError(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	at, err := transport.NewEndpoint(strings.Replace(plain.URL, "http:", "https:", 1), transport.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []transport.Kind{transport.HTTP, transport.SSE} {
		_, err := Run(t.Context(), transport.HTTPTarget{Endpoint: at, Kind: kind}, Options{Session: shortDeadlines()})
		if !errors.Is(err, ErrNotStarted) || !strings.Contains(err.Error(), "HTTPS") {
			t.Errorf("over %s: %v", kind, err)
		}
	}
}

// A serveLines function serves one session of a peer.
type serveLines func(ctx context.Context, in *bufio.Scanner, out io.Writer) error

// answerFirstLine answers the first line, and reports whether the client sends another.
func answerFirstLine(in *bufio.Scanner, out io.Writer) bool {
	if !in.Scan() {
		return false
	}
	_, err := io.WriteString(out, answerMinimally(wire.Parse(in.Bytes()))+"\n")
	return err == nil && in.Scan()
}

// exitEarly ends after the first request.
func exitEarly(_ context.Context, in *bufio.Scanner, out io.Writer) error {
	if answerFirstLine(in, out) {
		in.Scan()
	}
	return errors.New("out of memory")
}

// flood sends notifications without end.
func flood(_ context.Context, in *bufio.Scanner, out io.Writer) error {
	if answerFirstLine(in, out) {
		for {
			if _, err := io.WriteString(out,
				strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/x.example/tick"}`+"\n",
					1000)); err != nil {
				return nil
			}
		}
	}
	return nil
}

// stopReading reads nothing after the first request.
func stopReading(ctx context.Context, in *bufio.Scanner, out io.Writer) error {
	if answerFirstLine(in, out) {
		<-ctx.Done()
	}
	return nil
}

// writeLongLine answers the first request with a line of 100 MB.
func writeLongLine(_ context.Context, in *bufio.Scanner, out io.Writer) error {
	if answerFirstLine(in, out) {
		chunk := []byte(strings.Repeat("x", 1<<20))
		for range 100 {
			if _, err := out.Write(chunk); err != nil {
				return nil
			}
		}
		_, _ = io.WriteString(out, "\n")
		for in.Scan() {
		}
	}
	return nil
}

// The run ends by itself and reports what the peer does.
func TestRunEndsAndReportsHostilePeers(t *testing.T) {
	t.Parallel()
	serve := func(f serveLines) transport.Target {
		return transport.InProcess{Name: "hostile",
			Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
				return f(ctx, bufio.NewScanner(in), out)
			}}
	}
	for name, c := range map[string]struct {
		serve serveLines
		says  string
	}{
		"exits after the second line": {exitEarly, "out of memory"},
		"floods":                      {flood, "flooded"},
		"stops reading":               {stopReading, "no answer"},
		"one long line":               {writeLongLine, "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{
				Session: shortDeadlines(), Revisions: []spec.Revision{spec.V2025_11_25}, Deadline: 20 * time.Second,
			}
			if c.says == "flooded" {
				// The peer exceeds the limit of frames before the deadline, also on a busy machine.
				o.Session.Timeout, o.Session.MaxFrames, o.Deadline = time.Minute, 2_000, time.Minute
			}
			run, err := Run(t.Context(), serve(c.serve), o)
			if err != nil {
				t.Fatal(err)
			}
			var text strings.Builder
			for _, o := range run.Outcomes {
				if o.Verdict != reports.Pass {
					fmt.Fprintln(&text, o.ID, o.Verdict, o.Detail, o.Cause, o.Notes)
				}
			}
			if !strings.Contains(text.String(), c.says) {
				t.Errorf("no outcome contains %q:\n%s", c.says, text.String())
			}
			if broken := idsWithVerdict(run, reports.Broken); len(broken) > 0 {
				t.Errorf("the checks %v are broken", broken)
			}
		})
	}
}

func TestInterruptedRunReportsFinishedChecks(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	seen := 0
	run, err := Run(ctx, server.Target("reference", server.Options{}),
		Options{Session: longDeadlines(), Progress: func(reports.Outcome) {
			if seen++; seen == 5 {
				cancel(errors.New("interrupted"))
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	if run.Ended != reports.Interrupted || len(idsWithVerdict(run, reports.Pass)) != 5 {
		t.Errorf("ended %q with %d passes", run.Ended, len(idsWithVerdict(run, reports.Pass)))
	}
	for _, o := range run.Outcomes {
		if o.Verdict == reports.NotRun && o.Cause != "interrupted" {
			t.Errorf("%s was not run because of %q", o.ID, o.Cause)
		}
	}
}
