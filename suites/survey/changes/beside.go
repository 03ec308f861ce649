package changes

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/toolcalls"
	"github.com/mcpcheck/mcpcheck/suites/survey/watch"
)

// maxBeside bounds the tools that are called beside a subscription.
const maxBeside = 6

var besideStreamKey = check.NewKey[bool]("beside a subscription")

// CallBesideStream calls tools that may report progress and log while the stream of a
// subscription is open over HTTP, so that judges see on which stream these
// notifications arrive.
func CallBesideStream(t *check.T) {
	if t.Transport() != transport.HTTP || !t.Facts.Stateless || !t.Declares("tools") || !watch.DeclaresChanges(t) {
		return
	}
	check.Once(t, besideStreamKey, func() bool {
		w := watch.Start(t, watch.DeclaredFilter(t))
		defer w.Stop()
		results := slices.Clone(toolcalls.Calls(t).Results)
		slices.SortStableFunc(results, func(a, b toolcalls.Call) int { return min(1, b.Reports) - min(1, a.Reports) })
		for i, c := range results {
			if i == maxBeside || !w.Open {
				break
			}
			if !offer.IsReadOnly(c.Tool) && c.Reports == 0 {
				continue
			}
			params, meta := offer.CallParams(c.Tool, c.Args), check.Params{"progressToken": "beside-" + t.NextID().Raw}
			if t.Declares("logging") {
				meta[spec.MetaLogLevel] = spec.LogLevels()[0]
			}
			params["_meta"] = meta
			t.Try("tools/call", params)
		}
		return true
	})
}
