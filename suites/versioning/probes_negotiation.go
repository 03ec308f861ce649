package versioning

import (
	"github.com/onsi/gomega"
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/match"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/opening"
)

// negotiationProbes returns the probes of basic/lifecycle#version-negotiation.
func negotiationProbes() []check.Check {
	return []check.Check{
		{
			ID:    "versioning.counter-offer",
			Says:  "the server answers initialize with an impossible version by offering a version that it supports",
			Level: spec.Must,
			In:    spec.Handshake,
			Rules: []string{"versioning-server-counter-offer"},
			Idle:  "the result of initialize names no version",
			Hint:  counter,
			Probe: func(t *check.T) {
				o := counterOffer(t)
				answer := o.Answer
				on := t.Sessions().Use(o.At)
				const want = "a result with another protocolVersion"
				switch {
				case answer.Kind != wire.Result && !opensAnotherSession(t):
					t.NotObserved("an ordinary initialize on a second connection is refused or not answered either",
						"answer initialize on a second connection")
				case !o.Answered:
					on.Fail(want, "no answer", "initialize with %s was not answered", spec.UnknownVersion)
				case answer.Kind == wire.Error && answer.Error().Get("data.supported").IsArray():
					t.NotObserved("the version was refused with an error that lists the supported ones, as in the "+
						"example of the page, which contradicts its rule", counter)
				case answer.Kind != wire.Result:
					on.Fail(want, answer.Summary(), "initialize with %s was answered with %s",
						spec.UnknownVersion, answer.Summary())
				}
				version := answer.Result().Get("protocolVersion")
				if version.Type != gjson.String {
					return
				}
				match.Expect(on, version.String()).NotTo(gomega.Equal(spec.UnknownVersion),
					"the server accepted a version that does not exist")
				expectSupported(t, version.String())
				t.Saw()
			},
		},
		{
			ID:    "versioning.counter-offer.latest",
			Says:  "the server offers the latest version that it supports instead of an impossible one",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"versioning-server-counter-latest"},
			Idle:  "the server offered no published version instead of an unknown one",
			Hint:  counter,
			// The server supports the revision of this run: at the newest revision that it
			// supports the comparison decides.
			Probe: func(t *check.T) {
				o := counterOffer(t)
				version := spec.Revision(o.Answer.Result().Get("protocolVersion").String())
				if !spec.Every.Has(version) {
					return
				}
				if version != t.Rev && spec.Until(t.Rev).Has(version) {
					t.Sessions().Use(o.At).Fail("at least "+string(t.Rev), string(version),
						"instead of an unknown version the server offered %s, though it supports %s", version, t.Rev)
				}
				t.Saw()
			},
		},
	}
}

// counter is what helps where the server offers no other version.
const counter = "answer initialize of an unknown version with a version that the server supports"

var counterOfferKey = check.NewKey[opening.Outcome]("initialize with an unknown version")

// counterOffer sends initialize with a version that the server cannot know.
func counterOffer(t *check.T) opening.Outcome {
	return check.Once(t, counterOfferKey, func() opening.Outcome {
		at := t.Sessions().Unopened()
		r := at.Try("initialize", check.InitializeParams(spec.UnknownVersion))
		at.Sessions().CloseLater()
		return opening.OutcomeOf(at, r.Entry, r.Err)
	})
}

// opensAnotherSession reports whether the server accepts initialize with the version of
// this run on another connection than the first.
func opensAnotherSession(t *check.T) bool {
	at := t.Sessions().Unopened()
	defer at.Sessions().CloseLater()
	return at.Sessions().Open().Spoken
}

// expectSupported fails the check unless the server agrees to a version that it
// offered. That it supports the revision of this run is known.
func expectSupported(t *check.T, version string) {
	if version == string(t.Rev) {
		return
	}
	again := t.Sessions().Unopened()
	r := again.Try("initialize", check.InitializeParams(version))
	if chosen := r.Message.Result().Get("protocolVersion"); r.Err != nil || chosen.String() != version {
		again.Fail(version, chosen.Raw,
			"the server offered the version %s, but does not agree to it when a client requests it", version)
	}
	again.Sessions().CloseLater()
}
