package posting

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// Over HTTP the status says whether the server accepted a message, with or without a
// message in the body (basic/transports#sending-messages-to-the-server).

// IsClientError reports whether a status says that the client sent something wrong;
// 401, 403 and 429 have other causes.
func IsClientError(status int) bool {
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests:
		return false
	}
	return status >= 400 && status < 500
}

// IsRefusal reports whether a status is a refusal, for any reason but the rate of
// requests.
func IsRefusal(status int) bool {
	return status >= 400 && status < 500 && !IsUnavailable(status)
}

// ReportHTTPRefusal reports whether HTTP alone refused, by a status without a message,
// what was sent at a frame and cannot be accepted. A status of 5xx fails the check, and
// one of an intermediary ends the body.
func ReportHTTPRefusal(t *check.T, at int, what string) bool {
	switch status := t.HTTP().Status(at); {
	case IsClientError(status):
		t.Note("%s was refused by HTTP alone, with status %d", what, status)
		return true
	case IsUnavailable(status):
		t.NotObserved(fmt.Sprintf("%s was answered with status %d, which may be that of an intermediary", what,
			status), HintAvailable)
	case status >= 500:
		t.Fail("a status of 4xx", fmt.Sprintf("HTTP status %d", status),
			"%s was answered with status %d: the server says that it failed", what, status)
	default:
		check.RequireAccepted(t, at)
	}
	return false
}

// ClientErrorStatus returns the status by which HTTP alone answered a request that
// should be refused, if it is a client error; else 0.
func ClientErrorStatus(err error) int {
	var none *session.NoAnswerError
	if errors.As(err, &none) {
		if r := none.StatusError(); r != nil && IsClientError(r.Status) {
			return r.Status
		}
	}
	return 0
}

// RefusalStatus returns the status by which HTTP alone refused a request, for any
// reason; 0 if it did not.
func RefusalStatus(err error) int {
	var none *session.NoAnswerError
	if errors.As(err, &none) {
		if r := none.StatusError(); r != nil && IsRefusal(r.Status) {
			return r.Status
		}
	}
	return 0
}

// OverHTTP reports whether requests have headers, by which a server may refuse them
// before it reads their body.
func OverHTTP(t *check.T) bool { return t.Transport() != transport.Stdio }
