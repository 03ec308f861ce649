package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// testTimeout is how long a test waits for a message that must come.
const testTimeout = 10 * time.Second

// A testClient is a client on stdio that sends and receives raw lines.
type testClient struct {
	t            *testing.T
	stream       *transport.Stream
	revision     spec.Revision
	lines        chan string
	received     []wire.Message // everything the server sent
	requestCount int
	// methods are those of the requests sent, by key of the id.
	methods map[string]string
}

// recordMethod records the method of a request, so that its result can be validated.
func (p *testClient) recordMethod(id wire.ID, method string) { p.methods[id.Key()] = method }

// listMembers are the methods that list features, and the members of their results.
var listMembers = map[string]string{
	"tools/list": "tools", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
	"prompts/list": "prompts",
}

// listAll returns the entries of all pages of a list.
func (p *testClient) listAll(method, member string) []gjson.Result {
	p.t.Helper()
	return slices.Concat(p.pages(method, member)...)
}

// pages returns the entries of a list by pages. params are further members of the
// params.
func (p *testClient) pages(method, member string, params ...string) [][]gjson.Result {
	p.t.Helper()
	var pages [][]gjson.Result
	cursor := ""
	for range 50 {
		r := wantResult(p.t, p.request(method, append(slices.Clone(params), cursor)...)).Result()
		if !r.Get(member).IsArray() {
			p.t.Fatalf("the result of %s lacks %s: %s", method, member, r.Raw)
		}
		pages = append(pages, r.Get(member).Array())
		next := r.Get("nextCursor")
		if !next.Exists() {
			return pages
		}
		cursor = `"cursor":` + next.Raw
	}
	p.t.Fatalf("%s still returns a cursor after 50 pages", method)
	return nil
}

// startServer starts a server and returns its client, which has sent nothing.
func startServer(t *testing.T, o Options) *testClient {
	t.Helper()
	s, err := Target("library", o).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	p := &testClient{t: t, stream: s, lines: make(chan string, 1000), methods: map[string]string{}}
	go func() {
		defer close(p.lines)
		for {
			l, err := s.ReadLine()
			if err != nil {
				return
			}
			p.lines <- string(l.Bytes)
		}
	}()
	t.Cleanup(s.Kill)
	return p
}

// openSession starts a server and opens a session of the revision; client is the JSON
// of the client's capabilities.
func openSession(t *testing.T, rev spec.Revision, client string, o Options) *testClient {
	t.Helper()
	p := startServer(t, o)
	p.revision = rev
	p.received = nil
	if rev.Facts().Stateless {
		return p
	}
	p.recordMethod(wire.StringID("open"), "initialize")
	p.send(initializeFormat, rev, client)
	m := p.nextMessage()
	if got := m.Result().Get("protocolVersion").String(); got != string(rev) {
		t.Fatalf("initialize at %s was answered with %s", rev, m.Raw)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return p
}

func (p *testClient) send(format string, args ...any) {
	p.t.Helper()
	if err := p.stream.WriteLine(p.t.Context(), fmt.Appendf(nil, format, args...)); err != nil {
		p.t.Fatal(err)
	}
}

// nextLine returns the next line of the server.
func (p *testClient) nextLine() string {
	p.t.Helper()
	select {
	case l, ok := <-p.lines:
		if !ok {
			p.t.Fatal("the server closed its output")
		}
		p.received = append(p.received, wire.Parse([]byte(l)))
		return l
	case <-time.After(testTimeout):
		p.t.Fatal("the server sent nothing")
	}
	return ""
}

func (p *testClient) nextMessage() wire.Message {
	p.t.Helper()
	return wire.Parse([]byte(p.nextLine()))
}

// params returns the JSON of params. In a stateless revision they hold the _meta that
// every request carries, with client as the capabilities.
func (p *testClient) params(client string, members ...string) string {
	members = slices.DeleteFunc(members, func(m string) bool { return m == "" })
	if p.revision.Facts().Stateless {
		members = append(members, statelessMeta(client))
	}
	return "{" + strings.Join(members, ",") + "}"
}

// paramsWithMeta is params with further members of _meta.
func (p *testClient) paramsWithMeta(client, members, meta string) string {
	if p.revision.Facts().Stateless {
		return `{` + members + `,` + statelessMeta(client, `,`+meta) + `}`
	}
	return `{` + members + `,"_meta":{` + meta + `}}`
}

// statelessMeta returns the _meta that every request of a stateless revision carries.
func statelessMeta(client string, more ...string) string {
	return fmt.Sprintf(
		`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",`+
			`"io.modelcontextprotocol/clientCapabilities":%s%s}`,
		client, strings.Join(more, ""),
	)
}

// request sends a request and returns its response; it skips other messages.
func (p *testClient) request(method string, members ...string) wire.Message {
	p.t.Helper()
	return p.requestAs("{}", method, members...)
}

// requestAs is request with the client's capabilities in a stateless revision.
func (p *testClient) requestAs(client, method string, members ...string) wire.Message {
	p.t.Helper()
	p.requestCount++
	id := wire.StringID(fmt.Sprintf("ask-%d", p.requestCount))
	p.recordMethod(id, method)
	p.send(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, p.params(client, members...))
	return p.responseTo(id)
}

// responseTo returns the response to a request; it skips other messages.
func (p *testClient) responseTo(id wire.ID) wire.Message {
	p.t.Helper()
	for {
		if m := p.nextMessage(); m.IsResponse() && m.ID().Equal(id) {
			return m
		}
	}
}

// wantEnd waits until the server has ended.
func (p *testClient) wantEnd() {
	p.t.Helper()
	select {
	case <-p.stream.Done():
	case <-time.After(testTimeout):
		p.t.Fatal("the server did not end")
	}
}

// fullCapabilities are those of a client that declares everything.
const fullCapabilities = `{"roots":{},"sampling":{"tools":{}},"elicitation":{"form":{},"url":{}}}`

// clientAnswers are the results of that client for requests of the server.
var clientAnswers = map[string]string{
	"roots/list":             `{"roots":[{"uri":"file:///home/reader","name":"home"}]}`,
	"sampling/createMessage": `{"role":"assistant","content":{"type":"text","text":"On Borrowing"},"model":"m"}`,
	"elicitation/create": `{"action":"accept","content":{"name":"Ada","day":"2026-05-01","people":2,` +
		`"username":"ada","email":"ada@example.com","ok":true,"color":"blue","context":"tea"}}`,
}

// requestAnswering sends a request with a progress token and returns its final
// response. It answers requests of the server, and retries after an input_required
// result.
func (p *testClient) requestAnswering(method, members string) wire.Message {
	p.t.Helper()
	answers := ""
	for {
		p.requestCount++
		id := wire.StringID(fmt.Sprintf("ask-%d", p.requestCount))
		meta := fmt.Sprintf(`"progressToken":%d`, p.requestCount)
		if p.revision.Facts().Stateless {
			meta += `,"io.modelcontextprotocol/logLevel":"debug"`
		}
		params := p.paramsWithMeta(fullCapabilities, members+answers, meta)
		p.recordMethod(id, method)
		p.send(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
		m := p.answerUntil(id)
		r := m.Result()
		if r.Get("resultType").String() != "input_required" {
			return m
		}
		responses := []string{}
		for key, request := range r.Get("inputRequests").Map() {
			responses = append(responses, fmt.Sprintf("%q:%s", key, clientAnswers[request.Get("method").String()]))
		}
		answers = `,"inputResponses":{` + strings.Join(responses, ",") + `}`
		if state := r.Get("requestState"); state.Exists() {
			answers += `,"requestState":` + state.Raw
		}
	}
}

// answerUntil answers requests of the server until the response to a request comes.
func (p *testClient) answerUntil(id wire.ID) wire.Message {
	p.t.Helper()
	for {
		m := p.nextMessage()
		if m.Kind == wire.Request {
			p.send(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID(), clientAnswers[m.Method()])
		}
		if m.IsResponse() && m.ID().Equal(id) {
			return m
		}
	}
}

// toolArguments are valid arguments for each tool.
var toolArguments = map[string]string{
	"opening_hours":    `{}`,
	"search_catalogue": `{"query":"fog","limit":1}`,
	"new_arrivals":     `{}`,
	"show_exhibits":    `{}`,
	"stocktake":        `{"duration_ms":5,"steps":3}`,
	"bind_catalogue":   `{}`,
	"check_shelfmark":  `{"mark":["A",3]}`,
	"scan_card":        `{}`,
	"read_desk_log":    `{}`,
	"borrow_book":      `{"book":"b1","reader":"ada"}`,
	"return_book":      `{"book":"b3"}`,
	"set_reading_room": `{"open":true}`,
	"reset_stamp":      `{}`,
	"check_branch":     `{"branch":"Harbour","to":{"desk":"maps"}}`,
	"reserve_seat":     `{}`,
	"suggest_reading":  `{"mood":"foggy"}`,
	"check_file":       `{"uri":"file:///home/reader/list.txt"}`,
	"register_reader":  `{}`,
	"plan_visit":       `{}`,
	"read_archive":     `{}`,
	"renew_card":       `{}`,
	"answer_question":  `{"question":"Who wrote about fog?"}`,
}

// promptArguments returns a value for each argument of a prompt.
func promptArguments(prompt gjson.Result) string {
	out := Object{}
	for _, a := range prompt.Get("arguments").Array() {
		out[a.Get("name").String()] = "b1"
	}
	return string(wire.Encode(out))
}

// callParams returns the members of the params of a tool call.
func callParams(name, args string) string { return fmt.Sprintf(`"name":%q,"arguments":%s`, name, args) }

// initialize sends an initialize without capabilities and returns the next message.
func (p *testClient) initialize(version string) wire.Message {
	p.t.Helper()
	p.send(initializeFormat, version, "{}")
	return p.nextMessage()
}

// startCall calls a tool with id 1 and returns the next message.
func (p *testClient) startCall(params string) wire.Message {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s}}`, params)
	return p.nextMessage()
}

// retry sends a call of a stateless revision with a state and responses.
func (p *testClient) retry(params, state, responses string) wire.Message {
	p.t.Helper()
	members := fmt.Sprintf(`%s,"requestState":%q,"inputResponses":%s`, params, state, responses)
	return p.requestAs(fullCapabilities, "tools/call", members)
}

// barrier returns a request that is answered at once, and its id. Its answer follows
// the answers to all lines before it.
func (p *testClient) barrier() (string, wire.ID) {
	const format = `{"jsonrpc":"2.0","id":"barrier","method":%q,"params":%s}`
	return fmt.Sprintf(format, p.revision.Facts().BarrierMethod, p.params("{}")), wire.StringID("barrier")
}

// initializeFormat is an initialize with a version and capabilities.
const initializeFormat = `{"jsonrpc":"2.0","id":"open","method":"initialize","params":{` +
	`"protocolVersion":%q,"capabilities":%s,"clientInfo":{"name":"t","version":"1"}}}`
