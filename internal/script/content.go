package script

import (
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

// cached are the requests whose results tell how long they may be kept
// (server/utilities/caching, since 2026-07-28).
var cached = []string{"server/discover", "tools/list", "resources/list", "resources/templates/list", "resources/read", "prompts/list"}

// seal adds to a result what every result of the revision and method carries.
func seal(rev spec.Revision, method string, result Object) Object {
	if !rev.Facts().ResultType {
		return result
	}
	out := Object{"resultType": "complete", "_meta": Object{spec.MetaServerInfo: serverInfo()}}
	if slices.Contains(cached, method) {
		out["ttlMs"], out["cacheScope"] = 0, "private"
	}
	for k, v := range result {
		out[k] = v
	}
	return out
}

// A page is one page of a list, under the cursor that leads to it.
type page struct {
	cursor string
	items  []any
}

// pages answers a list request page by page. A cursor that was not handed out
// is refused.
func pages(member string, all ...page) Handler {
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
		Refuse(spec.InvalidParams, "Unknown cursor", nil)(c, m)
	}
}

// The cursors: opaque tokens with what a client might be tempted to parse,
// trim or encode.
func cursor(list string) string { return fmt.Sprintf(` {"%s":2}/ü+%%20=`, list) }

// toolPages are the tools. Since 2026-07-28 it is written that an empty cursor
// is a cursor (server/utilities/pagination#implementation-guidelines), so the
// third page is behind one.
func toolPages(rev spec.Revision) []page {
	echo := tool(rev, "echo", "Returns the text that it is given", Object{"text": Object{"type": "string", "description": "what to return"}}, "text")
	length := tool(rev, "length", "Counts the characters of a text", Object{"text": Object{"type": "string"}}, "text")
	clock := tool(rev, "answer", "Returns the number 42", Object{})
	if rev.Facts().Stateless {
		return []page{{"", []any{echo}}, {cursor("tools"), []any{length}}, {"", []any{clock}}}
	}
	return []page{{"", []any{echo}}, {cursor("tools"), []any{length, clock}}}
}

func tool(rev spec.Revision, name, description string, properties Object, required ...string) Object {
	input := Object{"type": "object", "properties": properties}
	if len(required) > 0 {
		input["required"] = required
	}
	t := Object{"name": name, "description": description, "inputSchema": input}
	if spec.Since(spec.V2025_03_26).Has(rev) {
		t["annotations"] = Object{"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true, "openWorldHint": false}
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
		Refuse(spec.InvalidParams, "Unknown tool", nil)(c, m)
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
		Refuse(c.Rev.Facts().ResourceNotFound, "Resource not found", Object{"uri": uri})(c, m)
		return
	}
	c.Answer(m, Object{"contents": []any{Object{"uri": uri, "mimeType": "text/plain", "text": text}}})
}

func getPrompt(c *Conn, m wire.Message) {
	name := m.Params().Get("name").String()
	if name != "greet" && name != "part" {
		Refuse(spec.InvalidParams, "Unknown prompt", nil)(c, m)
		return
	}
	c.Answer(m, Object{"messages": []any{Object{"role": "user", "content": Object{"type": "text", "text": "Say a word of " + name + "."}}}})
}

// capabilities are what the scripted server offers at a revision.
func capabilities(rev spec.Revision) Object {
	all := Object{"tools": Object{}, "resources": Object{}, "prompts": Object{}, "logging": Object{}}
	if spec.Since(spec.V2025_03_26).Has(rev) {
		all["completions"] = Object{}
	}
	return all
}

// content are the handlers of everything that a server with all capabilities
// answers at a revision, but for the opening.
func content(rev spec.Revision) map[string]Handler {
	note := func(uri, name string) Object { return Object{"uri": uri, "name": name, "mimeType": "text/plain"} }
	prompt := func(name string) Object { return Object{"name": name, "description": "A prompt to " + name} }
	h := map[string]Handler{
		"tools/list":               pages("tools", toolPages(rev)...),
		"tools/call":               callTool,
		"resources/list":           pages("resources", page{"", []any{note(firstURI, "first")}}, page{cursor("resources"), []any{note(secondURI, "second")}}),
		"resources/templates/list": pages("resourceTemplates", page{"", []any{Object{"uriTemplate": "mcpcheck://notes/{name}", "name": "note"}}}),
		"resources/read":           readResource,
		"prompts/list":             pages("prompts", page{"", []any{prompt("greet")}}, page{cursor("prompts"), []any{prompt("part")}}),
		"prompts/get":              getPrompt,
		"completion/complete":      Answered(Object{"completion": Object{"values": []string{"first", "second"}, "total": 2, "hasMore": false}}),
	}
	if rev.Facts().Stateless {
		h["subscriptions/listen"] = listen
		return h
	}
	h["ping"] = Answered(Object{})
	h["logging/setLevel"] = Answered(Object{})
	h["resources/subscribe"] = Answered(Object{})
	h["resources/unsubscribe"] = Answered(Object{})
	return h
}

// listen acknowledges a subscription to nothing, since nothing here changes;
// it stands until the client ends it (basic/patterns/subscriptions).
func listen(c *Conn, m wire.Message) {
	c.Notify("notifications/subscriptions/acknowledged", Object{
		"_meta":         Object{spec.MetaSubscriptionID: rawJSON(m.ID().Raw)},
		"notifications": Object{},
	})
}
