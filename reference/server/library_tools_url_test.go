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
	for _, client := range []string{`{}`, `{"elicitation":{}}`, `{"elicitation":{"form":{}}}`} {
		for _, tool := range []string{"read_archive", "renew_card"} {
			p := openSession(t, spec.V2025_11_25, client, Options{})
			m := p.request("tools/call", callParams(tool, `{}`))
			if !wantResult(t, m).Result().Get("isError").Bool() {
				t.Errorf("%s with the client %s: %s", tool, client, m.Raw)
			}
		}
		p := openSession(t, spec.V2026_07_28, client, Options{})
		p.send("%s", statelessLine(1, client, "tools/call", callParams("read_archive", `{}`)))
		m := p.nextMessage()
		wantCode(t, m, spec.MissingClientCapability)
		if got := m.Error().Get("data.requiredCapabilities").Raw; got != `{"elicitation":{"url":{}}}` {
			t.Errorf("with the client %s it requires %s", client, got)
		}
	}
	eachRevision(t, spec.Until(spec.V2025_06_18), func(t *testing.T, rev spec.Revision) {
		for _, tool := range []string{"read_archive", "renew_card"} {
			wantCode(
				t, openSession(t, rev, fullCapabilities, Options{}).request("tools/call", callParams(tool, `{}`)),
				spec.InvalidParams,
			)
		}
	})
}

// isVisit checks the params of an elicitation in URL mode and returns its id.
func checkURLElicitation(t *testing.T, raw string, members string) string {
	t.Helper()
	if got := memberNames(t, raw); got != members {
		t.Errorf("the members are %s, want %s: %s", got, members, raw)
	}
	o := unmarshal(t, raw)
	u, err := url.Parse(stringOf(o["url"]))
	if err != nil || u.Scheme != "https" || !strings.HasSuffix(u.Host, ".example") || stringOf(o["message"]) == "" ||
		o["mode"] != "url" {
		t.Errorf("no visit: %s", raw)
	}
	return stringOf(o["elicitationId"])
}

func TestURLElicitationCompletes(t *testing.T) {
	var ids []string
	for _, c := range []struct {
		action string
		told   bool
	}{{"accept", true}, {"decline", false}, {"cancel", false}} {
		p := openSession(t, spec.V2025_11_25, `{"elicitation":{"url":{}}}`, Options{})
		p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s}}`, callParams("read_archive", `{}`))
		asked := p.nextMessage()
		id := checkURLElicitation(t, asked.Params().Raw, "elicitationId message mode url")
		ids = append(ids, id)
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"action":%q}}`, asked.ID(), c.action)
		m := p.nextMessage()
		if told := m.Method() == "notifications/elicitation/complete"; told != c.told {
			t.Errorf("after %s: %s", c.action, m.Raw)
		} else if told {
			if got := m.Params().Get("elicitationId").String(); got != id {
				t.Errorf("the visit %s ended, want %s", got, id)
			}
			m = p.nextMessage()
		}
		if wantResult(t, m).Result().Get("isError").Bool() || strings.Contains(m.Result().Raw, "Ledger") != c.told {
			t.Errorf("after %s: %s", c.action, m.Raw)
		}
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != 3 {
		t.Errorf("ids come again: %v", ids)
	}
}

func TestStatelessURLElicitationHasNoID(t *testing.T) {
	p := openSession(t, spec.V2026_07_28, "{}", Options{})
	p.send("%s", statelessLine(1, fullCapabilities, "tools/call", callParams("read_archive", `{}`)))
	r := wantResult(t, p.nextMessage()).Result()
	checkURLElicitation(t, r.Get("inputRequests.rules.params").Raw, "message mode url")
	p.send(
		"%s",
		statelessLine(2, fullCapabilities, "tools/call", callParams("read_archive", `{}`)+`,"requestState":`+r.Get("requestState").Raw+`,"inputResponses":{"rules":{"action":"accept"}}`),
	)
	if m := p.nextMessage(); !strings.Contains(m.Result().Raw, "Ledger") {
		t.Errorf("got %s", m.Raw)
	}
	p.send("%s", statelessLine(3, fullCapabilities, "tools/call", callParams("renew_card", `{}`)))
	wantCode(t, p.nextMessage(), spec.InvalidParams)
}

func TestRefusesCallUntilURLElicitation(t *testing.T) {
	p := openSession(t, spec.V2025_11_25, fullCapabilities, Options{})
	m := p.request("tools/call", callParams("renew_card", `{}`))
	wantCode(t, m, spec.LegacyURLElicitationError)
	list := m.Error().Get("data.elicitations").Array()
	if len(list) != 1 {
		t.Fatalf("got %s", m.Raw)
	}
	id := checkURLElicitation(t, list[0].Raw, "elicitationId message mode url")
	for _, told := range []string{id, ""} {
		from := len(p.received)
		wantResult(t, p.request("tools/call", callParams("renew_card", `{}`)))
		n := slices.IndexFunc(
			p.received[from:],
			func(m wire.Message) bool { return m.Method() == "notifications/elicitation/complete" },
		)
		if (n >= 0) != (told != "") || n >= 0 && p.received[from+n].Params().Get("elicitationId").String() != told {
			t.Errorf("told of the end of %q: %v", told, p.received[from:])
		}
	}
	// Another session is another reader.
	wantCode(
		t,
		openSession(t, spec.V2025_11_25, fullCapabilities, Options{}).request("tools/call", callParams("renew_card", `{}`)),
		spec.LegacyURLElicitationError,
	)
}
