package server

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

const subscriptionIDPath = `_meta.io\.modelcontextprotocol/subscriptionId`

// subscribe opens a subscription and returns the filter that the server acknowledged.
func (p *testClient) subscribe(id, filter string) string {
	p.t.Helper()
	const format = `{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":%s}`
	p.send(format, id, p.params("{}", `"notifications":`+filter))
	m := p.nextMessage()
	if m.Method() != "notifications/subscriptions/acknowledged" || m.Params().Get(subscriptionIDPath).Raw != id {
		p.t.Fatalf("the first message of the subscription %s is %s", id, m.Raw)
	}
	return m.Params().Get("notifications").Raw
}

// wantSubscribed opens a subscription and checks the filter that the server
// acknowledged.
func (p *testClient) wantSubscribed(id, filter, want string) {
	p.t.Helper()
	if got := p.subscribe(id, filter); got != want {
		p.t.Errorf("the server acknowledged %s of %s, want %s", got, filter, want)
	}
}

// notificationsOf calls a tool and returns the notifications before its answer: the
// method, the id of the subscription and the URI of each.
func (p *testClient) notificationsOf(tool, args string) []string {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":"tell","method":"tools/call","params":%s}`, p.params("{}", callParams(tool, args)))
	var out []string
	for m := p.nextMessage(); ; m = p.nextMessage() {
		if m.IsResponse() {
			wantResult(p.t, m)
			return out
		}
		notification := strings.TrimPrefix(m.Method(), "notifications/")
		if id := m.Params().Get(subscriptionIDPath); id.Exists() {
			notification += " to " + id.Raw
		}
		if uri := m.Params().Get("uri"); uri.Exists() {
			notification += " " + uri.String()
		}
		out = append(out, notification)
	}
}

// wantNotifications calls a tool and checks the notifications before its answer.
func (p *testClient) wantNotifications(tool, args string, want ...string) {
	p.t.Helper()
	if got := p.notificationsOf(tool, args); !slices.Equal(got, want) {
		p.t.Errorf("%s %s sent the notifications %q, want %q", tool, args, got, want)
	}
}

func TestSubscriptionsFilterAndTag(t *testing.T) {
	p := openSession(t, spec.V2026_07_28, "{}", Options{})
	p.wantNotifications("set_reading_room", `{"open":true}`) // none without a subscription
	p.wantSubscribed(`"lists"`, `{"toolsListChanged":true,"promptsListChanged":false,"unknown":true}`,
		`{"toolsListChanged":true}`)
	uris := `{"resourceSubscriptions":["library://books/b1","library://books/b99"]}`
	p.wantSubscribed(`7`, uris, uris)
	p.wantSubscribed(`8`, `{}`, `{}`)
	p.wantNotifications("set_reading_room", `{"open":false}`, `tools/list_changed to "lists"`)
	p.wantNotifications("borrow_book", `{"book":"b1","reader":"ada"}`, `resources/updated to 7 library://books/b1`)
	p.wantNotifications("borrow_book", `{"book":"b2","reader":"ada"}`)
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	p.wantNotifications("return_book", `{"book":"b1"}`)
	p.wantNotifications("set_reading_room", `{"open":true}`, `tools/list_changed to "lists"`)
}

func TestRefusesInvalidFilters(t *testing.T) {
	p := openSession(t, spec.V2026_07_28, "{}", Options{})
	for _, members := range []string{
		``, `"notifications":[]`, `"notifications":{"toolsListChanged":"yes"}`,
		`"notifications":{"resourceSubscriptions":"x"}`, `"notifications":{"resourceSubscriptions":[5]}`,
	} {
		wantCode(t, p.request("subscriptions/listen", members), -32602)
	}
}

func TestIgnoresUndeclaredFilters(t *testing.T) {
	p := openSession(t, spec.V2026_07_28, "{}", Options{ChangeFeatures: func(l *Features) {
		l.Capabilities["tools"], l.Capabilities["resources"] = Object{}, Object{"subscribe": false}
	}})
	p.wantSubscribed(`1`,
		`{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["library://books/b1"]}`,
		`{"promptsListChanged":true}`)
}

func TestClosesSubscriptionsAtEnd(t *testing.T) {
	p := openSession(t, spec.V2026_07_28, "{}", Options{})
	p.subscribe(`"s"`, `{"toolsListChanged":true}`)
	p.stream.CloseInput()
	if m := p.nextMessage(); m.Method() != "notifications/cancelled" || m.Params().Get("requestId").Raw != `"s"` ||
		m.Params().Get(subscriptionIDPath).Raw != `"s"` {
		t.Errorf("received %s, want the cancellation of the subscription", m.Raw)
	}
	m := wantResult(t, p.nextMessage())
	if !m.ID().Equal(wire.StringID("s")) || m.Result().Get(subscriptionIDPath).Raw != `"s"` ||
		m.Result().Get("resultType").String() != "complete" {
		t.Errorf("received %s, want the result of the subscription", m.Raw)
	}
	p.wantEnd()
}

func TestNotifiesSessionAndSubscription(t *testing.T) {
	p := openSession(t, spec.V2025_11_25, "{}", Options{})
	p.revision = spec.V2026_07_28
	p.subscribe(`1`, `{"promptsListChanged":true}`)
	p.wantNotifications("set_reading_room", `{"open":true}`,
		"tools/list_changed", "prompts/list_changed", "prompts/list_changed to 1", "resources/list_changed")
}

func TestAnswersConcurrentRequestsOnce(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		const n = 200
		const format = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`
		go func() {
			for i := range n {
				params := p.params("{}", callParams("stocktake", fmt.Sprintf(`{"duration_ms":%d}`, i%7)))
				if err := p.stream.WriteLine(t.Context(), fmt.Appendf(nil, format, i, params)); err != nil {
					t.Error(err)
				}
			}
		}()
		seen := map[string]bool{}
		for range n {
			m := wantResult(t, p.nextMessage())
			if seen[m.ID().Key()] {
				t.Errorf("id %s is answered twice", m.ID())
			}
			seen[m.ID().Key()] = true
		}
	})
}
