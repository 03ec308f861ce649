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

// asking are tools that need input: arguments, request, capability.
var inputTools = map[string][3]string{
	"suggest_reading": {`{"mood":"foggy"}`, "sampling/createMessage", "sampling"},
	"check_file":      {`{"uri":"file:///home/reader/list.txt"}`, "roots/list", "roots"},
	"register_reader": {`{}`, "elicitation/create", "elicitation"},
}

func TestSendsRequestsForDeclaredCapabilities(t *testing.T) {
	eachRevision(t, spec.Handshake, func(t *testing.T, rev spec.Revision) {
		for name, c := range inputTools {
			members := callParams(name, c[0])
			if !slices.Contains(rev.Facts().ServerRequests, c[1]) {
				wantCode(t, openSession(t, rev, fullCapabilities, Options{}).request("tools/call", members), -32602)
				continue
			}
			if m := openSession(t, rev, "{}", Options{}).request("tools/call", members); !wantResult(t, m).Result().Get("isError").Bool() {
				t.Errorf("%s without the capability: %s", name, m.Raw)
			}
			p := openSession(t, rev, fullCapabilities, Options{})
			m := p.requestAnswering("tools/call", members)
			var asked []string
			for _, s := range p.received {
				if s.Kind == wire.Request {
					asked = append(asked, s.Method())
				}
			}
			if len(asked) != 1 || asked[0] != c[1] || wantResult(t, m).Result().Get("isError").Bool() {
				t.Errorf("%s asked %v: %s", name, asked, m.Raw)
			}
		}
	})
}

func TestSendsNoRequestBeforeInitialized(t *testing.T) {
	p := startServer(t, Options{})
	p.send(
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":%s,"clientInfo":{"name":"t","version":"1"}}}`,
		fullCapabilities,
	)
	p.nextMessage()
	if m := p.request("tools/call", callParams("check_file", inputTools["check_file"][0])); !m.Result().Get("isError").Bool() {
		t.Errorf("got %s", m.Raw)
	}
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
		p := openSession(t, spec.V2025_11_25, fullCapabilities, Options{})
		p.send(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s}}`,
			callParams(c.tool, inputTools[c.tool][0]),
		)
		p.send(`{"jsonrpc":"2.0","id":%s,%s}`, p.nextMessage().ID(), c.answer)
		if m := p.nextMessage(); !wantResult(t, m).Result().Get("isError").Bool() {
			t.Errorf("%s answered with %s: %s", c.tool, c.answer, m.Raw)
		}
	}
}

func TestDeclinedFormIsNoError(t *testing.T) {
	p := openSession(t, spec.V2025_06_18, fullCapabilities, Options{})
	p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s}}`, callParams("register_reader", `{}`))
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, p.nextMessage().ID())
	if m := p.nextMessage(); m.Result().Get("isError").Bool() {
		t.Errorf("got %s", m.Raw)
	}
}

func TestCancelsClientRequest(t *testing.T) {
	t.Run("in time", func(t *testing.T) {
		p := openSession(t, spec.V2025_06_18, fullCapabilities, Options{Patience: 20 * time.Millisecond})
		p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s}}`, callParams("register_reader", `{}`))
		asked := p.nextMessage()
		if m := p.nextMessage(); m.Method() != "notifications/cancelled" ||
			m.Params().Get("requestId").Raw != asked.ID().Raw {
			t.Errorf("got %s", m.Raw)
		}
		if m := p.nextMessage(); !m.Result().Get("isError").Bool() {
			t.Errorf("got %s", m.Raw)
		}
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"action":"decline"}}`, asked.ID()) // too late
		wantResult(t, p.request("ping"))
	})
	t.Run("with its call", func(t *testing.T) {
		p := openSession(t, spec.V2025_06_18, fullCapabilities, Options{})
		p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s}}`, callParams("register_reader", `{}`))
		asked := p.nextMessage()
		p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
		if m := p.nextMessage(); m.Method() != "notifications/cancelled" ||
			m.Params().Get("requestId").Raw != asked.ID().Raw {
			t.Errorf("got %s", m.Raw)
		}
		wantResult(t, p.request("ping"))
	})
}

func TestKeepsRootsUntilChange(t *testing.T) {
	p := openSession(t, spec.V2025_11_25, `{"roots":{"listChanged":true}}`, Options{})
	check := func(uri string) gjson.Result {
		return p.requestAnswering("tools/call", callParams("check_file", fmt.Sprintf(`{"uri":%q}`, uri))).Result()
	}
	if r := check("file:///home/reader/list.txt"); r.Get("isError").Bool() {
		t.Errorf("inside: %s", r.Raw)
	}
	for _, uri := range []string{
		"file:///home/readers/list.txt", "file:///home/reader/../other", "file:///home/reader/%2e%2e/other",
	} {
		if r := check(uri); !r.Get("isError").Bool() {
			t.Errorf("%s: %s", uri, r.Raw)
		}
	}
	asked := func() (n int) {
		for _, m := range p.received {
			if m.Method() == "roots/list" {
				n++
			}
		}
		return n
	}
	if n := asked(); n != 1 {
		t.Errorf("%d times asked for the roots, want once", n)
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
	m := p.nextMessage()
	if m.Method() != "roots/list" {
		t.Fatalf("got %s", m.Raw)
	}
	p.send(`{"jsonrpc":"2.0","id":%s,"result":{"roots":[]}}`, m.ID())
	wantResult(t, p.request("ping"))
	deadline := time.Now().Add(testTimeout)
	for !check("file:///home/reader/list.txt").Get("isError").Bool() {
		if time.Now().After(deadline) {
			t.Fatal("the change is not noticed")
		}
	}
}

// modern is a stateless request by hand.
func statelessLine(id int, client, method, members string) string {
	return fmt.Sprintf(
		`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s,%s}}`, id, method, members, statelessMeta(client),
	)
}

func TestStatelessCallAsksByInputRequired(t *testing.T) {
	p := openSession(t, spec.V2026_07_28, "{}", Options{})
	for name, c := range inputTools {
		p.send("%s", statelessLine(1, "{}", "tools/call", callParams(name, c[0])))
		m := p.nextMessage()
		wantCode(t, m, -32021)
		if got := m.Error().Get("data.requiredCapabilities").Raw; got != `{"`+c[2]+`":{}}` {
			t.Errorf("%s requires %s", name, got)
		}
		p.send("%s", statelessLine(2, fullCapabilities, "tools/call", callParams(name, c[0])))
		r := wantResult(t, p.nextMessage()).Result()
		if got := memberNames(t, r.Raw); got != "_meta inputRequests requestState resultType" ||
			r.Get("resultType").String() != "input_required" {
			t.Errorf("%s: %s", name, r.Raw)
		}
		r.Get("inputRequests").ForEach(func(_, v gjson.Result) bool {
			if v.Get("method").String() != c[1] || v.Get("id").Exists() || v.Get("jsonrpc").Exists() {
				t.Errorf("%s asks %s", name, v.Raw)
			}
			return true
		})
		if m := p.requestAnswering("tools/call", callParams(name, c[0])); m.Result().Get("resultType").String() != "complete" || m.Result().Get("isError").Bool() {
			t.Errorf("%s: %s", name, m.Raw)
		}
	}
	// An empty elicitation capability means forms; one with url alone does not.
	p.send("%s", statelessLine(3, `{"elicitation":{"url":{}}}`, "tools/call", callParams("register_reader", `{}`)))
	wantCode(t, p.nextMessage(), -32021)
	// Prompts and resources ask in the same way; what is interim is not cacheable.
	p.send("%s", statelessLine(4, fullCapabilities, "resources/read", `"uri":"library://desk/visitors-book"`))
	if r := wantResult(t, p.nextMessage()).Result(); memberNames(t, r.Raw) != "_meta inputRequests requestState resultType" {
		t.Errorf("got %s", r.Raw)
	}
	if r := p.requestAnswering("prompts/get", `"name":"welcome_letter"`).Result(); !strings.Contains(r.Get("messages.0.content.text").String(), "Ada") {
		t.Errorf("got %s", r.Raw)
	}
}

func TestInputRequiredRetries(t *testing.T) {
	key := []byte("a key of two instances")
	p, other := openSession(t, spec.V2026_07_28, "{}", Options{
		StateKey: key,
	}), openSession(t, spec.V2026_07_28, "{}", Options{StateKey: key})
	visit := callParams("plan_visit", `{}`)
	p.send("%s", statelessLine(1, fullCapabilities, "tools/call", visit))
	state := wantResult(t, p.nextMessage()).Result().Get("requestState").String()
	try := func(on *testClient, members, state, responses string) wire.Message {
		t.Helper()
		on.send(
			"%s",
			statelessLine(2, fullCapabilities, "tools/call", fmt.Sprintf(`%s,"requestState":%q,"inputResponses":%s`, members, state, responses)),
		)
		return on.nextMessage()
	}
	const day, company = `"day":{"action":"accept","content":{"day":"2026-05-01"}}`, `"company":{"action":"accept","content":{"people":2}}`

	t.Run("by another instance, with more than was asked for", func(t *testing.T) {
		if m := try(other, visit, state, `{`+day+`,`+company+`,"extra":{}}`); wantResult(t, m).Result().Get("resultType").String() != "complete" {
			t.Errorf("got %s", m.Raw)
		}
	})
	t.Run("in two steps", func(t *testing.T) {
		r := wantResult(t, try(p, visit, state, `{`+day+`}`)).Result()
		if got := memberNames(t, r.Get("inputRequests").Raw); got != "company" {
			t.Errorf("it asks again for %s", got)
		}
		if m := try(other, visit, r.Get("requestState").String(), `{`+company+`}`); m.Result().Get("resultType").String() != "complete" {
			t.Errorf("got %s", m.Raw)
		}
	})
	t.Run("with state that is not ours", func(t *testing.T) {
		body, signature, _ := strings.Cut(state, ".")
		raw, _ := base64.RawURLEncoding.DecodeString(body)
		altered := base64.RawURLEncoding.EncodeToString(
			[]byte(strings.Replace(string(raw), `"until":1`, `"until":9`, 1)),
		)
		for _, bad := range []string{
			"", "x", state + "x", state[1:], body, "." + signature, altered + "." + signature,
			strings.Repeat("A", 100_000),
		} {
			wantCode(t, try(p, visit, bad, `{`+day+`,`+company+`}`), -32602)
		}
		wantCode(t, try(openSession(t, spec.V2026_07_28, "{}", Options{}), visit, state, `{}`), -32602)
	})
	t.Run("of another request", func(t *testing.T) {
		wantCode(t, try(p, callParams("register_reader", `{}`), state, `{}`), -32602)
		wantCode(t, try(p, callParams("opening_hours", `{}`), state, `{}`), -32602)
	})
	t.Run("with answers that are none", func(t *testing.T) {
		for _, bad := range []string{
			`[]`, `"x"`, `{"day":5}`, `{"day":{"action":"perhaps"}}`,
			`{"day":{"action":"accept","content":{"day":5}}}`,
		} {
			wantCode(t, try(p, visit, state, bad), -32602)
		}
	})
	t.Run("out of the blue", func(t *testing.T) {
		p.send(
			"%s", statelessLine(3, fullCapabilities, "tools/call", visit+`,"inputResponses":{`+day+`,`+company+`}`),
		)
		if m := p.nextMessage(); m.Result().Get("resultType").String() != "input_required" {
			t.Errorf("got %s", m.Raw)
		}
	})
	t.Run("too late", func(t *testing.T) {
		c := &conn{options: Options{StateKey: key}}
		r := &Request{Method: "tools/call", Modern: true, Params: Object{"name": "plan_visit"}, conn: c}
		r.Params["requestState"] = c.seal(requestState{
			Digest: r.digest(), Until: time.Now().Add(-time.Second).UnixMilli(),
		})
		if _, problem := r.presentedState(); problem == nil || !strings.Contains(problem.Message, "lapsed") {
			t.Errorf("got %v", problem)
		}
	})
}

func TestCapabilitiesArePerRequest(t *testing.T) {
	p := openSession(t, spec.V2026_07_28, "{}", Options{})
	p.send("%s", statelessLine(1, fullCapabilities, "tools/call", callParams("register_reader", `{}`)))
	wantResult(t, p.nextMessage())
	p.send("%s", statelessLine(2, "{}", "tools/call", callParams("register_reader", `{}`)))
	wantCode(t, p.nextMessage(), -32021)
}
