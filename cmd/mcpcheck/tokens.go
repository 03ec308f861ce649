package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/authserver"
)

// authorize returns the endpoint with the token of the first user, unless a
// header gives one. Where the configuration names an issuer, it mints the tokens
// that the configuration does not give.
func (f *flags) authorize(ctx context.Context, at *transport.Endpoint) (*transport.Endpoint, error) {
	given := &f.given.Authorization
	if f.authorization.Issuer != "" {
		m := &minter{
			issuer: f.authorization.Issuer, resource: at.URL.String(), scopes: f.authorization.Scopes,
			timeout: f.timeout,
		}
		if err := m.validate(ctx); err != nil {
			return nil, fmt.Errorf("--config: authorization.issuer: %w", err)
		}
		minted, err := m.mintAll(ctx)
		if err != nil {
			return nil, fmt.Errorf("--config: authorization.issuer: %w", err)
		}
		maps.Copy(minted, given.Tokens)
		given.Tokens = minted
		given.Mint = func(ctx context.Context, scope string) (string, error) {
			return m.mint(ctx, authserver.FirstUserToken, scope)
		}
	}
	if first := given.Tokens[string(authserver.FirstUserToken)]; first != "" && at.Bearer() == "" {
		at = at.WithBearer(first)
	}
	*given = given.WithSecrets(at.Bearer())
	return at, nil
}

// A minter requests tokens for a server from the reference authorization server.
type minter struct {
	issuer   string
	resource string            // the server that the tokens are for
	scopes   map[string]string // by kind of token
	timeout  time.Duration     // of one request
}

// validate returns an error unless the issuer is the reference authorization
// server on the loopback interface.
func (m *minter) validate(ctx context.Context) error {
	u, err := url.Parse(m.issuer)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%s is not on the loopback interface: give tokens instead of an issuer", m.issuer)
	}
	var metadata map[string]any
	if err := m.call(ctx, http.MethodGet, "/.well-known/oauth-authorization-server", "", &metadata); err != nil {
		return err
	}
	if metadata[authserver.MintEndpoint] == nil {
		return fmt.Errorf("%s is not a mcpcheck reference authorization-server and mints no tokens: "+
			"give tokens instead of an issuer", m.issuer)
	}
	return nil
}

// mintAll returns a token of each kind. Those with less or more scope are left
// out where the configuration names no scope for them.
func (m *minter) mintAll(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	for _, kind := range authserver.TokenKinds() {
		token, err := m.mint(ctx, kind, m.scopes[string(kind)])
		switch {
		case err == nil:
			out[string(kind)] = token
		case !hasOwnScope(kind):
			return nil, err
		}
	}
	return out, nil
}

// hasOwnScope reports whether a kind of token has another scope than the token
// of the first user.
func hasOwnScope(kind authserver.TokenKind) bool {
	return kind == authserver.NarrowScopeToken || kind == authserver.BroadScopeToken
}

// mint returns a token of a kind. Without a scope it has that of the first user,
// unless the kind has its own.
func (m *minter) mint(ctx context.Context, kind authserver.TokenKind, scope string) (string, error) {
	if scope == "" && !hasOwnScope(kind) {
		scope = m.scopes[string(authserver.FirstUserToken)]
	}
	form := url.Values{"kind": {string(kind)}, "resource": {m.resource}, "scope": {scope}}
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := m.call(ctx, http.MethodPost, "/mint", form.Encode(), &answer); err != nil {
		return "", err
	}
	return answer.Token, nil
}

// call sends a request to the issuer and decodes the JSON of the answer.
func (m *minter) call(ctx context.Context, method, path, form string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	address := strings.TrimSuffix(m.issuer, "/") + path
	r, err := http.NewRequestWithContext(ctx, method, address, strings.NewReader(form))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, address, err)
	}
	if form != "" {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	answer, err := client.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, address, err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s was answered with %s", method, address, answer.Status)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s %s was not answered with a JSON object: %w", method, address, err)
	}
	return nil
}
