package authorization

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A knock is what came of one request of HTTP to a protected server.
type knock struct {
	with     string // whose token it brought, in words
	x        *check.Exchange
	m        wire.Message // the response in the answer, if any
	answered bool
}

// served tells whether the server did what was asked for: HTTP says so, and no
// error of the protocol says otherwise.
func (k knock) served() bool {
	return k.x.Status < 300 && !(k.answered && k.m.Kind == wire.Error)
}

func (k knock) told() string { return check.Describe(k.x) }

// withToken has a request carry an access token in place of that of the session.
func withToken(token string) check.Edit { return check.With("Authorization", "Bearer "+token) }

// withoutToken has a request carry none.
var withoutToken = check.Without("Authorization")

// newcomer takes off what tells of a session.
func newcomer() []check.Edit {
	return []check.Edit{check.Without("Mcp-Session-Id"), check.Without("MCP-Protocol-Version")}
}

// knocked posts a message and returns what came of it.
func knocked(t *check.T, with, raw string, edits ...check.Edit) knock {
	k := knock{with: with, x: t.HTTP().Post(raw, edits...)}
	if t.Transport() == transport.HTTP {
		k.m, k.answered = t.HTTP().Response(k.x)
	}
	return k
}

// firstWords posts what a client begins with: initialize, or server/discover. A
// session that comes of it is ended.
func firstWords(t *check.T, with string, edits ...check.Edit) knock {
	if t.Facts.Stateless {
		return knocked(t, with, t.Frame(t.NextID(), "server/discover", check.Params{}), edits...)
	}
	raw := t.Frame(t.NextID(), "initialize", check.Params{
		"protocolVersion": string(t.Rev), "capabilities": check.Params{}, "clientInfo": check.Params{"name": "mcpcheck", "version": "0.1.0"},
	})
	k := knocked(t, with, raw, append(newcomer(), edits...)...)
	if id := k.x.Header.Get("Mcp-Session-Id"); id != "" && k.served() {
		if x, err := t.HTTP().TryRequest(http.MethodDelete, check.With("Mcp-Session-Id", id)); err == nil {
			x.Close()
		}
	}
	return k
}

// harmlessFrame is a request that every server answers, in the session.
func harmlessFrame(t *check.T) string {
	method := "ping"
	if t.Facts.Stateless {
		method = "server/discover"
	}
	return t.Frame(t.NextID(), method, check.Params{})
}

var withoutATokenKey = check.NewKey[knock]("without a token")

var withTheTokenAgainKey = check.NewKey[knock]("with the token again")

// nobody returns what came of the first words without a token, where the server
// is protected: it answers them with the token and not without. Elsewhere the
// rules of authorization are not for the server
// (basic/authorization#protocol-requirements).
func nobody(t *check.T) knock {
	if t.Auth().Bearer() == "" {
		t.NotApplicable("the server answers without a token")
	}
	k := check.Once(t, withoutATokenKey, func() knock { return firstWords(t, "no token", withoutToken) })
	if k.served() {
		t.NotApplicable("the server answers without a token")
	}
	if k.x.Status != http.StatusUnauthorized {
		again := check.Once(t, withTheTokenAgainKey, func() knock { return firstWords(t, "the token") })
		if !again.served() {
			t.NotApplicable(fmt.Sprintf("the server refuses a second client, whatever token it brings: %s", again.told()))
		}
	}
	return k
}

// A lie is a token that no server should take.
type lie struct{ what, token string }

// unissued returns tokens that nobody issued.
func unissued(t *check.T) []lie {
	own := t.Auth().Bearer()
	half := own[:len(own)/2]
	t.Auth().Hide(half)
	return []lie{
		{"a word for a token", "mcpcheck"},
		{"letters for a token", "mF_9.B5f-4.1JqM2mcpcheck0123456789abcdefgh"},
		{"half of the token", half},
	}
}

// forgedTokens returns tokens with the claims of the good one that nobody signed, and
// one of a stranger if there is one. There are none where the good token is no
// JSON Web Token (RFC 7519).
func forgedTokens(t *check.T) []lie {
	parts := strings.Split(t.Auth().Bearer(), ".")
	var out []lie
	if len(parts) == 3 && isJSONPart(parts[0]) && isJSONPart(parts[1]) {
		none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"JWT"}`))
		noise := base64.RawURLEncoding.EncodeToString([]byte(strings.Repeat("mcpcheck", 8)))
		out = append(out,
			lie{"its claims without a signature", none + "." + parts[1] + "."},
			lie{"its claims with a signature that is none", parts[0] + "." + parts[1] + "." + noise})
		t.Auth().Hide(parts[1])
	}
	if token, ok := t.Auth().TryToken(check.TokenForeign); ok {
		out = append(out, lie{"a token of another issuer", token})
	}
	return out
}

func isJSONPart(part string) bool {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	return err == nil && gjson.ValidBytes(raw) && gjson.ParseBytes(raw).IsObject()
}

var withLiesKey = check.NewKey[[]knock]("with lies")

// lying returns what came of the first words with tokens that no server should
// take: those that nobody issued, that nobody signed, and that have expired.
func lying(t *check.T) []knock {
	nobody(t)
	return check.Once(t, withLiesKey, func() []knock {
		lies := append(unissued(t), forgedTokens(t)...)
		if token, ok := t.Auth().TryToken(check.TokenExpired); ok {
			lies = append(lies, lie{"an expired token", token})
		}
		var out []knock
		for _, l := range lies {
			out = append(out, firstWords(t, l.what, withToken(l.token)))
		}
		return out
	})
}

// inQuery puts a token into the query of a request.
func inQuery(t *check.T, token string) check.Edit {
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

// fetchOpen gets a document that lies open to everybody; nothing of ours goes with
// it. ok is false where none came.
func fetchOpen(t *check.T, at *url.URL) (o gjson.Result, x *check.Exchange, ok bool) {
	x, err := t.HTTP().TryRequest(http.MethodGet, check.WithoutGivenHeaders(), check.At(at), check.With("Accept", "application/json"), check.Without("Mcp-Session-Id"))
	if err != nil || !t.HTTP().Complete(x) || x.Status != http.StatusOK {
		return o, x, false
	}
	o = gjson.ParseBytes(x.Body())
	return o, x, gjson.ValidBytes(x.Body()) && o.IsObject()
}

// mayFetch tells whether a URL that the server names may be fetched: one of its
// own host, or of https.
func mayFetch(t *check.T, at *url.URL) bool {
	return at.Host == t.HTTP().URL().Host || at.Scheme == "https" || isLoopback(at) && isLoopback(t.HTTP().URL())
}

func isLoopback(at *url.URL) bool {
	switch at.Hostname() {
	case "localhost", "127.0.0.1", "::1":
		return true
	}
	return false
}
