package script

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// The identity of the scripted servers.
const (
	serverName    = "mcpcheck-script"
	serverVersion = "0.1.0"
)

func serverInfo() Object { return Object{"name": serverName, "version": serverVersion} }

// cacheableMethods are the requests whose results say how long they may be cached
// (server/utilities/caching, since 2026-07-28).
var cacheableMethods = []string{
	"server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read", "prompts/list",
}

// completeResult adds the members that every result of the revision and method has.
func completeResult(rev spec.Revision, method string, result Object) Object {
	if !rev.Facts().ResultType {
		return result
	}
	out := Object{"resultType": "complete", "_meta": Object{spec.MetaServerInfo: serverInfo()}}
	if slices.Contains(cacheableMethods, method) {
		out["ttlMs"], out["cacheScope"] = 0, "private"
	}
	for k, v := range result {
		out[k] = v
	}
	return out
}

// A page is one page of a list.
type page struct {
	cursor string // that requests the page; "" for the first
	items  []any
}

// listHandler answers a list request page by page, and refuses unknown cursors.
func listHandler(member string, all ...page) Handler {
	return func(c *Conn, m wire.Message) {
		cursor := m.Params().Get("cursor").String()
		given := m.Params().Get("cursor").Exists()
		for i, p := range all {
			if given != (i > 0) || p.cursor != cursor {
				continue
			}
			result := Object{member: p.items}
			if i+1 < len(all) {
				result["nextCursor"] = all[i+1].cursor
			}
			c.Answer(m, result)
			return
		}
		RefuseWith(spec.InvalidParams, "Unknown cursor", nil)(c, m)
	}
}

// opaqueCursor returns a cursor with characters that a client might parse, trim or
// encode, which it must not do.
func opaqueCursor(list string) string { return fmt.Sprintf(` {"%s":2}/ü+%%20=`, list) }

// toolPages returns the pages of the list of tools. Since 2026-07-28 the empty string
// is a valid cursor (server/utilities/pagination#implementation-guidelines), so the
// third page of that revision has it.
func toolPages(rev spec.Revision) []page {
	text := Object{"text": Object{"type": "string", "description": "what to return"}}
	echo := tool(rev, "echo", "Returns the text that it is given", text, "text")
	length := tool(rev, "length", "Counts the characters of a text", Object{"text": Object{"type": "string"}}, "text")
	answer := tool(rev, "answer", "Returns the number 42", Object{})
	if rev.Facts().Stateless {
		return []page{{"", []any{echo}}, {opaqueCursor("tools"), []any{length}}, {"", []any{answer}}}
	}
	return []page{{"", []any{echo}}, {opaqueCursor("tools"), []any{length, answer}}}
}

func tool(rev spec.Revision, name, description string, properties Object, required ...string) Object {
	input := Object{"type": "object", "properties": properties}
	if len(required) > 0 {
		input["required"] = required
	}
	t := Object{"name": name, "description": description, "inputSchema": input}
	if spec.Since(spec.V2025_03_26).Has(rev) {
		t["annotations"] = Object{
			"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false,
		}
	}
	return t
}

func callTool(c *Conn, m wire.Message) {
	text := m.Params().Get("arguments.text").String()
	switch m.Params().Get("name").String() {
	case "echo":
	case "length":
		text = fmt.Sprint(len([]rune(text)))
	case "answer":
		text = "42"
	default:
		RefuseWith(spec.InvalidParams, "Unknown tool", nil)(c, m)
		return
	}
	c.Answer(m, Object{"content": []any{Object{"type": "text", "text": text}}})
}

const (
	firstURI  = "mcpcheck://notes/first"
	secondURI = "mcpcheck://notes/second"
)

func readResource(c *Conn, m wire.Message) {
	uri := m.Params().Get("uri").String()
	texts := map[string]string{firstURI: "The first note.", secondURI: "The second note."}
	text, ok := texts[uri]
	if !ok {
		RefuseWith(c.Rev.Facts().ResourceNotFound, "Resource not found", Object{"uri": uri})(c, m)
		return
	}
	c.Answer(m, Object{"contents": []any{Object{"uri": uri, "mimeType": "text/plain", "text": text}}})
}

func getPrompt(c *Conn, m wire.Message) {
	name := m.Params().Get("name").String()
	if name != "greet" && name != "part" {
		RefuseWith(spec.InvalidParams, "Unknown prompt", nil)(c, m)
		return
	}
	content := Object{"type": "text", "text": "Say a word of " + name + "."}
	c.Answer(m, Object{"messages": []any{Object{"role": "user", "content": content}}})
}

// capabilities returns the capabilities of a full server at a revision.
func capabilities(rev spec.Revision) Object {
	all := Object{"tools": Object{}, "resources": Object{}, "prompts": Object{}, "logging": Object{}}
	if spec.Since(spec.V2025_03_26).Has(rev) {
		all["completions"] = Object{}
	}
	return all
}

// contentHandlers returns the handlers of all requests to a server with all
// capabilities, except initialize and server/discover.
func contentHandlers(rev spec.Revision) map[string]Handler {
	note := func(uri, name string) Object { return Object{"uri": uri, "name": name, "mimeType": "text/plain"} }
	prompt := func(name string) Object { return Object{"name": name, "description": "A prompt to " + name} }
	template := Object{"uriTemplate": "mcpcheck://notes/{name}", "name": "note"}
	completion := Object{"values": []string{"first", "second"}, "total": 2, "hasMore": false}
	h := map[string]Handler{
		"tools/list": listHandler("tools", toolPages(rev)...),
		"tools/call": callTool,
		"resources/list": listHandler("resources",
			page{"", []any{note(firstURI, "first")}},
			page{opaqueCursor("resources"), []any{note(secondURI, "second")}}),
		"resources/templates/list": listHandler("resourceTemplates", page{"", []any{template}}),
		"resources/read":           readResource,
		"prompts/list": listHandler("prompts",
			page{"", []any{prompt("greet")}},
			page{opaqueCursor("prompts"), []any{prompt("part")}}),
		"prompts/get":         getPrompt,
		"completion/complete": AnswerWith(Object{"completion": completion}),
	}
	if rev.Facts().Stateless {
		h["subscriptions/listen"] = acknowledgeSubscription
		return h
	}
	h["ping"] = AnswerWith(Object{})
	h["logging/setLevel"] = AnswerWith(Object{})
	h["resources/subscribe"] = AnswerWith(Object{})
	h["resources/unsubscribe"] = AnswerWith(Object{})
	return h
}

// acknowledgeSubscription acknowledges a subscription without any notification, since
// nothing changes on this server. The client ends it (basic/patterns/subscriptions).
func acknowledgeSubscription(c *Conn, m wire.Message) {
	c.Notify("notifications/subscriptions/acknowledged", Object{
		"_meta":         Object{spec.MetaSubscriptionID: json.RawMessage(m.ID().Raw)},
		"notifications": Object{},
	})
}
