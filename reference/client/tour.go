package client

import (
	"context"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// tour looks at everything that the server offers, and uses the first of each.
func (s *session) tour(ctx context.Context) error {
	if !spec.Stateless.Has(s.rev) {
		if _, err := s.ask(ctx, "ping", nil); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		capability string
		visit      func(context.Context) error
	}{{"logging", s.logging}, {"tools", s.tools}, {"resources", s.resources}, {"prompts", s.prompts}} {
		if !s.offers(part.capability) {
			continue
		}
		if err := part.visit(ctx); err != nil {
			return err
		}
	}
	return nil
}

// maxPages bounds a listing, should a server hand out cursors for ever.
const maxPages = 100

// list gathers the items of all pages. A cursor is given back as it came, and
// only its absence ends the list (server/utilities/pagination).
func (s *session) list(ctx context.Context, method, member string) ([]gjson.Result, error) {
	var all []gjson.Result
	var params object
	more := func(cursor gjson.Result) bool { return cursor.Type == gjson.String }
	if s.o.More != nil {
		more = s.o.More(more)
	}
	for range maxPages {
		result, err := s.ask(ctx, method, params)
		if err != nil {
			return nil, err
		}
		all = append(all, result.Get(member).Array()...)
		next := result.Get("nextCursor")
		if !more(next) {
			break
		}
		params = object{"cursor": next.String()}
	}
	s.o.Log("%s: %d", method, len(all))
	return all, nil
}

func (s *session) logging(ctx context.Context) error {
	if spec.Stateless.Has(s.rev) {
		return nil // there the level is asked for by each request
	}
	_, err := s.ask(ctx, "logging/setLevel", object{"level": "info"})
	return err
}

func (s *session) tools(ctx context.Context) error {
	tools, err := s.list(ctx, "tools/list", "tools")
	if err != nil {
		return err
	}
	for _, tool := range tools {
		if !s.harmless(tool) {
			continue
		}
		result, err := s.ask(ctx, "tools/call", object{"name": tool.Get("name").String(), "arguments": arguments(tool.Get("inputSchema"))})
		if err != nil {
			return err
		}
		s.o.Log("tools/call %s: %s", tool.Get("name").String(), result.Get("content.0.text").String())
		return nil
	}
	return nil
}

// harmless tells whether a tool may be called to see it work: it says that it
// only reads. 2024-11-05 has no such hint; there the tool to echo is called.
func (s *session) harmless(tool gjson.Result) bool {
	if s.rev == spec.V2024_11_05 {
		return tool.Get("name").String() == "echo"
	}
	return tool.Get("annotations.readOnlyHint").Bool()
}

// arguments makes the required arguments of a tool, by their types.
func arguments(schema gjson.Result) object {
	out := object{}
	for _, name := range schema.Get("required").Array() {
		var value any = "text"
		switch property := schema.Get("properties").Map()[name.String()]; property.Get("type").String() {
		case "integer", "number":
			value = 1
		case "boolean":
			value = true
		case "array":
			value = []any{}
		case "object":
			value = object{}
		default:
			if first := property.Get("enum.0"); first.Exists() {
				value = first.Value()
			}
		}
		out[name.String()] = value
	}
	return out
}

func (s *session) resources(ctx context.Context) error {
	resources, err := s.list(ctx, "resources/list", "resources")
	if err != nil {
		return err
	}
	if _, err := s.list(ctx, "resources/templates/list", "resourceTemplates"); err != nil {
		return err
	}
	if len(resources) == 0 {
		return nil
	}
	_, err = s.ask(ctx, "resources/read", object{"uri": resources[0].Get("uri").String()})
	return err
}

func (s *session) prompts(ctx context.Context) error {
	prompts, err := s.list(ctx, "prompts/list", "prompts")
	if err != nil || len(prompts) == 0 {
		return err
	}
	params := object{"name": prompts[0].Get("name").String()}
	if given := prompts[0].Get("arguments").Array(); len(given) > 0 {
		values := object{}
		for _, a := range given {
			if a.Get("required").Bool() {
				values[a.Get("name").String()] = "text"
			}
		}
		params["arguments"] = values
	}
	_, err = s.ask(ctx, "prompts/get", params)
	return err
}
