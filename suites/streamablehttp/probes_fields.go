package streamablehttp

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/expect"
	"github.com/mcpcheck/mcpcheck/suites/survey/posting"
)

const (
	sendingMessages = "basic/transports#sending-messages-to-the-server"
	noField         = "no request was posted"
)

// fieldProbes returns the probes of header fields in forms that HTTP allows and clients
// or intermediaries send: RFC 9110 sections 5.1 (names), 5.3 (fields on several lines),
// 8.3.1 (media types) and 12.5.1 (Accept). No clause of the specification states them.
func fieldProbes() []check.Check {
	return []check.Check{
		{
			ID:    "streamable-http.content-type.forms",
			Says:  "the server serves a POST of application/json with a charset, which many HTTP clients add",
			Level: spec.Robust,
			Probe: func(t *check.T) {
				expectFormsServed(t, "Content-Type", [][]string{
					{"application/json; charset=utf-8"}, {"application/json;charset=UTF-8"},
					{`application/json; charset="utf-8"`}, {"application/json ; charset=utf-8"},
				})
			},
		},
		{
			ID:    "streamable-http.content-type.case",
			Says:  "the server compares the media type in Content-Type case-insensitively (RFC 9110 section 8.3.1)",
			Level: spec.Robust,
			Probe: func(t *check.T) { expectFormsServed(t, "Content-Type", [][]string{{"Application/JSON"}}) },
		},
		{
			ID: "streamable-http.content-type.compared",
			Says: "a server that refuses text/plain refuses other media types that contain application/json, " +
				"which pages of other sites can post without a preflight",
			Level: spec.Robust,
			Idle:  "the server serves a body of text/plain",
			Hint:  "refuse a POST of text/plain",
			Probe: func(t *check.T) {
				b := posting.OpenSession(t)
				defer b.End()
				post := func(mediaType string) *check.PendingExchange {
					return posting.RequireServerStatus(t,
						b.Post(posting.BarrierFrame(t), check.With("Content-Type", mediaType)))
				}
				if posting.IsServed(t, post("text/plain")) {
					return
				}
				for _, mediaType := range []string{
					"text/plain; x=application/json", "application/x-www-form-urlencoded; x=application/json",
				} {
					if x := post(mediaType); posting.IsServed(t, x) {
						t.Fail("a refusal, as of text/plain", check.Describe(x), "%s with Content-Type: %s was served",
							t.Facts.BarrierMethod, mediaType)
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "streamable-http.accept.forms",
			Says:  "the server serves a POST whose Accept names both media types in any order, with weights or others",
			Level: spec.Robust,
			Probe: func(t *check.T) {
				forms := [][]string{{"application/json,text/event-stream"}, {"application/json , text/event-stream"}}
				for _, accept := range acceptFields() {
					forms = append(forms, []string{accept})
				}
				expectFormsServed(t, "Accept", forms)
			},
		},
		{
			ID:    "streamable-http.accept.case",
			Says:  "the server compares the media types in Accept case-insensitively (RFC 9110 section 8.3.1)",
			Level: spec.Robust,
			Probe: func(t *check.T) {
				expectFormsServed(t, "Accept", [][]string{{"Application/JSON, Text/Event-Stream"}})
			},
		},
		{
			ID:    "streamable-http.accept.lines",
			Says:  "the server serves a POST with two lines of Accept, which some HTTP clients write for two values",
			Level: spec.Robust,
			Probe: func(t *check.T) {
				expectFormsServed(t, "Accept", [][]string{{"application/json", "text/event-stream"}})
			},
		},
		{
			ID:    "streamable-http.accept.get",
			Says:  "the server opens a stream for a GET whose Accept names text/event-stream with a weight or others",
			Level: spec.Robust,
			In:    withSessions,
			Spec:  "basic/transports#listening-for-messages-from-the-server",
			Idle:  "a GET opened no stream",
			Hint:  expect.HintGetStream,
			// Each GET has a session of its own, since a server may open one stream in each.
			Probe: func(t *check.T) {
				if !tryStream(t, "text/event-stream").IsEventStream() {
					return
				}
				for _, accept := range []string{
					"text/event-stream, */*;q=0.1", "application/json, text/event-stream", "text/event-stream;q=0.9",
				} {
					x := posting.RequireServerStatus(t, tryStream(t, accept))
					if posting.IsClientError(x.Status) {
						t.Fail("an event stream", check.Describe(x),
							"a GET with Accept: %s was refused, and one with text/event-stream alone was not", accept)
					}
					t.Saw()
				}
			},
		},
		{
			ID:    "streamable-http.field-names.case",
			Says:  "the server serves a request whose header fields have names in lower case, as proxies write them",
			Level: spec.Robust,
			In:    withSessions,
			Idle:  "nothing was served over a separate connection",
			Hint:  "answer requests over a second connection",
			// The probe sends bytes, as an HTTP client writes names in one way only. Since
			// 2026-07-28 a clause states the rule, which headers.names.case judges.
			Probe: func(t *check.T) {
				b := posting.OpenSession(t)
				defer b.End()
				bytes := func() string { return t.HTTP().Bytes(http.MethodPost, posting.BarrierFrame(t), b.Edits()...) }
				if usual, _ := sendBytes(t, bytes()); !usual {
					return
				}
				for what, write := range map[string]func(string) string{
					"lower": strings.ToLower, "upper": strings.ToUpper,
				} {
					head, body, _ := strings.Cut(bytes(), "\r\n\r\n")
					head = fieldName.ReplaceAllStringFunc(head, write)
					if served, answer := sendBytes(t, head+"\r\n\r\n"+body); !served {
						t.Fail("a result", answer, "%s with the names of its header fields in %s case was refused",
							t.Facts.BarrierMethod, what)
					}
				}
				t.Saw()
			},
		},
	}
}

// fieldName matches the name of a header field with the line break before it.
var fieldName = regexp.MustCompile(`\r\n[^:\r\n]+:`)

// sendBytes sends a request as bytes and reports whether it was answered with a result.
func sendBytes(t *check.T, request string) (served bool, answer string) {
	r, err := t.HTTP().Raw(request)
	if err != nil {
		return false, err.Error()
	}
	if posting.IsUnavailable(r.Status) {
		t.NotObserved(fmt.Sprintf("a request was answered with status %d", r.Status), posting.HintAvailable)
	}
	for _, m := range posting.RawMessages(r) {
		if m.Kind == wire.Result {
			return r.Status < 300, m.Summary()
		}
	}
	return false, fmt.Sprintf("HTTP status %d", r.Status)
}

// tryStream opens a session, sends a GET with an Accept in it and ends it.
func tryStream(t *check.T, accept string) *check.PendingExchange {
	b := posting.OpenSession(t)
	defer b.End()
	x, err := b.TryRequest(http.MethodGet, check.With("Accept", accept))
	if err != nil {
		t.NotObserved("a GET was not answered: "+err.Error(), answerGet)
	}
	x.Close()
	return x
}

// expectFormsServed fails the check unless requests with other forms of a field are
// served, each a list of lines, where the usual form is. 401 and 403 are about the client,
// and 404 about its session.
func expectFormsServed(t *check.T, field string, forms [][]string) {
	b := posting.OpenSession(t)
	defer b.End()
	if x := posting.RequireServerStatus(t, b.Post(posting.BarrierFrame(t))); !posting.IsServed(t, x) {
		t.NotObserved("a request with the usual header fields was answered with "+check.Describe(x),
			"answer "+t.Facts.BarrierMethod+" with a result")
	}
	var refused []string
	var first *check.PendingExchange
	for _, lines := range forms {
		x := posting.RequireServerStatus(t, b.Post(posting.BarrierFrame(t), check.With(field, lines...)))
		switch {
		case posting.IsServed(t, x):
			t.Saw()
		case x.Status >= 500, posting.IsClientError(x.Status) && x.Status != http.StatusNotFound:
			refused = append(refused, strings.Join(lines, " and "))
			if first == nil {
				first = x
			}
		}
	}
	if first != nil {
		t.HTTP().Mark(first)
		t.Fail("a result", check.Describe(first), "%s with %s: %s was refused (%d of %d forms were)",
			t.Facts.BarrierMethod, field, refused[0], len(refused), len(forms))
	}
}
