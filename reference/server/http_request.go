package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// readJSON reads the body of a POST, or refuses it.
func (h *HTTPHandler) readJSON(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	if !isJSON(r) {
		refuseHTTP(w, http.StatusUnsupportedMediaType, "The body must be application/json in UTF-8")
		return nil, false
	}
	return h.readBody(w, r)
}

// readBody reads a body of any type, or refuses it. It clears the read deadline,
// since the work on the request may take longer.
func (h *HTTPHandler) readBody(w http.ResponseWriter, r *http.Request) ([]byte, bool) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.options.HTTP.MaxBody))
	var long *http.MaxBytesError
	switch {
	case errors.As(err, &long):
		refuseHTTP(w, http.StatusRequestEntityTooLarge, "The body is longer than %d bytes", long.Limit)
		return nil, false
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		refuseHTTP(w, http.StatusRequestTimeout, "The body did not come within %s", h.options.HTTP.ClientTimeout)
		return nil, false
	case err != nil:
		refuseHTTP(w, http.StatusBadRequest, "The body cannot be read")
		return nil, false
	}
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{})
	return body, true
}

// sessionIDHeader returns the session id that a request names, "" for none.
func sessionIDHeader(r *http.Request) string { return r.Header.Get("Mcp-Session-Id") }

// versionHeaderRevisions are the revisions in which requests name their version in
// a header.
var versionHeaderRevisions = spec.Since(spec.V2025_06_18)

// checkVersionHeader returns what is wrong with the version that the header names,
// or nil. It must be one that the server speaks, from the revisions on that have
// the header (basic/transports#protocol-version-header). negotiated is the revision
// of the session, "" for none.
func (h *HTTPHandler) checkVersionHeader(r *http.Request, negotiated spec.Revision) *Error {
	v := versionHeader(r)
	switch {
	case negotiated != "" && !versionHeaderRevisions.Has(negotiated):
		return nil
	case v == "" && negotiated == "" && h.options.HTTP.Sessionless && !h.handshakeRevisions().Has(spec.V2025_03_26):
		return newError(spec.InvalidRequest, "The header MCP-Protocol-Version is missing")
	case len(r.Header.Values("MCP-Protocol-Version")) == 0, (h.options.Revisions & streamableRevisions).Has(v):
		return nil
	}
	e := newError(spec.InvalidRequest, "The version in MCP-Protocol-Version is not spoken here")
	if h.statelessConn != nil && negotiated == "" {
		e.Code = spec.UnsupportedVersion // for a client of either era
		e.Data = Object{"supported": h.statelessConn.versions(), "requested": clip(string(v))}
	}
	return e
}

// requireSession returns the session that a request names, or refuses it: with 400
// if it names none, with 404 if it names one that does not exist
// (basic/transports#session-management).
func (h *HTTPHandler) requireSession(w http.ResponseWriter, r *http.Request, m wire.Message) *httpSession {
	id := sessionIDHeader(r)
	if id == "" {
		e := h.checkVersionHeader(r, "")
		if e == nil {
			e = newError(spec.InvalidRequest, "The header Mcp-Session-Id is missing")
		}
		refuseMessage(w, http.StatusBadRequest, m, e)
		return nil
	}
	s := h.findSession(id)
	if s != nil && s.sseStream == nil && s.conn.ctx.Err() != nil { // it has failed
		h.endSession(s)
		s = nil
	}
	user := grantOf(r).Subject
	if s == nil || s.sseStream != nil || !h.authorization.isUsableBy(OwnedSession, s.owner, user) {
		e := newError(spec.InvalidRequest, "There is no such session, or it has ended")
		refuseMessage(w, http.StatusNotFound, m, e)
		return nil
	}
	if e := h.checkVersionHeader(r, s.conn.session.Revision()); e != nil {
		refuseMessage(w, http.StatusBadRequest, m, e)
		return nil
	}
	return s
}
