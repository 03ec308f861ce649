package streamablehttp

import (
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// noneRefusable is why the checks of accepted messages are not observed.
const noneRefusable = "nothing was posted"

// messageProbes returns the probes of notifications and responses that a client may
// send at any time. The status of those that are accepted is judged by
// streamable-http.notification.accepted and streamable-http.response.accepted. Since
// 2026-07-28 a client posts neither
// (basic/transports/streamable-http#sending-messages).
func messageProbes() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.notification.cancelled",
			Says:  "the server accepts a cancellation of a request that it has answered, since the two may cross",
			Level: spec.Robust,
			In:    withSessions,
			Spec:  "basic/utilities/cancellation#error-handling",
			Idle:  noneRefusable,
			Probe: func(t *check.T) {
				answered := t.Start(t.Facts.BarrierMethod, nil)
				t.Answer(answered)
				expectAccepted(t, "notifications/cancelled", check.Params{
					"requestId": json.RawMessage(answered.ID.Raw), "reason": "mcpcheck is late",
				})
			},
		},
		{
			ID:    "streamable-http.notification.progress",
			Says:  "the server accepts progress of a request that it no longer waits for, since the two may cross",
			Level: spec.Robust,
			In:    withSessions,
			Spec:  "basic/utilities/progress#behavior-requirements",
			Idle:  noneRefusable,
			Probe: func(t *check.T) {
				expectAccepted(t, "notifications/progress", check.Params{
					"progressToken": "mcpcheck-over", "progress": 1, "total": 1,
				})
			},
		},
		{
			ID:    "streamable-http.notification.roots",
			Says:  "the server accepts a change of the roots of a client that declares them, even if it uses none",
			Level: spec.Robust,
			In:    withSessions,
			Spec:  "client/roots#root-list-changes",
			Idle:  noneRefusable,
			Probe: func(t *check.T) { expectAccepted(t, "notifications/roots/list_changed", nil) },
		},
		{
			ID:       "streamable-http.response.unrequested",
			Says:     "the server sends no error with a status of success for a response that it did not request",
			Level:    spec.Must,
			In:       withSessions,
			Rules:    []string{"streamable-http-rejected-4xx"},
			Session:  check.OwnSession,
			Malforms: true,
			Idle:     noneRefusable,
			Hint:     expect.HintReply,
			// The server accepts such a response or refuses it by the status. A result that is
			// null breaks the schema, and servers get it from clients. Ids that servers give
			// their own requests are posted in a session without capabilities, in which the
			// server requests nothing.
			Probe: func(t *check.T) {
				for _, member := range []string{`"result":{}`, refusedByClient, `"result":null`} {
					response := `{"jsonrpc":"2.0","id":"mcpcheck-none",` + member + `}`
					from := t.Send(response)
					t.HTTP().Settle(from)
					expectNoErrorWithSuccess(t, response, t.HTTP().Status(from), t.Received(from))
				}
				b := posting.OpenSession(t)
				defer b.End()
				for _, id := range []string{`0`, `-1`, `""`} {
					response := `{"jsonrpc":"2.0","id":` + id + `,"result":{}}`
					x, err := b.TryPost(response)
					if err != nil {
						continue
					}
					t.HTTP().Complete(x)
					expectNoErrorWithSuccess(t, response, x.Status, x.Snapshot().Messages())
				}
			},
		},
	}
}

// refusedByClient is the member of a response by which a client refuses a request.
const refusedByClient = `"error":{"code":-32601,"message":"mcpcheck has no such method"}`

// expectNoErrorWithSuccess fails the check if a response was answered with an error and
// a status of success.
func expectNoErrorWithSuccess(t *check.T, response string, status int, answers []wire.Message) {
	if status == 0 || posting.IsUnavailable(status) {
		return
	}
	for _, m := range answers {
		if status < 300 && m.Kind == wire.Error {
			t.Fail("status 202 without a body, or a status of failure",
				fmt.Sprintf("HTTP status %d and %s", status, m.Summary()),
				"a response that the server did not request was posted: %s", response)
		}
	}
	t.Saw()
}

// expectAccepted fails the check if HTTP refuses a notification. 401 and 403 are about the
// client, and 404 about its session.
func expectAccepted(t *check.T, method string, params check.Params) {
	at := t.Notify(method, params)
	t.HTTP().Settle(at)
	status := t.HTTP().Status(at)
	switch {
	case status == 0, status == http.StatusNotFound, !posting.IsClientError(status) && status >= 400 && status < 500,
		posting.IsUnavailable(status):
		t.NotObserved(fmt.Sprintf("%s was answered with HTTP status %d", method, status),
			"answer "+method+" with status 202")
	case status >= 400:
		t.Fail("HTTP status 202", fmt.Sprintf("HTTP status %d", status), "%s was posted", method)
	}
	t.Saw()
}
