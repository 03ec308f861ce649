package server

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func TestAReaderIsSentToAPageOnlyByAClientThatShowsPages(t *testing.T) {
	for _, client := range []string{`{}`, `{"elicitation":{}}`, `{"elicitation":{"form":{}}}`} {
		for _, tool := range []string{"read_archive", "renew_card"} {
			p := open(t, spec.V2025_11_25, client, Options{})
			m := p.ask("tools/call", call(tool, `{}`))
			if !wantResult(t, m).Result().Get("isError").Bool() {
				t.Errorf("%s with the client %s: %s", tool, client, m.Raw)
			}
		}
		p := open(t, spec.V2026_07_28, client, Options{})
		p.send("%s", modern(1, client, "tools/call", call("read_archive", `{}`)))
		m := p.next()
		wantCode(t, m, spec.MissingClientCapability)
		if got := m.Error().Get("data.requiredCapabilities").Raw; got != `{"elicitation":{"url":{}}}` {
			t.Errorf("with the client %s it requires %s", client, got)
		}
	}
	eachRevision(t, spec.Until(spec.V2025_06_18), func(t *testing.T, rev spec.Revision) {
		for _, tool := range []string{"read_archive", "renew_card"} {
			wantCode(t, open(t, rev, rich, Options{}).ask("tools/call", call(tool, `{}`)), spec.InvalidParams)
		}
	})
}

// isVisit checks the params of an elicitation in URL mode and returns its id.
func isVisit(t *testing.T, raw string, members string) string {
	t.Helper()
	if got := keys(t, raw); got != members {
		t.Errorf("the members are %s, want %s: %s", got, members, raw)
	}
	o := unmarshal(t, raw)
	u, err := url.Parse(stringOf(o["url"]))
	if err != nil || u.Scheme != "https" || !strings.HasSuffix(u.Host, ".example") || stringOf(o["message"]) == "" || o["mode"] != "url" {
		t.Errorf("no visit: %s", raw)
	}
	return stringOf(o["elicitationId"])
}

func TestAVisitToAPageIsAskedForAndItsEndIsTold(t *testing.T) {
	var ids []string
	for _, c := range []struct {
		action string
		told   bool
	}{{"accept", true}, {"decline", false}, {"cancel", false}} {
		p := open(t, spec.V2025_11_25, `{"elicitation":{"url":{}}}`, Options{})
		p.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s}}`, call("read_archive", `{}`))
		asked := p.next()
		id := isVisit(t, asked.Params().Raw, "elicitationId message mode url")
		ids = append(ids, id)
		p.send(`{"jsonrpc":"2.0","id":%s,"result":{"action":%q}}`, asked.ID(), c.action)
		m := p.next()
		if told := m.Method() == "notifications/elicitation/complete"; told != c.told {
			t.Errorf("after %s: %s", c.action, m.Raw)
		} else if told {
			if got := m.Params().Get("elicitationId").String(); got != id {
				t.Errorf("the visit %s ended, want %s", got, id)
			}
			m = p.next()
		}
		if wantResult(t, m).Result().Get("isError").Bool() || strings.Contains(m.Result().Raw, "Ledger") != c.told {
			t.Errorf("after %s: %s", c.action, m.Raw)
		}
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != 3 {
		t.Errorf("ids come again: %v", ids)
	}
}

func TestAStatelessCallAsksForAVisitWithoutAnID(t *testing.T) {
	p := open(t, spec.V2026_07_28, "{}", Options{})
	p.send("%s", modern(1, rich, "tools/call", call("read_archive", `{}`)))
	r := wantResult(t, p.next()).Result()
	isVisit(t, r.Get("inputRequests.rules.params").Raw, "message mode url")
	p.send("%s", modern(2, rich, "tools/call", call("read_archive", `{}`)+`,"requestState":`+r.Get("requestState").Raw+`,"inputResponses":{"rules":{"action":"accept"}}`))
	if m := p.next(); !strings.Contains(m.Result().Raw, "Ledger") {
		t.Errorf("got %s", m.Raw)
	}
	p.send("%s", modern(3, rich, "tools/call", call("renew_card", `{}`)))
	wantCode(t, p.next(), spec.InvalidParams)
}

func TestACallIsRefusedUntilThePageWasVisited(t *testing.T) {
	p := open(t, spec.V2025_11_25, rich, Options{})
	m := p.ask("tools/call", call("renew_card", `{}`))
	wantCode(t, m, spec.LegacyURLElicitationError)
	list := m.Error().Get("data.elicitations").Array()
	if len(list) != 1 {
		t.Fatalf("got %s", m.Raw)
	}
	id := isVisit(t, list[0].Raw, "elicitationId message mode url")
	for _, told := range []string{id, ""} {
		from := len(p.seen)
		wantResult(t, p.ask("tools/call", call("renew_card", `{}`)))
		n := slices.IndexFunc(p.seen[from:], func(m wire.Message) bool { return m.Method() == "notifications/elicitation/complete" })
		if (n >= 0) != (told != "") || n >= 0 && p.seen[from+n].Params().Get("elicitationId").String() != told {
			t.Errorf("told of the end of %q: %v", told, p.seen[from:])
		}
	}
	// Another session is another reader.
	wantCode(t, open(t, spec.V2025_11_25, rich, Options{}).ask("tools/call", call("renew_card", `{}`)), spec.LegacyURLElicitationError)
}
