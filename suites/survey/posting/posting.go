package posting

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// TryNamedPostings is like NamedPostings but returns none instead of ending the body.
func TryNamedPostings(t *check.T) (out []Posting) {
	check.Attempt(t, func(t *check.T) { out = NamedPostings(t) })
	return out
}

// Edits returns the edits that add the headers of the arguments.
func (p Posting) Edits() (out []check.Edit) {
	for name, value := range p.header {
		out = append(out, check.With(name, value))
	}
	return out
}

// A Posting is a request over HTTP that the server answers with a result as long as its
// headers match the body, so that a refusal is due to the headers.
type Posting struct {
	Method string
	Params check.Params
	Name   string            // repeated by Mcp-Name, "" for none
	header map[string]string // repeat arguments
	// Nonexistent: it names nothing that exists, and is refused for that in any case.
	Nonexistent bool
}

// String names the request in messages.
func (p Posting) String() string {
	if p.Name == "" {
		return p.Method
	}
	return fmt.Sprintf("%s of %q", p.Method, wire.Clip(p.Name, 80))
}

// A Posted is the answer to a posting.
type Posted struct {
	*check.PendingExchange
	Answer wire.Message // the response; the zero message if none came
}

// Post sends the request with its headers changed by the edits.
func (p Posting) Post(t *check.T, edits ...check.Edit) Posted {
	var own []check.Edit
	for name, value := range p.header {
		own = append(own, check.With(name, value))
	}
	x := t.HTTP().Post(t.Frame(t.NextID(), p.Method, p.Params), append(own, edits...)...)
	m, _ := t.HTTP().Response(x)
	return Posted{x, m}
}

// IsServed reports whether the answer is a result.
func (p Posted) IsServed() bool { return p.Answer.Kind == wire.Result }

// IsRefused reports whether the answer is an error or has a status of failure.
func (p Posted) IsRefused() bool { return p.Answer.Kind == wire.Error || p.Status >= 400 }

// IsHeaderMismatch reports whether the answer says that headers do not match the body.
func (p Posted) IsHeaderMismatch() bool {
	code, _ := p.Answer.ErrorCode()
	return code == spec.HeaderMismatch
}

// IsUnavailable reports whether a status says that the server or an intermediary is
// temporarily unavailable. Any other status answers the request, because a similar one
// was served.
func IsUnavailable(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// RequireAvailable ends the body if the answer only says that the server is
// unavailable.
func RequireAvailable(t *check.T, p Posted) Posted {
	RequireServerStatus(t, p.PendingExchange)
	return p
}

// HintAvailable is the hint of a check whose request was answered with a status that says
// nothing about it.
const HintAvailable = "let the server answer without a limit on requests and without a gateway before it"

// RequireServerStatus does the same for an exchange: an intermediary may answer in
// place of the server at any time.
func RequireServerStatus(t *check.T, x *check.PendingExchange) *check.PendingExchange {
	if IsUnavailable(x.Status) {
		t.NotObserved("a request was answered with "+check.Describe(x), HintAvailable)
	}
	return x
}

// RequireServerRefusal ends the body if an intermediary may have refused the request:
// intermediaries need not return a JSON-RPC error, and choose the status
// (basic/transports/streamable-http#server-validation). There is no intermediary before
// a server on the loopback interface.
func RequireServerRefusal(t *check.T, a Posted) Posted {
	if a.Status >= 400 && a.Answer.Kind == wire.Invalid && !check.IsLoopback(t.HTTP().URL()) {
		t.NotObserved("an intermediary may have refused the request, answered with "+check.Describe(a.PendingExchange),
			"give a URL with localhost or 127.0.0.1")
	}
	return a
}

// ExpectRefused posts a request whose headers are wrong.
func ExpectRefused(t *check.T, what string, p Posting, edits ...check.Edit) {
	switch a := RequireAvailable(t, p.Post(t, edits...)); {
	case !a.IsRefused():
		t.Fail("HTTP status 400 and error -32020", check.Describe(a.PendingExchange),
			"%s %s was not refused, but answered with %s", p, what, check.Describe(a.PendingExchange))
	case p.Nonexistent && !a.IsHeaderMismatch():
		t.NotObserved(p.String()+" was refused as one that names nothing that exists",
			"offer a resource, a prompt or a read-only tool, or allow a tool: --allow-tools NAME,…")
	}
}

// ExpectServed posts a request whose headers are right. One that names nothing that
// exists shows something only if the server validates these headers first.
func ExpectServed(t *check.T, what string, p Posting, edits ...check.Edit) {
	a := RequireAvailable(t, p.Post(t, edits...))
	switch {
	case a.IsHeaderMismatch(), !p.Nonexistent && !a.IsServed():
		t.Fail("a result", check.Describe(a.PendingExchange), "%s %s was answered with %s", p, what,
			check.Describe(a.PendingExchange))
	case p.Nonexistent && !p.Post(t, check.Without("Mcp-Name")).IsHeaderMismatch():
		t.NotObserved(p.String()+" was refused as one that names nothing that exists",
			"offer a resource, a prompt or a read-only tool, or allow a tool: --allow-tools NAME,…")
	}
}

var Discovery = Posting{Method: "server/discover"}

var namedPostingsKey = check.NewKey[[]Posting]("named postings")

// NamedPostings returns requests that repeat a name in Mcp-Name: one for each method
// that the server served just now. If the server has tools and none may be called, one
// request calls a tool that does not exist.
func NamedPostings(t *check.T) []Posting {
	out := check.Once(t, namedPostingsKey, func() []Posting {
		var out []Posting
		for _, of := range [][]Posting{ReadPostings(t), GetPostings(t), CallPostings(t)} {
			for _, p := range of[:min(len(of), maxRefused)] {
				if p.Post(t).IsServed() {
					out = append(out, p)
					break
				}
			}
		}
		if len(out) == 0 && t.Declares("tools") {
			out = append(out, Posting{
				Method: "tools/call", Params: check.Params{"name": offer.UnknownTool, "arguments": check.Params{}},
				Name: offer.UnknownTool, Nonexistent: true,
			})
		}
		return out
	})
	switch {
	case len(out) > 0:
		return out
	case !t.Declares("tools") && !t.Declares("resources") && !t.Declares("prompts"):
		t.NotApplicable("the server has no tools, resources or prompts")
	}
	t.NotObserved("no resource could be read, and no prompt could be got",
		"offer a resource that can be read, or a prompt without required arguments")
	return nil
}

// maxRefused bounds the requests of a method that may be refused until one is served.
const maxRefused = 3

// ReadPostings returns a request for each listed resource.
func ReadPostings(t *check.T) (out []Posting) {
	for _, r := range usage.Entries(t, offer.ResourcesList) {
		uri := r.Get("uri").Str
		out = append(out, Posting{Method: "resources/read", Params: check.Params{"uri": uri}, Name: uri})
	}
	return out
}

// GetPostings returns a request for each listed prompt without required arguments.
func GetPostings(t *check.T) (out []Posting) {
	for _, p := range usage.Entries(t, offer.PromptsList) {
		if name := p.Get("name").Str; !usage.RequiresArguments(p) {
			out = append(out, Posting{Method: "prompts/get", Params: check.Params{"name": name}, Name: name})
		}
	}
	return out
}

// CallPostings returns the calls of the tools that were called before: those that only
// read first, the quickest first.
func CallPostings(t *check.T) (out []Posting) {
	if !t.Declares("tools") {
		return nil
	}
	results := slices.Clone(toolcalls.Calls(t).Results)
	slices.SortStableFunc(results, func(a, b toolcalls.Call) int {
		if offer.IsReadOnly(a.Tool) != offer.IsReadOnly(b.Tool) {
			return map[bool]int{true: -1, false: 1}[offer.IsReadOnly(a.Tool)]
		}
		return int(a.Took - b.Took)
	})
	for _, c := range results {
		if !offer.RequiresTask(t, c.Tool) {
			out = append(out, CallPosting(c.Tool, c.Args))
		}
	}
	return out
}

// CallPosting returns a call of a tool with arguments given as JSON.
func CallPosting(tool gjson.Result, args string) Posting {
	p := Posting{
		Method: "tools/call", Params: offer.CallParams(tool, args), Name: tool.Get("name").String(),
		header: map[string]string{},
	}
	for _, m := range MirroredArguments(tool) {
		if v := m.Value(gjson.Parse(args)); v.Exists() && v.Type != gjson.Null && v.Type != gjson.JSON {
			p.header[m.Header] = transport.EncodeFieldValue(HeaderValue(v))
		}
	}
	return p
}

// HandshakeSupport says which revisions of the handshake era a server over HTTP speaks.
type HandshakeSupport struct {
	Served               bool // it answers initialize with a result
	WithoutVersionHeader bool // one of those without MCP-Protocol-Version
}

var handshakeKey = check.NewKey[HandshakeSupport]("other eras")

// ProbeHandshake sends initialize, as a client of the handshake era does, for the
// newest revision of that era and for those that have no version header.
func ProbeHandshake(t *check.T) HandshakeSupport {
	return check.Once(t, handshakeKey, func() (e HandshakeSupport) {
		for _, rev := range []spec.Revision{spec.Handshake.Newest(), spec.V2025_03_26, spec.V2024_11_05} {
			raw := wire.EncodeCall(t.NextID(), "initialize", check.InitializeParams(string(rev)))
			x := t.HTTP().Post(string(raw), check.Without("Mcp-Protocol-Version"), check.Without("Mcp-Method"))
			m, _ := t.HTTP().Response(x)
			if id := x.Header.Get("Mcp-Session-Id"); id != "" {
				_, _ = t.HTTP().TryRequest("DELETE", check.With("Mcp-Session-Id", id),
					check.With("Mcp-Protocol-Version", m.Result().Get("protocolVersion").String()))
			}
			if m.Kind != wire.Result {
				if rev == spec.Handshake.Newest() {
					return e
				}
				continue
			}
			e.Served = true
			agreed := spec.Revision(m.Result().Get("protocolVersion").String())
			if spec.Every.Has(agreed) && !agreed.Facts().VersionHeader && !agreed.Facts().Stateless {
				e.WithoutVersionHeader = true
			}
		}
		return e
	})
}

// RawMessages returns the messages in a raw response.
func RawMessages(r *check.RawReply) (out []wire.Message) {
	if kind, _, _ := bytes.Cut([]byte(r.Header.Get("Content-Type")), []byte(";")); string(kind) != "text/event-stream" {
		return wire.Parse(r.Body).Elements()
	}
	events := transport.NewEventReader(bytes.NewReader(r.Body), transport.DefaultLineLimit)
	for {
		f, err := events.Next()
		if len(f.Raw) > 0 {
			out = append(out, f.Message().Elements()...)
		}
		if err != nil {
			return out
		}
	}
}

// EditArguments returns arguments with the value at a path replaced, or removed if
// value is nil.
func EditArguments(args string, path []string, value any) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader([]byte(args)))
	d.UseNumber()
	var all map[string]any
	if err := d.Decode(&all); err != nil && err != io.EOF {
		return json.RawMessage(args)
	}
	at := all
	for _, member := range path[:len(path)-1] {
		inner, ok := at[member].(map[string]any)
		if !ok {
			return json.RawMessage(args)
		}
		at = inner
	}
	if last := path[len(path)-1]; value == nil {
		delete(at, last)
	} else {
		at[last] = value
	}
	return check.MustJSON(all)
}
