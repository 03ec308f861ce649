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

const opening = `{"jsonrpc":"2.0","id":"open","method":"initialize","params":` +
	`{"protocolVersion":"2025-06-18","capabilities":{"roots":{}},"clientInfo":{"name":"t","version":"1"}}}`

// A seamTest shows a deviation by what the server writes when lines are sent, one
// after the other.
type seamTest struct {
	name  string
	apply apply
	lines []string
	want  string // in the output, or in how the server ends
}

// The seams allow deviations of every kind in a few lines.
func TestSeamsAllowDeviationsOfEveryKind(t *testing.T) {
	for _, c := range append(requestSeams(), lineSeams()...) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := outputOf(t, server.Options{}, c.lines); strings.Contains(got, c.want) {
				t.Fatalf("the server without the fault writes it too:\n%s", got)
			}
			f := Fault{Apply: c.apply}
			if got := outputOf(t, f.Options(server.Options{}), c.lines); !strings.Contains(got, c.want) {
				t.Errorf("the server wrote\n%swithout %s", got, c.want)
			}
		})
	}
}

const (
	discoverWithoutMeta     = `{"jsonrpc":"2.0","id":1,"method":"server/discover"}`
	searchWithNegativeLimit = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` +
		`{"name":"search_catalogue","arguments":{"query":"fog","limit":-1}}}`
	readUnknown = `{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":"no://where","_meta":` +
		`{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`
)

func requestSeams() []seamTest {
	return []seamTest{
		{
			"serves before initialize",
			onRequest("tools/list", func(r *server.Request) { r.Session.Open(spec.V2025_06_18, server.Peer{}) }),
			[]string{`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}, `"tools":[`,
		},
		{
			"accepts a second initialize",
			onRequest("initialize", func(r *server.Request) { r.Session.Close() }),
			[]string{opening, strings.Replace(opening, "2025-06-18", "2024-11-05", 1)},
			`"protocolVersion":"2024-11-05"`,
		},
		{
			"serves without _meta",
			onRequest("server/discover", func(r *server.Request) {
				r.Stateless = true
				r.Params["_meta"] = server.Object{
					spec.MetaProtocolVersion: "2026-07-28", spec.MetaClientCapabilities: server.Object{},
				}
			}),
			[]string{discoverWithoutMeta}, `"supportedVersions"`,
		},
		{
			"lists on one page",
			onLibrary(func(l *server.Features) { l.PageSize = 1000 }),
			[]string{opening, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`}, `"name":"plan_visit"`,
		},
		{
			"accepts any arguments",
			onLibraryTool("search_catalogue", func(tool *server.Tool) { tool.Lenient = true }),
			[]string{opening, searchWithNegativeLimit}, `"structuredContent"`,
		},
		{
			"answers late and out of order",
			onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					if r.ID.Raw == "1" {
						r.Yield()
						time.Sleep(20 * time.Millisecond)
					}
					return next(ctx, r)
				}
			}),
			[]string{opening, `{"jsonrpc":"2.0","id":1,"method":"ping"}`, `{"jsonrpc":"2.0","id":2,"method":"ping"}`},
			"\"id\":2,\"result\":{}}\n{\"jsonrpc\":\"2.0\",\"id\":1",
		},
		{
			"requests before initialized",
			beforeAnswer("initialize", func(r *server.Request) {
				r.Send(frameOf(`{"jsonrpc":"2.0","id":"early","method":"roots/list"}`))
			}),
			[]string{opening}, `"method":"roots/list"`,
		},
		{
			"keeps a code of earlier revisions",
			recode("resources/read", anyError, spec.LegacyResourceNotFound),
			[]string{readUnknown}, `"code":-32002`,
		},
	}
}

func lineSeams() []seamTest {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` +
		`{"name":"stocktake","arguments":{"duration_ms":20}}}`
	return []seamTest{
		{
			"serves the elements of an array",
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
			"exits on an invalid line",
			exitOn(func(m wire.Message) bool { return m.SyntaxError != nil }, "not JSON"),
			[]string{`{bad`}, "exit status 1: not JSON",
		},
		{
			"reports progress after the answer",
			onFrames(func(next server.FrameSink) server.FrameSink {
				return func(f server.Frame) {
					next(f)
					if isResultOf("ping")(f) {
						const params = `{"progressToken":1,"progress":99}`
						next(frameOf(`{"jsonrpc":"2.0","method":"notifications/progress","params":%s}`, params))
					}
				}
			}),
			[]string{opening, `{"jsonrpc":"2.0","id":1,"method":"ping"}`}, `"progress":99`,
		},
		{
			"answers a cancelled request",
			ignoreLines(isMessage(wire.Notification, cancelledMethod)),
			[]string{opening, call, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`},
			`{"jsonrpc":"2.0","id":1,"result"`,
		},
	}
}

// outputOf sends lines, closes the input and returns what the server wrote and how it
// ended.
func outputOf(t *testing.T, o server.Options, lines []string) string {
	t.Helper()
	o.Grace = 5 * time.Second
	s, err := server.Target("t", o).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer s.Kill()
	for _, line := range lines {
		if err := s.WriteLine(t.Context(), []byte(line)); err != nil {
			break // the server has ended
		}
	}
	s.CloseInput()
	var out strings.Builder
	for {
		l, err := s.ReadLine()
		if err != nil {
			break
		}
		fmt.Fprintf(&out, "%s\n", l.Bytes)
	}
	<-s.Done()
	return out.String() + s.Status() + "\n"
}
