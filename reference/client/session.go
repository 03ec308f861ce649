package client

import (
	"context"
	"fmt"
	"maps"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A session is a connection used at one revision.
type session struct {
	*conn
	o            Options
	rev          spec.Revision
	info         gjson.Result
	capabilities gjson.Result
}

// open finds the revision to speak: it probes for a stateless server and falls
// back to the handshake (basic/transports/stdio#backward-compatibility), or
// does the one of the two that it can.
func (s *session) open(ctx context.Context) error {
	modern, legacy := s.o.newest(spec.Stateless), s.o.newest(spec.Handshake)
	if modern != "" && !(s.o.LegacyFirst && legacy != "") {
		found, err := s.probe(ctx, modern)
		if found || err != nil || legacy == "" {
			if err == nil && !found {
				err = fmt.Errorf("server does not speak %s", modern)
			}
			return err
		}
	}
	return s.initialize(ctx, legacy)
}

// probe asks with server/discover. found is false if the server is of the
// handshake era; an error tells that it is not, but speaks nothing in common.
func (s *session) probe(ctx context.Context, rev spec.Revision) (found bool, err error) {
	s.rev = rev
	m, err := s.conn.request(ctx, "server/discover", s.stamp(nil), s.o.Probe)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil || !s.modern(m):
		return false, nil // silence tells a server of the handshake era too
	case m.Kind == wire.Error:
		return s.choose(m.Error().Get("data.supported"))
	}
	found, err = s.choose(m.Result().Get("supportedVersions"))
	s.capabilities = m.Result().Get("capabilities")
	s.info = wire.Member(m.Result().Get("_meta"), spec.MetaServerInfo)
	return found, err
}

// modern tells whether an answer to the probe shows a server of the stateless
// era: a result, or an error that only that era has.
func (s *session) modern(m wire.Message) bool {
	shows := func(m wire.Message) bool {
		code, _ := m.Code()
		return m.Kind == wire.Result || code == spec.UnsupportedVersion || code == spec.MissingClientCapability
	}
	if s.o.Modern != nil {
		shows = s.o.Modern(shows)
	}
	return shows(m)
}

// choose takes the first version of a stateless server's list that the client
// speaks and that is of its era.
func (s *session) choose(versions gjson.Result) (bool, error) {
	for _, v := range versions.Array() {
		if rev, ok := s.o.speaks(v.String()); ok && spec.Stateless.Has(rev) {
			s.rev = rev
			s.conn.mu.Lock()
			s.conn.mute = true // clients of this era answer nothing
			s.conn.mu.Unlock()
			return true, nil
		}
	}
	return false, fmt.Errorf("server speaks %s, and nothing of it is spoken here", versions.Raw)
}

func (s *session) initialize(ctx context.Context, rev spec.Revision) error {
	s.rev = rev
	m, err := s.conn.request(ctx, "initialize", object{
		"protocolVersion": string(rev), "capabilities": object{}, "clientInfo": object{"name": Name, "version": Version},
	}, s.o.Timeout)
	if err != nil {
		return err
	}
	if m.Kind != wire.Result {
		return &Unserved{"initialize", m}
	}
	version := m.Result().Get("protocolVersion").String()
	agreed, ok := s.o.speaks(version)
	if !ok {
		return fmt.Errorf("server offers %q, which is not spoken here", version)
	}
	s.rev, s.capabilities, s.info = agreed, m.Result().Get("capabilities"), m.Result().Get("serverInfo")
	s.conn.link.speaks(agreed)
	return s.conn.notify("notifications/initialized", nil)
}

// stamp adds what every request of a stateless revision carries
// (basic/index#per-request-protocol-fields).
func (s *session) stamp(params object) object {
	if !spec.Stateless.Has(s.rev) {
		return params
	}
	out := object{"_meta": object{
		spec.MetaProtocolVersion:    string(s.rev),
		spec.MetaClientInfo:         object{"name": Name, "version": Version},
		spec.MetaClientCapabilities: object{},
	}}
	maps.Copy(out, params)
	return out
}

// ask sends a request of the session and returns its result.
func (s *session) ask(ctx context.Context, method string, params object) (gjson.Result, error) {
	m, err := s.conn.request(ctx, method, s.stamp(params), s.o.Timeout)
	if err != nil {
		return gjson.Result{}, err
	}
	if m.Kind != wire.Result {
		return gjson.Result{}, &Unserved{method, m}
	}
	return m.Result(), nil
}

func (s *session) offers(capability string) bool {
	offers := func(capability string) bool { return s.capabilities.Get(capability).IsObject() }
	if s.o.Offers != nil {
		offers = s.o.Offers(offers)
	}
	return offers(capability)
}
