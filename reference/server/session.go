package server

import (
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A Session is the state that initialize opens (basic/lifecycle of the handshake
// revisions). Stateless requests neither read nor change it.
type Session struct {
	mu         sync.Mutex
	revision   spec.Revision
	client     Peer
	ready      bool
	level      string
	subscribed map[string]bool

	roots          Object // the last ListRootsResult, or nil
	rootsRequested bool
	rootsChanges   int // how many changes of its roots the client announced

	// identificationBegun is set once renew_card required the user to identify;
	// pendingElicitation is the id of that elicitation until its completion is sent.
	identificationBegun bool
	pendingElicitation  string
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

// Ready reports whether the client sent notifications/initialized.
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

// Close returns the session to its state before initialize.
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

// maxSubscriptions bounds how many resources a session may subscribe to.
const maxSubscriptions = 1000

// setSubscribed subscribes the client to a resource or ends the subscription
// (server/resources#subscriptions). It reports whether the bound allowed it.
func (s *Session) setSubscribed(uri string, on bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.subscribed, uri)
	if on && len(s.subscribed) < maxSubscriptions {
		s.subscribed[uri] = true
	}
	return !on || s.subscribed[uri]
}

// isSubscribed reports whether the client is subscribed to a resource.
func (s *Session) isSubscribed(uri string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.subscribed[uri]
}

// beginRootsRequest notes that the roots are requested now. It returns how many
// changes of them the client announced before.
func (s *Session) beginRootsRequest() (changes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rootsRequested = true
	return s.rootsChanges
}

// keepRoots keeps the answer to a request for the roots, unless the client
// announced a change since the request (client/roots#implementation-guidelines).
func (s *Session) keepRoots(o Object, changes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if changes == s.rootsChanges {
		s.roots = o
	}
}

// forgetRoots drops the kept roots after a change. It reports whether they were
// ever requested.
func (s *Session) forgetRoots() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rootsChanges++
	s.roots = nil
	return s.rootsRequested
}

// knownRoots returns the kept roots, or nil.
func (s *Session) knownRoots() Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.roots
}
