package subscriptions

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// judges are the judges of basic/patterns/subscriptions, since
// 2026-07-28, and those of the notifications of change in all revisions. What
// a stream delivers is read once, in streams.go.
func judges() []check.Check {
	return append(changesTold(), []check.Check{
		{
			ID:    "subscriptions.ack.first",
			Says:  "nothing is delivered on a stream before its acknowledgment",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-nothing-before-ack"},
			Judge: func(j *check.J) { delivered(j, ackFirst) },
		},
		{
			ID:    "subscriptions.ack.shape",
			Says:  "an acknowledgment holds the filter that is honoured, as the schema has it",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-ack-shape"},
			Judge: func(j *check.J) { delivered(j, ackShape) },
		},
		{
			ID:    "subscriptions.ack.subset",
			Says:  "what is acknowledged was asked for, and is something that the server declares",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-ack-subset"},
			Judge: func(j *check.J) { delivered(j, ackSubset) },
		},
		{
			ID:    "subscriptions.id.present",
			Says:  "what is delivered on a stream carries a subscription id",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-id-in-meta"},
			Judge: func(j *check.J) { delivered(j, idPresent) },
		},
		{
			ID:    "subscriptions.id.equal",
			Says:  "a subscription id is the id of a subscriptions/listen request of this connection, in type and value",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-id-equals-request-id"},
			Judge: func(j *check.J) { delivered(j, idEqual) },
		},
		{
			ID:    "subscriptions.id.elsewhere",
			Says:  "progress notifications carry no subscription id",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-id-absent-elsewhere"},
			Judge: func(j *check.J) { delivered(j, idElsewhere) },
		},
		{
			ID:    "subscriptions.requested",
			Says:  "a stream delivers only the types of notifications that it was opened for",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-requested-only"},
			Judge: func(j *check.J) { delivered(j, requestedOnly) },
		},
		{
			ID:    "subscriptions.updated.scope",
			Says:  "a stream tells of the resources that it was opened for, and of no others",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-resource-updated-scope"},
			Judge: func(j *check.J) { delivered(j, updatedScope) },
		},
		{
			ID:    "subscriptions.unsolicited",
			Says:  "changes are told only on a stream that was opened for them",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-unsolicited-change-notifications"},
			Judge: func(j *check.J) { delivered(j, unsolicited) },
		},
		{
			ID:    "subscriptions.cancelled",
			Says:  "nothing is delivered on a stream that the client has cancelled",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-client-cancel-stdio"},
			Judge: func(j *check.J) { delivered(j, afterCancel) },
		},
		{
			ID:    "subscriptions.end.shape",
			Says:  "the result that ends a subscription carries its id",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-graceful-close-shape"},
			Judge: func(j *check.J) { delivered(j, endShape) },
		},
	}...)
}

// delivered judges by the findings of one rule.
func delivered(j *check.J, r rule) {
	for _, f := range check.Derived(j, "streams", func() []finding { return readStreams(j) }) {
		switch {
		case f.rule != r:
		case f.wrong != "":
			j.Fail(f.Entry, "%s", f.wrong)
		default:
			j.Saw()
		}
	}
}
