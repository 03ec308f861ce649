package exit

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// capabilityOf returns the capability that a server must declare for the methods of a
// client; a method that is missing needs none.
var capabilityOf = map[string]string{
	"tools/list": "tools", "tools/call": "tools",
	"prompts/list": "prompts", "prompts/get": "prompts",
	"resources/list": "resources", "resources/templates/list": "resources", "resources/read": "resources",
	"resources/subscribe": "resources.subscribe", "resources/unsubscribe": "resources.subscribe",
	"logging/setLevel": "logging",
	"tasks/get":        "tasks", "tasks/result": "tasks", "tasks/list": "tasks.list", "tasks/cancel": "tasks.cancel",
	"tasks/update": "tasks",
}

// maxOrdinary is the length in bytes of a message beyond which it is unusual: checks of
// their own send long messages.
const maxOrdinary = 8 << 10

// isOrdinary reports whether a message of the client is valid use of what the server
// offers: its method and params are of the revision, the server declared the capability,
// and what the params name was named by the server. A server that ends on such a message
// fails its user, whatever the check that sent it.
func isOrdinary(s *session.Session, e wire.Entry, named func(string) bool) bool {
	m, facts := e.Message, s.Rev.Facts()
	switch {
	case m.FormatError() != nil, len(e.Raw) > maxOrdinary:
		return false
	case m.Kind == wire.Notification:
		// Others depend on earlier messages, which the checks of their areas vary.
		return m.Method() == "notifications/initialized" || m.Method() == "notifications/roots/list_changed"
	case m.Kind != wire.Request || !slices.Contains(facts.ClientRequests, m.Method()) || !fitsSchema(s.Rev, m):
		return false
	case m.Method() == "initialize":
		return e.Index == 0 && m.Params().Get("protocolVersion").String() == string(s.Rev)
	case m.Method() == "completion/complete" && facts.CompletionCapability && !s.Declares("completions"):
		return false
	}
	return s.Declares(capabilityOf[m.Method()]) && namesOffer(m, named) && fitsInputSchema(s, m)
}

// fitsSchema reports whether a request fits the definition of its method.
func fitsSchema(rev spec.Revision, m wire.Message) bool {
	set := schema.For(rev)
	def := set.Request(m.Method())
	return def != "" && len(set.Validate(def, m.Raw)) == 0
}

// namesOffer reports whether the server named all that the params of a request name. A text
// with a space is no URI (RFC 3986), whatever template it fits.
func namesOffer(m wire.Message, named func(string) bool) bool {
	p := m.Params()
	if strings.Contains(p.Get("uri").String(), " ") {
		return false
	}
	for _, path := range []string{"name", "uri", "cursor", "taskId", "ref.name", "ref.uri", "argument.name"} {
		if v := p.Get(path); v.Exists() && !named(v.String()) {
			return false
		}
	}
	if m.Method() == "prompts/get" {
		for name := range p.Get("arguments").Map() {
			if !named(name) {
				return false
			}
		}
	}
	return true
}

// fitsInputSchema reports whether the arguments of a tool call fit the schema of the
// tool, as far as the session shows it; true for any other request.
func fitsInputSchema(s *session.Session, m wire.Message) bool {
	if m.Method() != "tools/call" {
		return true
	}
	for e := range s.Walk(0) {
		for _, tool := range e.Message.Result().Get("tools").Array() {
			if tool.Get("name").String() != m.Params().Get("name").String() {
				continue
			}
			compiled, err := schema.CompileTool([]byte(tool.Get("inputSchema").Raw))
			if err != nil {
				return false
			}
			arguments := m.Params().Get("arguments").Raw
			if arguments == "" {
				arguments = "{}"
			}
			violations, err := compiled.Validate([]byte(arguments))
			return err == nil && len(violations) == 0
		}
	}
	return false
}

// namedBy returns a function that reports whether the server named a text in a session:
// the text is a string in a message of the server, fits a URI template in one, or names
// a variable of one.
func namedBy(sessions []*session.Session) func(string) bool {
	texts := map[string]bool{}
	var templates []string
	var collect func(v gjson.Result)
	collect = func(v gjson.Result) {
		switch {
		case v.Type == gjson.String:
			texts[v.String()] = true
			if strings.Contains(v.String(), "{") {
				templates = append(templates, v.String())
			}
		case v.IsObject() || v.IsArray():
			v.ForEach(func(_, member gjson.Result) bool { collect(member); return true })
		}
	}
	for _, s := range sessions {
		for e := range s.Walk(0) {
			if e.From == wire.Server {
				collect(e.Message.Value())
			}
		}
	}
	return func(text string) bool {
		return texts[text] || slices.ContainsFunc(templates, func(template string) bool {
			prefix, rest, _ := strings.Cut(template, "{")
			return prefix != "" && strings.HasPrefix(text, prefix) || strings.Contains(rest, text)
		})
	}
}
