package stdio

import (
	"fmt"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// probes are the probes of basic/transports#stdio (basic/transports/stdio since
// 2026-07-28).
func probes() []check.Check {
	framing := check.Check{
		ID:    "stdio.framing",
		Says:  "a newline ends a message, whatever the pieces it arrives in",
		Level: spec.Must,
		In:    spec.Stateless,
		On:    transport.OnStdio, // HTTP has no lines
		Rules: []string{"stdio-newline-delimited"},
		// newlineEndsMessage writes a request with the beginning of another, waits for
		// the answer to the first, which shows that both were read, and writes the
		// rest: a message may begin behind another in a read, and end in a later one.
		// The cut lies within a UTF-8 sequence.
		Probe: func(t *check.T) {
			whole, split := t.NextID(), wire.StringID("mcpcheck-pièce")
			rest := t.Frame(split, t.Facts.Barrier, nil) + "\n"
			cut := strings.Index(rest, "è") + 1
			from := t.SendChunks(func(first int) {
				if _, ok := t.Await(first, check.ResponseTo(whole)); !ok {
					t.Fail("an answer", "none", "a request was not answered that was written with the beginning of another behind it")
				}
			}, t.Frame(whole, t.Facts.Barrier, nil)+"\n"+rest[:cut], rest[cut:])
			if _, ok := t.Await(from, check.ResponseTo(split)); !ok {
				t.Fail("an answer", "none", "a request was not answered that was written in two pieces, the first of them behind another request")
			}
		},
	}
	advised := framing
	advised.ID, advised.Level, advised.In = "stdio.framing.advised", spec.Should, spec.Handshake
	return []check.Check{
		framing,
		advised,
		{
			ID:    "stdio.concurrent",
			Says:  "each of several requests at once gets the answer that belongs to it, under its id",
			Level: spec.Must,
			In:    spec.Stateless,
			On:    transport.OnStdio, // where all answers share one channel
			Rules: []string{"stdio-concurrent-requests-demultiplexed"},
			// concurrentRequests mixes requests whose answers cannot be taken for one
			// another, of several clients. Whether each is answered at all is judged apart.
			Probe: func(t *check.T) {
				var good, bad []*check.Call
				for i := range 5 {
					info := check.Params{"name": fmt.Sprintf("mcpcheck-%d", i), "version": "0.1.0"}
					params := check.Params{"_meta": check.Params{spec.MetaClientInfo: info}}
					good = append(good, t.Start("server/discover", params))
					bad = append(bad, t.Start("mcpcheck/no-such-method", params))
				}
				for i := range good {
					if m := t.Answer(good[i]); !m.Result().Get("supportedVersions").Exists() {
						t.Fail("the result of server/discover", m.Summary(), "beside other requests server/discover was answered with %s", m.Summary())
					}
					if m := t.Answer(bad[i]); m.Result().Get("supportedVersions").Exists() {
						t.Fail("an error", m.Summary(), "beside server/discover an unknown method was answered with the result of it")
					}
				}
			},
		},
		{
			ID:       "stdio.bad-line.survived",
			Says:     "after a line that is not JSON the server serves further requests",
			Level:    spec.Robust,
			In:       spec.Since(spec.V2025_11_25),
			On:       transport.OnStdio, // HTTP has no lines
			Malforms: true,
			Rules:    []string{"stdio-server-survives-bad-line"},
			Probe: func(t *check.T) {
				t.Send(`{"jsonrpc":"2.0","id":1,"method":"`)
				t.Survives("a line that is not JSON")
			},
		},
	}
}
