package server

import (
	"context"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A Prompt is one prompt of the library (server/prompts).
type Prompt struct {
	Name, Title, Description string
	Args                     []Argument
	In                       spec.Set    // revisions that know its content; zero: all
	Room                     bool        // offered while the reading room is open
	Offered                  func() bool // tells whether the prompt is there just now; nil: always
	// Asks tells what input the prompt needs from the client.
	Asks func() []Ask
	// Messages returns the messages, or nil if an argument names nothing.
	Messages func(p *Prompting) []Message
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

// A Prompting is one get of a prompt.
type Prompting struct {
	*Request
	Args    map[string]string
	Answers map[string]Object // of the client, by key of the Ask
}

func (p *Prompt) offered(r *Request) bool {
	return (p.In == 0 || p.In.Has(r.Revision)) && (!p.Room || r.conn.library.roomIsOpen()) && (p.Offered == nil || p.Offered())
}

// listPrompts answers prompts/list (server/prompts#listing-prompts).
func listPrompts(_ context.Context, r *Request) (any, *Error) {
	o, problem := paginate(r, "prompts", r.conn.library.Prompts,
		func(p *Prompt) bool { return p.offered(r) },
		func(p *Prompt) Object {
			o := described(p.Title, p.Description, "")
			o["name"], o["icons"] = p.Name, icons()
			args := []any{}
			for _, a := range p.Args {
				arg := described(a.Title, a.Description, "")
				arg["name"], arg["required"] = a.Name, a.Required
				args = append(args, shape(r.Revision, "PromptArgument", arg))
			}
			if len(args) > 0 {
				o["arguments"] = args
			}
			return shape(r.Revision, "Prompt", o)
		})
	if problem != nil {
		return nil, problem
	}
	return o, nil
}

// getPrompt answers prompts/get (server/prompts#getting-a-prompt).
func getPrompt(ctx context.Context, r *Request) (any, *Error) {
	name, ok := r.Params["name"].(string)
	if !ok {
		return nil, invalid("The parameter name must be a string")
	}
	if _, problem := r.presented(); problem != nil {
		return nil, problem
	}
	p := r.prompt(name)
	if p == nil {
		return nil, invalid("Unknown prompt: %s", clip(name))
	}
	args, problem := p.arguments(r.Params["arguments"])
	if problem != nil {
		return nil, problem
	}
	prompting := &Prompting{Request: r, Args: args}
	if p.Asks != nil {
		in, problem := r.obtain(ctx, p.Asks(), nil)
		switch {
		case problem != nil:
			return nil, problem
		case in.Interim != nil:
			return in.Interim, nil
		case in.Lacking != "":
			return nil, errorf(spec.InternalError, "%s", in.Lacking)
		}
		prompting.Answers = in.Answers
	}
	messages := p.Messages(prompting)
	if messages == nil {
		return nil, invalid("An argument of the prompt names nothing in the library")
	}
	list := []any{}
	for _, m := range messages {
		for _, content := range contents(r.Revision, []Object{m.Content}) {
			list = append(list, Object{"role": m.Role, "content": content})
		}
	}
	return Object{"description": p.Description, "messages": list}, nil
}

func (r *Request) prompt(name string) *Prompt {
	i := slices.IndexFunc(r.conn.library.Prompts, func(p *Prompt) bool { return p.Name == name && p.offered(r) })
	if i < 0 {
		return nil
	}
	return r.conn.library.Prompts[i]
}

// arguments checks the arguments: strings, each one known, all required ones
// there (server/prompts#implementation-considerations).
func (p *Prompt) arguments(v any) (map[string]string, *Error) {
	given, ok := v.(Object)
	if v != nil && !ok {
		return nil, invalid("The parameter arguments must be an object")
	}
	args := map[string]string{}
	for name, v := range given {
		s, ok := v.(string)
		switch {
		case !p.takes(name):
			return nil, invalid("The prompt takes no argument %s", clip(name))
		case !ok:
			return nil, invalid("The argument %s must be a string", name)
		}
		args[name] = s
	}
	for _, a := range p.Args {
		if _, ok := args[a.Name]; a.Required && !ok {
			return nil, invalid("The argument %s is missing", a.Name)
		}
	}
	return args, nil
}

func (p *Prompt) takes(name string) bool {
	return slices.ContainsFunc(p.Args, func(a Argument) bool { return a.Name == name })
}
