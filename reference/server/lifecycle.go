package server

import (
	"context"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// initialize negotiates a handshake revision: the requested one if the server
// speaks it, else its latest (basic/lifecycle#version-negotiation).
func initialize(_ context.Context, r *Request) (any, *Error) {
	c := r.conn
	if r.Session.Revision() != "" {
		return nil, newError(spec.InvalidRequest, "The session is already initialized")
	}
	requested, ok := r.Params["protocolVersion"].(string)
	if !ok {
		return nil, invalidParams("The parameter protocolVersion must be a string")
	}
	capabilities, ok := r.Params["capabilities"].(Object)
	if !ok {
		return nil, invalidParams("The parameter capabilities must be an object")
	}
	if problem := checkCapabilities(capabilities); problem != nil {
		return nil, problem
	}
	if problem := checkImplementation("clientInfo", r.Params["clientInfo"]); problem != nil {
		return nil, problem
	}
	spoken := c.options.Revisions & spec.Handshake
	v := spec.Revision(requested)
	if !spoken.Has(v) {
		v = spoken.Newest()
	}
	r.Session.Open(v, Peer{Capabilities: capabilities})
	return Object{
		"protocolVersion": string(v),
		"capabilities":    membersAt(v, "ServerCapabilities", c.features.Capabilities),
		"serverInfo":      membersAt(v, "Implementation", c.features.Info),
		"instructions":    c.features.Instructions,
	}, nil
}

// ping is answered at any time with an empty result (basic/utilities/ping).
func ping(context.Context, *Request) (any, *Error) { return Object{}, nil }

// discover answers server/discover: the versions, capabilities and identity of the
// server.
func discover(_ context.Context, r *Request) (any, *Error) {
	c := r.conn
	return Object{
		"supportedVersions": c.versions(),
		"capabilities":      membersAt(r.Revision, "ServerCapabilities", c.features.Capabilities),
		"instructions":      c.features.Instructions,
		"_meta":             Object{spec.MetaServerInfo: membersAt(r.Revision, "Implementation", c.features.Info)},
	}, nil
}

// versions returns the revisions that the server speaks, newest first.
func (c *conn) versions() []any {
	var out []any
	for _, v := range slices.Backward(c.options.Revisions.Revisions()) {
		out = append(out, string(v))
	}
	return out
}

// checkHandshake checks that a session may carry a request: before initialize
// nothing but initialize and ping (basic/lifecycle#initialization).
func (c *conn) checkHandshake(r *Request) *Error {
	if v := r.Session.Revision(); v != "" {
		r.Revision, r.Client = v, r.Session.Client()
		return checkProgressToken(r)
	}
	r.Revision = (c.options.Revisions & spec.Handshake).Newest()
	switch {
	case r.Method == "initialize" || r.Method == "ping":
		return checkProgressToken(r)
	case c.hasMethod(r.Method, c.options.Revisions&spec.Handshake):
		return newError(spec.InvalidRequest, "The session is not initialized")
	}
	return nil // an unknown method: callMethod refuses it
}

func checkCapabilities(o Object) *Error {
	for _, name := range []string{"roots", "sampling", "elicitation", "experimental", "extensions", "tasks"} {
		if v, ok := o[name]; ok && !isObject(v) {
			return invalidParams("The capability %s must be an object", name)
		}
	}
	return nil
}

func checkImplementation(what string, v any) *Error {
	o, ok := v.(Object)
	if !ok {
		return invalidParams("%s must be an object", what)
	}
	for _, member := range []string{"name", "version"} {
		if !isString(o[member]) {
			return invalidParams("%s.%s must be a string", what, member)
		}
	}
	return nil
}

// checkProgressToken checks that the progress token is a string or an integer
// (basic/utilities/progress#progress-flow).
func checkProgressToken(r *Request) *Error {
	meta, ok := r.Params["_meta"]
	if !ok {
		return nil
	}
	o, ok := meta.(Object)
	if !ok {
		return invalidParams("_meta must be an object")
	}
	if v, ok := o["progressToken"]; ok && !isString(v) && !isInteger(v) {
		return invalidParams("_meta.progressToken must be a string or an integer")
	}
	return nil
}
