package elicitation

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges are the judges of client/elicitation: of requests of the server,
// and of entries of input_required results alike.
func judges() []check.Check {
	return slices.Concat(elicitationShapes(), formFields(), []check.Check{
		{
			ID:    "elicitation.mode.declared",
			Says:  "a client is asked by forms or pages only as it declares; one that names no mode, by forms",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"elicitation-unsupported-mode-not-sent", "elicitation-empty-capability-form"},
			// modeDeclared leaves a client without elicitation to
			// lifecycle.capabilities.undeclared and lifecycle.input.declared.
			Judge: func(j *check.J) {
				transcript.EachInputRequest(j, createElicitation, func(a transcript.InputRequest) {
					declared := a.Client(j).Get("elicitation")
					mode := a.Params().Value.Get("mode")
					if mode.String() == "" {
						mode = gjson.Parse(`"form"`)
					}
					switch {
					case !declared.Exists() || mode.String() != "form" && mode.String() != "url":
					case declared.Get(mode.String()).Exists(), mode.String() == "form" && !declared.Get("url").Exists():
						j.Saw()
					default:
						j.Fail(a.Entry, "%s is of mode %s, and the client declares elicitation %s", a.Name, mode, wire.Clip(declared.Raw, 80))
					}
				})
			},
		},
		{
			ID:    "elicitation.form.links",
			Says:  "the message of a form holds no link",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"elicitation-no-urls-in-form"},
			// formLinks looks at the message alone: a field that asks for an address may
			// well show how one looks. For the same reason names reserved for examples
			// (RFC 2606) are no links.
			Judge: func(j *check.J) {
				forms(j, func(a transcript.InputRequest) {
					for _, found := range link.FindAllString(a.Params().Value.Get("message").String(), -1) {
						u, err := url.Parse(strings.TrimRight(found, ".,;:!?)"))
						if err == nil && !example(u.Hostname()) {
							j.Fail(a.Entry, "%s: the message of the form holds the link %s", a.Name, wire.Clip(u.String(), 120))
							return
						}
					}
					j.Saw()
				})
			},
		},
		formSecrets(),
		{
			ID:    "elicitation.url.valid",
			Says:  "the url that the user is sent to is a valid URL",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"elicitation-url-valid"},
			Judge: func(j *check.J) {
				pagesToVisit(j, func(a transcript.InputRequest) {
					v := a.Params().Value.Get("url")
					if v.Type != gjson.String {
						return // elicitation.url.params
					}
					if u, err := url.Parse(v.Str); err != nil || !u.IsAbs() || u.Host == "" && u.Opaque == "" && u.Path == "" {
						j.Fail(a.Entry, "%s: the url is %q", a.Name, wire.Clip(v.Str, 120))
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "elicitation.url.https",
			Says:  "the url that the user is sent to is of https, unless it is on this machine",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"elicitation-url-https"},
			Judge: func(j *check.J) {
				pagesToVisit(j, func(a transcript.InputRequest) {
					u, err := url.Parse(a.Params().Value.Get("url").String())
					if err != nil || !u.IsAbs() {
						return // elicitation.url.valid
					}
					local := slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, u.Hostname())
					if u.Scheme == "http" && !local {
						j.Fail(a.Entry, "%s sends the user to %s", a.Name, wire.Clip(u.String(), 120))
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "elicitation.url.id.unique",
			Says:  "no two elicitations of different pages have the same elicitationId",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"elicitation-id-unique"},
			// urlIDUnique takes two requests that send the user to the same page for the
			// same elicitation, asked for again.
			Judge: func(j *check.J) {
				where := map[string]string{} // url by id
				pagesToVisit(j, func(a transcript.InputRequest) {
					id, to := a.Params().Value.Get("elicitationId"), a.Params().Value.Get("url").String()
					if id.Type != gjson.String {
						return // elicitation.url.params
					}
					if before, ok := where[id.Str]; ok && before != to {
						j.Fail(a.Entry, "%s has the elicitationId %q, as the elicitation of another page before", a.Name, wire.Clip(id.Str, 80))
						return
					}
					where[id.Str] = to
					j.Saw()
				})
			},
		},
		{
			ID:    "elicitation.complete.id",
			Says:  "the notification that an elicitation is complete carries an elicitationId",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"elicitation-complete-has-id"},
			Judge: func(j *check.J) {
				completed(j, func(s transcript.Message) {
					for _, v := range schema.For(j.Rev).Validate(s.Definition, []byte(s.Body.Raw)) {
						if !transcript.PointerMatches(v.Place(), transcript.CommonPlaces) {
							j.Fail(s.Entry, "%s: %s", s.Name, v)
							return
						}
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "elicitation.complete.known",
			Says:  "a client is told that an elicitation is complete only if it was asked for it",
			Level: spec.Must,
			In:    spec.Only(spec.V2025_11_25),
			Rules: []string{"elicitation-complete-only-initiator", "elicitation-complete-has-id"},
			Judge: func(j *check.J) {
				known := map[string]wire.Entry{} // by id
				transcript.EachInputRequest(j, createElicitation, func(a transcript.InputRequest) {
					transcript.KeepFirst(known, a.Params().Value.Get("elicitationId").String(), a.Entry)
				})
				required(j, func(e wire.Entry) {
					for _, v := range e.Message.Error().Get("data.elicitations").Array() {
						transcript.KeepFirst(known, v.Get("elicitationId").String(), e)
					}
				})
				completed(j, func(s transcript.Message) {
					id := s.Message.Params().Get("elicitationId")
					if id.Type != gjson.String {
						return // elicitation.complete.id
					}
					if asked, ok := known[id.Str]; !ok || j.Follows(asked, s.Entry) {
						j.Fail(s.Entry, "%s names the elicitation %q, for which this client was never asked", s.Name, wire.Clip(id.Str, 80))
						return
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "elicitation.complete.gone",
			Says:  "the server neither tells that an elicitation is complete nor gives it an elicitationId",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"elicitation-no-complete-notification"},
			Judge: func(j *check.J) {
				for _, e := range j.Sent() {
					if e.Message.Method() == "notifications/elicitation/complete" {
						j.Fail(e, "the server sent notifications/elicitation/complete, which this revision took back")
					}
				}
				pagesToVisit(j, func(a transcript.InputRequest) {
					if a.Params().Value.Get("elicitationId").Exists() {
						j.Fail(a.Entry, "%s has an elicitationId, which this revision took back", a.Name)
						return
					}
					j.Saw()
				})
			},
		},
	}, urlRequired())
}

const createElicitation = "elicitation/create"

// elicitationShapes split the definition of the request.
func elicitationShapes() []check.Check {
	return transcript.ShapeChecks([]transcript.ShapeCheck{
		{
			Check: check.Check{
				ID:    "elicitation.request.params",
				Says:  "an elicitation has a string message, and a mode of the revision",
				In:    spec.Since(spec.V2025_06_18),
				Rules: []string{"elicitation-request-params"},
			},
			Method: createElicitation,
		},
		{
			Check: check.Check{
				ID:    "elicitation.schema.object",
				Says:  "a form is asked for by a requestedSchema of type object with properties",
				In:    spec.Since(spec.V2025_06_18),
				Rules: []string{"elicitation-schema-object"},
			},
			Method: createElicitation, Has: []string{"requestedSchema"},
			Places: []string{"/params/requestedSchema", "/params/requestedSchema/type", "/params/requestedSchema/properties", "/params/requestedSchema/required/**", "/params/requestedSchema/$schema"},
		},
		{
			Check: check.Check{
				ID:    "elicitation.url.params",
				Says:  "an elicitation in URL mode has a url and what else the revision wants",
				In:    spec.Since(spec.V2025_11_25),
				Rules: []string{"elicitation-url-params"},
			},
			Method: createElicitation, Has: []string{"url"},
			Places: []string{"/params/url", "/params/elicitationId"},
		},
	}, []string{"/params/requestedSchema/properties/*/**"}) // elicitation.schema.*
}

// forms gives the elicitations in form mode, pages those in URL mode.
func forms(j *check.J, look func(a transcript.InputRequest)) {
	transcript.EachInputRequest(j, createElicitation, func(a transcript.InputRequest) {
		if a.Params().Value.Get("mode").String() != "url" {
			look(a)
		}
	})
}

func pagesToVisit(j *check.J, look func(a transcript.InputRequest)) {
	transcript.EachInputRequest(j, createElicitation, func(a transcript.InputRequest) {
		if a.Params().Value.Get("mode").String() == "url" {
			look(a)
		}
	})
}

// link finds addresses of the web that a host may make clickable.
var link = regexp.MustCompile(`https?://[^\s"'<>]+`)

func example(host string) bool {
	return slices.ContainsFunc([]string{"example", "test", "invalid", "example.com", "example.org", "example.net"}, func(reserved string) bool {
		return host == reserved || strings.HasSuffix(host, "."+reserved)
	})
}

// completed gives the notifications that an elicitation is complete.
func completed(j *check.J, look func(s transcript.Message)) {
	transcript.EachMessage(j, func(s transcript.Message) {
		if s.Message.Kind == wire.Notification && s.Message.Method() == "notifications/elicitation/complete" {
			look(s)
		}
	})
}
