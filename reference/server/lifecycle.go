package server

import (
	"context"
	"slices"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Session is what initialize opens (basic/lifecycle of the handshake
// revisions). Stateless requests neither read nor change it.
type Session struct {
	mu                  sync.Mutex
	revision            spec.Revision
	client              Peer
	ready               bool
	level               string
	subscribed          map[string]bool
	roots               Object // the last ListRootsResult, or nil
	rootsRequested      bool   // roots were asked for
	rootsChanges        int    // of roots, that the client told of
	identificationBegun bool   // to a page, by renew_card
	pendingElicitation  string // the id of that visit, "" once the client was told that it is over
}

func newSession() *Session {
	return &Session{level: defaultLogLevel, subscribed: map[string]bool{}}
}

// Revision returns the negotiated revision, "" before initialize.
func (s *Session) Revision() spec.Revision {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.revision
}

// Client returns what the client declared in initialize.
func (s *Session) Client() Peer {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.client
}

// Ready tells whether notifications/initialized came.
func (s *Session) Ready() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ready
}

// Open opens the session as a successful initialize does.
func (s *Session) Open(v spec.Revision, client Peer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision, s.client = v, client
}

// Close forgets the session.
func (s *Session) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision, s.client, s.ready = "", Peer{}, false
}

func (s *Session) setReady() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ready = s.revision != ""
}

// initialize negotiates a handshake revision: the one asked for if the server
// speaks it, else its latest (basic/lifecycle#version-negotiation).
func initialize(_ context.Context, r *Request) (any, *Error) {
	c := r.conn
	if r.Session.Revision() != "" {
		return nil, newError(spec.InvalidRequest, "The session is already initialized")
	}
	asked, ok := r.Params["protocolVersion"].(string)
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
	v := spec.Revision(asked)
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

// admitHandshake lets requests pass that a session may carry: before
// initialize nothing but initialize and ping (basic/lifecycle#initialization).
func (c *conn) checkHandshake(r *Request) *Error {
	if v := r.Session.Revision(); v != "" {
		r.Revision, r.Client = v, r.Session.Client()
		return checkToken(r)
	}
	r.Revision = (c.options.Revisions & spec.Handshake).Newest()
	switch {
	case r.Method == "initialize" || r.Method == "ping":
		return checkToken(r)
	case c.hasMethod(r.Method, c.options.Revisions&spec.Handshake):
		return newError(spec.InvalidRequest, "The session is not initialized")
	}
	return nil // an unknown method, which the table refuses
}

// notice handles a notification; what is unknown or malformed is ignored
// (basic/index#notifications: it may not be answered).
func (c *conn) handleNotification(m wire.Message) {
	switch m.Method() {
	case "notifications/initialized":
		c.session.setReady()
	case "notifications/cancelled":
		c.handleCancelled(m)
	case "notifications/roots/list_changed":
		c.refreshRoots()
	}
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

// checkToken checks the progress token, which is a string or an integer
// (basic/utilities/progress#progress-flow).
func checkToken(r *Request) *Error {
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

// versions names the revisions the server speaks, newest first.
func (c *conn) versions() []any {
	var out []any
	for _, v := range slices.Backward(c.options.Revisions.Revisions()) {
		out = append(out, string(v))
	}
	return out
}

// listRoots notes that roots are asked for now, and returns how many changes of
// them were told before. keepRoots remembers the answer of a client that tells of
// changes, unless there was another meanwhile; forgetRoots drops it and tells
// whether roots were ever asked for (client/roots#implementation-guidelines).
func (s *Session) beginRootsRequest() (changes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rootsRequested = true
	return s.rootsChanges
}

func (s *Session) keepRoots(o Object, changes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if changes == s.rootsChanges {
		s.roots = o
	}
}

func (s *Session) forgetRoots() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rootsChanges++
	s.roots = nil
	return s.rootsRequested
}

func (s *Session) knownRoots() Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.roots
}

// maxSubscriptions bounds how many resources a session may watch.
const maxSubscriptions = 1000

// watch notes or forgets that the client subscribed to a resource
// (server/resources#subscriptions) and tells whether there was room for it;
// watches tells whether it did.
func (s *Session) setSubscribed(uri string, on bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.subscribed, uri)
	if on && len(s.subscribed) < maxSubscriptions {
		s.subscribed[uri] = true
	}
	return !on || s.subscribed[uri]
}

func (s *Session) isSubscribed(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.subscribed[uri]
}

// tellsOfRoots tells whether the client declared roots.listChanged.
func (p Peer) notifiesRootsChanges() bool {
	o, _ := p.Capabilities["roots"].(Object)
	return o["listChanged"] == true
}
