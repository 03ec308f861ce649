package check

import (
	"context"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/secret"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Authorization holds what the user gives for a protected target: access tokens beside
// the regular one that each request carries. They are sent to the target only and are
// hidden in every report.
type Authorization struct {
	Tokens map[string]string // by kind: the constants below
	// Mint makes a valid token with a scope; nil if none can be made.
	Mint    func(ctx context.Context, scope string) (string, error)
	Private []string // URIs of resources that only the first user may read

	Secrets *secret.Set // that no report shows; nil for none
}

// The kinds of tokens.
const (
	TokenSecond   = "second"   // of another user
	TokenExpired  = "expired"  // expired
	TokenAudience = "audience" // issued for another server
	TokenForeign  = "foreign"  // of an issuer that the target does not trust
	TokenNarrow   = "narrow"   // with less scope than the regular one
	TokenBroad    = "broad"    // with a broader scope that implies that of the regular one
	TokenUpper    = "upper"    // whose audience has scheme and host in upper case
)

// tokenKinds describes the kinds of tokens, for messages.
var tokenKinds = map[string]string{
	TokenSecond: "of another user", TokenExpired: "that has expired", TokenAudience: "for another server",
	TokenForeign: "of another issuer", TokenNarrow: "with less scope", TokenBroad: "with a broader scope",
	TokenUpper: "whose audience is in upper case",
}

// TokenKinds returns the kinds of tokens.
func TokenKinds() []string {
	return []string{TokenSecond, TokenExpired, TokenAudience, TokenForeign, TokenNarrow, TokenBroad, TokenUpper}
}

// WithSecrets returns the same with a record of the used tokens, which Hide hides. own
// is the regular token.
func (a Authorization) WithSecrets(own string) Authorization {
	if a.Secrets == nil {
		a.Secrets = &secret.Set{}
	}
	a.Secrets.AddToken(own)
	for _, token := range a.Tokens {
		a.Secrets.AddToken(token)
	}
	return a
}

// Hide returns a text without the secrets in it.
func (a Authorization) Hide(text string) string { return a.Secrets.Hide(text) }

// HideAll returns an outcome without the tokens in it: a server may repeat them
// anywhere.
func (a Authorization) HideAll(o Outcome) Outcome {
	if a.Secrets == nil {
		return o
	}
	for _, text := range []*string{&o.Detail, &o.Expected, &o.Got, &o.Cause, &o.Hint} {
		*text = a.Hide(*text)
	}
	o.Notes = slices.Clone(o.Notes)
	for i, note := range o.Notes {
		o.Notes[i] = a.Hide(note)
	}
	o.Frames = slices.Clone(o.Frames)
	for i := range o.Frames {
		o.Frames[i] = a.hideIn(o.Frames[i])
	}
	return o
}

// hideIn returns a frame without the tokens in it.
func (a Authorization) hideIn(f wire.Frame) wire.Frame {
	if f.Raw != nil {
		f.Raw = []byte(a.Hide(string(f.Raw)))
	}
	if f.HTTP == nil {
		return f
	}
	h := *f.HTTP
	h.URL, h.Body, h.EndReason, h.Header = a.Hide(h.URL), a.Hide(h.Body), a.Hide(h.EndReason), map[string][]string{}
	for key, values := range f.HTTP.Header {
		for _, v := range values {
			h.Header[key] = append(h.Header[key], a.Hide(v))
		}
	}
	f.HTTP = &h
	return f
}

// Bearer returns the access token that every request of the session carries, or "".
func (a Auth) Bearer() string {
	return a.t.s.BearerToken()
}

// Token returns the token of a kind. If the user gives none it ends the body, with a
// hint how to give one.
func (a Auth) Token(kind string) string {
	token, ok := a.t.given.Authorization.Tokens[kind]
	if !ok {
		a.t.NotObserved("no token "+tokenKinds[kind]+" is given",
			"give one: authorization: {"+kind+": \"${TOKEN}\"} in --config")
	}
	return token
}

// Mint returns a valid token with a scope; ok is false if none can be made.
func (a Auth) Mint(scope string) (token string, ok bool) {
	if a.t.given.Authorization.Mint == nil {
		return "", false
	}
	token, err := a.t.given.Authorization.Mint(a.t.ctx, scope)
	a.t.interrupted()
	if err != nil {
		return "", false
	}
	a.t.Auth().Hide(token)
	return token, true
}

// Hide hides a text in every report, such as a token that the check made.
func (a Auth) Hide(text string) { a.t.given.Authorization.Secrets.Add(text) }

// PrivateResources returns the URIs of resources that only the first user may read.
func (a Auth) PrivateResources() []string { return a.t.given.Authorization.Private }

// TryToken returns the token of a kind, if the user gives one.
func (a Auth) TryToken(kind string) (token string, ok bool) {
	token, ok = a.t.given.Authorization.Tokens[kind]
	return token, ok
}
