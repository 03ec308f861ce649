package server

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

const subscriptionIDPath = `_meta.io\.modelcontextprotocol/subscriptionId`

// listening opens a stream and returns the filter that the server agreed to.
func (p *testClient) subscribe(id, filter string) gjson.Result {
	p.t.Helper()
	p.send(
		`{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":%s}`, id,
		p.params("{}", `"notifications":`+filter),
	)
	m := p.nextMessage()
	if m.Method() != "notifications/subscriptions/acknowledged" || m.Params().Get(subscriptionIDPath).Raw != id {
		p.t.Fatalf("the stream %s opens with %s", id, m.Raw)
	}
	return m.Params().Get("notifications")
}

// told calls a tool and returns what was sent before its answer.
func (p *testClient) notificationsOf(tool, args string) []string {
	p.t.Helper()
	p.send(`{"jsonrpc":"2.0","id":"tell","method":"tools/call","params":%s}`, p.params("{}", callParams(tool, args)))
	var out []string
	for m := p.nextMessage(); ; m = p.nextMessage() {
		if m.IsResponse() {
			wantResult(p.t, m)
			return out
		}
		out = append(
			out,
			strings.TrimSpace(fmt.Sprintf("%s to %s %s", strings.TrimPrefix(m.Method(), "notifications/"), m.Params().Get(subscriptionIDPath).Raw, m.Params().Get("uri"))),
		)
	}
}

func TestSubscriptionsFilterAndTag(t *testing.T) {
	p := openSession(t, spec.V2026_07_28, "{}", Options{})
	if told := p.notificationsOf("set_reading_room", `{"open":true}`); told != nil {
		t.Errorf("without a stream: %v", told)
	}
	if got := p.subscribe(`"lists"`, `{"toolsListChanged":true,"promptsListChanged":false,"unheardOf":true}`).Raw; got != `{"toolsListChanged":true}` {
		t.Errorf("agreed to %s", got)
	}
	if got := p.subscribe(`7`, `{"resourceSubscriptions":["library://books/b1","library://books/b99"]}`).Get("resourceSubscriptions").Raw; got != `["library://books/b1","library://books/b99"]` {
		t.Errorf("agreed to %s", got)
	}
	if got := p.subscribe(`8`, `{}`).Raw; got != `{}` {
		t.Errorf("agreed to %s", got)
	}
	for _, c := range []struct {
		tool, args string
		want       []string
	}{
		{"set_reading_room", `{"open":false}`, []string{`tools/list_changed to "lists"`}},
		{"borrow_book", `{"book":"b1","reader":"ada"}`, []string{`resources/updated to 7 library://books/b1`}},
		{"borrow_book", `{"book":"b2","reader":"ada"}`, nil},
	} {
		if got := p.notificationsOf(c.tool, c.args); strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s %s told %v, want %v", c.tool, c.args, got, c.want)
		}
	}
	p.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	if told := p.notificationsOf("return_book", `{"book":"b1"}`); told != nil {
		t.Errorf("after the end of stream 7: %v", told)
	}
	if told := p.notificationsOf("set_reading_room", `{"open":true}`); len(told) != 1 {
		t.Errorf("the other stream: %v", told)
	}
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
	p := openSession(t, spec.V2026_07_28, "{}", Options{Library: func(l *Library) {
		l.Capabilities["tools"], l.Capabilities["resources"] = Object{}, Object{"subscribe": false}
	}})
	if got := p.subscribe(`1`, `{"toolsListChanged":true,"promptsListChanged":true,"resourceSubscriptions":["library://books/b1"]}`).Raw; got != `{"promptsListChanged":true}` {
		t.Errorf("agreed to %s", got)
	}
}

func TestClosesSubscriptionsAtEnd(t *testing.T) {
	p := openSession(t, spec.V2026_07_28, "{}", Options{})
	p.subscribe(`"s"`, `{"toolsListChanged":true}`)
	p.stream.CloseInput()
	if m := p.nextMessage(); m.Method() != "notifications/cancelled" || m.Params().Get("requestId").Raw != `"s"` ||
		m.Params().Get(subscriptionIDPath).Raw != `"s"` {
		t.Errorf("got %s", m.Raw)
	}
	m := wantResult(t, p.nextMessage())
	if !m.ID().Equal(wire.StringID("s")) || m.Result().Get(subscriptionIDPath).Raw != `"s"` ||
		m.Result().Get("resultType").String() != "complete" {
		t.Errorf("got %s", m.Raw)
	}
	select {
	case <-p.stream.Done():
	case <-time.After(testTimeout):
		t.Error("the server lives on")
	}
}

func TestNotifiesSessionAndSubscription(t *testing.T) {
	p := openSession(t, spec.V2025_11_25, "{}", Options{})
	p.revision = spec.V2026_07_28
	p.subscribe(`1`, `{"promptsListChanged":true}`)
	got := p.notificationsOf("set_reading_room", `{"open":true}`)
	want := []string{
		"tools/list_changed to", "prompts/list_changed to", "prompts/list_changed to 1",
		"resources/list_changed to",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("told %q, want %q", got, want)
	}
}

func TestAnswersConcurrentRequestsOnce(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		const n = 200
		go func() {
			for i := range n {
				members := callParams("stocktake", fmt.Sprintf(`{"duration_ms":%d}`, i%7))
				if err := p.stream.WriteLine(t.Context(), fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":%s}`, i, p.params("{}", members))); err != nil {
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
