// Package schema validates JSON: the messages of a protocol revision against
// our schemas of them, and the arguments and results of a tool against the
// schemas the tool declares. It also makes instances of both.
//
// Messages are validated by a small interpreter of our own for the closed
// vocabulary that the generator writes (rule.go, validate.go): it needs no
// compilation worth mentioning, picks a union's branch by its discriminator, and
// is an order of magnitude cheaper than a general engine. Tool schemas use
// every keyword of five dialects; they are the general engine's (tool.go).
package schema

//go:generate go run ./gen ../../fixtures/schema

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Set holds the definitions and methods of one revision. It is never changed
// after For returned it.
type Set struct {
	rev     spec.Revision
	defs    map[string]*rule
	methods map[string]method
}

type method struct {
	From         string
	Request      string
	Results      []string
	Notification string
}

// sets holds one compiled Set per revision, made when first asked for.
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
	s := &Set{rev: rev, defs: map[string]*rule{}}
	if err := json.Unmarshal([]byte(doc.Get("x-methods").Raw), &s.methods); err != nil {
		return nil, fmt.Errorf("x-methods: %w", err)
	}
	defs := doc.Get("$defs")
	defs.ForEach(func(name, _ gjson.Result) bool {
		s.defs[name.String()] = &rule{name: name.String()}
		return true
	})
	var err error
	defs.ForEach(func(name, value gjson.Result) bool {
		if err = s.read(s.defs[name.String()], value); err != nil {
			err = fmt.Errorf("definition %s: %w", name.String(), err)
		}
		return err == nil
	})
	if err != nil {
		return nil, err
	}
	for _, r := range s.defs {
		r.link()
	}
	s.reach()
	return s, nil
}

// Revision returns the revision whose messages the set describes.
func (s *Set) Revision() spec.Revision { return s.rev }

// Definitions returns the names of all definitions, sorted.
func (s *Set) Definitions() []string {
	names := make([]string, 0, len(s.defs))
	for name := range s.defs {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Has tells whether the revision has a definition of that name.
func (s *Set) Has(def string) bool { return s.defs[def] != nil }

// Methods returns the names of all methods of requests and notifications that
// travel as messages of their own, sorted.
func (s *Set) Methods() []string {
	var names []string
	for name, m := range s.methods {
		if m.From != "input" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Request returns the definition of a request by its method, "" if the revision
// has no such request. Up to 2025-06-18 it describes method and params, the
// envelope is JSONRPCRequest's; later it describes the whole message.
func (s *Set) Request(name string) string { return s.message(name).Request }

// Result returns the definition of the plain result of a request, "" if the
// revision has no such request.
func (s *Set) Result(name string) string {
	if m := s.message(name); len(m.Results) > 0 {
		return m.Results[0]
	}
	return ""
}

// Notification returns the definition of a notification by its method, "" if
// the revision has no such notification.
func (s *Set) Notification(name string) string { return s.message(name).Notification }

// Envelope returns the definition of the JSON-RPC envelope of a message of that
// kind, "" for an invalid one and for a batch where the revision has none.
func (s *Set) Envelope(kind wire.Kind) string {
	var names []string
	switch kind {
	case wire.Request:
		names = []string{"JSONRPCRequest"}
	case wire.Notification:
		names = []string{"JSONRPCNotification"}
	case wire.Result:
		names = []string{"JSONRPCResultResponse", "JSONRPCResponse"}
	case wire.Error:
		names = []string{"JSONRPCErrorResponse", "JSONRPCError"}
	case wire.Batch:
		if s.Has("JSONRPCBatchRequest") {
			return "JSONRPCMessage"
		}
	}
	if i := slices.IndexFunc(names, s.Has); i >= 0 {
		return names[i]
	}
	return ""
}

// SentBy tells whether that side may send a request or notification of that
// method in this revision.
func (s *Set) SentBy(side wire.Role, name string) bool {
	from := s.message(name).From
	return from == "both" || from != "" && from == string(side)
}

// Input returns the definitions of what a server asks for in an input_required
// result and of the answer to it (basic/patterns/mrtr, since 2026-07-28), both
// "" if the method is none of these.
func (s *Set) Input(name string) (request, response string) {
	if m := s.methods[name]; m.From == "input" {
		return m.Request, m.Results[0]
	}
	return "", ""
}

// ResultOf returns the definition that a result of the method, given as JSON, is
// to be held against. Where the revision lets another result stand for the
// plain one, the result itself says which it is: an input_required result by
// its resultType (since 2026-07-28), a created task by the member task (in
// 2025-11-25). A result of a type that the revision does not know belongs to an
// extension, of which only the envelope is known: it is a Result.
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
	if slices.Contains(m.Results, "CreateTaskResult") && gjson.GetBytes(result, "task").IsObject() && len(s.Validate(m.Results[0], result)) > 0 {
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
