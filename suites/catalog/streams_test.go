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

// twoTrips are two requests with their answers.
var twoListExchanges = slices.Concat(listExchange(90), listExchange(91))

var streamCases = map[string]struct {
	frames []wire.Frame
	wrong  string // the check that objects, "" for none
}{
	"a change that was asked for": {[]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter), changeFrame("1", "tools"),
	}, ""},
	"one that was not": {[]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter), changeFrame("1", "prompts"),
	}, "subscriptions.requested"},
	"an id that is in use": {[]wire.Frame{
		listenFrame("1", toolsFilter), listenFrame("1", bothFilter), ackFrame("1", bothFilter),
		changeFrame("1", "prompts"),
	}, ""},
	"an id that is used again": {[]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter),
		endFrame("1"), listenFrame("1", bothFilter), ackFrame("1", bothFilter), changeFrame("1", "prompts"),
	}, ""},
	"an id that another request has": {slices.Concat([]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter),
	},
		listExchange(1)), ""},
	"an id that one before has": {slices.Concat(listExchange(1)[:1],
		[]wire.Frame{listenFrame("1", toolsFilter), ackFrame("1", toolsFilter)}, listExchange(1)[1:]), ""},
	"an id that one before had": {slices.Concat(listExchange(1),
		[]wire.Frame{listenFrame("1", toolsFilter), ackFrame("1", toolsFilter), changeFrame("1", "prompts")}),
		"subscriptions.requested"},
	"an end without the id": {[]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter),
		frame(wire.Server, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`),
	}, "subscriptions.end.shape"},
	"a filter that is none": {[]wire.Frame{
		listenFrame("1", `{"toolsListChanged":"yes"}`), ackFrame("1", toolsFilter), changeFrame("1", "tools"),
	}, ""},
	"no filter": {[]wire.Frame{frame(wire.Client,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`), ackFrame("1", toolsFilter)}, ""},
	"a filter that stands twice": {[]wire.Frame{frame(wire.Client,
		`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},"notifications":%s}}`,
		toolsFilter), ackFrame("1", toolsFilter)}, ""},
	"an id that is none": {[]wire.Frame{listenFrame("null", toolsFilter), ackFrame("null", toolsFilter)}, ""},
	"an id cut short":    {[]wire.Frame{listenFrame("1.5", toolsFilter), ackFrame("1", toolsFilter)}, ""},
	"an id that stands twice": {[]wire.Frame{frame(wire.Client,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"subscriptions/listen","params":{"notifications":%s}}`, toolsFilter),
		ackFrame("2", toolsFilter), ackFrame("1", toolsFilter)}, ""},
	"a refused one": {[]wire.Frame{
		listenFrame("1", toolsFilter), frame(wire.Server,
			`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}`),
	}, ""},
	"a change before what is first": {[]wire.Frame{
		listenFrame("1", toolsFilter), changeFrame("1", "tools"), ackFrame("1", toolsFilter),
	}, "subscriptions.ack.first"},
	"a change on its way": {slices.Concat([]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter), cancelFrame("1"),
	}, twoListExchanges, []wire.Frame{changeFrame("1", "tools")}), ""},
	"a change on an heir before": {slices.Concat([]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter), cancelFrame("1"),
	}, twoListExchanges, []wire.Frame{
		listenFrame("2", toolsFilter), ackFrame("2", toolsFilter), changeFrame("1", "tools"), changeFrame("2", "tools"),
	}),
		""},
	"a change on an heir and it": {slices.Concat([]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter), cancelFrame("1"),
	}, twoListExchanges, []wire.Frame{
		listenFrame("2", toolsFilter), ackFrame("2", toolsFilter), changeFrame("2", "tools"), changeFrame("1", "tools"),
	}),
		"subscriptions.cancelled"},
	"an id that nobody had": {
		[]wire.Frame{listenFrame("1", toolsFilter), ackFrame("7", toolsFilter)}, "subscriptions.id.equal",
	},
	"an id of another type": {
		[]wire.Frame{listenFrame("1", toolsFilter), ackFrame(`"1"`, toolsFilter)}, "subscriptions.id.equal",
	},
	"an id in another spelling": {[]wire.Frame{listenFrame("10", toolsFilter), ackFrame("1e1", toolsFilter)}, ""},
	"a change after the end": {[]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter),
		endFrame("1"), changeFrame("1", "prompts"),
	}, ""},
	"no id on a change": {[]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter),
		frame(wire.Server, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`),
	}, "subscriptions.id.present"},
	"no id on one that nobody wants": {[]wire.Frame{
		listenFrame("1", toolsFilter), ackFrame("1", toolsFilter),
		frame(wire.Server, `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`),
	}, "subscriptions.unsolicited"},
}

// What is not clear, or may have been on its way, is told from what is wrong.
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
			t.Errorf("%s: %q objected, not %q", name, got, c.wrong)
		}
	}
}
