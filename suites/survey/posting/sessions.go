package posting

import (
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// The header fields of a session over streamable HTTP
// (basic/transports#session-management, #protocol-version-header).
const (
	SessionField = "Mcp-Session-Id"
	VersionField = "Mcp-Protocol-Version"
)

// A RawSession is another session with the same server, which a probe opens by its own
// exchanges. The probe may end or disturb it without effect on the shared session. In
// the stateless era it represents another client.
type RawSession struct {
	T      *check.T
	ID     string                 // given by the server, or ""
	Answer *check.PendingExchange // to initialize; nil in the stateless era
}

// OpenSession opens a session by initialize and notifications/initialized. If the
// server opens none the body ends: streamable-http.clients judges whether it should.
// The caller ends the session.
func OpenSession(t *check.T) *RawSession {
	b, why := TryOpenSession(t)
	if why != "" {
		t.NotObserved("a second session could not be opened: "+why, "let the server open several sessions at once")
	}
	return b
}

// TryOpenSession is like OpenSession but returns why there is no session. The answer to
// initialize is kept.
func TryOpenSession(t *check.T) (b *RawSession, why string) {
	b = &RawSession{T: t}
	if t.Facts.Stateless {
		return b, ""
	}
	x, err := t.HTTP().TryPost(InitializeFrame(t), check.Without(SessionField), check.Without(VersionField))
	if err != nil {
		return b, err.Error()
	}
	b.Answer, b.ID = x, x.Header.Get(SessionField)
	if !IsServed(t, x) {
		return b, "initialize was answered with " + check.Describe(x)
	}
	if _, err := b.TryPost(InitializedFrame); err != nil {
		return b, err.Error()
	}
	return b, ""
}

// InitializedFrame is the notification that ends the handshake.
const InitializedFrame = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// InitializeFrame returns the bytes of an initialize request of this revision.
func InitializeFrame(t *check.T) string {
	return t.Frame(t.NextID(), "initialize", check.InitializeParams(string(t.Rev)))
}

// Edits returns the edits that move a request of the shared session to this one,
// followed by further ones.
func (b *RawSession) Edits(further ...check.Edit) []check.Edit {
	own := check.Without(SessionField)
	if b.ID != "" {
		own = check.With(SessionField, b.ID)
	}
	return append([]check.Edit{own}, further...)
}

// Post posts a message in the session.
func (b *RawSession) Post(raw string, edits ...check.Edit) *check.PendingExchange {
	return b.T.HTTP().Post(raw, b.Edits(edits...)...)
}

// TryPost is like Post but returns why there is no response.
func (b *RawSession) TryPost(raw string, edits ...check.Edit) (*check.PendingExchange, error) {
	return b.T.HTTP().TryPost(raw, b.Edits(edits...)...)
}

// TryRequest sends a request with another method than POST in the session.
func (b *RawSession) TryRequest(method string, edits ...check.Edit) (*check.PendingExchange, error) {
	return b.T.HTTP().TryRequest(method, b.Edits(edits...)...)
}

// End ends the session by DELETE, and reports whether the server confirmed it.
func (b *RawSession) End() bool {
	if b.ID == "" {
		return false
	}
	x, err := b.TryRequest(http.MethodDelete)
	return err == nil && IsSuccess(x)
}

// BarrierFrame returns a request that any server answers with a result, with a new id
// or the given one.
func BarrierFrame(t *check.T, id ...wire.ID) string {
	of := t.NextID()
	if len(id) > 0 {
		of = id[0]
	}
	return t.Frame(of, t.Facts.BarrierMethod, nil)
}

// EndIfPolling ends the body if a stream sent an event id and ended before the answer:
// the client may then resume it (basic/transports#sending-messages-to-the-server).
func EndIfPolling(t *check.T, x *check.PendingExchange) {
	known := x.Snapshot()
	if !known.HasEnded() || t.Facts.Stateless || !known.IsEventStream() ||
		slices.ContainsFunc(known.Messages(), wire.Message.IsResponse) {
		return
	}
	if slices.ContainsFunc(known.Events(), func(e wire.Entry) bool { return e.EventID() != "" }) {
		t.NotObserved("the stream of a request ended before its answer, and the client may resume it",
			"keep the stream of a request open until its answer")
	}
}

// IsSuccess reports whether a response has a status of success.
func IsSuccess(x *check.PendingExchange) bool { return x.Status >= 200 && x.Status < 300 }

// IsServed reports whether a request was answered with a status of success and a
// result.
func IsServed(t *check.T, x *check.PendingExchange) bool {
	if !IsSuccess(x) {
		return false
	}
	m, ok := t.HTTP().Response(x)
	return ok && m.Kind == wire.Result
}
