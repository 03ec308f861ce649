package toolcalls

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/schema"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// A kind is what an argument of a tool takes.
type kind string

const (
	aPath kind = "path"
	aURI  kind = "uri"
	aName kind = "name"
)

// wordsOf are the words by which a schema speaks of a kind.
var wordsOf = map[kind][]string{
	aPath: {"path", "paths", "file", "files", "filename", "dir", "directory", "directories", "folder"},
	aURI:  {"uri", "uris", "url", "urls"},
	aName: {"id", "ids", "name", "names"},
}

// Bounds of the calls with found values.
const (
	foundRounds       = 3  // a folder, what is in it, and its contents
	maxFoundCalls     = 40 // of a round
	maxFoundPerTool   = 4
	maxFoundOfKind    = 40  // values that are kept
	maxFoundLength    = 300 // bytes of a value
	maxSameExtensions = 2   // calls of a tool with paths that have the same extension
)

// A finding holds values in the results of tools, in the order in which they came.
type finding map[kind][]string

// callFound calls the read-only tools with values that the results of earlier calls have:
// a folder that one tool names is listed by another, and a third reads what is in it. It
// does so in a session of its own, which ends with the calls: a folder may be large, and
// its listing may come late. Values that are web addresses are not used, since a tool may
// then reach a third party.
func (c *Outcome) callFound(t *check.T) {
	tools := slices.DeleteFunc(offer.Tools(t), func(tool gjson.Result) bool {
		return !offer.IsReadOnly(tool) || !t.Config().MayInvent(tool) || offer.RequiresTask(t, tool) ||
			check.HasTrait(t, offer.SlowTool(tool)) || len(argumentsOfKinds(tool)) == 0
	})
	known := finding{}
	for _, failed := range []bool{false, true} { // a failure names more of what is not there
		for _, one := range c.Results {
			if one.Answer.Message.Result().Get("isError").Bool() == failed {
				known.add(one.Answer.Message.Result(), one.Args)
			}
		}
	}
	if len(tools) == 0 || len(known) == 0 || t.Sessions().AreSerial() {
		return
	}
	check.Attempt(t, func(t *check.T) {
		other := t.Sessions().Another()
		defer other.Sessions().CloseLater()
		offer.WalkNow(other, offer.ToolsList)
		called := map[string][]string{} // arguments, by tool
		for range foundRounds {
			calls := foundCalls(other, tools, known, called)
			callAtOnce(other, calls[:min(len(calls), maxFoundCalls)], known)
		}
	})
}

// foundCalls returns the calls with values that no call had so far, and notes them.
func foundCalls(t *check.T, tools []gjson.Result, known finding, called map[string][]string) (calls []Call) {
	for _, tool := range tools {
		name := tool.Get("name").String()
		for _, args := range foundArguments(t, tool, known) {
			if len(called[name]) < maxFoundPerTool && !slices.Contains(called[name], args) &&
				!hasMany(called[name], extensionOf(args)) {
				called[name] = append(called[name], args)
				calls = append(calls, Call{Tool: tool, Args: args})
			}
		}
	}
	return calls
}

// extensionOf returns the extension of the first path in arguments.
func extensionOf(args string) (extension string) {
	gjson.Parse(args).ForEach(func(_, v gjson.Result) bool {
		extension = cmp.Or(extension, path.Ext(cmp.Or(v.Get("0").String(), v.String())))
		return true
	})
	return extension
}

// hasMany reports whether enough calls had a path with an extension.
func hasMany(called []string, extension string) bool {
	n := 0
	for _, args := range called {
		if extensionOf(args) == extension {
			n++
		}
	}
	return n >= maxSameExtensions
}

// callAtOnce sends calls and adds what the results name that come soon. The others are
// cancelled: no rule forbids long runs.
func callAtOnce(t *check.T, calls []Call, known finding) {
	var running []*check.Call
	for _, one := range calls {
		r, err := t.TryStart("tools/call", one.Params())
		if err != nil {
			break
		}
		running = append(running, r)
	}
	until := time.Now().Add(t.Timeout() / 4)
	for i, r := range running {
		e, err := t.TryAnswer(r, time.Until(until)).Get()
		if err != nil {
			t.Cancel(r)
			continue
		}
		known.add(e.Message.Result(), calls[i].Args)
	}
}

// argumentsOfKinds returns the kinds of the arguments of a tool that take a text or a list
// of texts: of those that are required, else of all.
func argumentsOfKinds(tool gjson.Result) map[string]kind {
	all, required := map[string]kind{}, map[string]kind{}
	input := tool.Get("inputSchema")
	input.Get("properties").ForEach(func(name, property gjson.Result) bool {
		isText := property.Get("type").String() == "string" || property.Get("items.type").String() == "string"
		if of := kindOf(name.String(), property.Get("description").String()); of != "" && isText {
			all[name.String()] = of
			if strings.Contains(input.Get("required").Raw, string(wire.Encode(name.String()))) {
				required[name.String()] = of
			}
		}
		return true
	})
	if len(required) > 0 {
		return required
	}
	return all
}

// kindOf returns the kind that the name of an argument speaks of, else its description.
func kindOf(name, description string) kind {
	for _, text := range []string{name, description} {
		spaced := regexp.MustCompile(`([a-z])([A-Z])`).ReplaceAllString(text, "$1 $2")
		words := strings.FieldsFunc(strings.ToLower(spaced), func(r rune) bool { return r < 'a' || r > 'z' })
		for _, of := range []kind{aPath, aURI, aName} {
			if slices.ContainsFunc(words, func(w string) bool { return slices.Contains(wordsOf[of], w) }) {
				return of
			}
		}
	}
	return ""
}

// foundArguments returns arguments for a tool that fit its schema, each with another found
// value.
func foundArguments(t *check.T, tool gjson.Result, known finding) (out []string) {
	base := offer.MakeArguments(t, tool, 1)
	compiled, err := schema.CompileTool([]byte(tool.Get("inputSchema").Raw))
	if len(base) == 0 || err != nil {
		return nil
	}
	kinds := argumentsOfKinds(tool)
	for i := range maxFoundOfKind {
		args, _ := gjson.Parse(base[0]).Value().(map[string]any)
		changed := false
		for name, of := range kinds {
			if values := known[of]; i < len(values) {
				changed = true
				property := wire.Member(tool.Get("inputSchema.properties"), name)
				if args[name] = any(values[i]); property.Get("items").Exists() {
					args[name] = []any{values[i]}
				}
			}
		}
		raw := wire.Encode(args)
		if broken, err := compiled.Validate(raw); changed && err == nil && len(broken) == 0 {
			out = append(out, string(raw))
		}
	}
	return out
}

var (
	pathInText = regexp.MustCompile(`(?:^|[\s"'(\[=:])(/[^\s"'<>|*?,;:()\[\]]+|[A-Za-z]:\\[^\s"'<>|*?,;()]+)`)
	uriInText  = regexp.MustCompile(`[a-zA-Z][a-zA-Z0-9+.-]*://[^\s"'<>)\]]+`)
	nameInLine = regexp.MustCompile(`^(?:\[[A-Z]+\]\s+|[-*•]\s+)?([^\s/\\]+)(?:\s+[\d.]+ ?[kKMG]?B)?$`)
	webAddress = regexp.MustCompile(`^(?i:https?|wss?|ftp)://`)
)

// add adds the values in the result of a call. A name in the result for a folder is also
// the path of what is in the folder.
func (f finding) add(result gjson.Result, args string) {
	var folders, sent []string
	gjson.Parse(args).ForEach(func(_, v gjson.Result) bool {
		for _, text := range v.Array() { // of a text: itself
			if sent = append(sent, text.String()); isPath(text.String()) {
				folders = append(folders, text.String())
			}
		}
		return true
	})
	var texts []string
	for _, block := range result.Get("content").Array() {
		texts = append(texts, block.Get("text").String(), block.Get("uri").String())
	}
	f.addMembers(result.Get("structuredContent"), "", sent)
	for _, text := range texts {
		if v := gjson.Parse(text); gjson.Valid(text) && (v.IsObject() || v.IsArray()) {
			f.addMembers(v, "", sent)
			continue
		}
		f.addText(text, folders, sent, result.Get("isError").Bool())
	}
}

// isPath reports whether a text is an absolute path.
func isPath(text string) bool {
	hit := pathInText.FindStringSubmatch(text)
	return hit != nil && hit[1] == text
}

// addText adds the paths and URIs in a text, and the names that have a line of their own.
func (f finding) addText(text string, folders, sent []string, isError bool) {
	for _, uri := range uriInText.FindAllString(text, maxFoundOfKind) {
		f.addValue(aURI, uri, sent)
	}
	for _, hit := range pathInText.FindAllStringSubmatch(text, maxFoundOfKind) {
		f.addValue(aPath, strings.TrimRight(hit[1], "."), sent)
	}
	for line := range strings.Lines(text) {
		name := nameInLine.FindStringSubmatch(strings.TrimSpace(line))
		if name == nil || isError {
			continue
		}
		f.addValue(aName, name[1], sent)
		for _, folder := range folders {
			separator := "/"
			if !strings.HasPrefix(folder, "/") {
				separator = `\`
			}
			f.addValue(aPath, strings.TrimRight(folder, separator)+separator+name[1], sent)
		}
	}
}

// addMembers adds the texts in a JSON value: paths, URIs, and those that a member for a
// name or an id has.
func (f finding) addMembers(v gjson.Result, member string, sent []string) {
	switch {
	case v.IsObject():
		v.ForEach(func(key, inner gjson.Result) bool { f.addMembers(inner, key.String(), sent); return true })
	case v.IsArray():
		v.ForEach(func(_, inner gjson.Result) bool { f.addMembers(inner, member, sent); return true })
	case v.Type != gjson.String:
	case uriInText.FindString(v.Str) == v.Str && v.Str != "":
		f.addValue(aURI, v.Str, sent)
	case isPath(v.Str):
		f.addValue(aPath, v.Str, sent)
	case kindOf(member, "") == aName:
		f.addValue(aName, v.Str, sent)
	default:
		f.addText(v.Str, nil, sent, true)
	}
}

// addValue adds a value that the call did not send itself.
func (f finding) addValue(of kind, value string, sent []string) {
	isEcho := slices.ContainsFunc(sent, func(s string) bool {
		return s == value || of == aPath && s != "" && strings.HasSuffix(value, "/"+s)
	})
	if value == "" || isEcho || len(value) > maxFoundLength || len(f[of]) == maxFoundOfKind ||
		of == aURI && webAddress.MatchString(value) || slices.Contains(f[of], value) {
		return
	}
	f[of] = append(f[of], value)
}
