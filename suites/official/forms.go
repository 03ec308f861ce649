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

// officialForms are the tools of the contract that ask the client by requests.
func officialForms() []check.Check {
	return []check.Check{
		{
			ID:    "official.tools.sampling",
			Says:  "test_sampling has the client's model answer its prompt, and says the answer",
			Level: spec.Must,
			In:    inSessions,
			Spec:  "tools-call-sampling",
			Probe: func(t *check.T) { contractSampling(t, nil) },
		},
		{
			ID:    "official.tools.elicitation",
			Says:  "test_elicitation shows the user its message, and says what the user did",
			Level: spec.Must,
			In:    inSessions,
			Spec:  "tools-call-elicitation",
			Probe: func(t *check.T) { contractElicitation(t, nil) },
		},
		{
			ID:    "official.elicitation.defaults",
			Says:  "test_elicitation_sep1034_defaults asks for five values with their defaults, and says what the user did",
			Level: spec.Must,
			In:    in2025_11,
			Spec:  "elicitation-sep1034-defaults",
			Probe: func(t *check.T) { contractDefaults(t, nil) },
		},
		{
			ID:    "official.elicitation.enums",
			Says:  "test_elicitation_sep1330_enums asks for a choice in each of the five forms, and says what the user did",
			Level: spec.Must,
			In:    in2025_11,
			Spec:  "elicitation-sep1330-enums",
			Probe: func(t *check.T) { contractEnums(t, nil) },
		},
	}
}

// contractAsk calls a tool, answers the one method with an answer, and returns the
// first request of that method with the text of the tool.
func contractAsk(t *check.T, tool string, args check.Params, method string, answer check.Params) (asked check.Ask, said gjson.Result) {
	return contractAskWith(t, tool, args, method, func(check.Asked) check.ClientAnswer { return check.ClientAnswer{Result: answer} })
}

// contractAskWith does the same with an answer that depends on what is asked.
func contractAskWith(t *check.T, tool string, args check.Params, method string, answer func(check.Asked) check.ClientAnswer) (asked check.Ask, said gjson.Result) {
	t.Client().Answer(func(a check.Asked) check.ClientAnswer {
		if a.Method == method {
			return answer(a)
		}
		return session.NoSuchMethod()
	})
	from := t.Len()
	content := contractCall(t, tool, args).Get("content")
	asks := t.Client().Requests(from)
	i := slices.IndexFunc(asks, func(a check.Ask) bool { return a.Method == method })
	if i < 0 {
		t.Fail("a request "+method, "none", "%s did not ask the client by %s", tool, method)
	}
	mustHaveTypes(t, tool, content, "text")
	return asks[i], content.Get("0.text")
}

func contractSampling(t *check.T, s *scribe) {
	const prompt, answer = "Test prompt for sampling", "This is a test response from the client"
	asked, said := contractAsk(t, "test_sampling", check.Params{"prompt": prompt}, "sampling/createMessage", session.Sampled(answer))
	mustHold(t, "the text of test_sampling", said, answer)
	s.text(t, "the text of test_sampling", said, "LLM response: "+answer)
	t.Mark(asked.Frame)
	messages := asked.Params.Get("messages")
	if n := len(messages.Array()); n != 1 {
		t.Fail("one message", contract.ShortJSON(messages), "test_sampling sent %d messages to the model, not 1", n)
	}
	contract.MustDeclare(t, "the role of the message to the model", messages.Get("0.role"), "user")
	content := messages.Get("0.content")
	if content.IsArray() { // since 2025-11-25 it may be a list of blocks
		content = content.Get("0")
	}
	contract.MustDeclare(t, "the message to the model", content.Get("text"), prompt)
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
func contractElicitation(t *check.T, s *scribe) {
	const message = "Please provide your information"
	asked, said := contractAskWith(t, "test_elicitation", check.Params{"message": message}, "elicitation/create", func(a check.Asked) check.ClientAnswer {
		if !documentedForm(a.Params) {
			return session.Willing().Answer(a)
		}
		return check.ClientAnswer{Result: acceptsWith(check.Params{"username": "testuser", "email": "test@example.com"})}
	})
	contract.MustHaveText(t, "the text of test_elicitation", said)
	s.holding(t, "the text of test_elicitation", said, "User response: ", "accept")
	t.Mark(asked.Frame)
	contract.MustDeclare(t, "the message to the user", asked.Params.Get("message"), message)
	form := asked.Params.Get("requestedSchema")
	if !documentedForm(asked.Params) {
		t.Note("test_elicitation asks for other fields than the username and email that the contract documents: %s", contract.ShortJSON(form.Get("properties")))
		return
	}
	s.holding(t, "the text of test_elicitation", said, "testuser", "test@example.com")
	for _, name := range []string{"username", "email"} {
		s.value(t, "the type of "+name+" in the form of test_elicitation", form.Get("properties."+name+".type"), `"string"`)
	}
	s.value(t, "required in the form of test_elicitation", form.Get("required"), `["username","email"]`)
}

// acceptsWith is the answer of a user who filled in a form.
func acceptsWith(content check.Params) check.Params {
	return check.Params{"action": "accept", "content": content}
}

func contractDefaults(t *check.T, s *scribe) {
	const tool = "test_elicitation_sep1034_defaults"
	asked, said := contractAsk(t, tool, check.Params{}, "elicitation/create", acceptsWith(check.Params{
		"name": "Jane Smith", "age": 25, "score": 88, "status": "inactive", "verified": false,
	}))
	contract.MustHaveText(t, "the text of "+tool, said)
	s.holding(t, "the text of "+tool, said, "Elicitation completed: ", "accept", "Jane Smith", "25", "88", "inactive")
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

// contractEnums: the suite asks for the five forms; what there is to choose
// from is documented only. The user chooses from what is there.
func contractEnums(t *check.T, s *scribe) {
	const tool = "test_elicitation_sep1330_enums"
	asked, said := contractAskWith(t, tool, check.Params{}, "elicitation/create", session.Willing().Answer)
	contract.MustHaveText(t, "the text of "+tool, said)
	s.holding(t, "the text of "+tool, said, "Elicitation completed: ", "accept")
	t.Mark(asked.Frame)
	fields := asked.Params.Get("requestedSchema.properties")
	for _, f := range [][3]string{
		{"untitledSingle", "string", "enum"}, {"titledSingle", "string", "oneOf"}, {"legacyEnum", "string", "enum"},
		{"untitledMulti", "array", "items.enum"}, {"titledMulti", "array", "items.anyOf"},
	} {
		contract.MustDeclare(t, "the type of "+f[0], fields.Get(f[0]+".type"), f[1])
		if options := fields.Get(f[0] + "." + f[2]); len(options.Array()) == 0 {
			t.Fail("options in "+f[2], contract.ShortJSON(fields.Get(f[0])), "%s has no options in %s", f[0], f[2])
		}
	}
	for _, of := range []string{"untitledSingle.oneOf", "untitledSingle.enumNames", "untitledMulti.items.anyOf"} {
		if v := fields.Get(of); v.Exists() {
			t.Fail("no "+of, contract.ShortJSON(v), "a choice without titles has the member %s", of)
		}
	}
	titledOptions(t, s, "titledSingle", fields.Get("titledSingle.oneOf"))
	titledOptions(t, s, "titledMulti", fields.Get("titledMulti.items.anyOf"))
	legacyOptions(t, s, fields.Get("legacyEnum"))
	s.value(t, "the enum of untitledSingle", fields.Get("untitledSingle.enum"), `["option1","option2","option3"]`)
	s.value(t, "the enum of the items of untitledMulti", fields.Get("untitledMulti.items.enum"), `["option1","option2","option3"]`)
}

// titledOptions asserts that options have values and titles. The contract
// writes only the first of them in full.
func titledOptions(t *check.T, s *scribe, field string, options gjson.Result) {
	for i, o := range options.Array() {
		for _, member := range []string{"const", "title"} {
			if v := o.Get(member); v.Type != gjson.String {
				t.Fail("a string "+member, contract.ShortJSON(o), "option %d of %s has no string %s", i+1, field, member)
			}
		}
	}
	s.text(t, "the first option of "+field, options.Get("0.const"), "value1")
}

func legacyOptions(t *check.T, s *scribe, field gjson.Result) {
	values, names := field.Get("enum").Array(), field.Get("enumNames").Array()
	if len(names) != len(values) || slices.ContainsFunc(names, func(v gjson.Result) bool { return v.Type != gjson.String }) {
		t.Fail(fmt.Sprintf("%d strings in enumNames", len(values)), contract.ShortJSON(field.Get("enumNames")), "legacyEnum has %d values and names %s", len(values), contract.ShortJSON(field.Get("enumNames")))
	}
	s.value(t, "the enum of legacyEnum", field.Get("enum"), `["opt1","opt2","opt3"]`)
}
