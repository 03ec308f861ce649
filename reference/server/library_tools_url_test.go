package server

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func TestURLElicitationRequiresCapability(t *testing.T) {
	tools := []string{"read_archive", "renew_card"}
	for _, client := range []string{`{}`, `{"elicitation":{}}`, `{"elicitation":{"form":{}}}`} {
		for _, tool := range tools {
			p := openSession(t, spec.V2025_11_25, client, Options{})
			wantToolError(t, p.request("tools/call", callParams(tool, `{}`)))
		}
		p := openSession(t, spec.V2026_07_28, client, Options{})
		m := p.requestAs(client, "tools/call", callParams("read_archive", `{}`))
		wantRequired(t, m, `{"elicitation":{"url":{}}}`)
	}
	eachRevision(t, spec.Until(spec.V2025_06_18), func(t *testing.T, rev spec.Revision) {
		for _, tool := range tools {
			p := openSession(t, rev, fullCapabilities, Options{})
			wantCode(t, p.request("tools/call", callParams(tool, `{}`)), spec.InvalidParams)
		}
	})
}

// checkURLElicitation checks the params of an elicitation in URL mode and returns
// its id.
func checkURLElicitation(t *testing.T, raw string, members string) string {
	t.Helper()
	if got := memberNames(t, raw); got != members {
		t.Errorf("the members are %s, want %s: %s", got, members, raw)
	}
	o := unmarshal(t, raw)
	u, err := url.Parse(stringOf(o["url"]))
	if err != nil || u.Scheme != "https" || !strings.HasSuffix(u.Host, ".example") ||
		stringOf(o["message"]) == "" || o["mode"] != "url" {
		t.Errorf("not an elicitation in URL mode: %s", raw)
	}
	return stringOf(o["elicitationId"])
}

func TestURLElicitationCompletes(t *testing.T) {
	var ids []string
	for _, c := range []struct {
		action    string
		completes bool
	}{{"accept", true}, {"decline", false}, {"cancel", false}} {
		p := openSession(t, spec.V2025_11_25, `{"elicitation":{"url":{}}}`, Options{})
		request := p.startCall(callParams("read_archive", `{}`))
		id := checkURLElicitation(t, request.Params().Raw, "elicitationId message mode url")
		ids = append(ids, id)
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"action":%q}}`, request.ID(), c.action)
		m := p.nextMessage()
		if completes := m.Method() == "notifications/elicitation/complete"; completes != c.completes {
			t.Errorf("after %s received %s", c.action, m.Raw)
		} else if completes {
			if got := m.Params().Get("elicitationId").String(); got != id {
				t.Errorf("the elicitation %s is complete, want %s", got, id)
			}
			m = p.nextMessage()
		}
		wantToolSuccess(t, m)
		if strings.Contains(m.Result().Raw, "Ledger") != c.completes {
			t.Errorf("after %s the result is %s", c.action, m.Raw)
		}
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != 3 {
		t.Errorf("the ids are not unique: %v", ids)
	}
}

func TestStatelessURLElicitationHasNoID(t *testing.T) {
	p := openSession(t, spec.V2026_07_28, "{}", Options{})
	params := callParams("read_archive", `{}`)
	r := wantInputRequired(t, p.requestAs(fullCapabilities, "tools/call", params))
	checkURLElicitation(t, r.Get("inputRequests.rules.params").Raw, "message mode url")
	m := p.retry(params, r.Get("requestState").String(), `{"rules":{"action":"accept"}}`)
	if !strings.Contains(m.Result().Raw, "Ledger") {
		t.Errorf("the result lacks the page of the archive: %s", m.Raw)
	}
	wantCode(t, p.requestAs(fullCapabilities, "tools/call", callParams("renew_card", `{}`)), spec.InvalidParams)
}

func TestRefusesCallUntilURLElicitation(t *testing.T) {
	p := openSession(t, spec.V2025_11_25, fullCapabilities, Options{})
	m := p.request("tools/call", callParams("renew_card", `{}`))
	wantCode(t, m, spec.LegacyURLElicitationError)
	list := m.Error().Get("data.elicitations").Array()
	if len(list) != 1 {
		t.Fatalf("the error has %d elicitations, want 1: %s", len(list), m.Raw)
	}
	id := checkURLElicitation(t, list[0].Raw, "elicitationId message mode url")
	for _, completed := range []string{id, ""} {
		from := len(p.received)
		wantResult(t, p.request("tools/call", callParams("renew_card", `{}`)))
		isCompletion := func(m wire.Message) bool { return m.Method() == "notifications/elicitation/complete" }
		got := ""
		if i := slices.IndexFunc(p.received[from:], isCompletion); i >= 0 {
			got = p.received[from+i].Params().Get("elicitationId").String()
		}
		if got != completed {
			t.Errorf("the elicitation %q is complete, want %q: %v", got, completed, p.received[from:])
		}
	}
	// Another session has another user.
	m = openSession(t, spec.V2025_11_25, fullCapabilities, Options{}).
		request("tools/call", callParams("renew_card", `{}`))
	wantCode(t, m, spec.LegacyURLElicitationError)
}
