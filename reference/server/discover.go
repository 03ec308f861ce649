package server

import "context"

// discover tells the versions, capabilities and identity of the server
// (server/discover).
func discover(_ context.Context, r *Request) (any, *Error) {
	return Object{
		"supportedVersions": r.conn.versions(),
		"capabilities":      shape(r.Revision, "ServerCapabilities", r.conn.library.Capabilities),
		"instructions":      r.conn.library.Instructions,
	}, nil
}
