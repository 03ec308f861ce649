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
		"capabilities":      membersAt(r.Revision, "ServerCapabilities", r.conn.features.Capabilities),
		"instructions":      r.conn.features.Instructions,
		"_meta":             Object{spec.MetaServerInfo: membersAt(r.Revision, "Implementation", r.conn.features.Info)},
	}, nil
}
