package fuzz

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// A toolPolicy says which tools of a target may be called, and how. A tool that
// is not declared read-only is not called unless the user allows it. No other
// tool is called with arguments that a mutation made: a server that does not
// validate them would execute them.
type toolPolicy struct {
	tools map[string]permission // the tools that the target declares, by name
}

// A permission says how one tool may be called.
type permission struct {
	anyArguments bool     // the user allows the tool
	arguments    []string // otherwise with these arguments only, as compact JSON
}

// allowsEverything reports whether no call has to be withheld.
func (p toolPolicy) allowsEverything() bool {
	for _, tool := range p.tools {
		if !tool.anyArguments {
			return false
		}
	}
	return true
}

// allows reports whether a line may be sent. It examines every object at any
// depth and every duplicate member, since servers differ in which of them they
// read. A line that is not JSON may still be read by a lenient parser.
func (p toolPolicy) allows(line []byte) bool {
	if p.allowsEverything() {
		return true
	}
	line = bytes.Trim(bytes.TrimPrefix(line, []byte("\ufeff")), "\x00\r\t \n")
	if !gjson.ValidBytes(line) {
		return !p.mentionsForbidden(line)
	}
	return p.allowsValue(gjson.ParseBytes(line))
}

// mentionsForbidden reports whether the bytes contain the quoted name of a tool
// that may not be called at all.
func (p toolPolicy) mentionsForbidden(line []byte) bool {
	for name, tool := range p.tools {
		if !tool.anyArguments && len(tool.arguments) == 0 && bytes.Contains(line, []byte(quote(name))) {
			return true
		}
	}
	return false
}

func (p toolPolicy) allowsValue(v gjson.Result) bool {
	ok := !v.IsObject() || p.allowsObject(v)
	v.ForEach(func(_, child gjson.Result) bool {
		if child.IsObject() || child.IsArray() {
			ok = ok && p.allowsValue(child)
		}
		return ok
	})
	return ok
}

// allowsObject reports whether an object may be sent, which may be a message
// that calls a tool.
func (p toolPolicy) allowsObject(v gjson.Result) bool {
	isCall := slices.ContainsFunc(membersNamed(v, "method"), func(method gjson.Result) bool {
		return strings.EqualFold(strings.Trim(method.String(), " /\x00"), "tools/call")
	})
	if !isCall {
		return true
	}
	for _, params := range membersNamed(v, "params") {
		arguments := membersNamed(params, "arguments")
		for _, name := range membersNamed(params, "name") {
			if !p.allowsCall(name.String(), arguments) {
				return false
			}
		}
	}
	return true
}

// membersNamed returns all members with a name, in any case.
func membersNamed(v gjson.Result, name string) []gjson.Result {
	var out []gjson.Result
	v.ForEach(func(key, member gjson.Result) bool {
		if strings.EqualFold(key.String(), name) {
			out = append(out, member)
		}
		return true
	})
	return out
}

// allowsCall reports whether a tool may be called with the arguments: all
// members of that name, one at most unless any are allowed.
func (p toolPolicy) allowsCall(name string, arguments []gjson.Result) bool {
	tool, isDeclared := p.tools[name]
	if !isDeclared || tool.anyArguments {
		return true
	}
	if len(tool.arguments) == 0 || len(arguments) > 1 {
		return false
	}
	given := "{}"
	if len(arguments) == 1 {
		given = string(parseTree(arguments[0].Raw).appendJSON(nil))
	}
	return slices.Contains(tool.arguments, given)
}
