package authorization

import (
	"fmt"
	"net/http"
	"net/url"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// An attempt is a request to a protected server and its response.
type attempt struct {
	label    string // what is particular about the request, such as its token
	exchange *check.PendingExchange
	message  wire.Message // the JSON-RPC response, if there is one
	answered bool
}

// isServed reports whether the server did what was requested: the HTTP status says
// so, and no JSON-RPC error says otherwise.
func (a attempt) isServed() bool {
	return a.exchange.Status < 300 && !(a.answered && a.message.Kind == wire.Error)
}

// describe returns the response in words.
func (a attempt) describe() string { return check.Describe(a.exchange) }

// challenge returns the Bearer challenge of the response, nil if there is none.
func (a attempt) challenge() *challenge { return bearerChallenge(a.exchange.Header) }

// challengeFields returns the values of WWW-Authenticate in the response, for
// messages.
func (a attempt) challengeFields() string {
	values := a.exchange.Header.Values("WWW-Authenticate")
	if len(values) == 0 {
		return "nothing"
	}
	return wire.Clip(string(check.MustJSON(values)), 200)
}

// withToken replaces the access token of the session.
func withToken(token string) check.Edit { return check.With("Authorization", "Bearer "+token) }

// withoutToken removes the access token of the session.
func withoutToken() check.Edit { return check.Without("Authorization") }

// withTokenInQuery puts a token into the query of the URL.
func withTokenInQuery(t *check.T, token string) check.Edit {
	return func(r *transport.HTTPRequest) {
		to := r.URL
		if to == nil {
			to = t.HTTP().URL()
		}
		with := *to
		q := with.Query()
		q.Set("access_token", token)
		with.RawQuery = q.Encode()
		r.URL = &with
	}
}

// withoutSession removes the header fields of the session.
func withoutSession() []check.Edit {
	return []check.Edit{check.Without("Mcp-Session-Id"), check.Without("MCP-Protocol-Version")}
}

// postMessage posts a message and returns the attempt.
func postMessage(t *check.T, label, raw string, edits ...check.Edit) attempt {
	a := attempt{label: label, exchange: t.HTTP().Post(raw, edits...)}
	if t.Transport() == transport.HTTP {
		a.message, a.answered = t.HTTP().Response(a.exchange)
	}
	return a
}

// postOpening posts the first request of a client, initialize or server/discover,
// and returns the attempt. It ends a session that the server opens.
func postOpening(t *check.T, label string, edits ...check.Edit) attempt {
	if t.Facts.Stateless {
		return postMessage(t, label, t.Frame(t.NextID(), "server/discover", check.Params{}), edits...)
	}
	raw := t.Frame(t.NextID(), "initialize", check.Params{
		"protocolVersion": string(t.Rev), "capabilities": check.Params{},
		"clientInfo": check.Params{"name": "mcpcheck", "version": "0.1.0"},
	})
	a := postMessage(t, label, raw, append(withoutSession(), edits...)...)
	if id := a.exchange.Header.Get("Mcp-Session-Id"); id != "" && a.isServed() {
		if x, err := t.HTTP().TryRequest(http.MethodDelete, check.With("Mcp-Session-Id", id)); err == nil {
			x.Close()
		}
	}
	return a
}

// postBarrier posts a request that every server answers, in the session.
func postBarrier(t *check.T, label string, edits ...check.Edit) attempt {
	return postMessage(t, label, t.Frame(t.NextID(), t.Facts.BarrierMethod, check.Params{}), edits...)
}

// The openings that several checks judge.
var (
	openingWithoutTokenKey = check.NewKey[attempt]("opening without a token")
	secondOpeningKey       = check.NewKey[attempt]("second opening with the token")
)

// openingWithoutToken returns the answer to an opening without a token.
func openingWithoutToken(t *check.T) attempt {
	return check.Once(t, openingWithoutTokenKey, func() attempt { return postOpening(t, "no token", withoutToken()) })
}

// requireProtected returns the answer to an opening without a token. It ends the
// body at a server that is not protected, to which the rules of authorization do not
// apply (basic/authorization#protocol-requirements): one that answers without a
// token, or that refuses a second client with the token too.
func requireProtected(t *check.T) attempt {
	if t.Auth().Bearer() == "" {
		t.NotApplicable("the server answers without a token")
	}
	a := openingWithoutToken(t)
	if a.isServed() {
		t.NotApplicable("the server answers without a token")
	}
	if a.exchange.Status != http.StatusUnauthorized {
		second := check.Once(t, secondOpeningKey, func() attempt { return postOpening(t, "the token") })
		if !second.isServed() {
			t.NotApplicable(fmt.Sprintf("the server refuses a second client with any token: %s", second.describe()))
		}
	}
	return a
}

// fetchDocument gets a public JSON document, without any header field of the user.
// ok is false if there is none.
func fetchDocument(t *check.T, at *url.URL) (document gjson.Result, ok bool) {
	x, err := t.HTTP().TryRequest(http.MethodGet, check.WithoutGivenHeaders(), check.At(at),
		check.With("Accept", "application/json"), check.Without("Mcp-Session-Id"))
	if err != nil || !t.HTTP().Complete(x) || x.Status != http.StatusOK {
		return document, false
	}
	body := x.Snapshot().PlainBody()
	document = gjson.ParseBytes(body)
	return document, gjson.ValidBytes(body) && document.IsObject()
}

// onHost returns the URL of a path on the host of the server.
func onHost(t *check.T, path string) *url.URL {
	at := *t.HTTP().URL()
	at.Path, at.RawPath, at.RawQuery, at.Fragment, at.User = path, "", "", "", nil
	return &at
}

// onLoopback reports whether the server is judged on the loopback interface.
func onLoopback(t *check.T) bool { return check.IsLoopback(t.HTTP().URL()) }

// describeJSON returns a JSON value as text, for messages.
func describeJSON(v gjson.Result) string {
	if !v.Exists() {
		return "missing"
	}
	return wire.Clip(v.Raw, 120)
}
