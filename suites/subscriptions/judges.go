package subscriptions

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// judges returns the judges of change notifications in all revisions and of
// basic/patterns/subscriptions, since 2026-07-28.
func judges() []check.Check { return slices.Concat(changeJudges(), streamJudges()) }

const (
	noAcknowledgment = "the server acknowledged no subscription"
	nothingSent      = "the server sent nothing on a stream"
	noChange         = "the server sent no change notification on a stream"
	declareChanges   = "declare change notifications, such as tools.listChanged, and acknowledge subscriptions/listen"
	allowChanges     = "offer a tool that changes a list or a resource" + check.AndAllow
)

// streamJudges returns the judges of what a server sends on streams. A reader reads
// the streams of a session once for all of them.
func streamJudges() []check.Check {
	return []check.Check{
		{
			ID:    "subscriptions.ack.first",
			Says:  "the server sends nothing on a stream before its acknowledgment",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-nothing-before-ack"},
			Idle:  nothingSent,
			Hint:  declareChanges,
			Judge: func(j *check.J) { judgeFindings(j, ackFirst) },
		},
		{
			ID:    "subscriptions.ack.shape",
			Says:  "an acknowledgment holds the acknowledged filter in the shape of the schema",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-ack-shape"},
			Idle:  noAcknowledgment,
			Hint:  declareChanges,
			Judge: func(j *check.J) { judgeFindings(j, ackShape) },
		},
		{
			ID:    "subscriptions.ack.subset",
			Says:  "the server acknowledges only what was requested and what it declares",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-ack-subset"},
			Idle:  noAcknowledgment + " to anything",
			Hint:  declareChanges,
			Judge: func(j *check.J) { judgeFindings(j, ackSubset) },
		},
		{
			ID:    "subscriptions.id.present",
			Says:  "a notification on a stream has a subscription id",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-id-in-meta"},
			Idle:  nothingSent,
			Hint:  declareChanges,
			Judge: func(j *check.J) { judgeFindings(j, idPresent) },
		},
		{
			ID:    "subscriptions.id.equal",
			Says:  "a subscription id equals the id of a subscriptions/listen of the connection, in type and value",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-id-equals-request-id"},
			Idle:  nothingSent,
			Hint:  declareChanges,
			Judge: func(j *check.J) { judgeFindings(j, idEqual) },
		},
		{
			ID:    "subscriptions.id.absent",
			Says:  "a progress notification has no subscription id",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-id-absent-elsewhere"},
			Idle:  "the server sent no progress notification",
			Hint:  "offer a read-only tool that reports progress" + check.OrAllow,
			Judge: func(j *check.J) { judgeFindings(j, idElsewhere) },
		},
		{
			ID:    "subscriptions.requested",
			Says:  "the server sends on a stream only the types of notifications that its filter requests",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-requested-only"},
			Idle:  noChange,
			Hint:  allowChanges,
			Judge: func(j *check.J) { judgeFindings(j, requestedOnly) },
		},
		{
			ID:    "subscriptions.updated.scope",
			Says:  "the server sends on a stream updates only of the resources that its filter requests",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-resource-updated-scope"},
			Idle:  "the server sent no update of a resource on a stream",
			Hint:  allowChanges,
			Judge: func(j *check.J) { judgeFindings(j, updatedScope) },
		},
		{
			ID:    "subscriptions.unsolicited",
			Says:  "the server sends a change notification only on a stream whose filter requests it",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-unsolicited-change-notifications"},
			Idle:  noChange,
			Hint:  allowChanges,
			Judge: func(j *check.J) { judgeFindings(j, unsolicited) },
		},
		{
			ID:    "subscriptions.cancelled",
			Says:  "the server sends nothing on a stream that the client has cancelled",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-client-cancel-stdio"},
			Idle:  "no change came after the client had cancelled a stream for it",
			Hint:  allowChanges,
			Judge: func(j *check.J) { judgeFindings(j, afterCancel) },
		},
		{
			ID:    "subscriptions.end.shape",
			Says:  "the result that ends a subscription has the subscription id",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"subscriptions-graceful-close-shape"},
			Idle:  "the server ended no subscription by a result",
			Hint:  "end an open subscription with a result when the server stops",
			Judge: func(j *check.J) { judgeFindings(j, endShape) },
		},
	}
}

// judgeFindings judges by the findings about one rule.
func judgeFindings(j *check.J, r rule) {
	all := check.Derived(j, "findings on streams", func() []finding { return readStreams(j) })
	check.Each(j, all, func(f finding) bool {
		if f.rule == r && f.problem != "" {
			j.Fail(f.Entry, "%s", f.problem)
		}
		return f.rule == r
	})
}
