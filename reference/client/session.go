package client

import (
	"context"
	"fmt"
	"maps"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A session is a connection at one revision.
type session struct {
	*conn
	revision     spec.Revision
	info         gjson.Result // the Implementation of the server
	capabilities gjson.Result
}

// open finds the revision to speak: it probes for a stateless server and falls back
// to the handshake (basic/transports/stdio#backward-compatibility), or does the one
// of the two that the client speaks.
func (s *session) open(ctx context.Context) error {
	stateless, handshake := s.options.newest(spec.Stateless), s.options.newest(spec.Handshake)
	if stateless != "" && !(s.options.HandshakeFirst && handshake != "") {
		found, err := s.probe(ctx, stateless)
		if found || err != nil || handshake == "" {
			if err == nil && !found {
				err = fmt.Errorf("server does not speak %s", stateless)
			}
			return err
		}
	}
	return s.initialize(ctx, handshake)
}

// probe sends server/discover. found is false if the server is of the handshake era;
// an error means that it is not, but has no revision in common with the client.
func (s *session) probe(ctx context.Context, rev spec.Revision) (found bool, err error) {
	s.revision = rev
	m, err := s.conn.request(ctx, "server/discover", s.withMeta(nil), s.options.Probe)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case err != nil || !s.showsStateless(m):
		return false, nil // a server of the handshake era may give no answer
	case m.Kind == wire.Error:
		return s.chooseVersion(m.Error().Get("data.supported"))
	}
	found, err = s.chooseVersion(m.Result().Get("supportedVersions"))
	s.capabilities = m.Result().Get("capabilities")
	s.info = wire.Member(m.Result().Get("_meta"), spec.MetaServerInfo)
	return found, err
}

// showsStateless reports whether a response to the probe shows a server of the
// stateless era: a result, or an error that only that era has.
func (s *session) showsStateless(m wire.Message) bool {
	return wrapped(func(m wire.Message) bool {
		code, _ := m.ErrorCode()
		return m.Kind == wire.Result || code == spec.UnsupportedVersion || code == spec.MissingClientCapability
	}, s.options.ShowsStateless)(m)
}

// chooseVersion takes the first version of a stateless server's list that the client
// speaks and that is of the stateless era.
func (s *session) chooseVersion(versions gjson.Result) (bool, error) {
	for _, v := range versions.Array() {
		if rev, ok := s.options.speaks(v.String()); ok && spec.Stateless.Has(rev) {
			s.revision = rev
			s.conn.setStateless()
			return true, nil
		}
	}
	return false, fmt.Errorf("server speaks %s, and the client none of these", versions.Raw)
}

// initialize opens a session of the handshake era.
func (s *session) initialize(ctx context.Context, rev spec.Revision) error {
	s.revision = rev
	result, err := s.request(ctx, "initialize", object{
		"protocolVersion": string(rev), "capabilities": object{}, "clientInfo": implementation(),
	})
	if err != nil {
		return err
	}
	version := result.Get("protocolVersion").String()
	negotiated, ok := s.options.speaks(version)
	if !ok {
		return fmt.Errorf("server offers %q, which the client does not speak", version)
	}
	s.revision, s.capabilities, s.info = negotiated, result.Get("capabilities"), result.Get("serverInfo")
	s.conn.link.setRevision(negotiated)
	return s.conn.notify("notifications/initialized", nil)
}

func implementation() object { return object{"name": Name, "version": Version} }

// withMeta adds the _meta that every request of a stateless revision carries
// (basic/index#per-request-protocol-fields).
func (s *session) withMeta(params object) object {
	if !spec.Stateless.Has(s.revision) {
		return params
	}
	out := object{"_meta": object{
		spec.MetaProtocolVersion:    string(s.revision),
		spec.MetaClientInfo:         implementation(),
		spec.MetaClientCapabilities: object{},
	}}
	maps.Copy(out, params)
	return out
}

// request sends a request of the session and returns its result.
func (s *session) request(ctx context.Context, method string, params object) (gjson.Result, error) {
	m, err := s.conn.request(ctx, method, s.withMeta(params), s.options.Timeout)
	if err != nil {
		return gjson.Result{}, err
	}
	if m.Kind != wire.Result {
		return gjson.Result{}, &requestError{method, m}
	}
	return m.Result(), nil
}

// hasCapability reports whether the server declared a capability.
func (s *session) hasCapability(capability string) bool {
	return wrapped(func(capability string) bool {
		return s.capabilities.Get(capability).IsObject()
	}, s.options.HasCapability)(capability)
}
