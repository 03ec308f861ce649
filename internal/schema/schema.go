// Package schema validates JSON: the messages of a protocol revision against the
// schemas in fixtures/schema, and the arguments and results of a tool against
// the schemas that the tool declares. It also makes valid and invalid arguments.
//
// A Set validates messages. It interprets the few keywords that the generator of
// the schemas writes (node.go, validate.go): it needs little compilation, selects
// the branch of a union by its discriminator, and is ten times faster than a
// general engine. A ToolSchema validates with such an engine (tool.go), since
// tools use every keyword of five dialects. A Generator makes arguments for the
// inputSchema of a tool: valid ones (make_*.go) and InvalidArguments, which break one
// constraint each (invalid*.go).
package schema

//go:generate go run ./gen ../../fixtures/schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/memo"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Set holds the definitions and methods of one revision. It is safe for concurrent use.
type Set struct {
	rev     spec.Revision
	defs    map[string]*node
	methods map[string]method

	validated memo.Cache[[]Violation] // by definition and instance
}

// A method is the definitions of a request or notification, by name.
type method struct {
	From         string
	Request      string
	Results      []string
	Notification string
}

// sets compiles the Set of each revision at its first use.
var sets = func() map[spec.Revision]func() *Set {
	m := map[spec.Revision]func() *Set{}
	for _, rev := range spec.Revisions() {
		m[rev] = sync.OnceValue(func() *Set { return mustCompile(rev, fixtures.Schema(rev)) })
	}
	return m
}()

// For returns the schemas of the messages of a published revision; it panics
// for any other. It is safe for concurrent use.
func For(rev spec.Revision) *Set {
	set, ok := sets[rev]
	if !ok {
		panic(fmt.Sprintf("schema: unknown revision %q", string(rev)))
	}
	return set()
}

func mustCompile(rev spec.Revision, document []byte) *Set {
	s, err := compile(rev, document)
	if err != nil {
		panic(fmt.Sprintf("schema: compile the schema of %s: %v", rev, err))
	}
	return s
}

func compile(rev spec.Revision, document []byte) (*Set, error) {
	doc := gjson.ParseBytes(document)
	s := &Set{rev: rev, defs: map[string]*node{}, validated: memo.Cache[[]Violation]{MaxResults: 512}}
	if err := json.Unmarshal([]byte(doc.Get("x-methods").Raw), &s.methods); err != nil {
		return nil, fmt.Errorf("x-methods: %w", err)
	}
	defs := doc.Get("$defs")
	defs.ForEach(func(name, _ gjson.Result) bool {
		s.defs[name.String()] = &node{name: name.String()}
		return true
	})
	var err error
	defs.ForEach(func(name, value gjson.Result) bool {
		if err = s.readNode(s.defs[name.String()], value); err != nil {
			err = fmt.Errorf("definition %s: %w", name.String(), err)
		}
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	for _, r := range s.defs {
		r.linkUnions()
	}
	s.findMemberNames()
	return s, nil
}

// Has reports whether the revision has a definition of that name.
func (s *Set) Has(def string) bool { return s.defs[def] != nil }

// Request returns the definition of a request by its method, "" if the revision
// has no such request. Up to 2025-06-18 it describes method and params, and
// JSONRPCRequest describes the envelope; later it describes the whole message.
func (s *Set) Request(name string) string { return s.message(name).Request }

// Notification returns the definition of a notification by its method, "" if
// the revision has no such notification.
func (s *Set) Notification(name string) string { return s.message(name).Notification }

// CanSend reports whether that side may send a request or notification of that
// method in this revision.
func (s *Set) CanSend(side wire.Role, name string) bool {
	from := s.message(name).From
	return from == "both" || from != "" && from == string(side)
}

// InputDefinitions returns the definitions of an input request in an input_required result
// and of the response to it (basic/patterns/mrtr, since 2026-07-28), both "" if
// the method is not that of an input request.
func (s *Set) InputDefinitions(name string) (request, response string) {
	if m := s.methods[name]; m.From == "input" {
		return m.Request, m.Results[0]
	}
	return "", ""
}

// ResultOf returns the definition that a result of the method, given as JSON, must
// fit. Where a revision allows another result than the plain one, the result
// shows which it is: an input_required result by its resultType (since
// 2026-07-28), a created task by the member task (in 2025-11-25). A result of an
// unknown type belongs to an extension, of which only the envelope is known: it
// is a Result.
func (s *Set) ResultOf(name string, result []byte) string {
	m := s.message(name)
	if len(m.Results) == 0 {
		return ""
	}
	kind := gjson.GetBytes(result, "resultType")
	switch {
	case !s.Has("ResultType") || kind.Type != gjson.String || kind.Str == "complete":
	case kind.Str != "input_required":
		return "Result"
	case slices.Contains(m.Results, "InputRequiredResult"):
		return "InputRequiredResult"
	}
	if slices.Contains(m.Results, "CreateTaskResult") && gjson.GetBytes(result, "task").IsObject() &&
		len(s.Validate(m.Results[0], result)) > 0 {
		return "CreateTaskResult"
	}
	return m.Results[0]
}

func (s *Set) message(name string) method {
	m := s.methods[name]
	if m.From == "input" {
		return method{}
	}
	return m
}
