package fault

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// elicitation are the faults of client/elicitation.
func elicitation() []Fault {
	return slices.Concat(formFaults(), elicitingFaults(), visitFaults(), requiredFaults())
}

// formFaults are those of what a form is asked for by.
func formFaults() []Fault {
	later, only := spec.Since(spec.V2025_11_25), spec.Only(spec.V2025_06_18)
	return []Fault{
		{
			Name: "form-without-message", Does: "asks by a form without a message",
			CaughtBy: []string{"elicitation.request.params"},
			Apply:    onForm(func(p server.Object) { delete(p, "message") }),
		},
		{
			Name: "form-of-mode-dialog", Does: "names a mode that there is not", In: later,
			CaughtBy: []string{"elicitation.request.params"},
			Apply:    onForm(func(p server.Object) { p["mode"] = "dialog" }),
		},
		{
			Name: "form-schema-untyped", Does: "leaves out the type of requestedSchema",
			CaughtBy: []string{"elicitation.schema.object"},
			Apply:    onForm(func(p server.Object) { delete(p["requestedSchema"].(server.Object), "type") }),
		},
		{
			Name: "form-nested", Does: "asks for an address by a form inside of the form",
			CaughtBy: []string{"elicitation.schema.flat"},
			Apply: onForm(func(p server.Object) {
				p["requestedSchema"].(server.Object)["properties"].(server.Object)["address"] = server.Object{
					"type": "object", "properties": server.Object{"street": server.Object{"type": "string"}},
				}
			}),
		},
		{
			Name: "form-list", Does: "asks for a list of any words",
			CaughtBy: []string{"elicitation.schema.flat"},
			Apply: onForm(func(p server.Object) {
				p["requestedSchema"].(server.Object)["properties"].(server.Object)["wishes"] = server.Object{
					"type": "array", "items": server.Object{"type": "string"},
				}
			}),
		},
		{
			Name: "form-format-phone", Does: "wants a text in a format that forms do not have",
			CaughtBy: []string{"elicitation.schema.string"},
			Apply: onField(func(f server.Object) {
				if f["enum"] == nil {
					f["format"] = "phone"
				}
			}, "string"),
		},
		{
			Name: "form-number-title", Does: "gives number fields a number as title", In: only,
			CaughtBy: []string{"elicitation.schema.number"},
			Apply:    onField(func(f server.Object) { f["title"] = 7 }, "integer"),
		},
		{
			Name: "form-number-default", Does: "gives number fields a word as default", In: later,
			CaughtBy: []string{"elicitation.schema.number"},
			Apply:    onField(func(f server.Object) { f["default"] = "ten" }, "integer"),
		},
		{
			Name: "form-boolean-title", Does: "gives boolean fields a number as title", In: only,
			CaughtBy: []string{"elicitation.schema.boolean"},
			Apply:    onField(func(f server.Object) { f["title"] = 7 }, "boolean"),
		},
		{
			Name: "form-boolean-default", Does: "gives boolean fields a word as default", In: later,
			CaughtBy: []string{"elicitation.schema.boolean"},
			Apply:    onField(func(f server.Object) { f["default"] = "no" }, "boolean"),
		},
		{
			Name: "form-choice-of-numbers", Does: "offers numbers as the choices of a text",
			CaughtBy: []string{"elicitation.schema.enum"},
			Apply: onField(func(f server.Object) {
				if f["enum"] != nil {
					f["enum"] = []any{1, 2, 3}
				}
			}, "string"),
		},
		{
			Name: "form-titles-missing", Does: "offers titled choices without titles", In: later,
			CaughtBy: []string{"elicitation.schema.enum"},
			Apply: onField(func(f server.Object) {
				if f["enum"] != nil {
					delete(f, "enum")
					f["oneOf"] = []any{server.Object{"const": "A"}, server.Object{"const": "B"}}
				}
			}, "string"),
		},
		{
			Name: "form-with-link", Does: "puts a link into the message of forms",
			CaughtBy: []string{"elicitation.form.links"},
			Apply: onForm(func(p server.Object) {
				p["message"] = p["message"].(string) + " Look at https://harbour-street-library.org/help."
			}),
		},
		{
			Name: "form-for-password", Does: "asks for a password by forms",
			Breaks:   []string{"elicitation-no-sensitive-information", "elicitation-no-sensitive-information-security"},
			CaughtBy: []string{"elicitation.form.secrets"},
			Apply:    alsoAsking("password"),
		},
		{
			Name: "form-for-api-key", Does: "asks for the key of an API by forms, and not by a page", In: later,
			CaughtBy: []string{"elicitation.form.secrets"},
			Apply:    alsoAsking("API_key"),
		},
	}
}

// alsoAsking gives forms one text field more.
func alsoAsking(field string) apply {
	return onForm(func(p server.Object) {
		p["requestedSchema"].(server.Object)["properties"].(server.Object)[field] = server.Object{"type": "string", "title": "Please confirm"}
	})
}

// elicitingFaults are those of whom the server asks, and of what it makes of
// the answers.
func elicitingFaults() []Fault {
	return []Fault{
		{
			Name: "forms-for-anybody", Does: "elicits from clients that declare no elicitation",
			Breaks:   []string{"elicitation-requires-client-capability"},
			CaughtBy: []string{"lifecycle.capabilities.undeclared"},
			Apply:    supposing("elicitation"),
		},
		{
			Name: "forms-for-any-request", Does: "elicits where the request declares no elicitation",
			Breaks:   []string{"elicitation-requires-client-capability", "mrtr-undeclared-capability-forbidden"},
			CaughtBy: []string{"lifecycle.input.declared"},
			Apply:    supposing("elicitation"),
		},
		{
			Name: "pages-for-any-client", Does: "sends users of clients to a page that declare forms alone",
			CaughtBy: []string{"elicitation.mode.declared"},
			Apply: believing(func(c server.Object) {
				if e, ok := c["elicitation"].(server.Object); ok {
					e["form"], e["url"] = server.Object{}, server.Object{}
				}
			}),
		},
		{
			Name: "forms-for-page-clients", Does: "asks by forms where the request declares pages alone", In: spec.Stateless,
			Breaks:   []string{"elicitation-unsupported-mode-not-sent"},
			CaughtBy: []string{"elicitation.mode.declared"},
			Apply: believing(func(c server.Object) {
				if e, ok := c["elicitation"].(server.Object); ok && e["url"] != nil {
					e["form"] = server.Object{}
				}
			}),
		},
		{
			Name: "waits-for-accept", Does: "waits on when the user declines",
			CaughtBy: []string{"elicitation.actions", "elicitation.failures"},
			Apply: running("register_reader", func(ctx context.Context, call *server.Call) (server.Outcome, bool) {
				if call.Answers["particulars"]["action"] != "accept" {
					call.Park()
					<-ctx.Done()
				}
				return server.Outcome{}, false
			}),
		},
		{
			Name: "waits-for-refused-form", Does: "waits on when the client refuses to elicit",
			CaughtBy: []string{"elicitation.answers.survived"},
			Apply:    unheard("elicitation/create", refused),
		},
		{
			Name: "form-unchecked", Does: "takes whatever the user filled in for a number",
			CaughtBy: []string{"elicitation.content.validated"},
			Apply:    all(laxForm, onField(func(f server.Object) { f["type"], f["maximum"] = "integer", 30 }, "")),
		},
	}
}

// laxForm has the desk not check the number of people; that field is told apart
// by its empty type.
func laxForm(o *server.Options) {
	onLibraryTool("plan_visit", func(tool *server.Tool) {
		inner := tool.Asks
		tool.Asks = func(call *server.Call) []server.Ask {
			asks := inner(call)
			for _, a := range asks {
				fields := a.Params["requestedSchema"].(server.Object)["properties"].(server.Object)
				if fields["people"] != nil {
					fields["people"] = server.Object{"title": "People"}
				}
			}
			return asks
		}
	})(o)
}

// visitFaults are those of elicitations in URL mode.
func visitFaults() []Fault {
	only := spec.Only(spec.V2025_11_25)
	return []Fault{
		{
			Name: "page-without-url", Does: "sends the user to a page without its url",
			CaughtBy: []string{"elicitation.url.params"},
			Apply:    onVisit(func(p server.Object) { delete(p, "url") }),
		},
		{
			Name: "page-without-id", Does: "sends the user to a page without an elicitationId", In: only,
			CaughtBy: []string{"elicitation.url.params"},
			Also:     map[string]string{"elicitation.complete.known": "what is told to be complete was never asked for by its id"},
			Apply:    onVisit(func(p server.Object) { delete(p, "elicitationId") }),
		},
		{
			Name: "page-without-scheme", Does: "leaves out the scheme of the url of a page",
			CaughtBy: []string{"elicitation.url.valid"},
			Apply:    onVisit(func(p server.Object) { p["url"] = "library.example/archive/rules" }),
		},
		{
			Name: "page-in-the-clear", Does: "sends the user to a page of http",
			CaughtBy: []string{"elicitation.url.https"},
			Apply:    onVisit(func(p server.Object) { p["url"] = "http://library.example/archive/rules" }),
		},
		{
			Name: "visit-id-constant", Does: "gives all visits the same elicitationId",
			CaughtBy: []string{"elicitation.url.id.unique"},
			Apply:    all(onVisit(func(p server.Object) { p["elicitationId"] = "visit" }), onComplete(func(p server.Object) { p["elicitationId"] = "visit" })),
		},
		{
			Name: "visit-over-unnamed", Does: "tells that a visit is over without saying which",
			CaughtBy: []string{"elicitation.complete.id"},
			Apply:    onComplete(func(p server.Object) { delete(p, "elicitationId") }),
		},
		{
			Name: "visit-over-renamed", Does: "tells that a visit is over under another id",
			Breaks:   []string{"elicitation-complete-has-id"},
			CaughtBy: []string{"elicitation.complete.known"},
			Apply:    onComplete(func(p server.Object) { p["elicitationId"] = "visit-0" }),
		},
		{
			Name: "visit-over-for-all", Does: "tells every client that a visit of somebody is over",
			Breaks:   []string{"elicitation-complete-only-initiator"},
			CaughtBy: []string{"elicitation.complete.known"},
			Apply: beforeAnswer("tools/list", func(_ context.Context, r *server.Request) {
				r.Notify("notifications/elicitation/complete", server.Object{"elicitationId": "visit-of-ines"})
			}),
		},
		{
			Name: "visit-id-kept", Does: "gives visits an elicitationId, which the revision took back",
			CaughtBy: []string{"elicitation.complete.gone"},
			Apply:    onVisit(func(p server.Object) { p["elicitationId"] = "visit-1" }),
		},
		{
			Name: "visit-over-still-told", Does: "tells that a visit is over, for which the revision has no message",
			CaughtBy: []string{"elicitation.complete.gone"},
			Apply: beforeAnswer("tools/call", func(_ context.Context, r *server.Request) {
				if r.Params["name"] == "read_archive" {
					r.Notify("notifications/elicitation/complete", server.Object{"elicitationId": "visit-1"})
				}
			}),
		},
	}
}

// onComplete changes the params of notifications that a visit is over.
func onComplete(edit func(params server.Object)) apply {
	return onFrame(func(f server.Frame, members map[string]json.RawMessage) {
		params := server.Object{}
		if f.Method == "notifications/elicitation/complete" && json.Unmarshal(members["params"], &params) == nil {
			edit(params)
			members["params"] = encode(params)
		}
	}, wire.Notification)
}

// requiredFaults are those of the error by which a call is refused until a page
// was visited.
func requiredFaults() []Fault {
	onRequired := func(edit func(e *server.Error)) apply {
		return onError("tools/call", func(_ *server.Request, e *server.Error) (any, *server.Error) {
			if e.Code == spec.LegacyURLElicitationError {
				edit(e)
			}
			return nil, e
		})
	}
	return []Fault{
		{
			Name: "visit-required-internal", Does: "refuses a call until a page was visited by -32603",
			CaughtBy: []string{"elicitation.required.code"},
			Apply:    onRequired(func(e *server.Error) { e.Code = spec.InternalError }),
		},
		{
			Name: "visit-required-of-none", Does: "refuses a call until no page was visited",
			CaughtBy: []string{"elicitation.required.only"},
			Apply:    onRequired(func(e *server.Error) { e.Data = server.Object{"elicitations": []any{}} }),
		},
		{
			Name: "visit-required-unlisted", Does: "refuses a call until a page was visited, and says in words which",
			CaughtBy: []string{"elicitation.required.list"},
			Apply:    onRequired(func(e *server.Error) { e.Data = server.Object{"elicitations": "the page of the card"} }),
		},
		{
			Name: "visit-required-by-form", Does: "lists a form among the visits that are required",
			CaughtBy: []string{"elicitation.required.entries"},
			Apply: onRequired(func(e *server.Error) {
				for _, v := range e.Data.(server.Object)["elicitations"].([]any) {
					v.(server.Object)["mode"] = "form"
				}
			}),
		},
	}
}
