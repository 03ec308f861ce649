package server

import (
	"net/http"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// The header fields of a session over streamable HTTP
// (basic/transports#session-management, #protocol-version-header).
const (
	sessionField = "Mcp-Session-Id"
	versionField = "Mcp-Protocol-Version"
)

// beside is a session at the same server that a probe opened by exchanges of
// its own, so that it may be ended, crossed or spoilt without harm to the one
// that checks share. In the stateless era it stands for one more client.
type beside struct {
	t      *check.T
	id     string          // that the server gave, or ""
	answer *check.Exchange // to initialize; nil in the stateless era
}

// openSession opens a session by initialize and notifications/initialized. Where
// the server opens none nothing is observed: whether it should is judged by
// streamable-http.clients. The caller ends it.
func openSession(t *check.T) *beside {
	b, why := tryOpenSession(t)
	if why != "" {
		t.NotObserved("a second session could not be opened: "+why, "")
	}
	return b
}

// tryOpenSession does the same, and tells why there is none; what initialize was
// answered with then is kept.
func tryOpenSession(t *check.T) (b *beside, why string) {
	b = &beside{t: t}
	if t.Facts.Stateless {
		return b, ""
	}
	x, err := t.TryPost(initializing(t), check.Without(sessionField), check.Without(versionField))
	if err != nil {
		return b, err.Error()
	}
	b.answer, b.id = x, x.Header.Get(sessionField)
	if !served(t, x) {
		return b, "initialize was answered with " + check.Told(x)
	}
	if _, err := b.tryPost(initialized); err != nil {
		return b, err.Error()
	}
	return b, ""
}

const initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// initializing returns the bytes of an initialize request of this revision.
func initializing(t *check.T) string {
	return t.Frame(t.NextID(), "initialize", greeting(string(t.Rev)))
}

// edits are those by which a request of the shared session becomes one of this
// one, with further ones behind them.
func (b *beside) edits(further ...check.Edit) []check.Edit {
	own := check.Without(sessionField)
	if b.id != "" {
		own = check.With(sessionField, b.id)
	}
	return append([]check.Edit{own}, further...)
}

func (b *beside) post(raw string, edits ...check.Edit) *check.Exchange {
	return b.t.Post(raw, b.edits(edits...)...)
}

func (b *beside) tryPost(raw string, edits ...check.Edit) (*check.Exchange, error) {
	return b.t.TryPost(raw, b.edits(edits...)...)
}

func (b *beside) tryAsk(method string, edits ...check.Edit) (*check.Exchange, error) {
	return b.t.TryAsk(method, b.edits(edits...)...)
}

// end ends the session by DELETE, and tells whether the server said that it did.
func (b *beside) end() bool {
	if b.id == "" {
		return false
	}
	x, err := b.tryAsk(http.MethodDelete)
	return err == nil && ok2xx(x)
}

// barrier returns a request that any server answers with a result, under an id
// of its own or one of the caller's.
func barrier(t *check.T, id ...wire.ID) string {
	of := t.NextID()
	if len(id) > 0 {
		of = id[0]
	}
	return t.Frame(of, t.Facts.Barrier, nil)
}

// leftToPoll ends the body where a stream gave its client an event to come back
// by, and ended before the answer, as it may where a stream is resumed
// (basic/transports#sending-messages-to-the-server).
func leftToPoll(t *check.T, x *check.Exchange) {
	if _, over := x.Over(); !over || t.Facts.Stateless || !x.Streams() || slices.ContainsFunc(x.Messages(), wire.Message.IsResponse) {
		return
	}
	if slices.ContainsFunc(x.Events(), func(e transport.Event) bool { return e.HasID && e.ID != "" }) {
		t.NotObserved("the stream of a request ended before its answer, for which the client may come back", "")
	}
}

// ok2xx tells whether an answer has a status of success.
func ok2xx(x *check.Exchange) bool { return x.Status >= 200 && x.Status < 300 }

// served tells whether a request was processed: a status of success, and a
// result.
func served(t *check.T, x *check.Exchange) bool {
	if !ok2xx(x) {
		return false
	}
	m, ok := t.Response(x)
	return ok && m.Kind == wire.Result
}
