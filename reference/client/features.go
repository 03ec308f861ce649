package client

import (
	"context"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// useFeatures lists all that the server offers, and uses the first of each.
func (s *session) useFeatures(ctx context.Context) error {
	if !spec.Stateless.Has(s.revision) {
		if _, err := s.request(ctx, "ping", nil); err != nil {
			return err
		}
	}
	for _, feature := range []struct {
		capability string
		use        func(context.Context) error
	}{{"logging", s.setLogLevel}, {"tools", s.useTools}, {"resources", s.useResources}, {"prompts", s.usePrompts}} {
		if !s.hasCapability(feature.capability) {
			continue
		}
		if err := feature.use(ctx); err != nil {
			return err
		}
	}
	return nil
}

// maxPages bounds a listing of a server that always returns a cursor.
const maxPages = 100

// list returns the items of all pages. A cursor is returned unchanged, and only its
// absence ends the list (server/utilities/pagination).
func (s *session) list(ctx context.Context, method, member string) ([]gjson.Result, error) {
	var all []gjson.Result
	var params object
	hasMore := wrapped(func(cursor gjson.Result) bool { return cursor.Type == gjson.String }, s.options.HasNextPage)
	for range maxPages {
		result, err := s.request(ctx, method, params)
		if err != nil {
			return nil, err
		}
		all = append(all, result.Get(member).Array()...)
		next := result.Get("nextCursor")
		if !hasMore(next) {
			break
		}
		params = object{"cursor": next.String()}
	}
	s.options.Log("%s: %d", method, len(all))
	return all, nil
}

func (s *session) setLogLevel(ctx context.Context) error {
	if spec.Stateless.Has(s.revision) {
		return nil // each request names its level
	}
	_, err := s.request(ctx, "logging/setLevel", object{"level": "info"})
	return err
}

// useTools lists the tools and calls the first one that may be called.
func (s *session) useTools(ctx context.Context) error {
	tools, err := s.list(ctx, "tools/list", "tools")
	if err != nil {
		return err
	}
	for _, tool := range tools {
		if !s.mayCall(tool) {
			continue
		}
		name := tool.Get("name").String()
		params := object{"name": name, "arguments": validArguments(tool.Get("inputSchema"))}
		result, err := s.request(ctx, "tools/call", params)
		if err != nil {
			return err
		}
		s.options.Log("tools/call %s: %s", name, result.Get("content.0.text").String())
		return nil
	}
	return nil
}

// mayCall reports whether a tool may be called: its annotations say that it only
// reads. 2024-11-05 has no annotations; there the tool echo may be called.
func (s *session) mayCall(tool gjson.Result) bool {
	if s.revision == spec.V2024_11_05 {
		return tool.Get("name").String() == "echo"
	}
	return tool.Get("annotations.readOnlyHint").Bool()
}

// validArguments returns a value for each required argument of a tool, by its type.
func validArguments(schema gjson.Result) object {
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

// useResources lists the resources and templates, and reads the first resource.
func (s *session) useResources(ctx context.Context) error {
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
	_, err = s.request(ctx, "resources/read", object{"uri": resources[0].Get("uri").String()})
	return err
}

// usePrompts lists the prompts and gets the first one.
func (s *session) usePrompts(ctx context.Context) error {
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
	_, err = s.request(ctx, "prompts/get", params)
	return err
}
