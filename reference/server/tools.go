package server

import (
	"context"
	"slices"
	"sync"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A Tool is one tool of the desk (server/tools).
type Tool struct {
	Name, Title, Description string
	Input                    Object // JSON Schema of the arguments, 2020-12
	Output                   Object // JSON Schema of the structured result, or nil
	// Wrap names the member under which a structured result that is no
	// object stands in the revisions that want one.
	WrapMember string
	Hints      Object   // annotations
	In         spec.Set // revisions that know what it needs; zero: all
	// Room tools are offered while the reading room is open.
	Room bool
	// Offered tells whether the tool is there just now; nil: always.
	Offered func() bool
	// TaskSupport tells whether calls can be tasks: forbidden, optional or
	// required; "" says nothing, which means forbidden.
	TaskSupport string
	// AsksFirst: before a call becomes a task under the extension, it asks
	// what it asks by input_required results.
	AsksFirst bool
	// Lenient tools take any arguments, whatever Input says.
	Lenient bool
	// Asks tells what input the call needs from the client, and More what else
	// it needs once all of that was answered, again and again until it returns
	// nothing.
	Asks, More func(call *Call) []Ask
	// Turns bounds the asks of a conversation with the client's model.
	Turns int
	Run   func(ctx context.Context, call *Call) Outcome

	once     sync.Once
	compiled *jsonschema.Schema
}

// A Call is one call of a tool.
type Call struct {
	*Request
	Args    Object
	Asked   []Ask             // what the tool asked for
	Answers map[string]Object // of the client, by key of the Ask
	Library *Library
	Turns   int // of the tool
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
func (t *Tool) wrapsOutput() bool     { return t.WrapMember != "" }

func (t *Tool) isOffered(r *Request) bool {
	return (t.In == 0 || t.In.Has(r.Revision)) && (!t.Room || r.conn.features.readingRoomIsOpen()) && (t.Offered == nil || t.Offered())
}

// rootless are the revisions in which a structured result may be any JSON
// value (server/tools#structured-content).
var anyOutputRevisions = spec.Stateless

// show is the definition of the tool at a revision.
func (t *Tool) definition(v spec.Revision) Object {
	o := Object{"name": t.Name, "title": t.Title, "description": t.Description, "inputSchema": t.Input, "icons": icons()}
	if t.Hints != nil {
		o["annotations"] = t.Hints
	}
	if t.TaskSupport != "" {
		o["execution"] = Object{"taskSupport": t.TaskSupport}
	}
	switch {
	case t.Output == nil:
	case t.wrapsOutput() && !anyOutputRevisions.Has(v):
		o["outputSchema"] = Object{"type": "object", "properties": Object{t.WrapMember: t.Output}, "required": []any{t.WrapMember}}
	default:
		o["outputSchema"] = t.Output
	}
	return membersAt(v, "Tool", o)
}

// listTools answers tools/list (server/tools#listing-tools).
func listTools(_ context.Context, r *Request) (any, *Error) {
	l := r.conn.features
	o, problem := paginate(r, "tools", l.Tools,
		func(t *Tool) bool { return t.isOffered(r) },
		func(t *Tool) Object { return t.definition(r.Revision) })
	if problem != nil {
		return nil, problem
	}
	return o, nil
}

// maxCalls bounds the tool calls in progress: server/tools#security-considerations
// wants a limit on their rate.
const maxCalls = 128

// inResult are the revisions in which arguments that do not fit are reported
// in the result, for the model to correct itself; before, they are a protocol
// error (server/tools#error-handling).
var argumentErrorResultRevisions = spec.Since(spec.V2025_11_25)

// callTool answers tools/call (server/tools#calling-tools).
func callTool(ctx context.Context, r *Request) (any, *Error) {
	c := r.conn
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
	i := slices.IndexFunc(c.features.Tools, func(t *Tool) bool { return t.Name == name && t.isOffered(r) })
	if i < 0 {
		return nil, invalidParams("Unknown tool: %s", clip(name))
	}
	t := c.features.Tools[i]
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

// serve carries a call out.
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
	call := &Call{Request: r, Args: args, Library: c.features, Turns: t.Turns}
	if t.Asks != nil {
		call.Asked = t.Asks(call)
		in, problem := r.obtainInput(ctx, call.Asked, func(answers map[string]Object) []Ask {
			if t.More == nil {
				return nil
			}
			call.Answers = answers
			return t.More(call)
		})
		switch {
		case problem != nil:
			return nil, problem
		case in.interim != nil:
			return in.interim, nil
		case in.missing != "":
			return t.result(r.Revision, errorOutcome(in.missing)), nil
		}
		call.Answers = in.answers
	}
	out := t.Run(ctx, call)
	if out.Problem != nil {
		return nil, out.Problem
	}
	return t.result(r.Revision, out), nil
}

// result is the CallToolResult of an outcome. A structured result also stands
// in a text block, for clients that know none (server/tools#structured-content).
func (t *Tool) result(v spec.Revision, out Outcome) Object {
	o := Object{}
	if out.Structured != nil {
		value := out.Structured
		if t.wrapsOutput() && !anyOutputRevisions.Has(v) {
			value = Object{t.WrapMember: value}
		}
		o["structuredContent"] = value
		out.Content = append(out.Content, textBlock(string(encode(value))))
	}
	if out.Failed {
		o["isError"] = true
	}
	o["content"] = contentAt(v, out.Content)
	return membersAt(v, "CallToolResult", o)
}
