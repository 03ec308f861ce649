package server

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

// declined tells whether a status says that the client is at fault, for what it
// sent: 401, 403 and 429 say it of something else.
func declined(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status < 500
}

// refusing tells whether a status is that of a refusal, for whatever it is; that a
// request comes too often is no refusal of it.
func refusing(status int) bool {
	return status >= 400 && status < 500 && !unavailable(status)
}

// refusedByHTTP tells whether what was sent at a frame, which the server cannot
// accept, was refused by a status of HTTP alone, where a message need not be.
// That the server failed over it is no refusal, and a status for something else
// tells nothing.
func refusedByHTTP(t *check.T, at int, what string) bool {
	switch status := t.Status(at); {
	case declined(status):
		t.Note("%s was refused by HTTP alone, with status %d", what, status)
		return true
	case unavailable(status):
		t.NotObserved(fmt.Sprintf("%s was answered with status %d, which may be of what stands before the server", what, status), "")
	case status >= 500:
		t.Fail("a status of 4xx", fmt.Sprintf("HTTP status %d", status), "%s was answered with status %d: the server says that it failed", what, status)
	default:
		t.Judgeable(at)
	}
	return false
}

// declinedWith returns the status by which HTTP alone answered a request that
// should be refused, where it says so; else 0.
func declinedWith(err error) int {
	var none *session.NoAnswer
	if errors.As(err, &none) {
		if r := none.Refused(); r != nil && declined(r.Status) {
			return r.Status
		}
	}
	return 0
}

// refusedWith returns the status by which HTTP alone refused a request, for
// whatever it is; 0 where it did not.
func refusedWith(err error) int {
	var none *session.NoAnswer
	if errors.As(err, &none) {
		if r := none.Refused(); r != nil && refusing(r.Status) {
			return r.Status
		}
	}
	return 0
}

// overHTTP tells whether requests have headers, by which a server may refuse
// them before it has looked at what they are.
func overHTTP(t *check.T) bool { return t.Transport() != transport.Stdio }
