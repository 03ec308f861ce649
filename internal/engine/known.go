package engine

import (
	"fmt"

	"github.com/mcpcheck/mcpcheck/internal/sdk"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reports"
)

// noteKnown says of each fail and warn that is known to come from the SDK of the server
// that it does, if the frames of the report show which SDK that is.
func noteKnown(run *reports.Run) {
	all, err := sdk.All()
	if err != nil {
		panic(err) // the embedded list is tested
	}
	found := sdk.Recognize(all, messagesOf(run))
	if found == nil {
		return
	}
	for i := range run.Outcomes {
		o := &run.Outcomes[i]
		if (o.Verdict == reports.Fail || o.Verdict == reports.Warn) && found.Knows(o.ID) {
			o.Known = fmt.Sprintf("Servers built with the %s do this. The texts of its errors show that this is one.",
				found.Name)
		}
	}
}

// messagesOf returns the messages of the server in the frames of a report.
func messagesOf(run *reports.Run) []wire.Message {
	var all []wire.Message
	for _, o := range run.Outcomes {
		for _, f := range o.Frames {
			if f.From == wire.Server && !f.IsTransportOnly() {
				all = append(all, f.Message().Elements()...)
			}
		}
	}
	return all
}
