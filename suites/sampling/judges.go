package sampling

import (
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

const createMessage = "sampling/createMessage"

// Why judges are not observed, and what helps.
const (
	noRequest     = "the server sent no sampling/createMessage"
	offerSampling = "offer a read-only tool that samples" + check.OrAllow
)

// judges returns the judges of client/sampling: of requests of the server and of
// entries of input_required results.
func judges() []check.Check {
	return slices.Concat(shapeJudges(), declarationJudges(), toolJudges())
}

// declarationJudges returns the judges of what a server requests only of a client that
// declares it. lifecycle.capabilities.undeclared and lifecycle.input.declared judge a
// client without sampling.
func declarationJudges() []check.Check {
	return []check.Check{
		{
			ID:    "sampling.tools.declared",
			Says:  "the server offers tools to a model only if the client declares sampling.tools",
			Level: spec.Must,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-tools-not-sent-undeclared"},
			Idle:  noRequest,
			Hint:  offerSampling,
			Judge: func(j *check.J) {
				check.Each(j, transcript.InputRequests(j, createMessage), func(a transcript.InputRequest) bool {
					params, declared := a.Params().Value, a.Client(j).Get("sampling")
					hasTools := params.Get("tools").Exists() || params.Get("toolChoice").Exists()
					if declared.Exists() && hasTools && !declared.Get("tools").Exists() {
						j.Fail(a.Entry, "%s offers tools, and the client does not declare sampling.tools", a.Name)
					}
					return declared.Exists()
				})
			},
		},
		{
			ID:    "sampling.context.declared",
			Says:  "the server requests the context of servers only if the client declares sampling.context",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-context-undeclared"},
			Idle:  "the server sent no sampling/createMessage to a client without sampling.context",
			Hint:  offerSampling,
			Judge: func(j *check.J) { judgeContext(j, false, "and the client does not declare sampling.context") },
		},
		{
			ID:    "sampling.context.avoided",
			Says:  "the server leaves out includeContext, or sends none",
			Level: spec.Should,
			In:    spec.Since(spec.V2025_11_25),
			Rules: []string{"sampling-context-not-used"},
			Idle:  "the server sent no sampling/createMessage to a client with sampling.context",
			Hint:  offerSampling,
			Judge: func(j *check.J) { judgeContext(j, true, "which is deprecated") },
		},
	}
}

// judgeContext fails at an includeContext that includes context, in requests to a
// client that does or does not declare sampling.context.
func judgeContext(j *check.J, declared bool, why string) {
	check.Each(j, transcript.InputRequests(j, createMessage), func(a transcript.InputRequest) bool {
		capability := a.Client(j).Get("sampling")
		if !capability.Exists() || capability.Get("context").Exists() != declared {
			return false
		}
		if v := a.Params().Value.Get("includeContext").String(); v == "thisServer" || v == "allServers" {
			j.Fail(a.Entry, "%s: includeContext is %q, %s", a.Name, v, why)
		}
		return true
	})
}

// shapeJudges returns the judges of the shape of sampling/createMessage.
func shapeJudges() []check.Check {
	return transcript.ShapeChecks(requestShapes(), []string{
		"/params/messages/*/role",       // schema.role
		"/params/messages/*/content/**", // schema.content.*
	})
}

// requestShapes returns the shapes of sampling/createMessage.
func requestShapes() []transcript.ShapeCheck {
	return []transcript.ShapeCheck{
		{
			Check: check.Check{
				ID:    "sampling.request.params",
				Says:  "sampling/createMessage has an array messages and a number maxTokens",
				In:    spec.Every,
				Rules: []string{"sampling-request-params"},
				Idle:  noRequest,
				Hint:  offerSampling,
			},
			Method: createMessage,
		},
		{
			Check: check.Check{
				ID:    "sampling.request.message",
				Says:  "each of the messages of sampling/createMessage is an object",
				In:    spec.Every,
				Rules: []string{"sampling-request-message"},
				Idle:  "no sampling/createMessage has a message",
				Hint:  "send a message in sampling/createMessage",
			},
			Method: createMessage,
			Has:    []string{"messages.0"},
			Places: []string{"/params/messages/*"},
		},
		{
			Check: check.Check{
				ID:    "sampling.request.options",
				Says:  "the optional params of sampling/createMessage have their types",
				In:    spec.Every,
				Rules: []string{"sampling-request-optional-types"},
				Idle:  "no sampling/createMessage has optional params",
				Hint:  "set optional params in sampling/createMessage, such as temperature",
			},
			Method: createMessage,
			Has: []string{
				"systemPrompt", "temperature", "stopSequences", "metadata", "modelPreferences", "tools", "toolChoice",
			},
			Places: []string{
				"/params/systemPrompt", "/params/temperature", "/params/stopSequences/**", "/params/metadata/**",
				"/params/modelPreferences", "/params/tools", "/params/toolChoice",
			},
		},
		{
			Check: check.Check{
				ID:    "sampling.context.known",
				Says:  "includeContext is none, thisServer or allServers",
				In:    spec.Every,
				Rules: []string{"sampling-include-context-enum"},
				Idle:  "no sampling/createMessage has includeContext",
				Hint:  "set includeContext in sampling/createMessage",
			},
			Method: createMessage,
			Has:    []string{"includeContext"},
			Places: []string{"/params/includeContext"},
		},
		{
			Check: check.Check{
				ID:    "sampling.preferences.priorities",
				Says:  "the priorities of modelPreferences are numbers from 0 to 1",
				In:    spec.Every,
				Rules: []string{"sampling-priorities-range"},
				Idle:  "no sampling/createMessage has priorities",
				Hint:  "set costPriority in modelPreferences of sampling/createMessage",
			},
			Method: createMessage,
			Has: []string{
				"modelPreferences.costPriority", "modelPreferences.speedPriority",
				"modelPreferences.intelligencePriority",
			},
			Places: []string{
				"/params/modelPreferences/costPriority", "/params/modelPreferences/speedPriority",
				"/params/modelPreferences/intelligencePriority",
			},
		},
		{
			Check: check.Check{
				ID:    "sampling.preferences.hints",
				Says:  "the hints of modelPreferences are objects, and their names are strings",
				In:    spec.Every,
				Rules: []string{"sampling-hints-shape"},
				Idle:  "no sampling/createMessage has hints",
				Hint:  "set hints in modelPreferences of sampling/createMessage",
			},
			Method: createMessage,
			Has:    []string{"modelPreferences.hints"},
			Places: []string{"/params/modelPreferences/hints/**"},
		},
		{
			Check: check.Check{
				ID:    "sampling.tools.shape",
				Says:  "each of the tools of sampling/createMessage has a name and an object inputSchema",
				In:    spec.Since(spec.V2025_11_25),
				Rules: []string{"sampling-tools-shape"},
				Idle:  "no sampling/createMessage has tools",
				Hint:  "set tools in sampling/createMessage, for clients that declare sampling.tools",
			},
			Method: createMessage,
			Has:    []string{"tools.0"},
			Places: []string{"/params/tools/*/**"},
		},
		{
			Check: check.Check{
				ID:    "sampling.tools.choice",
				Says:  "the mode of toolChoice is auto, required or none",
				In:    spec.Since(spec.V2025_11_25),
				Rules: []string{"sampling-tool-choice-enum"},
				Idle:  "no sampling/createMessage has toolChoice",
				Hint:  "set toolChoice in sampling/createMessage, for clients that declare sampling.tools",
			},
			Method: createMessage,
			Has:    []string{"toolChoice"},
			Places: []string{"/params/toolChoice/mode"},
		},
	}
}
