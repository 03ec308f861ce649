package authserver

import (
	"net/http"

	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// referenceScopes returns the scopes of the reference server.
func referenceScopes() Scopes {
	return Scopes{
		Usual:  server.ScopeEnter + " " + server.ScopeRead + " " + server.ScopeDesk,
		Narrow: server.ScopeEnter,
		Broad:  server.ScopeAll,
	}
}

// Protect returns options that make a reference server require a token of an
// authorization server at its own origin. The authorization server is made when the
// reference server listens, and is passed to made.
func Protect(o server.Options, made func(*Server)) server.Options {
	guard := server.AuthorizationOptions{}
	if o.HTTP.Authorization != nil {
		guard = *o.HTTP.Authorization
	}
	guard.AtOrigin = func(origin string) (server.Authority, http.Handler) {
		s := New(origin, referenceScopes())
		s.resource = origin + "/mcp"
		made(s)
		return s, s
	}
	o.HTTP.Authorization = &guard
	return o
}

// A ProtectedServer is a protected reference server that listens.
type ProtectedServer struct {
	Site   transport.HTTPTarget // with a token of the first user
	Server *Server              // the authorization server that it trusts
	Tokens map[string]string    // for it, by kind
	Stop   func()
}

// StartProtected serves a protected reference server over a transport on a port of the
// loopback interface.
func StartProtected(over transport.Kind, o server.Options) (*ProtectedServer, error) {
	s := &ProtectedServer{}
	var err error
	s.Site, s.Stop, err = server.HTTPTarget(over, Protect(o, func(made *Server) { s.Server = made }))
	if err != nil {
		return nil, err
	}
	s.Tokens = s.Server.Tokens(s.Server.Issuer() + "/mcp")
	s.Site.Endpoint = s.Site.Endpoint.WithBearer(s.Tokens[string(FirstUserToken)])
	return s, nil
}

// PrivateResources returns the URIs of the resources that only the first user of the reference
// server may read.
func PrivateResources() []string { return []string{"library://readers/" + FirstUser + "/card"} }
