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
	Wrap  string
	Hints Object   // annotations
	In    spec.Set // revisions that know what it needs; zero: all
	// Room tools are offered while the reading room is open.
	Room bool
	// Offered tells whether the tool is there just now; nil: always.
	Offered func() bool
	// TaskSupport tells whether calls can be tasks: forbidden, optional or
	// required; "" says nothing, which means forbidden.
	TaskSupport string
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

func said(s string) Outcome    { return Outcome{Content: []Object{textBlock(s)}} }
func failed(s string) Outcome  { return Outcome{Content: []Object{textBlock(s)}, Failed: true} }
func structured(v any) Outcome { return Outcome{Structured: v} }
func (t *Tool) anyRoot() bool  { return t.Wrap != "" }

func (t *Tool) offered(r *Request) bool {
	return (t.In == 0 || t.In.Has(r.Revision)) && (!t.Room || r.conn.library.roomIsOpen()) && (t.Offered == nil || t.Offered())
}

// rootless are the revisions in which a structured result may be any JSON
// value (server/tools#structured-content).
var rootless = spec.Stateless

// show is the definition of the tool at a revision.
func (t *Tool) show(v spec.Revision) Object {
	o := Object{"name": t.Name, "title": t.Title, "description": t.Description, "inputSchema": t.Input, "icons": icons()}
	if t.Hints != nil {
		o["annotations"] = t.Hints
	}
	if t.TaskSupport != "" {
		o["execution"] = Object{"taskSupport": t.TaskSupport}
	}
	switch {
	case t.Output == nil:
	case t.anyRoot() && !rootless.Has(v):
		o["outputSchema"] = Object{"type": "object", "properties": Object{t.Wrap: t.Output}, "required": []any{t.Wrap}}
	default:
		o["outputSchema"] = t.Output
	}
	return shape(v, "Tool", o)
}

// listTools answers tools/list (server/tools#listing-tools).
func listTools(_ context.Context, r *Request) (any, *Error) {
	l := r.conn.library
	o, problem := paginate(r, "tools", l.Tools,
		func(t *Tool) bool { return t.offered(r) },
		func(t *Tool) Object { return t.show(r.Revision) })
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
var inResult = spec.Since(spec.V2025_11_25)

// callTool answers tools/call (server/tools#calling-tools).
func callTool(ctx context.Context, r *Request) (any, *Error) {
	c := r.conn
	name, ok := r.Params["name"].(string)
	if !ok {
		return nil, invalid("The parameter name must be a string")
	}
	args, ok := r.Params["arguments"].(Object)
	if _, given := r.Params["arguments"]; given && !ok {
		return nil, invalid("The parameter arguments must be an object")
	}
	if args == nil {
		args = Object{}
	}
	if _, problem := r.presented(); problem != nil {
		return nil, problem
	}
	i := slices.IndexFunc(c.library.Tools, func(t *Tool) bool { return t.Name == name && t.offered(r) })
	if i < 0 {
		return nil, invalid("Unknown tool: %s", clip(name))
	}
	t := c.library.Tools[i]
	if r.augmented() {
		_, task := r.Params["task"]
		if problem := t.checkSupport(task); problem != nil {
			return nil, problem
		}
		if task {
			return t.createTask(r, args)
		}
	}
	return t.serve(ctx, r, args)
}

// serve carries a call out.
func (t *Tool) serve(ctx context.Context, r *Request, args Object) (any, *Error) {
	c := r.conn
	if why := t.check(args); why != "" {
		if inResult.Has(r.Revision) {
			return t.result(r.Revision, failed("The arguments do not fit: "+why)), nil
		}
		return nil, invalid("The arguments do not fit: %s", why)
	}
	select {
	case c.calls <- struct{}{}:
		defer func() { <-c.calls }()
	default:
		return t.result(r.Revision, failed("The desk is busy; try again in a moment.")), nil
	}
	call := &Call{Request: r, Args: args, Library: c.library, Turns: t.Turns}
	if t.Asks != nil {
		call.Asked = t.Asks(call)
		in, problem := r.obtain(ctx, call.Asked, func(answers map[string]Object) []Ask {
			if t.More == nil {
				return nil
			}
			call.Answers = answers
			return t.More(call)
		})
		switch {
		case problem != nil:
			return nil, problem
		case in.Interim != nil:
			return in.Interim, nil
		case in.Lacking != "":
			return t.result(r.Revision, failed(in.Lacking)), nil
		}
		call.Answers = in.Answers
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
		if t.anyRoot() && !rootless.Has(v) {
			value = Object{t.Wrap: value}
		}
		o["structuredContent"] = value
		out.Content = append(out.Content, textBlock(string(encode(value))))
	}
	if out.Failed {
		o["isError"] = true
	}
	o["content"] = contents(v, out.Content)
	return shape(v, "CallToolResult", o)
}
