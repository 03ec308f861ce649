package versioning

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/opening"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// probes are the probes of basic/lifecycle#version-negotiation, and of
// basic/versioning since 2026-07-28.
func probes() []check.Check {
	return []check.Check{
		{
			ID:    "versioning.counter-offer",
			Says:  "initialize with a version that the server cannot know is answered with another one, which it supports",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"versioning-server-counter-offer"},
			// counterOffer: the page requires a result with another version, and in its
			// error example shows -32602 with the supported ones; that is judged by
			// nobody. The version offered is asked for on another instance, unless it is
			// the revision of this run, which the server showed to speak.
			Probe: func(t *check.T) {
				o := offer(t)
				on := t.Sessions().Use(o.At)
				version := o.Answer.Result().Get("protocolVersion")
				switch m := o.Answer; {
				case !o.Answered:
					on.Fail("a result with another protocolVersion", "no answer", "initialize with %s was not answered", spec.UnknownVersion)
				case m.Kind == wire.Error && m.Error().Get("data.supported").IsArray():
					t.NotObserved("the version was refused with an error that lists the supported ones, as in the example of the page, which its rule contradicts", "")
				case m.Kind != wire.Result:
					on.Fail("a result with another protocolVersion", m.Summary(), "initialize with %s was answered with %s", spec.UnknownVersion, m.Summary())
				case version.Type != gjson.String:
					t.NotObserved("the result of initialize names no version", "")
				case version.String() == spec.UnknownVersion:
					on.Fail("a version that the server supports", spec.UnknownVersion, "the server accepted the version %s, which does not exist", spec.UnknownVersion)
				}
				if version.String() == string(t.Rev) {
					return
				}
				again := t.Sessions().Unopened()
				m, ok := again.Try("initialize", check.InitializeParams(version.String())).Answer()
				if got := m.Result().Get("protocolVersion"); !ok || got.String() != version.String() {
					again.Fail(version.String(), got.Raw, "the server offered the version %s, but does not agree to it when it is asked for", version)
				}
				again.Sessions().Leave()
			},
		},
		{
			ID:    "versioning.counter-offer.latest",
			Says:  "the version offered instead of an unknown one is the latest that the server supports",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"versioning-server-counter-latest"},
			// counterOfferLatest holds the offer against the revision of this run, which
			// the server showed to speak; at its newest revision that decides.
			Probe: func(t *check.T) {
				o := offer(t)
				version := spec.Revision(o.Answer.Result().Get("protocolVersion").String())
				switch {
				case !spec.Every.Has(version):
					t.NotObserved("the server offered no published version instead of an unknown one", "")
				case version != t.Rev && spec.Until(t.Rev).Has(version):
					t.Sessions().Use(o.At).Fail("at least "+string(t.Rev), string(version), "instead of an unknown version the server offered %s, though it supports %s", version, t.Rev)
				}
			},
		},
		{
			ID:    "versioning.unsupported.error",
			Says:  "a request of a version that the server does not list is answered with error -32022",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"versioning-unsupported-version-error", "discover-supported-versions-complete"},
			// unsupportedError: a server of both eras may not take an unknown version for
			// one of the era without _meta: it is in _meta that it was named.
			Probe: func(t *check.T) {
				r := refuse(t)
				on := t.Sessions().Use(r.at)
				for _, try := range r.refused {
					switch {
					case !try.answered:
						on.Fail("error -32022", "no answer", "a request of the version %s: %v", try.version, try.silence)
					case try.code() != spec.UnsupportedVersion:
						on.Fail("error -32022", try.answer.Summary(), "a request of the version %s was answered with %s", try.version, try.answer.Summary())
					}
				}
			},
		},
		{
			ID:    "versioning.unsupported.data",
			Says:  "error -32022 names the versions that are supported, and the one that was requested",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"versioning-unsupported-version-data"},
			Probe: func(t *check.T) {
				r := refuse(t)
				at := slices.IndexFunc(r.refused, func(try refusedVersion) bool { return try.code() == spec.UnsupportedVersion })
				if at < 0 {
					t.NotObserved("no unsupported version was answered with error -32022", "")
				}
				try := r.refused[at]
				data := try.answer.Error().Get("data")
				fail := func(format string, args ...any) {
					t.Sessions().Use(r.at).Fail(`data with supported, an array of versions, and requested, "`+try.version+`"`, data.Raw, format, args...)
				}
				supported := data.Get("supported")
				if !supported.IsArray() || len(supported.Array()) == 0 {
					fail("data.supported of error -32022 is %s, not an array of versions", wire.TypeName(supported))
				}
				for _, v := range supported.Array() {
					if v.Type != gjson.String || v.String() == try.version {
						fail("data.supported of error -32022 holds %s", v.Raw)
					}
				}
				if requested := data.Get("requested"); requested.Type != gjson.String || requested.String() != try.version {
					fail("data.requested of error -32022 is not the version that was asked for")
				}
			},
		},
		{
			ID:    "versioning.per-request",
			Says:  "the version of each request is judged by itself, whatever came before it or beside it",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"versioning-per-request-independent", "lifecycle-stateless-independent-requests"},
			// perRequest: whether an unsupported version is refused at all is judged
			// apart.
			Probe: func(t *check.T) {
				r := refuse(t)
				if !r.answered || r.next.Kind != wire.Result {
					t.Sessions().Use(r.at).Fail("a result", r.next.Summary(), "after a request of the version %s one of %s was not served", spec.FutureVersion, t.Rev)
				}
				// Where one instance runs at a time that of the trial has ended.
				on := t.Sessions().Unopened()
				defer on.Sessions().Leave()
				var bad, good []*check.Call
				for range 3 {
					bad = append(bad, on.Start("server/discover", check.VersionMeta(spec.FutureVersion)))
					good = append(good, on.Start("server/discover", nil))
				}
				for i := range good {
					if m := on.Answer(good[i]); m.Kind != wire.Result {
						on.Fail("a result", m.Summary(), "beside requests of the version %s one of %s was answered with %s", spec.FutureVersion, t.Rev, m.Summary())
					}
					if m := on.Answer(bad[i]); m.Kind == wire.Result && r.refused[0].answer.Kind == wire.Error {
						on.Fail("an error", m.Summary(), "beside requests of %s one of the version %s was served, which was refused when it came alone", t.Rev, spec.FutureVersion)
					}
				}
			},
		},
		{
			ID:    "versioning.initialize.refused",
			Says:  "a server without handshake revisions refuses initialize with an error that names the versions it supports",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"versioning-modern-only-rejects-initialize", "versioning-modern-only-names-versions"},
			// initializeRefused: the client can show its user nothing but this error, so
			// the versions may stand in its message or in its data. Over HTTP the status is
			// 400, since required headers are missing, with an error or without one.
			Probe: func(t *check.T) {
				o := opening.Legacy(t)
				if posting.OverHTTP(t) && o.Answer.Kind != wire.Result && o.Status != http.StatusBadRequest {
					if o.Answered && !posting.BlamesClient(o.Status) {
						t.Sessions().Use(o.At).Fail("HTTP status 400", fmt.Sprintf("HTTP status %d", o.Status), "initialize was refused with HTTP status %d", o.Status)
					}
					t.Note("initialize was refused with HTTP status %d rather than 400", o.Status)
				}
				switch on := t.Sessions().Use(o.At); {
				case !o.Answered && posting.BlamesClient(o.Status):
					t.Note("initialize was refused with HTTP status %d alone, without an error", o.Status)
				case !o.Answered:
					on.Fail("an error", "no answer", "initialize was not answered")
				case o.Answer.Kind == wire.Result:
					t.NotApplicable("the server accepts initialize")
				case !strings.Contains(o.Answer.Error().Raw, string(t.Rev)):
					on.Fail("an error that names "+string(t.Rev), o.Answer.Error().Raw, "the error that refuses initialize names no version that the server supports")
				}
			},
		},
		{
			ID:    "versioning.initialize.served",
			Says:  "a server that accepts initialize serves the process by the handshake revision that it names",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"versioning-dual-server-legacy"},
			// initializeServed: members of the stateless era may stand in results of the
			// handshake era, so only the version and a ping are looked at.
			Probe: func(t *check.T) {
				o := opening.Legacy(t)
				if !o.Answered || o.Answer.Kind != wire.Result {
					t.NotApplicable("the server does not accept initialize")
				}
				on := t.Sessions().Use(o.At)
				version := o.Answer.Result().Get("protocolVersion").String()
				if v := spec.Revision(version); spec.Every.Has(v) && !spec.Handshake.Has(v) {
					on.Fail("a handshake revision", version, "initialize was answered with %s, which has no initialize", version)
				}
				if o.Unsent != nil {
					t.NotObserved(fmt.Sprintf("the stimulus could not be sent: %v", o.Unsent), "")
				}
				if !o.Ponged || o.Pong.Kind != wire.Result {
					on.Fail("a result", o.Pong.Summary(), "after initialize named %s a ping was not served", version)
				}
			},
		},
		{
			ID:    "versioning.removed",
			Says:  "methods that the revision removed are unknown",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"versioning-removed-methods-unknown"},
			// removedMethods leaves out initialize, which another era may serve, and
			// tasks, which an extension may.
			Probe: func(t *check.T) {
				for _, m := range []struct {
					method string
					params check.Params
				}{
					{"ping", nil},
					{"logging/setLevel", check.Params{"level": "info"}},
					{"resources/subscribe", check.Params{"uri": "mcpcheck:nothing"}},
					{"resources/unsubscribe", check.Params{"uri": "mcpcheck:nothing"}},
				} {
					answer := t.Request(m.method, m.params)
					code, _ := answer.Code()
					switch {
					case answer.Kind == wire.Result:
						t.Fail("error -32601", answer.Summary(), "%s, which the revision removed, was served", m.method)
					case code != spec.MethodNotFound:
						t.Note("%s was answered with %s rather than -32601", m.method, answer.Summary())
					}
				}
			},
		},
	}
}

var versioningOfferKey = check.NewKey[opening.Outcome]("versioning.offer")

// offer is the trial of initialize with a version that the server cannot know.
func offer(t *check.T) opening.Outcome {
	return check.Once(t, versioningOfferKey, func() opening.Outcome {
		at := t.Sessions().Unopened()
		e, err := at.Try("initialize", check.InitializeParams(spec.UnknownVersion)).Get()
		at.Sessions().Leave()
		return opening.OutcomeOf(at, e, err)
	})
}

// refusal is what came of a request of a version that does not exist, of one
// of this revision after it and, if that was served, of another that does not.
type refusal struct {
	at       *check.T
	refused  []refusedVersion
	next     wire.Message
	answered bool
}

type refusedVersion struct {
	version  string
	answer   wire.Message
	answered bool
	silence  error // why there was no answer
}

// code returns the error code of the answer, 0 for none.
func (r refusedVersion) code() int {
	code, _ := r.answer.Code()
	return code
}

var versioningRefusalKey = check.NewKey[refusal]("versioning.refusal")

// refuse is the trial of unsupported versions, on an instance of its own: a
// server that is thrown by them must not spoil the session that checks share.
func refuse(t *check.T) refusal {
	return check.Once(t, versioningRefusalKey, func() refusal {
		r := refusal{at: t.Sessions().Unopened()}
		try := func(version string) {
			e, err := r.at.Try("server/discover", check.VersionMeta(version)).Get()
			if err == nil {
				r.at.Mark(e)
			}
			r.refused = append(r.refused, refusedVersion{version, e.Message, err == nil, err})
		}
		try(spec.FutureVersion)
		if r.next, r.answered = r.at.Try("server/discover", nil).Answer(); r.next.Kind == wire.Result {
			try(spec.AncientVersion)
		}
		return r
	})
}
