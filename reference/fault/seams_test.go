package fault

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

const opening = `{"jsonrpc":"2.0","id":"open","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}}`

// The seams reach deviations of every kind in a few lines. Each is shown by
// what the server says when the lines are sent, one after the other.
func TestTheSeamsReachDeviationsOfEveryKind(t *testing.T) {
	for _, c := range []struct {
		name  string
		apply apply
		lines []string
		says  string // in the output, or in how it ends
	}{
		{
			"serves before initialize",
			onRequest("tools/list", func(r *server.Request) { r.Session.Open(spec.V2025_06_18, server.Peer{}) }),
			[]string{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}, `"tools":[`,
		},
		{
			"accepts a second initialize",
			onRequest("initialize", func(r *server.Request) { r.Session.Close() }),
			[]string{opening, strings.Replace(opening, "2025-06-18", "2024-11-05", 1)}, `"protocolVersion":"2024-11-05"`,
		},
		{
			"does without _meta",
			onRequest("server/discover", func(r *server.Request) {
				r.Modern, r.Params["_meta"] = true, server.Object{spec.MetaProtocolVersion: "2026-07-28", spec.MetaClientCapabilities: server.Object{}}
			}),
			[]string{`{"jsonrpc":"2.0","id":1,"method":"server/discover"}`}, `"supportedVersions"`,
		},
		{
			"takes batches apart where there are none",
			onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				return func(line []byte) (err error) {
					for _, m := range wire.Parse(line).Elements() {
						err = errors.Join(err, next(m.Raw))
					}
					return err
				}
			}),
			[]string{opening, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`}, `{"jsonrpc":"2.0","id":1,"result":{}}`,
		},
		{
			"dies of a bad line",
			onIncoming(func(next server.Receiver, _ server.FrameSink) server.Receiver {
				return func(line []byte) error {
					if wire.Parse(line).Fault != nil {
						return errors.New("no JSON")
					}
					return next(line)
				}
			}),
			[]string{`{bad`}, "exit status 1: no JSON",
		},
		{
			"gives lists in one page",
			func(o *server.Options) { o.Library = func(l *server.Library) { l.PageSize = 1000 } },
			[]string{opening, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}, `"name":"plan_visit"`,
		},
		{
			"takes any arguments",
			func(o *server.Options) {
				o.Library = func(l *server.Library) {
					for _, tool := range l.Tools {
						tool.Lenient = true
					}
				}
			},
			[]string{opening, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_catalogue","arguments":{"query":"fog","limit":-1}}}`}, `"structuredContent"`,
		},
		{
			"reports progress after the end",
			onFrames(func(next server.FrameSink) server.FrameSink {
				return func(f server.Frame) {
					next(f)
					if f.Kind == wire.Result && f.Method == "ping" {
						next(raw(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%q,"progress":99}}`, f.Request.ID))
					}
				}
			}),
			[]string{opening, `{"jsonrpc":"2.0","id":1,"method":"ping"}`}, `"progress":99`,
		},
		{
			"answers late and out of turn",
			onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					if r.ID.Raw == "1" {
						r.Park()
						time.Sleep(20 * time.Millisecond)
					}
					return next(ctx, r)
				}
			}),
			[]string{opening, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`}, "\"id\":2,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":1",
		},
		{
			"asks before initialized",
			beforeAnswer("initialize", func(_ context.Context, r *server.Request) {
				r.Send(raw(`{"jsonrpc":"2.0","id":"early","method":"roots/list"}`))
			}),
			[]string{opening}, `"method":"roots/list"`,
		},
		{
			"answers what was cancelled",
			onLine(wire.Notification, "notifications/cancelled", func(wire.Message, server.FrameSink) {}),
			[]string{opening, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"stocktake","arguments":{"duration_ms":20}}}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`},
			`{"jsonrpc":"2.0","id":1,"result"`,
		},
		{
			"keeps the old error code",
			onError("resources/read", func(_ *server.Request, e *server.Error) (any, *server.Error) {
				e.Code = spec.LegacyResourceNotFound
				return nil, e
			}),
			[]string{`{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"no://where","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`}, `"code":-32002`,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if honest := say(t, server.Options{}, c.lines); strings.Contains(honest, c.says) {
				t.Fatalf("the honest server says so too:\n%s", honest)
			}
			f := Fault{Apply: c.apply}
			if said := say(t, f.Options(server.Options{}), c.lines); !strings.Contains(said, c.says) {
				t.Errorf("the server said\n%swithout %s", said, c.says)
			}
		})
	}
}

// say sends lines, closes the input and returns the output and the ending.
func say(t *testing.T, o server.Options, lines []string) string {
	t.Helper()
	o.Grace = 5 * time.Second
	s, err := server.Target("t", o).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	for _, line := range lines {
		if err := s.WriteLine(t.Context(), []byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	s.CloseInput()
	var said strings.Builder
	for {
		l, err := s.ReadLine()
		if err != nil {
			break
		}
		fmt.Fprintf(&said, "%s\n", l.Bytes)
	}
	<-s.Done()
	return said.String() + s.Status() + "\n"
}
