package server

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// inputTools are tools that need input, by name: their arguments, the method of the
// request and the capability that it needs.
var inputTools = map[string]struct{ arguments, method, capability string }{
	"suggest_reading": {`{"mood":"foggy"}`, "sampling/createMessage", "sampling"},
	"check_file":      {`{"uri":"file:///home/reader/list.txt"}`, "roots/list", "roots"},
	"register_reader": {`{}`, "elicitation/create", "elicitation"},
}

func TestSendsRequestsForDeclaredCapabilities(t *testing.T) {
	eachRevision(t, spec.Handshake, func(t *testing.T, rev spec.Revision) {
		for name, tool := range inputTools {
			params := callParams(name, tool.arguments)
			if !slices.Contains(rev.Facts().ServerRequests, tool.method) {
				wantCode(t, openSession(t, rev, fullCapabilities, Options{}).request("tools/call", params), -32602)
				continue
			}
			wantToolError(t, openSession(t, rev, "{}", Options{}).request("tools/call", params))
			p := openSession(t, rev, fullCapabilities, Options{})
			wantToolSuccess(t, p.requestAnswering("tools/call", params))
			var requested []string
			for _, m := range p.received {
				if m.Kind == wire.Request {
					requested = append(requested, m.Method())
				}
			}
			if len(requested) != 1 || requested[0] != tool.method {
				t.Errorf("%s sent the requests %v, want %s", name, requested, tool.method)
			}
		}
	})
}

func TestSendsNoRequestBeforeInitialized(t *testing.T) {
	p := startServer(t, Options{})
	p.send(initializeFormat, spec.V2025_06_18, fullCapabilities)
	p.nextMessage()
	wantToolError(t, p.request("tools/call", callParams("check_file", inputTools["check_file"].arguments)))
}

func TestInvalidClientAnswersFailCall(t *testing.T) {
	for _, c := range []struct{ tool, answer string }{
		{"suggest_reading", `"result":{}`},
		{"suggest_reading", `"result":{"role":"assistant","content":{"type":"text"},"model":"m"}`},
		{"suggest_reading", `"error":{"code":-1,"message":"The user said no"}`},
		{"check_file", `"result":{"roots":{}}`},
		{"check_file", `"result":{"roots":[{"name":"x"}]}`},
		{"register_reader", `"result":{"action":"perhaps"}`},
		{"register_reader", `"result":{"action":"accept"}`},
		{"register_reader", `"result":{"action":"accept","content":{"name":5}}`},
		{"register_reader", `"result":"yes"`},
	} {
		t.Run(c.tool+" "+c.answer, func(t *testing.T) {
			p := openSession(t, spec.V2025_11_25, fullCapabilities, Options{})
			request := p.startCall(callParams(c.tool, inputTools[c.tool].arguments))
			p.send(`{"jsonrpc":"2.0","id":%s,%s}`, request.ID(), c.answer)
			wantToolError(t, p.nextMessage())
		})
	}
}

func TestDeclinedFormIsNoError(t *testing.T) {
	p := openSession(t, spec.V2025_06_18, fullCapabilities, Options{})
	request := p.startCall(callParams("register_reader", `{}`))
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, request.ID())
	wantToolSuccess(t, p.nextMessage())
}

func TestCancelsClientRequest(t *testing.T) {
	wantCancelled := func(t *testing.T, m, request wire.Message) {
		t.Helper()
		if m.Method() != "notifications/cancelled" || m.Params().Get("requestId").Raw != request.ID().Raw {
			t.Errorf("received %s, want the cancellation of %s", m.Raw, request.ID())
		}
	}
	t.Run("after Options.Patience", func(t *testing.T) {
		p := openSession(t, spec.V2025_06_18, fullCapabilities, Options{Patience: 20 * time.Millisecond})
		request := p.startCall(callParams("register_reader", `{}`))
		wantCancelled(t, p.nextMessage(), request)
		wantToolError(t, p.nextMessage())
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, request.ID()) // too late
		wantResult(t, p.request("ping"))
	})
	t.Run("when its call is cancelled", func(t *testing.T) {
		p := openSession(t, spec.V2025_06_18, fullCapabilities, Options{})
		request := p.startCall(callParams("register_reader", `{}`))
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		wantCancelled(t, p.nextMessage(), request)
		wantResult(t, p.request("ping"))
	})
}

func TestKeepsRootsUntilChange(t *testing.T) {
	p := openSession(t, spec.V2025_11_25, `{"roots":{"listChanged":true}}`, Options{})
	check := func(uri string) wire.Message {
		return p.requestAnswering("tools/call", callParams("check_file", fmt.Sprintf(`{"uri":%q}`, uri)))
	}
	wantToolSuccess(t, check("file:///home/reader/list.txt"))
	for _, uri := range []string{
		"file:///home/readers/list.txt", "file:///home/reader/../other", "file:///home/reader/%2e%2e/other",
	} {
		wantToolError(t, check(uri))
	}
	requests := 0
	for _, m := range p.received {
		if m.Method() == "roots/list" {
			requests++
		}
	}
	if requests != 1 {
		t.Errorf("the server requested the roots %d times, want once", requests)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	m := p.nextMessage()
	if m.Method() != "roots/list" {
		t.Fatalf("received %s, want a request for the roots", m.Raw)
	}
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[]}}`, m.ID())
	wantResult(t, p.request("ping"))
	waitUntil(t, "the server uses the changed roots", func() bool {
		return check("file:///home/reader/list.txt").Result().Get("isError").Bool()
	})
}

func TestStatelessCallAsksByInputRequired(t *testing.T) {
	p := openSession(t, spec.V2026_07_28, "{}", Options{})
	for name, tool := range inputTools {
		params := callParams(name, tool.arguments)
		wantRequired(t, p.request("tools/call", params), `{"`+tool.capability+`":{}}`)
		r := wantInputRequired(t, p.requestAs(fullCapabilities, "tools/call", params))
		r.Get("inputRequests").ForEach(func(_, v gjson.Result) bool {
			if v.Get("method").String() != tool.method || v.Get("id").Exists() || v.Get("jsonrpc").Exists() {
				t.Errorf("%s asks by %s, want %s", name, v.Raw, tool.method)
			}
			return true
		})
		wantToolSuccess(t, p.requestAnswering("tools/call", params))
	}
	// An empty elicitation capability means forms; one with url alone does not.
	urlOnly := `{"elicitation":{"url":{}}}`
	wantCode(t, p.requestAs(urlOnly, "tools/call", callParams("register_reader", `{}`)), -32021)
	// Prompts and resources ask in the same way. An interim result has no caching hint.
	wantInputRequired(t, p.requestAs(fullCapabilities, "resources/read", `"uri":"library://desk/visitors-book"`))
	r := p.requestAnswering("prompts/get", `"name":"welcome_letter"`).Result()
	if !strings.Contains(r.Get("messages.0.content.text").String(), "Ada") {
		t.Errorf("the prompt lacks the name of the answer: %s", r.Raw)
	}
}

func TestInputRequiredRetries(t *testing.T) {
	const (
		day     = `"day":{"action":"accept","content":{"day":"2026-05-01"}}`
		company = `"company":{"action":"accept","content":{"people":2}}`
	)
	o := Options{StateKey: []byte("a key of two instances")}
	p, other := openSession(t, spec.V2026_07_28, "{}", o), openSession(t, spec.V2026_07_28, "{}", o)
	visit := callParams("plan_visit", `{}`)
	first := wantResult(t, p.requestAs(fullCapabilities, "tools/call", visit))
	state := first.Result().Get("requestState").String()

	t.Run("to another instance, with an extra response", func(t *testing.T) {
		wantToolSuccess(t, other.retry(visit, state, `{`+day+`,`+company+`,"extra":{}}`))
	})
	t.Run("in two steps", func(t *testing.T) {
		r := wantResult(t, p.retry(visit, state, `{`+day+`}`)).Result()
		if got := memberNames(t, r.Get("inputRequests").Raw); got != "company" {
			t.Errorf("the second round asks for %s, want company", got)
		}
		wantToolSuccess(t, other.retry(visit, r.Get("requestState").String(), `{`+company+`}`))
	})
	t.Run("with forged state", func(t *testing.T) {
		body, signature, _ := strings.Cut(state, ".")
		raw, _ := base64.RawURLEncoding.DecodeString(body)
		extended := strings.Replace(string(raw), `"until":1`, `"until":9`, 1)
		altered := base64.RawURLEncoding.EncodeToString([]byte(extended))
		for _, forged := range []string{
			"", "x", state + "x", state[1:], body, "." + signature, altered + "." + signature,
			strings.Repeat("A", 100_000),
		} {
			wantCode(t, p.retry(visit, forged, `{`+day+`,`+company+`}`), -32602)
		}
		wantCode(t, openSession(t, spec.V2026_07_28, "{}", Options{}).retry(visit, state, `{}`), -32602)
	})
	t.Run("with the state of another request", func(t *testing.T) {
		wantCode(t, p.retry(callParams("register_reader", `{}`), state, `{}`), -32602)
		wantCode(t, p.retry(callParams("opening_hours", `{}`), state, `{}`), -32602)
	})
	t.Run("with invalid responses", func(t *testing.T) {
		for _, invalid := range []string{
			`[]`, `"x"`, `{"day":5}`, `{"day":{"action":"perhaps"}}`,
			`{"day":{"action":"accept","content":{"day":5}}}`,
		} {
			wantCode(t, p.retry(visit, state, invalid), -32602)
		}
	})
	t.Run("without state", func(t *testing.T) {
		members := visit + `,"inputResponses":{` + day + `,` + company + `}`
		wantInputRequired(t, p.requestAs(fullCapabilities, "tools/call", members))
	})
}

func TestRefusesExpiredState(t *testing.T) {
	c := &conn{options: Options{StateKey: []byte("key")}}
	r := &Request{Method: "tools/call", Stateless: true, Params: Object{"name": "plan_visit"}, conn: c}
	r.Params["requestState"] = c.seal(requestState{
		Digest: r.digest(), Until: time.Now().Add(-time.Second).UnixMilli(),
	})
	if _, problem := r.presentedState(); problem == nil || !strings.Contains(problem.Message, "lapsed") {
		t.Errorf("the error is %v, want one about expired state", problem)
	}
}

func TestCapabilitiesArePerRequest(t *testing.T) {
	p := openSession(t, spec.V2026_07_28, "{}", Options{})
	wantResult(t, p.requestAs(fullCapabilities, "tools/call", callParams("register_reader", `{}`)))
	wantCode(t, p.request("tools/call", callParams("register_reader", `{}`)), -32021)
}
