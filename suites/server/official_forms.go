package server

import (
	"fmt"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// officialForms are the tools of the contract that ask the client by requests.
func officialForms() []check.Check {
	return []check.Check{
		{
			ID:    "official.tools.sampling",
			Says:  "test_sampling has the client's model answer its prompt, and says the answer",
			Level: spec.Must,
			In:    inSessions,
			Spec:  "tools-call-sampling",
			Probe: contractSampling,
		},
		{
			ID:    "official.tools.elicitation",
			Says:  "test_elicitation shows the user its message, and says what the user did",
			Level: spec.Must,
			In:    inSessions,
			Spec:  "tools-call-elicitation",
			Probe: contractElicitation,
		},
		{
			ID:    "official.elicitation.defaults",
			Says:  "test_elicitation_sep1034_defaults asks for five values with their defaults, and says what the user did",
			Level: spec.Must,
			In:    in2025_11,
			Spec:  "elicitation-sep1034-defaults",
			Probe: contractDefaults,
		},
		{
			ID:    "official.elicitation.enums",
			Says:  "test_elicitation_sep1330_enums asks for a choice in each of the five forms, and says what the user did",
			Level: spec.Must,
			In:    in2025_11,
			Spec:  "elicitation-sep1330-enums",
			Probe: contractEnums,
		},
	}
}

// contractAsk calls a tool, answers the one method with an answer, and returns the
// first request of that method with the text of the tool.
func contractAsk(t *check.T, tool string, args check.Params, method string, answer check.Params) (asked check.Ask, said gjson.Result) {
	return contractAskWith(t, tool, args, method, func(check.Asked) check.Reply { return check.Reply{Result: answer} })
}

// contractAskWith does the same with an answer that depends on what is asked.
func contractAskWith(t *check.T, tool string, args check.Params, method string, answer func(check.Asked) check.Reply) (asked check.Ask, said gjson.Result) {
	t.Answering(func(a check.Asked) check.Reply {
		if a.Method == method {
			return answer(a)
		}
		return session.NoSuchMethod()
	})
	from := len(t.Frames(0))
	content := contractCall(t, tool, args).Get("content")
	asks := t.Asks(from)
	i := slices.IndexFunc(asks, func(a check.Ask) bool { return a.Method == method })
	if i < 0 {
		t.Fail("a request "+method, "none", "%s did not ask the client by %s", tool, method)
	}
	mustHaveTypes(t, tool, content, "text")
	return asks[i], content.Get("0.text")
}

func contractSampling(t *check.T) {
	const prompt, answer = "Test prompt for sampling", "This is a test response from the client"
	asked, said := contractAsk(t, "test_sampling", check.Params{"prompt": prompt}, "sampling/createMessage", session.Sampled(answer))
	mustSay(t, "the text of test_sampling", said, "LLM response: "+answer)
	t.Mark(asked.Frame)
	messages := asked.Params.Get("messages")
	if n := len(messages.Array()); n != 1 {
		t.Fail("one message", shortJSON(messages), "test_sampling sent %d messages to the model, not 1", n)
	}
	mustSay(t, "the role of the message to the model", messages.Get("0.role"), "user")
	content := messages.Get("0.content")
	if content.IsArray() { // since 2025-11-25 it may be a list of blocks
		content = content.Get("0")
	}
	mustSay(t, "the message to the model", content.Get("text"), prompt)
	mustBe(t, "maxTokens", asked.Params.Get("maxTokens"), "100")
}

// documentedForm tells whether a form has a field that the contract documents
// for test_elicitation.
func documentedForm(params gjson.Result) bool {
	fields := params.Get("requestedSchema.properties")
	return fields.Get("username").Exists() || fields.Get("email").Exists()
}

// contractElicitation: the contract documents two fields, and its own server
// asks for one of another name, so that other fields are only noted.
func contractElicitation(t *check.T) {
	const message = "Please provide your information"
	asked, said := contractAskWith(t, "test_elicitation", check.Params{"message": message}, "elicitation/create", func(a check.Asked) check.Reply {
		if !documentedForm(a.Params) {
			return session.Willing().Answer(a)
		}
		return check.Reply{Result: acceptsWith(check.Params{"username": "testuser", "email": "test@example.com"})}
	})
	mustHold(t, "the text of test_elicitation", said, "User response: ", "accept")
	t.Mark(asked.Frame)
	mustSay(t, "the message to the user", asked.Params.Get("message"), message)
	form := asked.Params.Get("requestedSchema")
	if !documentedForm(asked.Params) {
		t.Note("test_elicitation asks for other fields than the username and email that the contract documents: %s", shortJSON(form.Get("properties")))
		return
	}
	mustHold(t, "the text of test_elicitation", said, "testuser", "test@example.com")
	for _, name := range []string{"username", "email"} {
		mustBe(t, "the type of "+name, form.Get("properties."+name+".type"), `"string"`)
		if !slices.ContainsFunc(form.Get("required").Array(), func(v gjson.Result) bool { return v.String() == name }) {
			t.Fail(name+" in required", shortJSON(form.Get("required")), "%s is not required in the form of test_elicitation", name)
		}
	}
}

// acceptsWith is the answer of a user who filled in a form.
func acceptsWith(content check.Params) check.Params {
	return check.Params{"action": "accept", "content": content}
}

func contractDefaults(t *check.T) {
	const tool = "test_elicitation_sep1034_defaults"
	asked, said := contractAsk(t, tool, check.Params{}, "elicitation/create", acceptsWith(check.Params{
		"name": "Jane Smith", "age": 25, "score": 88, "status": "inactive", "verified": false,
	}))
	mustHold(t, "the text of "+tool, said, "Elicitation completed: ", "accept", "Jane Smith", "25", "88", "inactive")
	t.Mark(asked.Frame)
	fields := asked.Params.Get("requestedSchema.properties")
	for _, f := range [][3]string{
		{"name", `"string"`, `"John Doe"`}, {"age", `"integer"`, "30"}, {"score", `"number"`, "95.5"},
		{"status", `"string"`, `"active"`}, {"verified", `"boolean"`, "true"},
	} {
		mustBe(t, "the type of "+f[0], fields.Get(f[0]+".type"), f[1])
		mustBe(t, "the default of "+f[0], fields.Get(f[0]+".default"), f[2])
	}
	mustBe(t, "the enum of status", fields.Get("status.enum"), `["active","inactive","pending"]`)
}

func contractEnums(t *check.T) {
	const tool = "test_elicitation_sep1330_enums"
	asked, said := contractAsk(t, tool, check.Params{}, "elicitation/create", acceptsWith(check.Params{
		"untitledSingle": "option1", "titledSingle": "value1", "legacyEnum": "opt1",
		"untitledMulti": []any{"option1", "option2"}, "titledMulti": []any{"value1", "value2"},
	}))
	mustHold(t, "the text of "+tool, said, "Elicitation completed: ", "accept", "option1", "value1", "opt1", "option2", "value2")
	t.Mark(asked.Frame)
	fields := asked.Params.Get("requestedSchema.properties")
	for _, f := range [][2]string{{"untitledSingle", "string"}, {"titledSingle", "string"}, {"legacyEnum", "string"}, {"untitledMulti", "array"}, {"titledMulti", "array"}} {
		mustSay(t, "the type of "+f[0], fields.Get(f[0]+".type"), f[1])
	}
	mustBe(t, "the enum of untitledSingle", fields.Get("untitledSingle.enum"), `["option1","option2","option3"]`)
	mustBe(t, "the enum of the items of untitledMulti", fields.Get("untitledMulti.items.enum"), `["option1","option2","option3"]`)
	for _, of := range []string{"untitledSingle.oneOf", "untitledSingle.enumNames", "untitledMulti.items.anyOf"} {
		if v := fields.Get(of); v.Exists() {
			t.Fail("no "+of, shortJSON(v), "a choice without titles has the member %s", of)
		}
	}
	titledOptions(t, "oneOf of titledSingle", fields.Get("titledSingle.oneOf"), "value1")
	titledOptions(t, "anyOf of the items of titledMulti", fields.Get("titledMulti.items.anyOf"), "value1", "value2")
	legacyOptions(t, fields.Get("legacyEnum"))
}

// titledOptions asserts that options have values and titles, and which values
// are among them: the contract writes only the first of each in full.
func titledOptions(t *check.T, what string, options gjson.Result, values ...string) {
	var consts []string
	for i, o := range options.Array() {
		for _, member := range []string{"const", "title"} {
			if v := o.Get(member); v.Type != gjson.String {
				t.Fail("a string "+member, shortJSON(o), "option %d of %s has no string %s", i+1, what, member)
			}
		}
		consts = append(consts, o.Get("const").Str)
	}
	for _, v := range values {
		if !slices.Contains(consts, v) {
			t.Fail("an option "+v, shortJSON(options), "%s has no option %s", what, v)
		}
	}
}

func legacyOptions(t *check.T, field gjson.Result) {
	mustBe(t, "the enum of legacyEnum", field.Get("enum"), `["opt1","opt2","opt3"]`)
	names := field.Get("enumNames").Array()
	if len(names) != 3 || slices.ContainsFunc(names, func(v gjson.Result) bool { return v.Type != gjson.String }) {
		t.Fail("3 strings", shortJSON(field.Get("enumNames")), "enumNames of legacyEnum holds %s for 3 values", fmt.Sprint(len(names), " names"))
	}
}
