package fault

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// elicitationFaults are the faults of client/elicitation.
func elicitationFaults() []Fault {
	return slices.Concat(elicitationForms(), elicitationFields(), elicitationTexts(), elicitationModes(),
		elicitationURLs(), elicitationComplete(), elicitationRequired())
}

// elicitationModes are faults in which mode the server elicits, and in what it does
// with the answers.
func elicitationModes() []Fault {
	return []Fault{
		{
			Name: "url-mode-undeclared", Does: "elicits in URL mode from clients that declare form mode alone",
			CaughtBy: []string{"elicitation.mode.declared"},
			Apply: onClientCapability("elicitation", func(e server.Object) {
				e["form"], e["url"] = server.Object{}, server.Object{}
			}),
		},
		{
			Name: "form-mode-undeclared",
			Does: "elicits in form mode where the request declares URL mode alone", In: spec.Stateless,
			Breaks:   []string{"elicitation-unsupported-mode-not-sent"},
			CaughtBy: []string{"elicitation.mode.declared"},
			Apply: onClientCapability("elicitation", func(e server.Object) {
				if e["url"] != nil {
					e["form"] = server.Object{}
				}
			}),
		},
		{
			Name: "waits-for-accept", Does: "does not answer a call where the user declines",
			CaughtBy: []string{"elicitation.actions", "elicitation.failures"},
			Apply: waitInCall("register_reader", func(call *server.Call) bool {
				return call.Answers["particulars"]["action"] != "accept"
			}),
		},
		{
			Name: "waits-for-refused-form", Does: "does not answer a call where the client refuses elicitation/create",
			CaughtBy: []string{"elicitation.answers.survived"},
			Apply:    ignoreRefusals("elicitation/create"),
		},
		{
			Name: "form-unchecked", Does: "accepts any content for a number",
			CaughtBy: []string{"elicitation.content.validated"},
			Apply: combine(untypePeople, onField(func(f server.Object) {
				f["type"], f["maximum"] = "integer", 30
			}, "")),
		},
	}
}

// untypePeople takes the type from the number of people in the form of a tool, so
// that the server does not check it.
func untypePeople(o *server.Options) {
	onToolAsks("plan_visit", func(asks []server.InputRequest) []server.InputRequest {
		for _, a := range asks {
			if fields := fieldsOf(a.Params); fields["people"] != nil {
				fields["people"] = server.Object{"title": "People"}
			}
		}
		return asks
	})(o)
}

// onToolAsks changes what a tool asks of the client.
func onToolAsks(tool string, edit func(asks []server.InputRequest) []server.InputRequest) apply {
	return onLibraryTool(tool, func(t *server.Tool) {
		inner := t.InputRequests
		t.InputRequests = func(call *server.Call) []server.InputRequest { return edit(slices.Clone(inner(call))) }
	})
}

// elicitationURLs are faults in elicitations in URL mode.
func elicitationURLs() []Fault {
	return []Fault{
		{
			Name: "url-mode-without-url", Does: "elicits in URL mode without a url",
			CaughtBy: []string{"elicitation.url.params"},
			Apply:    onURLMode(remove("url")),
		},
		{
			Name: "url-mode-without-id", Does: "elicits in URL mode without an elicitationId",
			In:       spec.Only(spec.V2025_11_25),
			CaughtBy: []string{"elicitation.url.params"},
			Also:     map[string]string{"elicitation.complete.known": "the completed elicitation had no id"},
			Apply:    onURLMode(remove("elicitationId")),
		},
		{
			Name: "url-mode-without-scheme", Does: "elicits in URL mode with a url without a scheme",
			CaughtBy: []string{"elicitation.url.valid"},
			Apply:    onURLMode(set("url", "library.example/archive/rules")),
		},
		{
			Name: "url-mode-over-http", Does: "elicits in URL mode with a url of http",
			CaughtBy: []string{"elicitation.url.https"},
			Apply:    onURLMode(set("url", "http://library.example/archive/rules")),
		},
		{
			Name: "elicitation-id-constant", Does: "gives all elicitations in URL mode the same elicitationId",
			CaughtBy: []string{"elicitation.url.id.unique"},
			Apply: combine(onURLMode(set("elicitationId", "visit")),
				onNotification(completeElicitation, set("elicitationId", "visit"))),
		},
		{
			Name: "elicitation-id-kept", Does: "sends an elicitationId, which the revision removed",
			CaughtBy: []string{"elicitation.complete.gone"},
			Apply:    onURLMode(set("elicitationId", "visit-1")),
		},
	}
}

const completeElicitation = "notifications/elicitation/complete"

// elicitationComplete are faults of notifications/elicitation/complete.
func elicitationComplete() []Fault {
	notify := func(id string) func(r *server.Request) {
		return func(r *server.Request) { r.Notify(completeElicitation, server.Object{"elicitationId": id}) }
	}
	return []Fault{
		{
			Name:     "elicitation-complete-without-id",
			Does:     "leaves the elicitationId out of notifications/elicitation/complete",
			CaughtBy: []string{"elicitation.complete.id"},
			Apply:    onNotification(completeElicitation, remove("elicitationId")),
		},
		{
			Name:     "elicitation-complete-other-id",
			Does:     "sends notifications/elicitation/complete with another elicitationId",
			Breaks:   []string{"elicitation-complete-has-id"},
			CaughtBy: []string{"elicitation.complete.known"},
			Apply:    onNotification(completeElicitation, set("elicitationId", "visit-0")),
		},
		{
			Name:     "elicitation-complete-broadcast",
			Does:     "sends notifications/elicitation/complete for the elicitation of one client to all clients",
			Breaks:   []string{"elicitation-complete-only-initiator"},
			CaughtBy: []string{"elicitation.complete.known"},
			Apply:    beforeAnswer("tools/list", notify("visit-of-ines")),
		},
		{
			Name:     "elicitation-complete-kept",
			Does:     "sends notifications/elicitation/complete, which the revision removed",
			CaughtBy: []string{"elicitation.complete.gone"},
			Apply:    beforeAnswerWhen(isCall("read_archive"), notify("visit-1")),
		},
	}
}

// elicitationRequired are faults of the error that requires an elicitation in URL
// mode.
func elicitationRequired() []Fault {
	onRequired := func(edit func(e *server.Error)) apply {
		return onError("tools/call", hasCode(spec.LegacyURLElicitationError), edit)
	}
	return []Fault{
		{
			Name: "url-required-internal-error", Does: "requires an elicitation by error -32603",
			CaughtBy: []string{"elicitation.required.code"},
			Apply:    onRequired(func(e *server.Error) { e.Code = spec.InternalError }),
		},
		{
			Name: "url-required-empty", Does: "requires elicitations and lists none",
			CaughtBy: []string{"elicitation.required.only"},
			Apply:    onRequired(func(e *server.Error) { e.Data = server.Object{"elicitations": []any{}} }),
		},
		{
			Name: "url-required-text", Does: "writes the required elicitations as a string",
			CaughtBy: []string{"elicitation.required.list"},
			Apply: onRequired(func(e *server.Error) {
				e.Data = server.Object{"elicitations": "the page of the card"}
			}),
		},
		{
			Name: "url-required-form", Does: "lists an elicitation in form mode as required",
			CaughtBy: []string{"elicitation.required.entries"},
			Apply: onRequired(func(e *server.Error) {
				for _, v := range e.Data.(server.Object)["elicitations"].([]any) {
					v.(server.Object)["mode"] = "form"
				}
			}),
		},
	}
}
