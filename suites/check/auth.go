package check

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// Authorization is what the user says of a protected target: access tokens
// beside the good one that each request carries, which are sent to the target
// alone and shown in no report.
type Authorization struct {
	Tokens map[string]string // by what is particular about them: the constants below
	// Mint makes a good token with a scope; nil where none can be made.
	Mint    func(ctx context.Context, scope string) (string, error)
	Private []string // URIs of resources that nobody but the first user may read

	secrets *secrets
}

// What is particular about a token.
const (
	TokenSecond   = "second"   // of another user
	TokenExpired  = "expired"  // expired
	TokenAudience = "audience" // issued for another server
	TokenForeign  = "foreign"  // issued by somebody whom the target does not trust
	TokenNarrow   = "narrow"   // with less scope than the good one
	TokenBroad    = "broad"    // with a broader scope that implies that of the good one
	TokenUpper    = "upper"    // whose audience has scheme and host in upper case
)

// TokenKinds returns what can be particular about a token.
func TokenKinds() []string {
	return []string{TokenSecond, TokenExpired, TokenAudience, TokenForeign, TokenNarrow, TokenBroad, TokenUpper}
}

// shortestSecret is how long a token is at least that is hidden: to hide single
// letters would leave nothing to read.
const shortestSecret = 4

// secrets are the tokens that were used.
type secrets struct {
	mu  sync.Mutex
	all []string
}

// Guarded returns the same with a record of the tokens that are used, which Hide
// hides. own is the good token.
func (a Authorization) WithSecrets(own string) Authorization {
	if a.secrets == nil {
		a.secrets = &secrets{}
	}
	a.secrets.add(own)
	for _, token := range a.Tokens {
		a.secrets.add(token)
	}
	return a
}

func (s *secrets) add(token string) {
	if s == nil || len(token) < shortestSecret {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, spelt := range []string{token, url.QueryEscape(token)} {
		if !slices.Contains(s.all, spelt) {
			s.all = append(s.all, spelt)
		}
	}
}

// Hide returns a text without the tokens in it.
func (a Authorization) Hide(text string) string {
	if a.secrets == nil {
		return text
	}
	a.secrets.mu.Lock()
	defer a.secrets.mu.Unlock()
	for _, s := range a.secrets.all {
		text = strings.ReplaceAll(text, s, "…")
	}
	return text
}

// HideAll returns what a report says without the tokens in it: a server may tell
// them anywhere.
func (a Authorization) HideAll(o Outcome) Outcome {
	if a.secrets == nil {
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

// Bearer returns the access token that every request of the session carries, ""
// for none.
func (a Auth) Bearer() string {
	return a.t.s.BearerToken()
}

// Token returns a token by what is particular about it; where the user gives none
// the body ends, with how to give one.
func (a Auth) Token(kind string) string {
	token, ok := a.t.given.Authorization.Tokens[kind]
	if !ok {
		a.t.NotObserved("no token is given that is "+kind,
			"give it in the configuration: authorization: {"+kind+": \"${TOKEN}\"}")
	}
	return token
}

// Mint returns a good token with a scope; ok is false where none can be made.
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

// Hide has a text hidden in every report, such as a token of the check's own
// making.
func (a Auth) Hide(text string) { a.t.given.Authorization.secrets.add(text) }

// PrivateResources returns the URIs of resources that nobody but the first user may
// read.
func (a Auth) PrivateResources() []string { return a.t.given.Authorization.Private }

// TryToken returns a token by what is particular about it, if the user gives
// one.
func (a Auth) TryToken(kind string) (token string, ok bool) {
	token, ok = a.t.given.Authorization.Tokens[kind]
	return token, ok
}
