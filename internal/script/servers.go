package script

import (
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// The requests and the notification that a server with a handshake sends after
// notifications/initialized.
const (
	pingID              = "mcpcheck-ping"
	unknownID           = 7001
	unknownMethod       = "mcpcheck/no-such-method"
	unknownNotification = "notifications/mcpcheck/no-such-notification"
)

// initialize returns a handler of initialize that chooses a version by the requested
// one, and sets the revision of the connection if the version is a revision.
func initialize(choose func(requested string) string, capabilities Object) Handler {
	return func(c *Conn, m wire.Message) {
		version := choose(m.Params().Get("protocolVersion").String())
		if rev, err := spec.ParseRevision(version); err == nil {
			c.Rev = rev
		}
		// Before the answer a client may send only pings and responses
		// (basic/lifecycle#initialization). The delay makes others visible.
		c.Await(c.Len(), c.opts.InitializeDelay, func(m wire.Message) bool {
			return m.Kind == wire.Request || m.Kind == wire.Notification
		})
		c.Answer(m, Object{"protocolVersion": version, "capabilities": capabilities, "serverInfo": serverInfo()})
	}
}

// sendUnsolicited sends requests and notifications that every client must be able to
// handle.
func sendUnsolicited(c *Conn, _ wire.Message) {
	c.Notify("notifications/message", Object{"level": "info", "data": "ready"})
	c.Notify(unknownNotification, nil)
	c.Request(wire.StringID(pingID), "ping", nil)
	c.Request(wire.IntID(unknownID), unknownMethod, Object{})
}

// always returns a choice of one version.
func always(version string) func(string) string { return func(string) string { return version } }

// FullServer returns an ordinary server of one revision with every capability. With a
// handshake it answers initialize with that revision, whatever the client requests.
// At a stateless revision it also serves clients that send initialize.
func FullServer(rev spec.Revision) Server {
	if rev.Facts().Stateless {
		return dualEraServer(rev)
	}
	s := Server{
		Rev:                  rev,
		RequestHandlers:      contentHandlers(rev),
		NotificationHandlers: map[string]Handler{"notifications/initialized": sendUnsolicited},
	}
	s.RequestHandlers["initialize"] = initialize(always(string(rev)), capabilities(rev))
	return s
}

// dualEraServer returns a server of a stateless revision that also answers initialize:
// with the requested version if that has a handshake, otherwise with the newest that
// has (basic/versioning#backward-compatibility-with-initialization-based-versions).
func dualEraServer(rev spec.Revision) Server {
	s := Server{Rev: rev, RequestHandlers: contentHandlers(rev)}
	s.RequestHandlers["server/discover"] = discover(supportedVersions(rev), capabilities(rev))
	newest := spec.Handshake.Newest()
	s.RequestHandlers["initialize"] = func(c *Conn, m wire.Message) {
		requested, err := spec.ParseRevision(m.Params().Get("protocolVersion").String())
		if err != nil || requested.Facts().Stateless {
			requested = newest
		}
		initialize(always(string(requested)), capabilities(requested))(c, m)
	}
	handshake := contentHandlers(newest)
	for _, method := range slices.Sorted(maps.Keys(handshake)) {
		s.RequestHandlers[method] = byEra(s.RequestHandlers[method], handshake[method])
	}
	return s
}

// discover returns a handler of server/discover.
func discover(versions []string, capabilities Object) Handler {
	return AnswerWith(Object{"supportedVersions": versions, "capabilities": capabilities})
}

// byEra returns a handler that selects another by the era of the connection. stateless
// may be nil.
func byEra(stateless, handshake Handler) Handler {
	return func(c *Conn, m wire.Message) {
		switch {
		case !c.Rev.Facts().Stateless:
			handshake(c, m)
		case stateless != nil:
			stateless(c, m)
		default:
			RefuseWith(spec.MethodNotFound, "Method not found", nil)(c, m)
		}
	}
}

// supportedVersions returns a stateless revision and all revisions with a handshake.
func supportedVersions(rev spec.Revision) []string {
	out := []string{string(rev)}
	for _, r := range spec.Handshake.Revisions() {
		out = append(out, string(r))
	}
	return out
}

// OldestRevisionServer returns a server of the oldest revision that has tools on a
// single page. It refuses server/discover with an error code of its own.
func OldestRevisionServer() Server {
	rev := spec.Every.Revisions()[0]
	all := contentHandlers(rev)
	tools := toolPages(rev)
	return Server{Rev: rev, RequestHandlers: map[string]Handler{
		"initialize":      initialize(always(string(rev)), Object{"tools": Object{}}),
		"ping":            all["ping"],
		"tools/list":      listHandler("tools", page{"", slices.Concat(tools[0].items, tools[1].items)}),
		"tools/call":      callTool,
		"server/discover": RefuseWith(spec.InvalidParams, "Invalid request parameters before initialization", nil),
	}}
}

// UnknownVersionServer returns a server that answers initialize with a version that
// no client knows.
func UnknownVersionServer() Server {
	rev := spec.Handshake.Newest()
	s := Server{Rev: rev, RequestHandlers: contentHandlers(rev)}
	s.RequestHandlers["initialize"] = initialize(always(spec.FutureVersion), capabilities(rev))
	return s
}

// UnknownStatelessVersionServer returns a stateless server of a version that no
// client knows. It answers every request with the error of an unsupported version.
func UnknownStatelessVersionServer() Server {
	return Server{Rev: spec.Stateless.Newest(), DefaultHandler: unsupportedVersion(spec.FutureVersion)}
}

// StatelessOnlyServer returns a stateless server that refuses initialize and names
// its versions in the error
// (basic/versioning#backward-compatibility-with-initialization-based-versions).
func StatelessOnlyServer() Server {
	rev := spec.Stateless.Newest()
	s := Server{Rev: rev, RequestHandlers: contentHandlers(rev)}
	s.RequestHandlers["server/discover"] = discover([]string{string(rev)}, capabilities(rev))
	s.RequestHandlers["initialize"] = unsupportedVersion(string(rev))
	return s
}

// unsupportedVersion returns a handler that answers with the error of an unsupported
// version (basic/versioning#protocol-version-negotiation).
func unsupportedVersion(version string) Handler {
	return func(c *Conn, m wire.Message) {
		requested := wire.Member(m.Params().Get("_meta"), spec.MetaProtocolVersion).String()
		if requested == "" {
			requested = m.Params().Get("protocolVersion").String()
		}
		data := Object{"supported": []string{version}, "requested": requested}
		RefuseWith(spec.UnsupportedVersion, "Unsupported protocol version", data)(c, m)
	}
}

// ServerWithoutCapabilities returns a server without capabilities, of the era and
// version that the client requests.
func ServerWithoutCapabilities() Server {
	rev := spec.Stateless.Newest()
	return Server{Rev: rev, RequestHandlers: map[string]Handler{
		"server/discover": discover(supportedVersions(rev), Object{}),
		"ping":            byEra(nil, AnswerWith(Object{})),
		"initialize": initialize(func(requested string) string {
			if rev, err := spec.ParseRevision(requested); err == nil && !rev.Facts().Stateless {
				return requested
			}
			return string(spec.Handshake.Newest())
		}, Object{}),
	}}
}

// RequestingStatelessServer returns a stateless server that breaks a rule: it sends a
// request (basic/transports/stdio#receiving-messages) before it answers the first
// request after server/discover. A client must not answer it.
func RequestingStatelessServer() Server {
	s := StatelessOnlyServer()
	for method, h := range s.RequestHandlers {
		if method == "server/discover" || method == "initialize" {
			continue
		}
		s.RequestHandlers[method] = func(c *Conn, m wire.Message) {
			if !c.sentPing {
				c.sentPing = true
				c.Send(wire.EncodeCall(wire.StringID(pingID), "ping", nil))
			}
			h(c, m)
		}
	}
	return s
}
