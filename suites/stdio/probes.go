package stdio

import (
	"fmt"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
)

// noRequestSent is why a probe is not observed that could send nothing.
const noRequestSent = "no request could be sent"

// probes returns the probes of basic/transports#stdio (basic/transports/stdio since
// 2026-07-28).
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "stdio.framing",
			Says:  "the server takes a newline as the end of a message, however the bytes arrive",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnStdio, // HTTP has no lines
			Rules: []string{"stdio-newline-delimited"},
			Idle:  noRequestSent,
			Hint:  expect.HintReply,
			Probe: func(t *check.T) { probeFraming(t) },
		},
		{
			ID:    "stdio.framing.advised",
			Says:  "the server takes a newline as the end of a message, however the bytes arrive",
			Level: spec.Should,
			In:    spec.Handshake,
			On:    transport.OnStdio, // HTTP has no lines
			Rules: []string{"stdio-newline-delimited"},
			Idle:  noRequestSent,
			Hint:  expect.HintReply,
			Probe: func(t *check.T) { probeFraming(t) },
		},
		{
			ID:    "stdio.concurrent",
			Says:  "the server answers each of several concurrent requests under its own id",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnStdio, // where all answers share one channel
			Rules: []string{"stdio-concurrent-requests-demultiplexed"},
			Idle:  noRequestSent,
			Hint:  expect.HintReply,
			// The two kinds of requests have answers that cannot be mistaken for each other.
			// Which error an unknown method gets is judged by a check of JSON-RPC.
			Probe: func(t *check.T) {
				var discoveries, unknown []*check.Call
				for i := range 5 {
					info := check.Params{"name": fmt.Sprintf("mcpcheck-%d", i), "version": "0.1.0"}
					params := check.Params{"_meta": check.Params{spec.MetaClientInfo: info}}
					discoveries = append(discoveries, t.Start("server/discover", params))
					unknown = append(unknown, t.Start("mcpcheck/no-such-method", params))
				}
				for i := range discoveries {
					if m := t.Answer(discoveries[i]); !m.Result().Get("supportedVersions").Exists() {
						t.Fail("the result of server/discover", m.Summary(),
							"server/discover was sent beside requests of an unknown method and answered with %s",
							m.Summary())
					}
					if m := t.Answer(unknown[i]); m.Result().Get("supportedVersions").Exists() {
						t.Fail("an error", m.Summary(),
							"an unknown method was answered with the result of server/discover")
					}
					t.Saw()
				}
			},
		},
		{
			ID:       "stdio.invalid-line.survived",
			Says:     "the server answers requests after a line that is not JSON",
			Level:    spec.Robust,
			In:       spec.Every,
			On:       transport.OnStdio, // HTTP has no lines
			Malforms: true,
			Rules:    []string{"stdio-server-survives-bad-line"},
			Idle:     noRequestSent,
			Hint:     expect.HintReply,
			Probe: func(t *check.T) {
				for _, line := range []string{`{"jsonrpc":"2.0","method":}`, `{"jsonrpc":"2.0","id":1,"method":"`} {
					t.Send(line)
					t.Survives("a line that is not JSON")
					t.Saw()
				}
			},
		},
		{
			ID:       "stdio.line.blank.survived",
			Says:     "the server answers requests after blank lines, which some clients write between messages",
			Level:    spec.Robust,
			In:       spec.Every,
			On:       transport.OnStdio, // HTTP has no lines
			Malforms: true,
			Spec:     "basic/transports#stdio",
			Idle:     noRequestSent,
			Hint:     expect.HintReply,
			Probe: func(t *check.T) {
				for _, lines := range []string{"\n", " \t\n", "\r\n\n"} {
					t.SendChunks(nil, lines)
					t.Survives(fmt.Sprintf("the blank line %q", lines))
					t.Saw()
				}
			},
		},
		{
			ID: "stdio.line.crlf",
			Says: "the server answers a request that ends with a carriage return and a newline, as programs on " +
				"Windows write it: to JSON the carriage return is white space",
			Level: spec.Robust,
			In:    spec.Every,
			On:    transport.OnStdio, // HTTP has no lines
			Spec:  "basic/transports#stdio",
			Idle:  noRequestSent,
			Hint:  expect.HintReply,
			Probe: func(t *check.T) {
				id := t.NextID()
				from := t.SendChunks(nil, t.Frame(id, t.Facts.BarrierMethod, nil)+"\r\n")
				if _, ok := t.Await(from, check.ResponseTo(id)); !ok {
					t.Fail("an answer", "none", "a request with a carriage return before its newline was not answered")
				}
				t.Saw()
			},
		},
		{
			ID:       "stdio.line.trailing.survived",
			Says:     "the server answers requests after a line that holds more than one message",
			Level:    spec.Robust,
			In:       spec.Every,
			On:       transport.OnStdio, // HTTP has no lines
			Malforms: true,
			Spec:     "basic/transports#stdio",
			Idle:     noRequestSent,
			Hint:     expect.HintReply,
			// The server may refuse the line, or serve what it can read of it.
			Probe: func(t *check.T) {
				expect.RequireReadingOn(t)
				frame := func() string { return t.Frame(t.NextID(), t.Facts.BarrierMethod, nil) }
				for _, second := range []string{" mcpcheck", frame()} {
					t.Send(frame() + second)
					t.Survives("a line with a text behind a message")
					t.Saw()
				}
			},
		},
	}
}

// probeFraming writes a request with the beginning of a second one behind it, waits
// for the answer to the first, which shows that both were read, and writes the rest.
// A message may begin within a read and end in a later one. The cut lies within a
// UTF-8 sequence.
func probeFraming(t *check.T) {
	control := t.Start(t.Facts.BarrierMethod, nil, wire.StringID("mcpcheck-whole-pièce"))
	if _, ok := t.Await(control.FrameIndex, check.ResponseTo(control.ID)); !ok {
		t.NotObserved("a request with such an id is not answered in one piece either, as jsonrpc.id.types judges",
			"answer a request whose id is a string that is not ASCII")
	}
	whole, split := t.NextID(), wire.StringID("mcpcheck-pièce")
	rest := t.Frame(split, t.Facts.BarrierMethod, nil) + "\n"
	cut := strings.Index(rest, "è") + 1
	from := t.SendChunks(func(first int) {
		if _, ok := t.Await(first, check.ResponseTo(whole)); !ok {
			t.Fail("an answer", "none", "a request with the beginning of another one behind it was not answered")
		}
	}, t.Frame(whole, t.Facts.BarrierMethod, nil)+"\n"+rest[:cut], rest[cut:])
	if _, ok := t.Await(from, check.ResponseTo(split)); !ok {
		t.Fail("an answer", "none", "a request in two pieces, the first one behind another request, was not answered")
	}
	t.Saw()
}
