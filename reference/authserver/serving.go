package authserver

import (
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// A Served is a protected reference server that listens.
type Served struct {
	Site   transport.Site    // called by the first user
	Server *Server           // that it trusts
	Tokens map[string]string // for it, by kind
	End    func()
}

// Serving serves a protected reference server over a transport on a loopback
// port of its own.
func Serving(over transport.Kind, o server.Options) (*Served, error) {
	s := &Served{}
	var err error
	if s.Site, s.End, err = server.Serving(over, Protect(o, func(made *Server) { s.Server = made })); err != nil {
		return nil, err
	}
	s.Tokens = s.Server.Tokens(s.Server.Issuer() + "/mcp")
	s.Site.Endpoint = s.Site.Endpoint.WithBearer(s.Tokens[string(First)])
	return s, nil
}

// Cards returns the resources that the first user of the reference server alone
// may read.
func Cards() []string { return []string{"library://readers/" + FirstUser + "/card"} }
