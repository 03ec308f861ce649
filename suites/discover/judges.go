package discover

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges are the judges of server/discover, since 2026-07-28.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "discover.result",
			Says:  "the result of server/discover has supportedVersions and capabilities, each of its type",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"discover-result-fields"},
			// discoverResult leaves the type of the result and the hints for caching,
			// which other results have too, to rules of their own.
			Judge: func(j *check.J) {
				for _, e := range transcript.ResultsOf(j, "server/discover") {
					r := e.Message.Result()
					versions := r.Get("supportedVersions")
					switch {
					case !r.IsObject(): // has a rule of its own
					case !versions.IsArray():
						j.Fail(e, "supportedVersions is %s, not an array", wire.TypeName(versions))
					case !r.Get("capabilities").IsObject():
						j.Fail(e, "capabilities is %s, not an object", wire.TypeName(r.Get("capabilities")))
					case r.Get("instructions").Exists() && r.Get("instructions").Type != gjson.String:
						j.Fail(e, "instructions is %s, not a string", wire.TypeName(r.Get("instructions")))
					default:
						for _, v := range versions.Array() {
							if v.Type != gjson.String {
								j.Fail(e, "supportedVersions holds %s", wire.TypeName(v))
							}
						}
						j.Saw()
					}
				}
			},
		},
		{
			ID:    "discover.versions.accepted",
			Says:  "no request of a version that server/discover lists is refused for its version",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"discover-supported-versions-accepted"},
			// listedVersionsAccepted looks at stateless revisions only: what a request of
			// another era may declare is not stated.
			Judge: func(j *check.J) {
				listed := map[string]bool{}
				for _, e := range transcript.ResultsOf(j, "server/discover") {
					for _, v := range e.Message.Result().Get("supportedVersions").Array() {
						listed[v.String()] = listed[v.String()] || spec.Stateless.Has(spec.Revision(v.String()))
					}
				}
				for _, e := range j.Sent() {
					if !e.Message.IsResponse() {
						continue
					}
					r, ok := j.RequestOf(e)
					version := wire.Member(r.Message.Params().Get("_meta"), spec.MetaProtocolVersion).String()
					if !ok || !listed[version] {
						continue
					}
					if code, _ := e.Message.Code(); code == spec.UnsupportedVersion {
						j.Fail(e, "a request of the version %s, which server/discover lists, was refused with error -32022", version)
						continue
					}
					j.Saw()
				}
			},
		},
	}
}
