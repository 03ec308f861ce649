package catalog

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

func listenFrame(id, filter string) wire.Frame {
	return frame(wire.Client, `{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":{"notifications":%s}}`,
		id, filter)
}

func ackFrame(id, filter string) wire.Frame {
	return frame(wire.Server, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":`+
		`{"_meta":{%q:%s},"notifications":%s}}`, spec.MetaSubscriptionID, id, filter)
}

func changeFrame(id, list string) wire.Frame {
	return frame(wire.Server, `{"jsonrpc":"2.0","method":"notifications/%s/list_changed","params":{"_meta":{%q:%s}}}`,
		list, spec.MetaSubscriptionID, id)
}

func endFrame(id string) wire.Frame {
	return frame(wire.Server, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","_meta":{%q:%s}}}`,
		id, spec.MetaSubscriptionID, id)
}

func cancelFrame(id string) wire.Frame {
	return frame(wire.Client, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
}

func listExchange(id int) []wire.Frame {
	return []wire.Frame{
		frame(wire.Client, `{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{}}`, id),
		frame(wire.Server, `{"jsonrpc":"2.0","id":%d,"result":{"resultType":"complete","tools":[]}}`, id),
	}
}

func frame(from wire.Role, format string, args ...any) wire.Frame {
	return wire.Frame{From: from, Raw: fmt.Appendf(nil, format, args...)}
}

// Filters of subscriptions.
const toolsFilter, bothFilter = `{"toolsListChanged":true}`, `{"toolsListChanged":true,"promptsListChanged":true}`

// twoListExchanges are two requests with their answers.
var twoListExchanges = slices.Concat(listExchange(90), listExchange(91))

var streamCases = map[string]struct {
	frames []wire.Frame
	wrong  string // the check that fails, "" for none
}{
	"requested change": {[]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter), changeFrame("1", "tools"),
	}, ""},
	"change that was not requested": {[]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter), changeFrame("1", "prompts"),
	}, "subscriptions.requested"},
	"id of an open subscription": {[]wire.Frame{
		listenFrame("1", toolsFilter), listenFrame("1", bothFilter), ackFrame("1", bothFilter),
		changeFrame("1", "prompts"),
	}, ""},
	"id of an ended subscription": {[]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter),
		endFrame("1"), listenFrame("1", bothFilter), ackFrame("1", bothFilter), changeFrame("1", "prompts"),
	}, ""},
	"id of a later request": {slices.Concat([]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter),
	},
		listExchange(1)), ""},
	"id of an open request": {slices.Concat(listExchange(1)[:1],
		[]wire.Frame{listenFrame("1", toolsFilter), ackFrame("1", toolsFilter)}, listExchange(1)[1:]), ""},
	"id of an answered request": {slices.Concat(listExchange(1),
		[]wire.Frame{listenFrame("1", toolsFilter), ackFrame("1", toolsFilter), changeFrame("1", "prompts")}),
		"subscriptions.requested"},
	"result without the subscription id": {[]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter),
		frame(wire.Server, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`),
	}, "subscriptions.end.shape"},
	"invalid filter": {[]wire.Frame{
		listenFrame("1", `{"toolsListChanged":"yes"}`), ackFrame("1", toolsFilter), changeFrame("1", "tools"),
	}, ""},
	"no filter": {[]wire.Frame{frame(wire.Client,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`), ackFrame("1", toolsFilter)}, ""},
	"duplicate filter": {[]wire.Frame{frame(wire.Client,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},"notifications":%s}}`,
		toolsFilter), ackFrame("1", toolsFilter)}, ""},
	"null id":      {[]wire.Frame{listenFrame("null", toolsFilter), ackFrame("null", toolsFilter)}, ""},
	"truncated id": {[]wire.Frame{listenFrame("1.5", toolsFilter), ackFrame("1", toolsFilter)}, ""},
	"duplicate id": {[]wire.Frame{frame(wire.Client,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"subscriptions/listen","params":{"notifications":%s}}`, toolsFilter),
		ackFrame("2", toolsFilter), ackFrame("1", toolsFilter)}, ""},
	"refused subscription": {[]wire.Frame{
		listenFrame("1", toolsFilter), frame(wire.Server,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}`),
	}, ""},
	"change before the acknowledgment": {[]wire.Frame{
		listenFrame("1", toolsFilter), changeFrame("1", "tools"), ackFrame("1", toolsFilter),
	}, "subscriptions.ack.first"},
	"change after the cancellation": {slices.Concat([]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter), cancelFrame("1"),
	}, twoListExchanges, []wire.Frame{changeFrame("1", "tools")}), ""},
	"change before that of the next subscription": {slices.Concat([]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter), cancelFrame("1"),
	}, twoListExchanges, []wire.Frame{
		listenFrame("2", toolsFilter), ackFrame("2", toolsFilter), changeFrame("1", "tools"), changeFrame("2", "tools"),
	}),
		""},
	"change after that of the next subscription": {slices.Concat([]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter), cancelFrame("1"),
	}, twoListExchanges, []wire.Frame{
		listenFrame("2", toolsFilter), ackFrame("2", toolsFilter), changeFrame("2", "tools"), changeFrame("1", "tools"),
	}),
		"subscriptions.cancelled"},
	"unknown id": {
		[]wire.Frame{listenFrame("1", toolsFilter), ackFrame("7", toolsFilter)}, "subscriptions.id.equal",
	},
	"id of another type": {
		[]wire.Frame{listenFrame("1", toolsFilter), ackFrame(`"1"`, toolsFilter)}, "subscriptions.id.equal",
	},
	"id in another notation": {[]wire.Frame{listenFrame("10", toolsFilter), ackFrame("1e1", toolsFilter)}, ""},
	"change after the end": {[]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter),
		endFrame("1"), changeFrame("1", "prompts"),
	}, ""},
	"change without an id": {[]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter),
		frame(wire.Server, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`),
	}, "subscriptions.id.present"},
	"unrequested change without an id": {[]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter),
		frame(wire.Server, `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`),
	}, "subscriptions.unsolicited"},
}

// The judges fail violations, and neither unclear sessions nor messages that the server may
// have sent before it read a cancellation.
func TestJudgesOfSubscriptions(t *testing.T) {
	for name, c := range streamCases {
		var wrong []string
		for _, k := range Judges() {
			if !strings.HasPrefix(k.ID, "subscriptions.") {
				continue
			}
			switch o := check.Judge(k, spec.V2026_07_28, wire.TranscriptOf(c.frames)); o.State {
			case check.Violated:
				wrong = append(wrong, k.ID)
			case check.Broken:
				t.Errorf("%s: %s is broken: %s", name, k.ID, o.Detail)
			}
		}
		if got := strings.Join(wrong, " "); got != c.wrong {
			t.Errorf("%s: the checks %q fail, want %q", name, got, c.wrong)
		}
	}
}
