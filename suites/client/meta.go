package client

import (
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// meta are the judges of basic/index#per-request-protocol-fields, since
// 2026-07-28.
func meta() []check.Check {
	return []check.Check{
		{
			ID:    "client.meta.required",
			Says:  "every request names the protocol version and the client's capabilities in _meta",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-meta-required-fields"},
			Judge: metaRequired,
		},
		{
			ID:    "client.meta.version",
			Says:  "the protocol version in _meta is the string of a revision",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-meta-protocol-version-string", "versioning-identifier"},
			Judge: metaVersion,
		},
		{
			ID:    "client.meta.capabilities",
			Says:  "the client's capabilities in _meta are an object",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-meta-client-capabilities-object"},
			Judge: metaCapabilities,
		},
		{
			ID:    "client.meta.info",
			Says:  "every request carries the client's information in _meta",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"lifecycle-meta-client-info"},
			Judge: metaInfo,
		},
	}
}

// requests returns the requests of the stateless era: all but those of a
// handshake that a client went on with, and notifications that carry an id:
// both have checks of their own.
func requests(j *check.J) []wire.Entry {
	sent := j.Sent()
	for i, e := range sent {
		if e.Message.Method() == "initialize" {
			sent = sent[:i]
			break
		}
	}
	return slices.DeleteFunc(slices.Clone(sent), func(e wire.Entry) bool {
		return e.Message.Kind != wire.Request || strings.HasPrefix(e.Message.Method(), "notifications/")
	})
}

func field(m wire.Message, key string) gjson.Result { return wire.Member(m.Params().Get("_meta"), key) }

func metaRequired(j *check.J) {
	for _, e := range requests(j) {
		for _, key := range []string{spec.MetaProtocolVersion, spec.MetaClientCapabilities} {
			if !field(e.Message, key).Exists() {
				j.Fail(e, "%s has no %s in _meta", e.Message.Method(), key)
			}
		}
		j.Saw()
	}
}

var date = regexp.MustCompile(`^\d{4}-\d{2}-\d{2}$`)

// metaVersion takes a version for good that is a published revision, looks
// like a later one, or is one that the server listed.
func metaVersion(j *check.J) {
	for _, e := range requests(j) {
		v := field(e.Message, spec.MetaProtocolVersion)
		switch {
		case !v.Exists():
		case v.Type != gjson.String:
			j.Fail(e, "the protocol version in _meta is %s, not a string", wire.TypeName(v))
		case !date.MatchString(v.String()) && !listed(j, v.String()):
			j.Fail(e, "the protocol version in _meta is %q, which names no revision", wire.Clip(v.String(), 40))
		default:
			j.Saw()
		}
	}
}

func listed(j *check.J, version string) bool {
	return slices.ContainsFunc(j.Received(), func(e wire.Entry) bool { return lists(e.Message, version) })
}

func metaCapabilities(j *check.J) {
	for _, e := range requests(j) {
		switch v := field(e.Message, spec.MetaClientCapabilities); {
		case !v.Exists():
		case !v.IsObject():
			j.Fail(e, "the client's capabilities in _meta are %s, not an object", wire.TypeName(v))
		default:
			j.Saw()
		}
	}
}

func metaInfo(j *check.J) {
	for _, e := range requests(j) {
		if !field(e.Message, spec.MetaClientInfo).Exists() {
			j.Fail(e, "%s has no %s in _meta", e.Message.Method(), spec.MetaClientInfo)
		}
		j.Saw()
	}
}
