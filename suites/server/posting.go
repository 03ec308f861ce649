package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A posting is a request over HTTP that the server serves as long as its
// headers repeat it rightly, so that a refusal is for the headers.
type posting struct {
	method string
	params check.Params
	name   string            // that Mcp-Name repeats, "" for none
	header map[string]string // that repeat arguments
	// vain: it names what does not exist, and is refused for that in any case.
	vain bool
}

func (p posting) String() string {
	if p.name == "" {
		return p.method
	}
	return fmt.Sprintf("%s of %q", p.method, wire.Clip(p.name, 80))
}

// A posted is the answer to a posting.
type posted struct {
	*check.Exchange
	answer wire.Message // the response; the zero message if none came
}

// post sends the request, its headers changed by the edits.
func (p posting) post(t *check.T, edits ...check.Edit) posted {
	var own []check.Edit
	for name, value := range p.header {
		own = append(own, check.With(name, value))
	}
	x := t.Post(t.Frame(t.NextID(), p.method, p.params), append(own, edits...)...)
	m, _ := t.Response(x)
	return posted{x, m}
}

func (p posted) served() bool  { return p.answer.Kind == wire.Result }
func (p posted) refused() bool { return p.answer.Kind == wire.Error || p.Status >= 400 }

// mismatched tells whether the answer is that headers do not match the body.
func (p posted) mismatched() bool {
	code, _ := p.answer.Code()
	return code == spec.HeaderMismatch
}

// unavailable tells whether a status says that the server, or what stands
// before it, serves nothing just now. Any other is an answer to the request,
// since one like it was served.
func unavailable(status int) bool {
	switch status {
	case http.StatusTooManyRequests, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	}
	return false
}

// available ends the body where nothing is said of the request.
func available(t *check.T, p posted) posted {
	sayingSomething(t, p.Exchange)
	return p
}

// sayingSomething does the same for an exchange: what stands before a server may
// answer for it at any time.
func sayingSomething(t *check.T, x *check.Exchange) *check.Exchange {
	if unavailable(x.Status) {
		t.NotObserved("a request was answered with "+check.Told(x), "")
	}
	return x
}

// ofTheServer ends the body where a refusal without a message may be of what stands
// before the server: intermediaries need not give an error of JSON-RPC, and choose
// the status (basic/transports/streamable-http#server-validation). Nothing stands
// before a server on the loopback interface.
func ofTheServer(t *check.T, a posted) posted {
	if a.Status >= 400 && a.answer.Kind == wire.Invalid && !t.OnLoopback() {
		t.NotObserved("what stands before the server may have refused the request, which was answered with "+check.Told(a.Exchange), "give a URL with localhost or 127.0.0.1")
	}
	return a
}

// expectRefused posts a request whose headers are wrong.
func expectRefused(t *check.T, what string, p posting, edits ...check.Edit) {
	switch a := available(t, p.post(t, edits...)); {
	case !a.refused():
		t.Fail("HTTP status 400 and error -32020", check.Told(a.Exchange), "%s %s was not refused, but answered with %s", p, what, check.Told(a.Exchange))
	case p.vain && !a.mismatched():
		t.NotObserved(p.String()+" was refused as one that names nothing that exists", "--allow-tools NAME,… allows tools that are not read-only")
	}
}

// expectServed posts a request whose headers are right. One in vain shows
// something only if the server looks at these headers first.
func expectServed(t *check.T, what string, p posting, edits ...check.Edit) {
	a := available(t, p.post(t, edits...))
	switch {
	case a.mismatched(), !p.vain && !a.served():
		t.Fail("a result", check.Told(a.Exchange), "%s %s was answered with %s", p, what, check.Told(a.Exchange))
	case p.vain && !p.post(t, check.Without("Mcp-Name")).mismatched():
		t.NotObserved(p.String()+" was refused as one that names nothing that exists", "--allow-tools NAME,… allows tools that are not read-only")
	}
}

var discovery = posting{method: "server/discover"}

// namedPostings returns requests that repeat a name in Mcp-Name: one for each
// method that has something to be asked for, and was served just now. Where
// there are tools and none that may be called, one calls a tool that does not
// exist.
func namedPostings(t *check.T) []posting {
	out := check.Memo(t, "named postings", func() []posting {
		var out []posting
		for _, of := range [][]posting{readings(t), gettings(t), callings(t)} {
			for _, p := range of[:min(len(of), maxRefused)] {
				if p.post(t).served() {
					out = append(out, p)
					break
				}
			}
		}
		if len(out) == 0 && t.Declares("tools") {
			out = append(out, posting{method: "tools/call", params: check.Params{"name": noSuchTool, "arguments": check.Params{}}, name: noSuchTool, vain: true})
		}
		return out
	})
	switch {
	case len(out) > 0:
		return out
	case !t.Declares("tools") && !t.Declares("resources") && !t.Declares("prompts"):
		t.NotApplicable("the server has no tools, resources or prompts")
	}
	t.NotObserved("no resource could be read, and no prompt be got", "")
	return nil
}

// maxRefused bounds the requests of a method that may be refused until one is served.
const maxRefused = 3

func readings(t *check.T) (out []posting) {
	for _, r := range knownEntries(t, resourcesList) {
		uri := r.Get("uri").Str
		out = append(out, posting{method: "resources/read", params: check.Params{"uri": uri}, name: uri})
	}
	return out
}

func gettings(t *check.T) (out []posting) {
	for _, p := range knownEntries(t, promptsList) {
		if name := p.Get("name").Str; !requiresArguments(p) {
			out = append(out, posting{method: "prompts/get", params: check.Params{"name": name}, name: name})
		}
	}
	return out
}

// callings calls the tools that were called before, the quickest first.
func callings(t *check.T) (out []posting) {
	if !t.Declares("tools") {
		return nil
	}
	results := slices.Clone(called(t).results)
	slices.SortStableFunc(results, func(a, b toolCall) int {
		if readOnly(a.tool) != readOnly(b.tool) {
			return map[bool]int{true: -1, false: 1}[readOnly(a.tool)]
		}
		return int(a.took - b.took)
	})
	for _, c := range results {
		if !onlyAsTask(t, c.tool) {
			out = append(out, calling(c.tool, c.args))
		}
	}
	return out
}

// calling is a call of a tool with arguments given as JSON.
func calling(tool gjson.Result, args string) posting {
	p := posting{method: "tools/call", params: callParams(tool, args), name: tool.Get("name").String(), header: map[string]string{}}
	for _, m := range mirroredArguments(tool) {
		if v := m.of(gjson.Parse(args)); v.Exists() && v.Type != gjson.Null && v.Type != gjson.JSON {
			p.header[m.header] = transport.FieldValue(written(v))
		}
	}
	return p
}

// eras is which revisions of the handshake era a server over HTTP speaks.
type eras struct {
	handshake bool // it answers initialize with a result
	headless  bool // one of those without MCP-Protocol-Version
}

// otherEras asks by initialize, as a client of the handshake era would, for its
// newest revision and for those that have no version header.
func otherEras(t *check.T) eras {
	return check.Memo(t, "other eras", func() (e eras) {
		for _, rev := range []spec.Revision{spec.Handshake.Newest(), spec.V2025_03_26, spec.V2024_11_05} {
			raw := session.Frame(t.NextID(), "initialize", greeting(string(rev)))
			x := t.Post(string(raw), check.Without("Mcp-Protocol-Version"), check.Without("Mcp-Method"))
			m, _ := t.Response(x)
			if id := x.Header.Get("Mcp-Session-Id"); id != "" {
				_, _ = t.TryAsk("DELETE", check.With("Mcp-Session-Id", id), check.With("Mcp-Protocol-Version", m.Result().Get("protocolVersion").String()))
			}
			if m.Kind != wire.Result {
				if rev == spec.Handshake.Newest() {
					return e
				}
				continue
			}
			e.handshake = true
			agreed := spec.Revision(m.Result().Get("protocolVersion").String())
			e.headless = e.headless || spec.Every.Has(agreed) && !agreed.Facts().VersionHeader && !agreed.Facts().Stateless
		}
		return e
	})
}

// rawMessages returns the messages of an answer to bytes, as far as they came.
func rawMessages(r *check.RawReply) (out []wire.Message) {
	if kind, _, _ := bytes.Cut([]byte(r.Header.Get("Content-Type")), []byte(";")); string(kind) != "text/event-stream" {
		return wire.Parse(r.Body).Elements()
	}
	events := transport.NewEventReader(bytes.NewReader(r.Body), transport.DefaultLineLimit)
	for {
		e, err := events.Next()
		if len(e.Data) > 0 {
			out = append(out, wire.Parse(e.Data).Elements()...)
		}
		if err != nil {
			return out
		}
	}
}

// edited returns arguments with the value at a path replaced, or left out where
// it is nil.
func edited(args string, path []string, value any) json.RawMessage {
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
	return mustJSON(all)
}
