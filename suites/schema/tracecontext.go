package schema

import (
	"regexp"
	"strings"
)

const baggageValue = `[ \t]*=[ \t]*[\x21\x23-\x2b\x2d-\x3a\x3c-\x5b\x5d-\x7e]*[ \t]*`

var (
	traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-.*)?$`)
	// traceMember matches a member of tracestate: a key as either level of Trace Context
	// allows it, and a value of printable ASCII without comma and equals sign.
	traceMember = regexp.MustCompile(`^([a-z0-9][a-z0-9_*/-]{0,255}|` +
		`[a-z0-9][a-z0-9_*/-]{0,240}@[a-z0-9][a-z0-9_*/-]{0,13})` +
		`=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]$`)
	// baggageMember matches a member of baggage: a token, a value, and properties after
	// semicolons.
	baggageMember = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+" + baggageValue +
		"(;[ \t]*[!#$%&'*+.^_`|~0-9A-Za-z-]+[ \t]*(" + baggageValue + ")?)*$")
)

// isTraceparent reports whether a value is a traceparent: the version ff and ids of zeros
// are invalid, and only versions after 00 may have more fields.
func isTraceparent(v string) bool {
	if !traceparent.MatchString(v) {
		return false
	}
	version, trace, parent := v[:2], v[3:35], v[36:52]
	return version != "ff" && strings.Trim(trace, "0") != "" && strings.Trim(parent, "0") != "" &&
		(version != "00" || len(v) == 55)
}

// isTracestate reports whether a value is a tracestate: at most 32 members, of which some
// may be empty.
func isTracestate(v string) bool {
	members := strings.Split(v, ",")
	if len(members) > 32 {
		return false
	}
	for _, m := range members {
		if m = strings.Trim(m, " \t"); m != "" && !traceMember.MatchString(m) {
			return false
		}
	}
	return true
}

// isBaggage reports whether a value is a baggage.
func isBaggage(v string) bool {
	for _, m := range strings.Split(v, ",") {
		if !baggageMember.MatchString(strings.Trim(m, " \t")) {
			return false
		}
	}
	return true
}
