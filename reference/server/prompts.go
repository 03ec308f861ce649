package server

import (
	"context"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A Prompt is one prompt (server/prompts).
type Prompt struct {
	Name, Title, Description string
	Args                     []Argument
	In                       spec.Set             // revisions that know its content; zero: all
	Offered                  func(*Features) bool // whether the library offers it at present; nil: always
	// InputRequests returns the input that the prompt needs from the client.
	InputRequests func() []InputRequest
	// Messages returns the messages, or nil if an argument names nothing.
	Messages func(p *promptGet) []Message
}

// An Argument is one argument of a prompt.
type Argument struct {
	Name, Title, Description string
	Required                 bool
}

// A Message is one message of a prompt.
type Message struct {
	Role    string
	Content Object
}

func userMessage(content Object) Message { return Message{"user", content} }

// A promptGet is one prompts/get.
type promptGet struct {
	*Request
	Args    map[string]string
	Answers map[string]Object // of the client, by key of the InputRequest
}

func (p *Prompt) isOffered(r *Request) bool { return isOffered(r, p.In, p.Offered) }

// listPrompts answers prompts/list (server/prompts#listing-prompts).
func listPrompts(_ context.Context, r *Request) (any, *Error) {
	return paginate(r, "prompts", r.conn.features.Prompts,
		func(p *Prompt) bool { return p.isOffered(r) },
		func(p *Prompt) Object { return p.listEntry(r.Revision) })
}

// listEntry returns the prompt as an entry of prompts/list.
func (p *Prompt) listEntry(v spec.Revision) Object {
	o := describe(p.Title, p.Description, "")
	o["name"], o["icons"] = p.Name, icons()
	args := []any{}
	for _, a := range p.Args {
		arg := describe(a.Title, a.Description, "")
		arg["name"], arg["required"] = a.Name, a.Required
		args = append(args, reduceTo(v, "PromptArgument", arg))
	}
	if len(args) > 0 {
		o["arguments"] = args
	}
	return reduceTo(v, "Prompt", o)
}

// getPrompt answers prompts/get (server/prompts#getting-a-prompt).
func getPrompt(ctx context.Context, r *Request) (any, *Error) {
	name, ok := r.Params["name"].(string)
	if !ok {
		return nil, invalidParams("The parameter name must be a string")
	}
	if _, problem := r.presentedState(); problem != nil {
		return nil, problem
	}
	p := r.findPrompt(name)
	if p == nil {
		return nil, invalidParams("Unknown prompt: %s", clip(name))
	}
	args, problem := p.parseArguments(r.Params["arguments"])
	if problem != nil {
		return nil, problem
	}
	get := &promptGet{Request: r, Args: args}
	if p.InputRequests != nil {
		in, problem := r.obtainInputOrFail(ctx, p.InputRequests())
		if problem != nil || in.interim != nil {
			return in.interim, problem
		}
		get.Answers = in.answers
	}
	messages := p.Messages(get)
	if messages == nil {
		return nil, invalidParams("An argument of the prompt names nothing in the library")
	}
	list := []any{}
	for _, m := range messages {
		for _, content := range contentAt(r.Revision, []Object{m.Content}) {
			list = append(list, Object{"role": m.Role, "content": content})
		}
	}
	return Object{"description": p.Description, "messages": list}, nil
}

// findPrompt returns the offered prompt of a name, or nil.
func (r *Request) findPrompt(name string) *Prompt {
	prompts := r.conn.features.Prompts
	i := slices.IndexFunc(prompts, func(p *Prompt) bool { return p.Name == name && p.isOffered(r) })
	if i < 0 {
		return nil
	}
	return prompts[i]
}

// parseArguments checks the arguments: they must be strings and known, and hold all
// required ones (server/prompts#implementation-considerations).
func (p *Prompt) parseArguments(v any) (map[string]string, *Error) {
	given, ok := v.(Object)
	if v != nil && !ok {
		return nil, invalidParams("The parameter arguments must be an object")
	}
	args := map[string]string{}
	for name, v := range given {
		s, ok := v.(string)
		switch {
		case !p.hasArgument(name):
			return nil, invalidParams("The prompt takes no argument %s", clip(name))
		case !ok:
			return nil, invalidParams("The argument %s must be a string", name)
		}
		args[name] = s
	}
	for _, a := range p.Args {
		if _, ok := args[a.Name]; a.Required && !ok {
			return nil, invalidParams("The argument %s is missing", a.Name)
		}
	}
	return args, nil
}

func (p *Prompt) hasArgument(name string) bool {
	return slices.ContainsFunc(p.Args, func(a Argument) bool { return a.Name == name })
}
