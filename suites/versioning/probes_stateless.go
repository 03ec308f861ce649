package versioning

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/opening"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// statelessProbes returns the probes of basic/versioning, since 2026-07-28.
func statelessProbes() []check.Check {
	return []check.Check{
		{
			ID:    "versioning.unsupported.error",
			Says:  "the server answers a request of a version that it does not list with error -32022",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"versioning-unsupported-version-error", "discover-supported-versions-complete"},
			Idle:  "no request of an unsupported version was sent",
			Hint:  expect.HintReply,
			// A request that names its version in _meta is none of the era without _meta, so
			// that a server of both eras refuses it too.
			Probe: func(t *check.T) {
				u := unsupported(t)
				on := t.Sessions().Use(u.at)
				for _, r := range u.requests {
					if r.reply.Err != nil {
						on.Fail("error -32022", "no answer", "a request of the version %s: %v", r.version, r.reply.Err)
					}
					match.Expect(on, r.reply).To(match.BeError(spec.UnsupportedVersion), "a request of the version %s",
						r.version)
					t.Saw()
				}
			},
		},
		{
			ID:    "versioning.unsupported.data",
			Says:  "error -32022 names the versions that the server supports and the one that was requested",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"versioning-unsupported-version-data"},
			Idle:  "no unsupported version was answered with error -32022",
			Hint:  "refuse an unsupported version with error -32022",
			Probe: func(t *check.T) {
				u := unsupported(t)
				i := slices.IndexFunc(u.requests, versionedRequest.isRefused)
				if i < 0 {
					return
				}
				version := u.requests[i].version
				data := u.requests[i].reply.Message.Error().Get("data")
				fail := func(format string, args ...any) {
					want := `data with supported, an array of versions, and requested, "` + version + `"`
					t.Sessions().Use(u.at).Fail(want, data.Raw, format, args...)
				}
				supported, requested := data.Get("supported"), data.Get("requested")
				if !supported.IsArray() || len(supported.Array()) == 0 {
					fail("data.supported of error -32022 is %s, not an array of versions", wire.TypeName(supported))
				}
				for _, v := range supported.Array() {
					if v.Type != gjson.String || v.String() == version {
						fail("data.supported of error -32022 holds %s", v.Raw)
					}
				}
				if requested.Type != gjson.String || requested.String() != version {
					fail("data.requested of error -32022 is not the version of the request")
				}
				t.Saw()
			},
		},
		{
			ID:    "versioning.per-request",
			Says:  "the server judges the version of each request by itself, whatever other requests name",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"versioning-per-request-independent", "lifecycle-stateless-independent-requests"},
			Idle:  "no request of an unsupported version was sent",
			Hint:  expect.HintReply,
			// versioning.unsupported.error judges whether the server refuses an unsupported
			// version at all.
			Probe: func(t *check.T) {
				u := unsupported(t)
				match.Expect(t.Sessions().Use(u.at), u.next).To(match.BeResult(),
					"a request of %s after one of the version %s", t.Rev, spec.FutureVersion)
				refusedAlone := u.requests[0].reply.Message.Kind == wire.Error
				// Where one instance runs at a time, that of the requests before has ended.
				on := t.Sessions().Unopened()
				defer on.Sessions().CloseLater()
				var unsupported, supported []*check.Call
				for range 3 {
					unsupported = append(unsupported,
						on.Start("server/discover", check.VersionMeta(spec.FutureVersion)))
					supported = append(supported, on.Start("server/discover", nil))
				}
				for i := range supported {
					match.Expect(on, on.Answer(supported[i])).To(match.BeResult(),
						"a request of %s beside requests of the version %s", t.Rev, spec.FutureVersion)
					if m := on.Answer(unsupported[i]); m.Kind == wire.Result && refusedAlone {
						on.Fail("an error", m.Summary(),
							"a request of version %s was served beside requests of %s, and refused alone",
							spec.FutureVersion, t.Rev)
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "versioning.initialize.refused",
			Says:  "a server without handshake revisions refuses initialize with an error that names its versions",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"versioning-modern-only-rejects-initialize", "versioning-modern-only-names-versions"},
			Idle:  "no initialize was sent",
			Hint:  expect.HintReply,
			// A client can show its user nothing but this error, so the versions may stand in
			// its message or in its data. Over HTTP the status is 400, since required headers
			// are missing, with an error or without one.
			Probe: func(t *check.T) {
				o := opening.OpenAsLegacyClient(t)
				on := t.Sessions().Use(o.At)
				if posting.OverHTTP(t) && o.Answer.Kind != wire.Result && o.Status != http.StatusBadRequest {
					if o.Answered && !posting.IsClientError(o.Status) {
						on.Fail("HTTP status 400", fmt.Sprintf("HTTP status %d", o.Status),
							"initialize was refused with HTTP status %d", o.Status)
					}
					t.Note("initialize was refused with HTTP status %d rather than 400", o.Status)
				}
				switch {
				case !o.Answered && posting.IsClientError(o.Status):
					t.Note("initialize was refused with HTTP status %d alone, without an error", o.Status)
				case !o.Answered:
					on.Fail("an error", "no answer", "initialize was not answered")
				case o.Answer.Kind == wire.Result:
					t.NotApplicable("the server accepts initialize")
				case !strings.Contains(o.Answer.Error().Raw, string(t.Rev)):
					on.Fail("an error that names "+string(t.Rev), o.Answer.Error().Raw,
						"the error that refuses initialize names no version that the server supports")
				}
				t.Saw()
			},
		},
		{
			ID:    "versioning.initialize.served",
			Says:  "a server that accepts initialize serves the session by the handshake revision that it names",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"versioning-dual-server-legacy"},
			Idle:  "no ping was sent after initialize",
			Hint:  expect.HintReply,
			// Members of the stateless era may stand in results of the handshake era: only the
			// version and the answer to a ping are judged.
			Probe: func(t *check.T) {
				o := opening.OpenAsLegacyClient(t)
				if !o.Answered || o.Answer.Kind != wire.Result {
					t.NotApplicable("the server does not accept initialize")
				}
				on := t.Sessions().Use(o.At)
				version := o.Answer.Result().Get("protocolVersion").String()
				if v := spec.Revision(version); spec.Every.Has(v) && !spec.Handshake.Has(v) {
					on.Fail("a handshake revision", version, "initialize was answered with %s, which has no initialize",
						version)
				}
				if o.Unsent != nil {
					t.NotObserved(fmt.Sprintf("the stimulus could not be sent: %v", o.Unsent),
						"keep the connection open after initialize")
				}
				if !o.PingAnswered || o.PingAnswer.Kind != wire.Result {
					on.Fail("a result", o.PingAnswer.Summary(), "after initialize with %s a ping was not served",
						version)
				}
				t.Saw()
			},
		},
		{
			ID:    "versioning.removed",
			Says:  "the server does not know the methods that the revision removed",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"versioning-removed-methods-unknown"},
			Idle:  "no removed method was requested",
			Hint:  expect.HintReply,
			// The other era may have initialize, and an extension tasks.
			Probe: func(t *check.T) {
				for _, removed := range []struct {
					method string
					params check.Params
				}{
					{"ping", nil},
					{"logging/setLevel", check.Params{"level": "info"}},
					{"resources/subscribe", check.Params{"uri": "mcpcheck:nothing"}},
					{"resources/unsubscribe", check.Params{"uri": "mcpcheck:nothing"}},
				} {
					m := t.Request(removed.method, removed.params)
					code, _ := m.ErrorCode()
					switch {
					case m.Kind == wire.Result:
						t.Fail("error -32601", m.Summary(), "%s, which the revision removed, was served",
							removed.method)
					case code != spec.MethodNotFound:
						t.Note("%s was answered with %s rather than -32601", removed.method, m.Summary())
					}
					t.Saw()
				}
			},
		},
	}
}

// unsupportedVersions holds requests of versions that do not exist, and the answer to
// one of this revision between them.
type unsupportedVersions struct {
	at       *check.T
	requests []versionedRequest
	next     check.Reply
}

// A versionedRequest is a request that names a version, with its answer.
type versionedRequest struct {
	version string
	reply   check.Reply
}

// isRefused reports whether the server answered that it does not support the version.
func (r versionedRequest) isRefused() bool {
	code, _ := r.reply.Message.ErrorCode()
	return code == spec.UnsupportedVersion
}

var unsupportedKey = check.NewKey[unsupportedVersions]("requests of unsupported versions")

// unsupported sends a request of a version that does not exist, then one of this
// revision and, if the server serves that, one of another version that does not exist.
// It uses an instance of its own, since the session that checks share must not break.
func unsupported(t *check.T) unsupportedVersions {
	return check.Once(t, unsupportedKey, func() unsupportedVersions {
		u := unsupportedVersions{at: t.Sessions().Unopened()}
		request := func(version string) {
			r := u.at.Try("server/discover", check.VersionMeta(version))
			u.requests = append(u.requests, versionedRequest{version, r})
		}
		request(spec.FutureVersion)
		if u.next = u.at.Try("server/discover", nil); u.next.Succeeded() {
			request(spec.AncientVersion)
		}
		return u
	})
}
