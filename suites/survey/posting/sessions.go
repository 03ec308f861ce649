package posting

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
	SessionField = "Mcp-Session-Id"
	VersionField = "Mcp-Protocol-Version"
)

// Beside is a session at the same server that a probe opened by exchanges of
// its own, so that it may be ended, crossed or spoilt without harm to the one
// that checks share. In the stateless era it stands for one more client.
type Beside struct {
	T      *check.T
	Id     string          // that the server gave, or ""
	Answer *check.Exchange // to initialize; nil in the stateless era
}

// OpenSession opens a session by initialize and notifications/initialized. Where
// the server opens none nothing is observed: whether it should is judged by
// streamable-http.clients. The caller ends it.
func OpenSession(t *check.T) *Beside {
	b, why := TryOpenSession(t)
	if why != "" {
		t.NotObserved("a second session could not be opened: "+why, "")
	}
	return b
}

// TryOpenSession does the same, and tells why there is none; what initialize was
// answered with then is kept.
func TryOpenSession(t *check.T) (b *Beside, why string) {
	b = &Beside{T: t}
	if t.Facts.Stateless {
		return b, ""
	}
	x, err := t.HTTP().TryPost(Initializing(t), check.Without(SessionField), check.Without(VersionField))
	if err != nil {
		return b, err.Error()
	}
	b.Answer, b.Id = x, x.Header.Get(SessionField)
	if !Served(t, x) {
		return b, "initialize was answered with " + check.Describe(x)
	}
	if _, err := b.TryPost(Initialized); err != nil {
		return b, err.Error()
	}
	return b, ""
}

const Initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`

// Initializing returns the bytes of an initialize request of this revision.
func Initializing(t *check.T) string {
	return t.Frame(t.NextID(), "initialize", check.InitializeParams(string(t.Rev)))
}

// Edits are those by which a request of the shared session becomes one of this
// one, with further ones behind them.
func (b *Beside) Edits(further ...check.Edit) []check.Edit {
	own := check.Without(SessionField)
	if b.Id != "" {
		own = check.With(SessionField, b.Id)
	}
	return append([]check.Edit{own}, further...)
}

func (b *Beside) Post(raw string, edits ...check.Edit) *check.Exchange {
	return b.T.HTTP().Post(raw, b.Edits(edits...)...)
}

func (b *Beside) TryPost(raw string, edits ...check.Edit) (*check.Exchange, error) {
	return b.T.HTTP().TryPost(raw, b.Edits(edits...)...)
}

func (b *Beside) TryAsk(method string, edits ...check.Edit) (*check.Exchange, error) {
	return b.T.HTTP().TryRequest(method, b.Edits(edits...)...)
}

// End ends the session by DELETE, and tells whether the server said that it did.
func (b *Beside) End() bool {
	if b.Id == "" {
		return false
	}
	x, err := b.TryAsk(http.MethodDelete)
	return err == nil && Ok2xx(x)
}

// Barrier returns a request that any server answers with a result, under an id
// of its own or one of the caller's.
func Barrier(t *check.T, id ...wire.ID) string {
	of := t.NextID()
	if len(id) > 0 {
		of = id[0]
	}
	return t.Frame(of, t.Facts.BarrierMethod, nil)
}

// LeftToPoll ends the body where a stream gave its client an event to come back
// by, and ended before the answer, as it may where a stream is resumed
// (basic/transports#sending-messages-to-the-server).
func LeftToPoll(t *check.T, x *check.Exchange) {
	if _, over := x.Ended(); !over || t.Facts.Stateless || !x.IsEventStream() ||
		slices.ContainsFunc(x.Messages(), wire.Message.IsResponse) {
		return
	}
	if slices.ContainsFunc(x.Events(), func(e transport.Event) bool { return e.HasID && e.ID != "" }) {
		t.NotObserved("the stream of a request ended before its answer, for which the client may come back", "")
	}
}

// Ok2xx tells whether an answer has a status of success.
func Ok2xx(x *check.Exchange) bool { return x.Status >= 200 && x.Status < 300 }

// Served tells whether a request was processed: a status of success, and a
// result.
func Served(t *check.T, x *check.Exchange) bool {
	if !Ok2xx(x) {
		return false
	}
	m, ok := t.HTTP().Response(x)
	return ok && m.Kind == wire.Result
}
