package server

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/yosida95/uritemplate/v3"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// maxValues is how many values a completion may have
// (schema.ts#CompleteResult).
const maxValues = 100

// contextual are the revisions whose requests say what was filled in before.
var contextual = spec.Since(spec.V2025_06_18)

// complete answers completion/complete (server/utilities/completion).
func complete(_ context.Context, r *Request) (any, *Error) {
	ref, ok := r.Params["ref"].(Object)
	if !ok {
		return nil, invalid("The parameter ref must be an object")
	}
	argument, ok := r.Params["argument"].(Object)
	if !ok || !isString(argument["name"]) || !isString(argument["value"]) {
		return nil, invalid("The parameter argument must hold a name and a value, both strings")
	}
	filled, problem := r.filledIn()
	if problem != nil {
		return nil, problem
	}
	name := text(argument["name"])
	known, problem := r.completable(ref)
	switch {
	case problem != nil:
		return nil, problem
	case !slices.Contains(known, name):
		return nil, invalid("There is no argument %s to complete", clip(name))
	}
	values := rank(candidates(name, filled), text(argument["value"]))
	total := len(values)
	list := []any{}
	for _, v := range values[:min(total, maxValues)] {
		list = append(list, v)
	}
	return Object{"completion": Object{"values": list, "total": total, "hasMore": total > maxValues}}, nil
}

// filledIn returns the arguments that the client has already (context).
func (r *Request) filledIn() (map[string]string, *Error) {
	filled := map[string]string{}
	v, ok := r.Params["context"]
	if !ok || !contextual.Has(r.Revision) {
		return filled, nil
	}
	o, ok := v.(Object)
	if !ok {
		return nil, invalid("The parameter context must be an object")
	}
	args, ok := o["arguments"].(Object)
	if _, given := o["arguments"]; given && !ok {
		return nil, invalid("The parameter context.arguments must be an object")
	}
	for name, v := range args {
		if !isString(v) {
			return nil, invalid("The parameter context.arguments.%s must be a string", clip(name))
		}
		filled[name] = text(v)
	}
	return filled, nil
}

// completable returns the argument names of what the reference names
// (server/utilities/completion#reference-types).
func (r *Request) completable(ref Object) ([]string, *Error) {
	var out []string
	switch ref["type"] {
	case "ref/prompt":
		p := r.prompt(text(ref["name"]))
		if p == nil {
			return nil, invalid("Unknown prompt: %s", clip(text(ref["name"])))
		}
		for _, a := range p.Args {
			out = append(out, a.Name)
		}
		return out, nil
	case "ref/resource":
		for _, t := range r.conn.library.Templates {
			if t.URI != ref["uri"] {
				continue
			}
			parsed, err := uritemplate.New(t.URI)
			if err != nil {
				break
			}
			return parsed.Varnames(), nil
		}
		return nil, invalid("Unknown resource template: %s", clip(text(ref["uri"])))
	}
	return nil, invalid("The parameter ref has an unknown type")
}

// candidates are the values of an argument, by its name; titles are those of
// the author that was filled in.
func candidates(name string, filled map[string]string) []string {
	var out []string
	for _, b := range books() {
		switch name {
		case "book", "first", "second":
			out = append(out, b.id)
		case "author":
			out = append(out, b.author)
		case "title":
			if author, ok := filled["author"]; !ok || author == b.author {
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
	out = append(out, officialCandidates(name)...)
	slices.Sort(out)
	return slices.Compact(out)
}

// rank keeps what matches the typed text, the beginnings first.
func rank(values []string, typed string) []string {
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
