package server

import (
	"context"
	"maps"
	"net/http"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A method is one request that the server serves, in the revisions that have it and
// if the library declares the capability that it belongs to.
type method struct {
	name       string
	in         spec.Set
	capability string // "" for none
	serve      func(context.Context, *Request) (any, *Error)
	// hint is the caching hint of the result
	// (server/utilities/caching#cacheable-results); nil if it is not cacheable.
	hint *cacheHint
}

// A cacheHint is put into complete results of the revisions that have it.
type cacheHint struct {
	ttlMs int
	scope string
}

var (
	// The lists are the same for every client, and their changes are notified.
	listHint = &cacheHint{60_000, "public"}
	// A resource may show the loans of one reader.
	readHint = &cacheHint{5_000, "private"}
)

// methods returns the table of methods (schema.ts#ClientRequest) by name. The table
// is shared and must not be changed.
var methods = sync.OnceValue(func() map[string]method {
	table := map[string]method{}
	for _, m := range []method{
		{"initialize", spec.Handshake, "", initialize, nil},
		{"ping", spec.Handshake, "", ping, nil},
		{"server/discover", spec.Stateless, "", discover, listHint},
		{"tools/list", spec.Every, "tools", listTools, listHint},
		{"tools/call", spec.Every, "tools", callTool, nil},
		{"resources/list", spec.Every, "resources", listResources, listHint},
		{"resources/templates/list", spec.Every, "resources", listTemplates, listHint},
		{"resources/read", spec.Every, "resources", readResource, readHint},
		{"resources/subscribe", spec.Handshake, "resources.subscribe", subscribe, nil},
		{"resources/unsubscribe", spec.Handshake, "resources.subscribe", unsubscribe, nil},
		{"prompts/list", spec.Every, "prompts", listPrompts, listHint},
		{"prompts/get", spec.Every, "prompts", getPrompt, nil},
		{"completion/complete", spec.Every, "completions", completeArgument, nil},
		{"logging/setLevel", spec.Handshake, "logging", setLevel, nil},
		{"tasks/get", taskRevisions, "tasks", getTask, nil},
		{"tasks/result", taskRevisions, "tasks", taskResult, nil},
		{"tasks/list", taskRevisions, "tasks.list", listTasks, nil},
		{"tasks/cancel", taskRevisions, "tasks.cancel", cancelTask, nil},
		{"subscriptions/listen", spec.Stateless, "", listen, nil},
	} {
		table[m.name] = m
	}
	return table
})

// serveRequest is the conforming Handler: it checks the preconditions of the era
// and calls the method.
func (c *conn) serveRequest(ctx context.Context, r *Request) (any, *Error) {
	checks := []func(*Request) *Error{c.checkHandshake}
	if r.Stateless {
		checks = []func(*Request) *Error{c.checkHeaders, c.checkStateless, c.checkParamHeaders}
	}
	for _, check := range checks {
		if problem := check(r); problem != nil {
			if r.Stateless {
				r.status = http.StatusBadRequest
			}
			return nil, problem
		}
	}
	v, problem := c.callMethod(ctx, r)
	if problem != nil && r.Stateless {
		r.status = statusOf(problem.Code)
	}
	return v, problem
}

// callMethod serves a request by the table of methods and adds the members that
// every result of the revision has.
func (c *conn) callMethod(ctx context.Context, r *Request) (any, *Error) {
	m, ok := c.findMethod(r)
	if !ok {
		return nil, newError(spec.MethodNotFound, "Method %q is not known here", clip(r.Method))
	}
	v, problem := m.serve(ctx, r)
	if problem != nil {
		return nil, problem
	}
	if o, ok := v.(Object); ok && r.Revision.Facts().ResultType {
		v = c.withResultMembers(o, m.cacheHintFor(r))
	}
	if c.options.Handler != nil {
		v = deepCopy(v) // the hook may change the result, and parts of it are shared
	}
	return v, nil
}

// findMethod returns the method of a request if the library has it: a method of an
// extension before one of the protocol.
func (c *conn) findMethod(r *Request) (method, bool) {
	if m, ok := c.extensionMethods[r.Method]; ok && m.in.Has(r.Revision) {
		return m, true
	}
	m, ok := c.methods[r.Method]
	return m, ok && m.in.Has(r.Revision) && c.features.declares(m.capability)
}

// hasMethod reports whether some revision of the set has the method.
func (c *conn) hasMethod(name string, in spec.Set) bool { return c.methods[name].in&in != 0 }

// cacheHintFor returns the caching hint for the client of a request: a list that
// holds entries for one user alone is private
// (server/utilities/caching#security-considerations).
func (m method) cacheHintFor(r *Request) *cacheHint {
	if m.name == "resources/list" && r.user() != "" {
		return &cacheHint{m.hint.ttlMs, "private"}
	}
	return m.hint
}

// withResultMembers returns the result with the members that stateless results have:
// their type (basic/index#resulttype), the identity of the server
// (basic/index#per-response-protocol-fields) and the caching hint.
func (c *conn) withResultMembers(result Object, hint *cacheHint) Object {
	o, meta := Object{"resultType": "complete"}, Object{}
	maps.Copy(o, result)
	if known, ok := result["_meta"].(Object); ok {
		maps.Copy(meta, known)
	}
	if meta[spec.MetaServerInfo] == nil {
		meta[spec.MetaServerInfo] = pick(c.features.Info, "name", "title", "version")
	}
	o["_meta"] = meta
	if hint != nil && o["resultType"] == "complete" {
		o["ttlMs"], o["cacheScope"] = hint.ttlMs, hint.scope
	}
	return o
}

// declares reports whether the capabilities hold the named one; "" is always
// declared. A feature of a capability, as in "resources.subscribe" or
// "tasks.requests.tools.call", is declared by being true or an object.
func (l *Features) declares(name string) bool {
	if name == "" {
		return true
	}
	capability, feature, _ := strings.Cut(name, ".")
	o, ok := l.Capabilities[capability].(Object)
	for ok && feature != "" {
		var member string
		member, feature, _ = strings.Cut(feature, ".")
		v := o[member]
		if v == true && feature == "" {
			return true
		}
		o, ok = v.(Object)
	}
	return ok
}
