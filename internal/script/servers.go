package script

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

func rawJSON(raw string) json.RawMessage { return json.RawMessage(raw) }

// The requests and the notification that a handshake server sends once it was
// told that the client is initialized.
const (
	PingID        = "mcpcheck-ping"
	UnknownID     = 7001
	UnknownMethod = "mcpcheck/no-such-method"
	UnknownNotice = "notifications/mcpcheck/no-such-notification"
)

// initialize answers initialize with a version, and turns the connection to
// the revision of that name if there is one.
func initialize(choose func(asked string) string, offers Object) Handler {
	return func(c *Conn, m wire.Message) {
		version := choose(m.Params().Get("protocolVersion").String())
		if rev, err := spec.ParseRevision(version); err == nil {
			c.Rev = rev
		}
		// Nothing but a ping or an answer may come before ours
		// (basic/lifecycle#initialization).
		c.Await(c.Len(), c.opts.Window, func(m wire.Message) bool { return m.Kind == wire.Request || m.Kind == wire.Notification })
		c.Answer(m, Object{"protocolVersion": version, "capabilities": offers, "serverInfo": serverInfo()})
	}
}

// converse makes the requests and notifications of ours that a client must
// deal with, each once.
func converse(c *Conn, _ wire.Message) {
	c.Notify("notifications/message", Object{"level": "info", "data": "ready"})
	c.Notify(UnknownNotice, nil)
	c.Ask(wire.StringID(PingID), "ping", nil)
	c.Ask(wire.IntID(UnknownID), UnknownMethod, Object{})
}

func always(version string) func(string) string { return func(string) string { return version } }

// Plain is an ordinary server of one revision with every capability: one of
// the handshake era answers initialize with its revision whatever was asked,
// one of the stateless era serves that era, and handshake clients too.
func Plain(rev spec.Revision) Server {
	if rev.Facts().Stateless {
		return dual(rev)
	}
	s := Server{Rev: rev, Handlers: content(rev), Heard: map[string]Handler{"notifications/initialized": converse}}
	s.Handlers["initialize"] = initialize(always(string(rev)), capabilities(rev))
	return s
}

// dual is a server of a stateless revision that serves initialize too, at the
// version asked for if it is of the handshake era, else at the newest of them
// (basic/versioning#backward-compatibility-with-initialization-based-versions).
func dual(rev spec.Revision) Server {
	s := Server{Rev: rev, Handlers: content(rev)}
	versions := supported(rev)
	s.Handlers["server/discover"] = Answered(Object{"supportedVersions": versions, "capabilities": capabilities(rev)})
	newest := spec.Handshake.Newest()
	s.Handlers["initialize"] = func(c *Conn, m wire.Message) {
		asked, err := spec.ParseRevision(m.Params().Get("protocolVersion").String())
		if err != nil || asked.Facts().Stateless {
			asked = newest
		}
		initialize(always(string(asked)), capabilities(asked))(c, m)
	}
	old := content(newest)
	for _, method := range slices.Sorted(maps.Keys(old)) {
		s.Handlers[method] = byEra(s.Handlers[method], old[method])
	}
	return s
}

// byEra serves a request by the era that the connection was turned to.
func byEra(modern, legacy Handler) Handler {
	return func(c *Conn, m wire.Message) {
		switch {
		case !c.Rev.Facts().Stateless:
			legacy(c, m)
		case modern != nil:
			modern(c, m)
		default:
			Refuse(spec.MethodNotFound, "Method not found", nil)(c, m)
		}
	}
}

func supported(rev spec.Revision) []string {
	out := []string{string(rev)}
	for _, r := range spec.Handshake.Revisions() {
		out = append(out, string(r))
	}
	return out
}

// Older is a small server that knows only the oldest revision, has tools in a
// single page, and refuses what comes before initialize by an error of its own
// choice.
func Older() Server {
	rev := spec.Every.Revisions()[0]
	all := content(rev)
	tools := toolPages(rev)
	return Server{Rev: rev, Handlers: map[string]Handler{
		"initialize":      initialize(always(string(rev)), Object{"tools": Object{}}),
		"ping":            all["ping"],
		"tools/list":      pages("tools", page{"", slices.Concat(tools[0].items, tools[1].items)}),
		"tools/call":      callTool,
		"server/discover": Refuse(spec.InvalidParams, "Invalid request parameters before initialization", nil),
	}}
}

// Newer is a handshake server that knows only a version that no client can
// know, and offers it.
func Newer() Server {
	rev := spec.Handshake.Newest()
	s := Server{Rev: rev, Handlers: content(rev)}
	s.Handlers["initialize"] = initialize(always(spec.FutureVersion), capabilities(rev))
	return s
}

// Foreign is a stateless server that knows only a version that no client can
// know, and says so to every request.
func Foreign() Server {
	return Server{Rev: spec.Stateless.Newest(), Else: unsupported(spec.FutureVersion)}
}

// ModernOnly is a stateless server that serves no handshake: it names its
// versions when it refuses one
// (basic/versioning#backward-compatibility-with-initialization-based-versions).
func ModernOnly() Server {
	rev := spec.Stateless.Newest()
	s := Server{Rev: rev, Handlers: content(rev)}
	s.Handlers["server/discover"] = Answered(Object{"supportedVersions": []string{string(rev)}, "capabilities": capabilities(rev)})
	s.Handlers["initialize"] = unsupported(string(rev))
	return s
}

// unsupported answers with the error of an unsupported version
// (basic/versioning#protocol-version-negotiation).
func unsupported(version string) Handler {
	return func(c *Conn, m wire.Message) {
		asked := wire.Member(m.Params().Get("_meta"), spec.MetaProtocolVersion).String()
		if asked == "" {
			asked = m.Params().Get("protocolVersion").String()
		}
		Refuse(spec.UnsupportedVersion, "Unsupported protocol version", Object{"supported": []string{version}, "requested": asked})(c, m)
	}
}

// Bare is a server without capabilities, of whichever era and version the
// client asks for.
func Bare() Server {
	rev := spec.Stateless.Newest()
	return Server{Rev: rev, Handlers: map[string]Handler{
		"server/discover": Answered(Object{"supportedVersions": supported(rev), "capabilities": Object{}}),
		"ping":            byEra(nil, Answered(Object{})),
		"initialize": initialize(func(asked string) string {
			if rev, err := spec.ParseRevision(asked); err == nil && !rev.Facts().Stateless {
				return asked
			}
			return string(spec.Handshake.Newest())
		}, Object{}),
	}}
}

// Trespasser is a stateless server that breaks a rule: it sends a request,
// which no server of that era may (basic/transports/stdio#receiving-messages),
// before it answers the first request after discovery. No client answers it.
func Trespasser() Server {
	s := ModernOnly()
	for method, h := range s.Handlers {
		if method == "server/discover" || method == "initialize" {
			continue
		}
		s.Handlers[method] = func(c *Conn, m wire.Message) {
			if !slices.ContainsFunc(c.Frames(0), func(f wire.Frame) bool { return f.From == wire.Server && f.Message().Method() == "ping" }) {
				c.Send(message(wire.StringID(PingID), "ping", nil))
			}
			h(c, m)
		}
	}
	return s
}
