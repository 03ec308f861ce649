package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// eraOf returns the revision of a request and whether it is of the stateless era:
// it is if it carries any of the protocol fields of _meta, or if the server speaks
// nothing else, or if only stateless revisions have the method and no session was
// opened. Over HTTP the header counts as well, and the exchange has the answer.
// Handshake requests are of the negotiated revision.
func (c *conn) eraOf(r *Request) (v spec.Revision, stateless bool) {
	switch {
	case r.exchange != nil:
		stateless = r.exchange.stateless
	case c.options.Revisions&spec.Stateless == 0:
	case c.options.Revisions&spec.Handshake == 0, carriesProtocolFields(r.Params):
		stateless = true
	default:
		stateless = r.Session.Revision() == "" && c.isStatelessOnly(r.Method)
	}
	if stateless {
		return spec.Stateless.Newest(), true
	}
	return r.Session.Revision(), false
}

// isStatelessOnly reports whether only stateless revisions have a method.
func (c *conn) isStatelessOnly(method string) bool {
	return !c.hasMethod(method, spec.Handshake) && c.hasMethod(method, spec.Stateless)
}

// protocolFields are the members of _meta that only stateless requests have.
var protocolFields = []string{
	spec.MetaProtocolVersion, spec.MetaClientCapabilities, spec.MetaClientInfo, spec.MetaLogLevel,
}

// carriesProtocolFields reports whether params hold one of the protocol fields of
// _meta.
func carriesProtocolFields(params Object) bool {
	meta, _ := params["_meta"].(Object)
	return slices.ContainsFunc(protocolFields, func(name string) bool {
		_, ok := meta[name]
		return ok
	})
}

// hasProtocolFields is carriesProtocolFields for params that are not decoded. Of
// several _meta the last counts.
func hasProtocolFields(params gjson.Result) (found bool) {
	params.ForEach(func(name, meta gjson.Result) bool {
		if name.String() == "_meta" {
			found = false
			meta.ForEach(func(field, _ gjson.Result) bool {
				found = slices.Contains(protocolFields, field.String())
				return !found
			})
		}
		return true
	})
	return found
}

// checkStateless checks the per-request protocol fields
// (basic/index#per-request-protocol-fields): -32602 if a required one is missing or
// one has the wrong type, -32022 for a version that the server does not speak.
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
		return &Error{
			spec.UnsupportedVersion, "Unsupported protocol version",
			Object{"supported": others, "requested": version},
		}
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
	return checkProgressToken(r)
}

// statusOf returns the HTTP status of a stateless error
// (basic/transports/streamable-http#protocol-version-header, and
// basic/index#per-request-protocol-fields). For other codes the specification names
// none, and they are sent with 200.
func statusOf(code int) int {
	switch code {
	case spec.MethodNotFound:
		return http.StatusNotFound
	case spec.HeaderMismatch, spec.MissingClientCapability, spec.UnsupportedVersion,
		spec.ParseError, spec.InvalidRequest:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

func stringsOf(vs []any) []string {
	out := make([]string, len(vs))
	for i, v := range vs {
		out[i] = stringOf(v)
	}
	return out
}
