package server

import (
	"context"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// discover tells the versions, capabilities and identity of the server
// (server/discover).
func discover(_ context.Context, r *Request) (any, *Error) {
	return Object{
		"supportedVersions": r.conn.versions(),
		"capabilities":      shape(r.Revision, "ServerCapabilities", r.conn.library.Capabilities),
		"instructions":      r.conn.library.Instructions,
		"_meta":             Object{spec.MetaServerInfo: shape(r.Revision, "Implementation", r.conn.library.Info)},
	}, nil
}
