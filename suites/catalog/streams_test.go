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

func listening(id, filter string) wire.Frame {
	return frame(wire.Client, `{"jsonrpc":"2.0","id":%s,"method":"subscriptions/listen","params":{"notifications":%s}}`,
		id, filter)
}

func acking(id, filter string) wire.Frame {
	return frame(wire.Server, `{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":`+
		`{"_meta":{%q:%s},"notifications":%s}}`, spec.MetaSubscriptionID, id, filter)
}

func telling(id, list string) wire.Frame {
	return frame(wire.Server, `{"jsonrpc":"2.0","method":"notifications/%s/list_changed","params":{"_meta":{%q:%s}}}`,
		list, spec.MetaSubscriptionID, id)
}

func ending(id string) wire.Frame {
	return frame(wire.Server, `{"jsonrpc":"2.0","id":%s,"result":{"resultType":"complete","_meta":{%q:%s}}}`,
		id, spec.MetaSubscriptionID, id)
}

func cancelling(id string) wire.Frame {
	return frame(wire.Client, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`, id)
}

func trip(id int) []wire.Frame {
	return []wire.Frame{
		frame(wire.Client, `{"jsonrpc":"2.0","id":%d,"method":"tools/list","params":{}}`, id),
		frame(wire.Server, `{"jsonrpc":"2.0","id":%d,"result":{"resultType":"complete","tools":[]}}`, id),
	}
}

func frame(from wire.Role, format string, args ...any) wire.Frame {
	return wire.Frame{From: from, Raw: fmt.Appendf(nil, format, args...)}
}

// What is not clear, or may have been on its way, is told from what is wrong.
func TestStreamsAreReadAsTheyAre(t *testing.T) {
	const tools, both = `{"toolsListChanged":true}`, `{"toolsListChanged":true,"promptsListChanged":true}`
	past := slices.Concat(trip(90), trip(91))
	for name, c := range map[string]struct {
		frames []wire.Frame
		wrong  string // the check that objects, "" for none
	}{
		"a change that was asked for": {[]wire.Frame{
			listening("1", tools), acking("1", tools), telling("1", "tools"),
		}, ""},
		"one that was not": {[]wire.Frame{
			listening("1", tools), acking("1", tools), telling("1", "prompts"),
		}, "subscriptions.requested"},
		"an id that is in use": {[]wire.Frame{
			listening("1", tools), listening("1", both), acking("1", both), telling("1", "prompts"),
		}, ""},
		"an id that is used again": {[]wire.Frame{
			listening("1", tools), acking("1", tools),
			ending("1"), listening("1", both), acking("1", both), telling("1", "prompts"),
		}, ""},
		"an id that another request has": {slices.Concat([]wire.Frame{listening("1", tools), acking("1", tools)},
			trip(1)), ""},
		"an id that one before has": {slices.Concat(trip(1)[:1],
			[]wire.Frame{listening("1", tools), acking("1", tools)}, trip(1)[1:]), ""},
		"an id that one before had": {slices.Concat(trip(1),
			[]wire.Frame{listening("1", tools), acking("1", tools), telling("1", "prompts")}),
			"subscriptions.requested"},
		"an end without the id": {[]wire.Frame{
			listening("1", tools), acking("1", tools),
			frame(wire.Server, `{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete"}}`),
		}, "subscriptions.end.shape"},
		"a filter that is none": {[]wire.Frame{
			listening("1", `{"toolsListChanged":"yes"}`), acking("1", tools), telling("1", "tools"),
		}, ""},
		"no filter": {[]wire.Frame{frame(wire.Client,
			`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}`), acking("1", tools)}, ""},
		"a filter that stands twice": {[]wire.Frame{frame(wire.Client,
			`{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen","params":{"notifications":{},"notifications":%s}}`,
			tools), acking("1", tools)}, ""},
		"an id that is none": {[]wire.Frame{listening("null", tools), acking("null", tools)}, ""},
		"an id cut short":    {[]wire.Frame{listening("1.5", tools), acking("1", tools)}, ""},
		"an id that stands twice": {[]wire.Frame{frame(wire.Client,
			`{"jsonrpc":"2.0","id":1,"id":2,"method":"subscriptions/listen","params":{"notifications":%s}}`, tools),
			acking("2", tools), acking("1", tools)}, ""},
		"a refused one": {[]wire.Frame{
			listening("1", tools), frame(wire.Server,
				`{"jsonrpc":"2.0","id":1,"error":{"code":-32603,"message":"no"}}`),
		}, ""},
		"a change before what is first": {[]wire.Frame{
			listening("1", tools), telling("1", "tools"), acking("1", tools),
		}, "subscriptions.ack.first"},
		"a change on its way": {slices.Concat([]wire.Frame{
			listening("1", tools), acking("1", tools), cancelling("1"),
		}, past, []wire.Frame{telling("1", "tools")}), ""},
		"a change on an heir before": {slices.Concat([]wire.Frame{
			listening("1", tools), acking("1", tools), cancelling("1"),
		}, past, []wire.Frame{listening("2", tools), acking("2", tools), telling("1", "tools"), telling("2", "tools")}),
			""},
		"a change on an heir and it": {slices.Concat([]wire.Frame{
			listening("1", tools), acking("1", tools), cancelling("1"),
		}, past, []wire.Frame{listening("2", tools), acking("2", tools), telling("2", "tools"), telling("1", "tools")}),
			"subscriptions.cancelled"},
		"an id that nobody had": {
			[]wire.Frame{listening("1", tools), acking("7", tools)}, "subscriptions.id.equal",
		},
		"an id of another type": {
			[]wire.Frame{listening("1", tools), acking(`"1"`, tools)}, "subscriptions.id.equal",
		},
		"an id in another spelling": {[]wire.Frame{listening("10", tools), acking("1e1", tools)}, ""},
		"a change after the end": {[]wire.Frame{
			listening("1", tools), acking("1", tools),
			ending("1"), telling("1", "prompts"),
		}, ""},
		"no id on a change": {[]wire.Frame{
			listening("1", tools), acking("1", tools),
			frame(wire.Server, `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`),
		}, "subscriptions.id.present"},
		"no id on one that nobody wants": {[]wire.Frame{
			listening("1", tools), acking("1", tools),
			frame(wire.Server, `{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}`),
		}, "subscriptions.unsolicited"},
	} {
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
