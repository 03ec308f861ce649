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

// authorize gives a site the token of the first user where no header does, and
// has our own authorization server mint what the configuration leaves out.
func (f *flags) authorize(ctx context.Context, at *transport.Endpoint) (*transport.Endpoint, error) {
	own := &f.given.Authorization
	if f.authority.Issuer != "" {
		m := &minter{f.authority.Issuer, at.URL.String(), f.authority.Scopes, f.timeout}
		if err := m.check(ctx); err != nil {
			return nil, fmt.Errorf("--config: authorization.issuer: %w", err)
		}
		minted, err := m.tokens(ctx)
		if err != nil {
			return nil, fmt.Errorf("--config: authorization.issuer: %w", err)
		}
		maps.Copy(minted, own.Tokens)
		own.Tokens = minted
		own.Mint = func(ctx context.Context, scope string) (string, error) {
			return m.mint(ctx, authserver.First, scope)
		}
	}
	if first := own.Tokens[string(authserver.First)]; first != "" && at.Bearer() == "" {
		at = at.WithBearer(first)
	}
	*own = own.Guarded(at.Bearer())
	return at, nil
}

// A minter asks an authorization server of ours for tokens for a server.
type minter struct {
	issuer   string
	resource string
	scopes   map[string]string
	within   time.Duration
}

// check refuses an authorization server that is not ours, or not on the loopback
// interface.
func (m *minter) check(ctx context.Context) error {
	u, err := url.Parse(m.issuer)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return fmt.Errorf("%s is not on the loopback interface, where alone tokens are minted: give the tokens themselves", m.issuer)
	}
	var metadata map[string]any
	if err := m.ask(ctx, http.MethodGet, "/.well-known/oauth-authorization-server", "", &metadata); err != nil {
		return err
	}
	if metadata[authserver.MintEndpoint] == nil {
		return fmt.Errorf("%s is no authorization server of ours (mcpcheck reference authorization-server), and mints no tokens: give the tokens themselves", m.issuer)
	}
	return nil
}

// tokens returns tokens by kind: less scope and more only where the scopes are
// known.
func (m *minter) tokens(ctx context.Context) (map[string]string, error) {
	out := map[string]string{}
	for _, kind := range authserver.Kinds() {
		token, err := m.mint(ctx, kind, m.scopes[string(kind)])
		switch {
		case err == nil:
			out[string(kind)] = token
		case kind != authserver.Narrow && kind != authserver.Broad:
			return nil, err
		}
	}
	return out, nil
}

// mint returns a token of a kind. Where no scope is given it is that of the first
// user, of what is neither less nor more.
func (m *minter) mint(ctx context.Context, kind authserver.Kind, scope string) (string, error) {
	if scope == "" && kind != authserver.Narrow && kind != authserver.Broad {
		scope = m.scopes[string(authserver.First)]
	}
	form := url.Values{"kind": {string(kind)}, "resource": {m.resource}, "scope": {scope}}
	var answer struct {
		Token string `json:"access_token"`
	}
	if err := m.ask(ctx, http.MethodPost, "/mint", form.Encode(), &answer); err != nil {
		return "", err
	}
	return answer.Token, nil
}

func (m *minter) ask(ctx context.Context, method, path, form string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, m.within)
	defer cancel()
	at := strings.TrimSuffix(m.issuer, "/") + path
	r, err := http.NewRequestWithContext(ctx, method, at, strings.NewReader(form))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, at, err)
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
		return fmt.Errorf("%s %s: %w", method, at, err)
	}
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s %s was answered with %s", method, at, answer.Status)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("%s %s was answered with no JSON object: %w", method, at, err)
	}
	return nil
}
