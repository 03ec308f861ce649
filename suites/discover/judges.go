package discover

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges returns the judges of server/discover, since 2026-07-28.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "discover.result",
			Says:  "the result of server/discover has supportedVersions and capabilities, each of its type",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"discover-result-fields"},
			Idle:  "server/discover was not answered with a result",
			Hint:  "answer server/discover with a result",
			// Other checks judge resultType and the hints for caching, which other results
			// have too.
			Judge: func(j *check.J) {
				check.Each(j, transcript.ResultsOf(j, "server/discover"), func(e wire.Entry) bool {
					r := e.Message.Result()
					versions, capabilities := r.Get("supportedVersions"), r.Get("capabilities")
					instructions := r.Get("instructions")
					switch {
					case !r.IsObject(): // jsonrpc.result.object judges it
						return false
					case !versions.IsArray():
						j.Fail(e, "supportedVersions is %s, not an array", wire.TypeName(versions))
					case !capabilities.IsObject():
						j.Fail(e, "capabilities is %s, not an object", wire.TypeName(capabilities))
					case instructions.Exists() && instructions.Type != gjson.String:
						j.Fail(e, "instructions is %s, not a string", wire.TypeName(instructions))
					default:
						for _, v := range versions.Array() {
							if v.Type != gjson.String {
								j.Fail(e, "supportedVersions holds %s", wire.TypeName(v))
							}
						}
					}
					return true
				})
			},
		},
		{
			ID:    "discover.versions.accepted",
			Says:  "the server refuses no request for its version if server/discover lists that version",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"discover-supported-versions-accepted"},
			Idle:  "no request of a version that server/discover lists was answered",
			Hint:  "list the supported versions in the result of server/discover",
			Judge: func(j *check.J) {
				listed := listedVersions(j)
				check.Each(j, j.Sent(), func(e wire.Entry) bool {
					if !e.Message.IsResponse() {
						return false
					}
					request, ok := j.RequestOf(e)
					version := transcript.MetaMember(request.Message, spec.MetaProtocolVersion).String()
					if !ok || !listed[version] {
						return false
					}
					if code, _ := e.Message.ErrorCode(); code == spec.UnsupportedVersion {
						j.Fail(e, "server/discover lists the version %s, but a request of it got error -32022", version)
					}
					return true
				})
			},
		},
	}
}

// listedVersions returns the stateless revisions that results of server/discover list.
// What a request of the other era may declare is not stated.
func listedVersions(j *check.J) map[string]bool {
	listed := map[string]bool{}
	for _, e := range transcript.ResultsOf(j, "server/discover") {
		for _, v := range transcript.SupportedVersions(e.Message) {
			if spec.Stateless.Has(spec.Revision(v.String())) {
				listed[v.String()] = true
			}
		}
	}
	return listed
}
