package semantics

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

// The header fields by which a server lets pages of other sites use it (WHATWG Fetch
// section 3.3).
const (
	allowOrigin   = "Access-Control-Allow-Origin"
	allowFields   = "Access-Control-Allow-Headers"
	exposedFields = "Access-Control-Expose-Headers"
)

// serveBrowsers is the hint of the checks of clients in a browser.
const serveBrowsers = "answer OPTIONS with Access-Control-Allow-Origin, if clients in a browser may use the server"

// browserProbes returns the probes of what a server that serves clients in a browser must
// allow them: a browser hides from a page what the server does not allow.
func browserProbes() []check.Check {
	return []check.Check{
		{
			ID: "streamable-http.cors.fields",
			Says: "a server that allows pages of other sites to post allows them the header fields of the protocol," +
				" without which a client in a browser cannot post",
			Level: spec.Robust,
			In:    streamable(),
			On:    transport.OnHTTP,
			Spec:  "basic/transports#protocol-version-header",
			Idle:  "the server does not allow pages of other sites to post",
			Hint:  serveBrowsers,
			Probe: func(t *check.T) {
				needed := []string{"Content-Type"}
				if t.Facts.VersionHeader || t.Facts.Stateless {
					needed = append(needed, posting.VersionField)
				}
				if t.HTTP().SessionID() != "" {
					needed = append(needed, posting.SessionField)
				}
				x, err := t.HTTP().TryRequest(http.MethodOptions, fromPage(t), check.Without(posting.SessionField),
					check.Without(posting.VersionField), check.With("Access-Control-Request-Method", http.MethodPost),
					check.With("Access-Control-Request-Headers", strings.ToLower(strings.Join(needed, ","))))
				if err != nil || !posting.IsSuccess(x) || !isAllowed(x.Header) {
					return
				}
				allowed := tokens(x.Header, allowFields)
				for _, field := range needed {
					if !slices.Contains(allowed, strings.ToLower(field)) && !slices.Contains(allowed, "*") {
						t.HTTP().Mark(x)
						t.Fail(field+" in "+allowFields, strings.Join(allowed, ", "),
							"a preflight of a POST with %s was answered without it", field)
					}
				}
				t.Saw()
			},
		},
		{
			ID: "streamable-http.cors.session",
			Says: "a server that answers pages of other sites lets them read the session id, without which a client" +
				" in a browser cannot go on",
			Level: spec.Robust,
			In:    withSessions(),
			On:    transport.OnHTTP,
			Spec:  "basic/transports#session-management",
			Idle:  "the server does not let pages of other sites read its answers, or gives no session ids",
			Hint:  serveBrowsers,
			Probe: func(t *check.T) {
				x, err := t.HTTP().TryPost(posting.InitializeFrame(t), fromPage(t), check.Without(posting.SessionField),
					check.Without(posting.VersionField))
				if err != nil || !posting.IsServed(t, x) || x.Header.Get(posting.SessionField) == "" {
					return
				}
				opened := posting.RawSession{T: t, ID: x.Header.Get(posting.SessionField)}
				defer opened.End()
				if !isAllowed(x.Header) {
					return
				}
				exposed := tokens(x.Header, exposedFields)
				if !slices.Contains(exposed, strings.ToLower(posting.SessionField)) && !slices.Contains(exposed, "*") {
					t.HTTP().Mark(x)
					t.Fail(posting.SessionField+" in "+exposedFields, strings.Join(exposed, ", "),
						"initialize was posted with an Origin, and its answer allows the page, but not the session id")
				}
				t.Saw()
			},
		},
	}
}

// fromPage makes a request one of a page of the server itself, which a server that
// compares origins accepts.
func fromPage(t *check.T) check.Edit {
	u := t.HTTP().URL()
	return check.With("Origin", u.Scheme+"://"+u.Host)
}

// isAllowed reports whether an answer allows the page that requested it to read it.
func isAllowed(h http.Header) bool { return h.Get(allowOrigin) != "" }

// tokens returns the items of a list in a header field in lower case.
func tokens(h http.Header, field string) (out []string) {
	for _, value := range h.Values(field) {
		for _, token := range strings.Split(value, ",") {
			out = append(out, strings.ToLower(strings.TrimSpace(token)))
		}
	}
	return out
}
