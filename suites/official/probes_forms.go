package official

import (
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
)

// formProbes returns the probes of the tools that send requests to the client.
func formProbes() []check.Check {
	return []check.Check{
		{
			ID:    "official.tools.sampling",
			Says:  "test_sampling sends its prompt to the client's model and returns the answer",
			Level: spec.Must,
			In:    inSessions,
			Spec:  "tools-call-sampling",
			Idle:  noCall,
			Probe: func(t *check.T) {
				verifySampling(t, nil)
				t.Saw()
			},
		},
		{
			ID:    "official.tools.elicitation",
			Says:  "test_elicitation shows its message to the user and returns the user's answer",
			Level: spec.Must,
			In:    inSessions,
			Spec:  "tools-call-elicitation",
			Idle:  noCall,
			Probe: func(t *check.T) {
				verifyElicitation(t, nil)
				t.Saw()
			},
		},
		{
			ID:    "official.elicitation.defaults",
			Says:  "test_elicitation_sep1034_defaults requests five values with defaults and returns the user's answer",
			Level: spec.Must,
			In:    in2025_11,
			Spec:  "elicitation-sep1034-defaults",
			Idle:  noCall,
			Probe: func(t *check.T) {
				verifyDefaults(t, nil)
				t.Saw()
			},
		},
		{
			ID:    "official.elicitation.enums",
			Says:  "test_elicitation_sep1330_enums requests a choice in five forms and returns the user's answer",
			Level: spec.Must,
			In:    in2025_11,
			Spec:  "elicitation-sep1330-enums",
			Idle:  noCall,
			Probe: func(t *check.T) {
				verifyEnums(t, nil)
				t.Saw()
			},
		},
	}
}

// callAnswering calls a tool and answers its requests of one method with a result. It
// returns the first of these requests and the text of the tool.
func callAnswering(
	t *check.T, tool string, args check.Params, method string, result check.Params,
) (request check.InputRequest, text gjson.Result) {
	return callAnsweringWith(t, tool, args, method, func(check.HostRequest) check.HostReply {
		return check.HostReply{Result: result}
	})
}

// callAnsweringWith is like callAnswering, with an answer that depends on the request.
func callAnsweringWith(
	t *check.T, tool string, args check.Params, method string, answer func(check.HostRequest) check.HostReply,
) (request check.InputRequest, text gjson.Result) {
	t.Client().Answer(func(a check.HostRequest) check.HostReply {
		if a.Method == method {
			return answer(a)
		}
		return session.MethodNotFoundReply()
	})
	from := t.Len()
	content := callTool(t, tool, args).Get("content")
	requests := t.Client().Requests(from)
	i := slices.IndexFunc(requests, func(a check.InputRequest) bool { return a.Method == method })
	if i < 0 {
		t.Fail("a request "+method, "none", "%s did not send the client a request %s", tool, method)
	}
	mustHaveTypes(t, tool, content, "text")
	return requests[i], content.Get("0.text")
}

// verifySampling asserts that the tool sends its prompt to the client's model and returns the
// answer.
func verifySampling(t *check.T, diff *differences) {
	const prompt, answer = "Test prompt for sampling", "This is a test response from the client"
	params := check.Params{"prompt": prompt}
	request, text := callAnswering(t, "test_sampling", params, "sampling/createMessage", session.SamplingResult(answer))
	mustContain(t, "the text of test_sampling", text, answer)
	diff.compareText(t, "the text of test_sampling", text, "LLM response: "+answer)
	t.Mark(request.Frame)
	messages := request.Params.Get("messages")
	if n := len(messages.Array()); n != 1 {
		t.Fail("one message", contract.ShortJSON(messages), "test_sampling sent %d messages to the model, not 1", n)
	}
	contract.MustBeString(t, "the role of the message to the model", messages.Get("0.role"), "user")
	content := messages.Get("0.content")
	if content.IsArray() { // since 2025-11-25 it may be a list of blocks
		content = content.Get("0")
	}
	contract.MustBeString(t, "the message to the model", content.Get("text"), prompt)
	mustBe(t, "maxTokens", request.Params.Get("maxTokens"), "100")
}

// hasDocumentedField reports whether a form has a field that the contract documents for
// test_elicitation.
func hasDocumentedField(params gjson.Result) bool {
	fields := params.Get("requestedSchema.properties")
	return fields.Get("username").Exists() || fields.Get("email").Exists()
}

// verifyElicitation only notes other fields than the two documented ones: the server of
// the contract requests one with another name.
func verifyElicitation(t *check.T, diff *differences) {
	const message = "Please provide your information"
	params := check.Params{"message": message}
	documented := acceptAnswer(check.Params{"username": "testuser", "email": "test@example.com"})
	answer := func(a check.HostRequest) check.HostReply {
		if !hasDocumentedField(a.Params) {
			return session.FullHost().Answer(a)
		}
		return check.HostReply{Result: documented}
	}
	request, text := callAnsweringWith(t, "test_elicitation", params, "elicitation/create", answer)
	contract.MustBeNonEmpty(t, "the text of test_elicitation", text)
	diff.compareParts(t, "the text of test_elicitation", text, "User response: ", "accept")
	t.Mark(request.Frame)
	contract.MustBeString(t, "the message to the user", request.Params.Get("message"), message)
	form := request.Params.Get("requestedSchema")
	if !hasDocumentedField(request.Params) {
		t.Note("test_elicitation requests other fields than the documented username and email: %s",
			contract.ShortJSON(form.Get("properties")))
		return
	}
	diff.compareParts(t, "the text of test_elicitation", text, "testuser", "test@example.com")
	for _, name := range []string{"username", "email"} {
		diff.compareJSON(t, "the type of "+name+" in the form of test_elicitation",
			form.Get("properties."+name+".type"),
			`"string"`)
	}
	diff.compareJSON(t, "required in the form of test_elicitation", form.Get("required"), `["username","email"]`)
}

// acceptAnswer returns the answer of a user who filled in a form.
func acceptAnswer(content check.Params) check.Params {
	return check.Params{"action": "accept", "content": content}
}

// verifyDefaults asserts that the form has five fields with defaults.
func verifyDefaults(t *check.T, diff *differences) {
	const tool = "test_elicitation_sep1034_defaults"
	request, text := callAnswering(t, tool, check.Params{}, "elicitation/create", acceptAnswer(check.Params{
		"name": "Jane Smith", "age": 25, "score": 88, "status": "inactive", "verified": false,
	}))
	contract.MustBeNonEmpty(t, "the text of "+tool, text)
	diff.compareParts(t, "the text of "+tool, text, "Elicitation completed: ", "accept", "Jane Smith", "25", "88",
		"inactive")
	t.Mark(request.Frame)
	fields := request.Params.Get("requestedSchema.properties")
	for _, f := range [][3]string{
		{"name", `"string"`, `"John Doe"`}, {"age", `"integer"`, "30"}, {"score", `"number"`, "95.5"},
		{"status", `"string"`, `"active"`}, {"verified", `"boolean"`, "true"},
	} {
		mustBe(t, "the type of "+f[0], fields.Get(f[0]+".type"), f[1])
		mustBe(t, "the default of "+f[0], fields.Get(f[0]+".default"), f[2])
	}
	mustBe(t, "the enum of status", fields.Get("status.enum"), `["active","inactive","pending"]`)
}

// verifyEnums asserts the five forms of a choice. The suite does not assert the options,
// which are documented. The user chooses one of the offered options.
func verifyEnums(t *check.T, diff *differences) {
	const tool = "test_elicitation_sep1330_enums"
	request, text := callAnsweringWith(t, tool, check.Params{}, "elicitation/create", session.FullHost().Answer)
	contract.MustBeNonEmpty(t, "the text of "+tool, text)
	diff.compareParts(t, "the text of "+tool, text, "Elicitation completed: ", "accept")
	t.Mark(request.Frame)
	fields := request.Params.Get("requestedSchema.properties")
	for _, f := range [][3]string{
		{"untitledSingle", "string", "enum"}, {"titledSingle", "string", "oneOf"}, {"legacyEnum", "string", "enum"},
		{"untitledMulti", "array", "items.enum"}, {"titledMulti", "array", "items.anyOf"},
	} {
		contract.MustBeString(t, "the type of "+f[0], fields.Get(f[0]+".type"), f[1])
		if options := fields.Get(f[0] + "." + f[2]); len(options.Array()) == 0 {
			t.Fail("options in "+f[2], contract.ShortJSON(fields.Get(f[0])), "%s has no options in %s", f[0], f[2])
		}
	}
	for _, of := range []string{"untitledSingle.oneOf", "untitledSingle.enumNames", "untitledMulti.items.anyOf"} {
		if v := fields.Get(of); v.Exists() {
			t.Fail("no "+of, contract.ShortJSON(v), "a choice without titles has the member %s", of)
		}
	}
	mustHaveTitles(t, diff, "titledSingle", fields.Get("titledSingle.oneOf"))
	mustHaveTitles(t, diff, "titledMulti", fields.Get("titledMulti.items.anyOf"))
	mustHaveNames(t, diff, fields.Get("legacyEnum"))
	diff.compareJSON(t, "the enum of untitledSingle", fields.Get("untitledSingle.enum"),
		`["option1","option2","option3"]`)
	diff.compareJSON(t, "the enum of the items of untitledMulti", fields.Get("untitledMulti.items.enum"),
		`["option1","option2","option3"]`)
}

// mustHaveTitles asserts that options have values and titles. The contract documents
// only the first of them in full.
func mustHaveTitles(t *check.T, diff *differences, field string, options gjson.Result) {
	for i, o := range options.Array() {
		for _, member := range []string{"const", "title"} {
			if v := o.Get(member); v.Type != gjson.String {
				t.Fail("a string "+member, contract.ShortJSON(o), "option %d of %s has no string %s", i+1, field,
					member)
			}
		}
	}
	diff.compareText(t, "the first option of "+field, options.Get("0.const"), "value1")
}

// mustHaveNames asserts that a field has a name for each value.
func mustHaveNames(t *check.T, diff *differences, field gjson.Result) {
	values, names := field.Get("enum").Array(), field.Get("enumNames").Array()
	isNoString := func(v gjson.Result) bool { return v.Type != gjson.String }
	if len(names) != len(values) || slices.ContainsFunc(names, isNoString) {
		t.Fail(fmt.Sprintf("%d strings in enumNames", len(values)), contract.ShortJSON(field.Get("enumNames")),
			"legacyEnum has %d values and names %s", len(values), contract.ShortJSON(field.Get("enumNames")))
	}
	diff.compareJSON(t, "the enum of legacyEnum", field.Get("enum"), `["opt1","opt2","opt3"]`)
}
