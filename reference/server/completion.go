package server

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// maxCompletionValues bounds the values of a completion (schema.ts#CompleteResult).
const maxCompletionValues = 100

// completionContextRevisions are the revisions whose completion requests carry the
// arguments that the client already has.
var completionContextRevisions = spec.Since(spec.V2025_06_18)

// completeArgument answers completion/complete (server/utilities/completion).
func completeArgument(_ context.Context, r *Request) (any, *Error) {
	ref, ok := r.Params["ref"].(Object)
	if !ok {
		return nil, invalidParams("The parameter ref must be an object")
	}
	argument, ok := r.Params["argument"].(Object)
	if !ok || !isString(argument["name"]) || !isString(argument["value"]) {
		return nil, invalidParams("The parameter argument must hold a name and a value, both strings")
	}
	given, problem := r.contextArguments()
	if problem != nil {
		return nil, problem
	}
	name := stringOf(argument["name"])
	known, problem := r.completableArguments(ref)
	switch {
	case problem != nil:
		return nil, problem
	case !slices.Contains(known, name):
		return nil, invalidParams("There is no argument %s to complete", clip(name))
	}
	values := matchingValues(completionValues(name, given), stringOf(argument["value"]))
	total := len(values)
	list := []any{}
	for _, v := range values[:min(total, maxCompletionValues)] {
		list = append(list, v)
	}
	return Object{"completion": Object{"values": list, "total": total, "hasMore": total > maxCompletionValues}}, nil
}

// contextArguments returns the arguments that the client already has (context).
func (r *Request) contextArguments() (map[string]string, *Error) {
	given := map[string]string{}
	v, ok := r.Params["context"]
	if !ok || !completionContextRevisions.Has(r.Revision) {
		return given, nil
	}
	o, ok := v.(Object)
	if !ok {
		return nil, invalidParams("The parameter context must be an object")
	}
	args, ok := o["arguments"].(Object)
	if _, present := o["arguments"]; present && !ok {
		return nil, invalidParams("The parameter context.arguments must be an object")
	}
	for name, v := range args {
		if !isString(v) {
			return nil, invalidParams("The parameter context.arguments.%s must be a string", clip(name))
		}
		given[name] = stringOf(v)
	}
	return given, nil
}

// completableArguments returns the names of the arguments of the prompt or template
// that a reference names (server/utilities/completion#reference-types).
func (r *Request) completableArguments(ref Object) ([]string, *Error) {
	switch ref["type"] {
	case "ref/prompt":
		p := r.findPrompt(stringOf(ref["name"]))
		if p == nil {
			return nil, invalidParams("Unknown prompt: %s", clip(stringOf(ref["name"])))
		}
		var out []string
		for _, a := range p.Args {
			out = append(out, a.Name)
		}
		return out, nil
	case "ref/resource":
		for _, t := range r.conn.features.Templates {
			if t.URI != ref["uri"] {
				continue
			}
			parsed, err := t.parse()
			if err != nil {
				break
			}
			return parsed.Varnames(), nil
		}
		return nil, invalidParams("Unknown resource template: %s", clip(stringOf(ref["uri"])))
	}
	return nil, invalidParams("The parameter ref has an unknown type")
}

// completionValues returns the values of an argument, by its name, sorted. Titles
// are those of the author in given.
func completionValues(name string, given map[string]string) []string {
	var out []string
	for _, b := range books() {
		switch name {
		case "book", "first", "second":
			out = append(out, b.id)
		case "author":
			out = append(out, b.author)
		case "title":
			if author, ok := given["author"]; !ok || author == b.author {
				out = append(out, b.title)
			}
		case "year":
			out = append(out, strconv.Itoa(b.year))
		}
	}
	switch name {
	case "genre":
		out = []string{"atlas", "essay", "fable", "guide", "novel", "poetry"}
	case "mood":
		out = []string{"foggy", "hopeful", "quiet", "restless"}
	case "reader":
		out = []string{"ines", "jonas", "kaisa"}
	case "room":
		out = []string{"east/attic", "west/cellar"}
	case "shelf":
		for _, wing := range "ABC" {
			for n := range 40 {
				out = append(out, fmt.Sprintf("%c%d", wing, n+1))
			}
		}
	}
	out = append(out, officialCompletionValues(name)...)
	slices.Sort(out)
	return slices.Compact(out)
}

// matchingValues returns the values that contain the typed text, in any case; those
// that begin with it come first.
func matchingValues(values []string, typed string) []string {
	typed = strings.ToLower(typed)
	var begins, contains []string
	for _, v := range values {
		switch lower := strings.ToLower(v); {
		case strings.HasPrefix(lower, typed):
			begins = append(begins, v)
		case strings.Contains(lower, typed):
			contains = append(contains, v)
		}
	}
	return append(begins, contains...)
}
