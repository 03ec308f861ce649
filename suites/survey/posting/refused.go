package posting

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Over HTTP a status says whether the server could accept what was posted, with
// a message or without one
// (basic/transports#sending-messages-to-the-server).

// BlamesClient tells whether a status says that the client is at fault, for what it
// sent: 401, 403 and 429 say it of something else.
func BlamesClient(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status < 500
}

// IsRefusal tells whether a status is that of a refusal, for whatever it is; that a
// request comes too often is no refusal of it.
func IsRefusal(status int) bool {
	return status >= 400 && status < 500 && !Unavailable(status)
}

// RefusedByHTTP tells whether what was sent at a frame, which the server cannot
// accept, was refused by a status of HTTP alone, where a message need not be.
// That the server failed over it is no refusal, and a status for something else
// tells nothing.
func RefusedByHTTP(t *check.T, at int, what string) bool {
	switch status := t.HTTP().Status(at); {
	case BlamesClient(status):
		t.Note("%s was refused by HTTP alone, with status %d", what, status)
		return true
	case Unavailable(status):
		t.NotObserved(fmt.Sprintf("%s was answered with status %d, which may be of what stands before the server", what,
			status), "")
	case status >= 500:
		t.Fail("a status of 4xx", fmt.Sprintf("HTTP status %d", status),
			"%s was answered with status %d: the server says that it failed", what, status)
	default:
		check.RequireAccepted(t, at)
	}
	return false
}

// StatusBlamingClient returns the status by which HTTP alone answered a request that
// should be refused, where it says so; else 0.
func StatusBlamingClient(err error) int {
	var none *session.NoAnswerError
	if errors.As(err, &none) {
		if r := none.StatusError(); r != nil && BlamesClient(r.Status) {
			return r.Status
		}
	}
	return 0
}

// RefusalStatus returns the status by which HTTP alone refused a request, for
// whatever it is; 0 where it did not.
func RefusalStatus(err error) int {
	var none *session.NoAnswerError
	if errors.As(err, &none) {
		if r := none.StatusError(); r != nil && IsRefusal(r.Status) {
			return r.Status
		}
	}
	return 0
}

// OverHTTP tells whether requests have headers, by which a server may refuse
// them before it has looked at what they are.
func OverHTTP(t *check.T) bool { return t.Transport() != transport.Stdio }
