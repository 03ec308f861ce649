package server

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// era tells which era a request belongs to: modern if it carries any of the
// protocol fields of _meta, or if the server speaks nothing else, or if only
// stateless revisions have the method and no session was opened. Handshake
// requests belong to the negotiated revision.
func (c *conn) eraOf(r *Request) (v spec.Revision, modern bool) {
	switch {
	case r.exchange != nil:
		modern = r.exchange.stateless // which the header has a say in
	case c.options.Revisions&spec.Stateless == 0:
	case c.options.Revisions&spec.Handshake == 0, carriesProtocolFields(r.Params):
		modern = true
	default:
		modern = r.Session.Revision() == "" && !c.hasMethod(r.Method, spec.Handshake) && c.hasMethod(r.Method, spec.Stateless)
	}
	if modern {
		return spec.Stateless.Newest(), true
	}
	return r.Session.Revision(), false
}

func carriesProtocolFields(params Object) bool {
	meta, _ := params["_meta"].(Object)
	for _, key := range []string{spec.MetaProtocolVersion, spec.MetaClientCapabilities, spec.MetaClientInfo, spec.MetaLogLevel} {
		if _, ok := meta[key]; ok {
			return true
		}
	}
	return false
}

// admit checks what comes before the method: the era's own preconditions.
func (c *conn) serveRequest(ctx context.Context, r *Request) (any, *Error) {
	checks := []func(*Request) *Error{c.checkHandshake}
	if r.Modern {
		checks = []func(*Request) *Error{c.checkHeaders, c.checkStateless, c.checkParamHeaders}
	}
	for _, check := range checks {
		if problem := check(r); problem != nil {
			if r.Modern {
				r.status = http.StatusBadRequest
			}
			return nil, problem
		}
	}
	v, problem := c.callMethod(ctx, r)
	if problem != nil && r.Modern {
		r.status = statusOf(problem.Code)
	}
	return v, problem
}

// statusOf is the HTTP status of a stateless error
// (basic/transports/streamable-http#protocol-version-header, and
// basic/index#per-request-protocol-fields). For other codes the text names
// none, and they go with 200.
func statusOf(code int) int {
	switch code {
	case spec.MethodNotFound:
		return http.StatusNotFound
	case spec.HeaderMismatch, spec.MissingClientCapability, spec.UnsupportedVersion, spec.ParseError, spec.InvalidRequest:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// admitStateless checks the per-request protocol fields
// (basic/index#per-request-protocol-fields): -32602 if a required one is
// missing or one is ill-typed, -32022 for a version that is not spoken.
func (c *conn) checkStateless(r *Request) *Error {
	if r.Method == "initialize" && !carriesProtocolFields(r.Params) {
		// basic/versioning#backward-compatibility-with-initialization-based-versions:
		// the client can show its user nothing but this message.
		e := invalidParams("This server has no initialize; it speaks %s", strings.Join(stringsOf(c.versions()), ", "))
		e.Data = Object{"supported": c.versions()}
		return e
	}
	meta, ok := r.Params["_meta"].(Object)
	if !ok {
		return invalidParams("The request has no _meta")
	}
	version, ok := meta[spec.MetaProtocolVersion].(string)
	if !ok {
		return invalidParams("_meta must name the protocol version in %s", spec.MetaProtocolVersion)
	}
	v := spec.Revision(version)
	if !(c.options.Revisions & spec.Stateless).Has(v) {
		others := slices.DeleteFunc(c.versions(), func(s any) bool { return s == version })
		return &Error{spec.UnsupportedVersion, "Unsupported protocol version", Object{"supported": others, "requested": version}}
	}
	capabilities, ok := meta[spec.MetaClientCapabilities].(Object)
	if !ok {
		return invalidParams("_meta must hold the client's capabilities in %s", spec.MetaClientCapabilities)
	}
	if problem := checkCapabilities(capabilities); problem != nil {
		return problem
	}
	if info, ok := meta[spec.MetaClientInfo]; ok {
		if problem := checkImplementation(spec.MetaClientInfo, info); problem != nil {
			return problem
		}
	}
	level, problem := requestLevel(meta)
	if problem != nil {
		return problem
	}
	r.Revision, r.Client = v, Peer{Capabilities: capabilities, LogLevel: level}
	return checkToken(r)
}

func stringsOf(vs []any) []string {
	out := make([]string, len(vs))
	for i, v := range vs {
		out[i], _ = v.(string)
	}
	return out
}
