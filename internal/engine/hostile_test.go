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

// quick are deadlines for peers in this process.
func quick() session.Options {
	o := session.DefaultOptions()
	o.Timeout, o.StartTimeout, o.Grace = 500*time.Millisecond, 2*time.Second, 300*time.Millisecond
	return o
}

// steady are deadlines for those of them of which some answers do not come, and the
// others do, however busy the machine is.
func steady() session.Options {
	o := session.DefaultOptions()
	o.Timeout, o.StartTimeout, o.Grace = 2*time.Second, 10*time.Second, 500*time.Millisecond
	return o
}

// patient are deadlines for those of them that answer all that is due, however
// busy the machine is.
func patient() session.Options {
	o := session.DefaultOptions()
	o.Timeout, o.StartTimeout, o.Grace = 5*time.Second, 10*time.Second, time.Second
	return o
}

// answering is a server that answers each request by a function; "" is no
// answer.
func answering(name string, answer func(m wire.Message) string) transport.Target {
	return transport.InProcess{Name: name, Serve: func(_ context.Context, in io.Reader, out io.Writer) error {
		lines := bufio.NewScanner(in)
		lines.Buffer(nil, 64<<20)
		batches := false // negotiated a revision that has them
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

func notFound(m wire.Message) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"Method not found"}}`, m.ID().Raw)
}

// minimal answers initialize and ping and nothing else: all that a server
// without capabilities must do.
func minimal(m wire.Message) string {
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
	return notFound(m)
}

func judged(t *testing.T, target transport.Target, edit ...func(*Options)) *reports.Run {
	t.Helper()
	o := Options{Session: quick(), Allow: func(string) bool { return true }}
	for _, e := range edit {
		e(&o)
	}
	run, err := Run(t.Context(), target, o)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

func with(run *reports.Run, v reports.Verdict) (ids []string) {
	for _, o := range run.Outcomes {
		if o.Verdict == v {
			ids = append(ids, o.ID+"@"+string(o.Revision))
		}
	}
	return ids
}

func TestAMinimalServerIsNotFailed(t *testing.T) {
	run := judged(t, answering("minimal", minimal))
	if fails := with(run, reports.Fail); len(fails) > 0 {
		t.Errorf("failed: %v", fails)
	}
	if len(with(run, reports.Pass)) == 0 {
		t.Error("nothing passed")
	}
}

func TestEmptyPeersPassNothing(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]func(wire.Message) string{
		"not found": notFound,
		"silent":    func(wire.Message) string { return "" },
		"garbage":   func(wire.Message) string { return "hello" },
		"empty result": func(m wire.Message) string {
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID().Raw)
		},
	} {
		run := judged(t, answering(name, answer))
		if passed := with(run, reports.Pass); len(passed) > 0 {
			t.Errorf("%s: passed %v", name, passed)
		}
		if fails := with(run, reports.Fail); !slices.Equal(fails,
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

func TestAPeerThatEndsAtOnceIsNotJudged(t *testing.T) {
	gone := transport.InProcess{Name: "gone", Serve: func(context.Context, io.Reader, io.Writer) error { return nil }}
	if _, err := Run(t.Context(), gone, Options{Session: quick()}); !errors.Is(err, ErrNotStarted) {
		t.Errorf("error %v, want %v", err, ErrNotStarted)
	}
}

// Nor is one that no request reaches: here by TLS, which it does not speak.
func TestAPeerThatCannotBeReachedIsNotJudged(t *testing.T) {
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	at, err := transport.NewEndpoint(strings.Replace(plain.URL, "http:", "https:", 1), transport.HTTPOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []transport.Kind{transport.HTTP, transport.SSE} {
		_, err := Run(t.Context(), transport.HTTPTarget{Endpoint: at, Kind: kind}, Options{Session: quick()})
		if !errors.Is(err, ErrNotStarted) || !strings.Contains(err.Error(), "HTTPS") {
			t.Errorf("over %s: %v", kind, err)
		}
	}
}

// A peer serves one session badly.
type peer func(ctx context.Context, in *bufio.Scanner, out io.Writer) error

// opened answers the first line, and reports whether another one came.
func opened(in *bufio.Scanner, out io.Writer) bool {
	if !in.Scan() {
		return false
	}
	_, err := io.WriteString(out, minimal(wire.Parse(in.Bytes()))+"\n")
	return err == nil && in.Scan()
}

// exitEarly ends after the first request.
func exitEarly(_ context.Context, in *bufio.Scanner, out io.Writer) error {
	if opened(in, out) {
		in.Scan()
	}
	return errors.New("out of memory")
}

// flood sends notifications without end.
func flood(_ context.Context, in *bufio.Scanner, out io.Writer) error {
	if opened(in, out) {
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
	if opened(in, out) {
		<-ctx.Done()
	}
	return nil
}

// writeLongLine answers the first request with a line of 100 MB.
func writeLongLine(_ context.Context, in *bufio.Scanner, out io.Writer) error {
	if opened(in, out) {
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

// Whatever the peer does, the run ends by itself and reports it.
func TestRunEndsAndReportsHostilePeers(t *testing.T) {
	t.Parallel()
	serve := func(f peer) transport.Target {
		return transport.InProcess{Name: "hostile",
			Serve: func(ctx context.Context, in io.Reader, out io.Writer) error {
				return f(ctx, bufio.NewScanner(in), out)
			}}
	}
	for name, c := range map[string]struct {
		serve peer
		says  string
	}{
		"exits in the middle": {exitEarly, "out of memory"},
		"floods":              {flood, "flooded"},
		"stops reading":       {stopReading, "no answer"},
		"one long line":       {writeLongLine, "no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Options{Session: quick(), Revisions: []spec.Revision{spec.V2025_11_25}, Deadline: 20 * time.Second}
			if c.says == "flooded" {
				// However busy the machine is, the limit comes before the deadline of an answer.
				o.Session.Timeout, o.Session.MaxFrames, o.Deadline = time.Minute, 2_000, time.Minute
			}
			run, err := Run(t.Context(), serve(c.serve), o)
			if err != nil {
				t.Fatal(err)
			}
			var told strings.Builder
			for _, o := range run.Outcomes {
				if o.Verdict != reports.Pass {
					fmt.Fprintln(&told, o.ID, o.Verdict, o.Detail, o.Cause, o.Notes)
				}
			}
			if !strings.Contains(told.String(), c.says) {
				t.Errorf("nothing says %q:\n%s", c.says, told.String())
			}
			if broken := with(run, reports.Broken); len(broken) > 0 {
				t.Errorf("broken: %v", broken)
			}
		})
	}
}

func TestAnInterruptedRunReportsWhatItKnows(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	seen := 0
	run, err := Run(ctx, server.Target("reference", server.Options{}),
		Options{Session: patient(), Progress: func(reports.Outcome) {
			if seen++; seen == 5 {
				cancel(errors.New("interrupted"))
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	if run.Ended != reports.Interrupted || len(with(run, reports.Pass)) != 5 {
		t.Errorf("ended %q with %d passes", run.Ended, len(with(run, reports.Pass)))
	}
	for _, o := range run.Outcomes {
		if o.Verdict == reports.NotRun && o.Cause != "interrupted" {
			t.Errorf("%s was not run because of %q", o.ID, o.Cause)
		}
	}
}
