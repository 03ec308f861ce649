package server

import (
	"context"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Tool is one tool (server/tools).
type Tool struct {
	Name, Title, Description string
	InputSchema              Object // JSON Schema of the arguments, 2020-12
	OutputSchema             Object // JSON Schema of the structured result, or nil
	// WrapMember names the member that holds a structured result that is no object,
	// in the revisions that require an object.
	WrapMember  string
	Annotations Object   // annotations
	In          spec.Set // revisions that know what it needs; zero: all
	// Offered reports whether the library offers the tool at present; nil: always.
	Offered func(*Features) bool
	// TaskSupport is the execution.taskSupport of the tool: forbidden, optional or
	// required; "" is not listed, which means forbidden.
	TaskSupport string
	// InputBeforeTask makes a call obtain its input by input_required results before it
	// becomes a task under the tasks extension.
	InputBeforeTask bool
	// Lenient makes the tool accept arguments that do not match InputSchema.
	Lenient bool
	// InputRequests returns the input that a call needs from the client. MoreInputRequests returns the
	// input that it needs in addition once the client answered all of that; it is
	// called again until it returns none.
	InputRequests, MoreInputRequests func(call *Call) []InputRequest
	// MaxTurns bounds the requests of a conversation with the client's model.
	MaxTurns int
	Run      func(ctx context.Context, call *Call) Outcome

	once     sync.Once
	compiled *jsonschema.Schema
}

// A Call is one call of a tool.
type Call struct {
	*Request
	Args          Object
	InputRequests []InputRequest    // what Tool.InputRequests returned
	Answers       map[string]Object // of the client, by key of the InputRequest
	Features      *Features
	MaxTurns      int // of the tool
}

// An Outcome is the result of a tool.
type Outcome struct {
	Content    []Object
	Structured any // nil: none
	Failed     bool
	Problem    *Error // answers the call instead of a result
}

func textOutcome(s string) Outcome    { return Outcome{Content: []Object{textBlock(s)}} }
func errorOutcome(s string) Outcome   { return Outcome{Content: []Object{textBlock(s)}, Failed: true} }
func structuredOutcome(v any) Outcome { return Outcome{Structured: v} }

// isOffered reports whether the tool is offered to the client of a request.
func (t *Tool) isOffered(r *Request) bool { return isOffered(r, t.In, t.Offered) }

// isOffered reports whether a feature is offered to the client of a request: its
// revisions include that of the request, and the library offers it at present.
func isOffered(r *Request, in spec.Set, offered func(*Features) bool) bool {
	return (in == 0 || in.Has(r.Revision)) && (offered == nil || offered(r.conn.features))
}

// anyOutputRevisions are the revisions in which a structured result may be any JSON
// value (server/tools#structured-content).
var anyOutputRevisions = spec.Stateless

// wrapsOutput reports whether the structured result is wrapped in an object at a
// revision.
func (t *Tool) wrapsOutput(v spec.Revision) bool {
	return t.WrapMember != "" && !anyOutputRevisions.Has(v)
}

// definition returns the definition of the tool at a revision.
func (t *Tool) definition(v spec.Revision) Object {
	o := Object{
		"name": t.Name, "title": t.Title, "description": t.Description, "inputSchema": t.InputSchema, "icons": icons(),
	}
	if t.Annotations != nil {
		o["annotations"] = t.Annotations
	}
	if t.TaskSupport != "" {
		o["execution"] = Object{"taskSupport": t.TaskSupport}
	}
	switch {
	case t.OutputSchema == nil:
	case t.wrapsOutput(v):
		o["outputSchema"] = objectSchema(Object{t.WrapMember: t.OutputSchema}, t.WrapMember)
	default:
		o["outputSchema"] = t.OutputSchema
	}
	return reduceTo(v, "Tool", o)
}

// listTools answers tools/list (server/tools#listing-tools).
func listTools(_ context.Context, r *Request) (any, *Error) {
	return paginate(r, "tools", r.conn.features.Tools,
		func(t *Tool) bool { return t.isOffered(r) },
		func(t *Tool) Object { return t.definition(r.Revision) })
}

// findTool returns the offered tool of a name, or nil.
func (r *Request) findTool(name any) *Tool {
	tools := r.conn.features.Tools
	if i := slices.IndexFunc(tools, func(t *Tool) bool { return t.Name == name && t.isOffered(r) }); i >= 0 {
		return tools[i]
	}
	return nil
}

// callTool answers tools/call (server/tools#calling-tools).
func callTool(ctx context.Context, r *Request) (any, *Error) {
	name, ok := r.Params["name"].(string)
	if !ok {
		return nil, invalidParams("The parameter name must be a string")
	}
	args, ok := r.Params["arguments"].(Object)
	if _, given := r.Params["arguments"]; given && !ok {
		return nil, invalidParams("The parameter arguments must be an object")
	}
	if args == nil {
		args = Object{}
	}
	if _, problem := r.presentedState(); problem != nil {
		return nil, problem
	}
	t := r.findTool(name)
	if t == nil {
		return nil, invalidParams("Unknown tool: %s", clip(name))
	}
	if r.hasTasksExtension() && t.canBeTask() {
		return t.callWithTasksExtension(ctx, r, args)
	}
	if r.allowsTaskAugmentation() {
		_, task := r.Params["task"]
		if problem := t.checkTaskSupport(task); problem != nil {
			return nil, problem
		}
		if task {
			return t.callAsTask(r, args)
		}
	}
	return t.run(ctx, r, args)
}

// maxCalls bounds the tool calls in progress: server/tools#security-considerations
// requires a limit on their rate.
const maxCalls = 128

// argumentErrorResultRevisions are the revisions in which arguments that do not
// match the input schema are reported in the result, so that the model can correct
// itself; before, they are a protocol error (server/tools#error-handling).
var argumentErrorResultRevisions = spec.Since(spec.V2025_11_25)

// run executes a call.
func (t *Tool) run(ctx context.Context, r *Request, args Object) (any, *Error) {
	c := r.conn
	if why := t.argumentsError(args); why != "" {
		if argumentErrorResultRevisions.Has(r.Revision) {
			return t.result(r.Revision, errorOutcome("The arguments do not fit: "+why)), nil
		}
		return nil, invalidParams("The arguments do not fit: %s", why)
	}
	select {
	case c.callSlots <- struct{}{}:
		defer func() { <-c.callSlots }()
	default:
		return t.result(r.Revision, errorOutcome("The desk is busy; try again in a moment.")), nil
	}
	call := t.newCall(r, args)
	if t.InputRequests != nil {
		call.InputRequests = t.InputRequests(call)
		in, problem := r.obtainInput(ctx, call.InputRequests, func(answers map[string]Object) []InputRequest {
			if t.MoreInputRequests == nil {
				return nil
			}
			call.Answers = answers
			return t.MoreInputRequests(call)
		})
		switch {
		case problem != nil:
			return nil, problem
		case in.interim != nil:
			return in.interim, nil
		case in.failure != "":
			return t.result(r.Revision, errorOutcome(in.failure)), nil
		}
		call.Answers = in.answers
	}
	out := t.Run(ctx, call)
	if out.Problem != nil {
		return nil, out.Problem
	}
	return t.result(r.Revision, out), nil
}

func (t *Tool) newCall(r *Request, args Object) *Call {
	return &Call{Request: r, Args: args, Features: r.conn.features, MaxTurns: t.MaxTurns}
}

// result returns the CallToolResult of an outcome. A structured result is repeated
// in a text block, for clients that do not know it
// (server/tools#structured-content).
func (t *Tool) result(v spec.Revision, out Outcome) Object {
	o := Object{}
	if out.Structured != nil {
		value := out.Structured
		if t.wrapsOutput(v) {
			value = Object{t.WrapMember: value}
		}
		o["structuredContent"] = value
		out.Content = append(out.Content, textBlock(string(wire.Encode(value))))
	}
	if out.Failed {
		o["isError"] = true
	}
	o["content"] = contentAt(v, out.Content)
	return reduceTo(v, "CallToolResult", o)
}
