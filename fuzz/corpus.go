package fuzz

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Card is one frame that plans start from.
type baseFrame struct {
	name string // the golden exchange and the place in it, or what it was made for
	raw  string // valid JSON, unless Bad
	malformed  bool   // of fixtures/malformed: byte edits only

	tree     *node
	pointers []string // of all values beneath the root
	objects  []string // of all objects
	method   string   // what it is of: the method, or the kind of a response
	isRequest  bool
	takesCursor     bool // takes a cursor
}

// A Deck is the frames of one revision, fitted to a target.
type corpus struct {
	rev     spec.Revision
	overHTTP  bool // each frame is sent by a POST of its own
	frames   []baseFrame
	malformed     []baseFrame
	opening []wire.Frame // the frames of the client that open a session, in order
	results map[string]string
	byName  map[string]*baseFrame
}

// NewDeck returns the frames of a revision: those of the golden exchanges, of
// the malformed table, and those made for what the target offers.
func newCorpus(rev spec.Revision, offer offering) *corpus {
	d := &corpus{rev: rev, results: map[string]string{}, byName: map[string]*baseFrame{}}
	seen := map[string]bool{}
	for _, e := range fixtures.Golden(rev) {
		if e.Name == openingExchange(rev) {
			d.opening = clientFrames(e.Frames)
		}
		asked := map[string]string{} // id of a request of the server: its method
		for i, f := range e.Frames {
			m := f.Message()
			switch {
			case f.From == wire.Server:
				asked[m.ID().Key()] = m.Method()
			case m.Kind == wire.Result && d.results[asked[m.ID().Key()]] == "":
				d.results[asked[m.ID().Key()]] = string(f.Raw)
			}
			if f.From != wire.Client || i < e.Opening || seen[withoutID(m)] || isUnsuitable(m, rev, offer) {
				continue
			}
			seen[withoutID(m)] = true
			d.frames = append(d.frames, newBaseFrame(fmt.Sprintf("%s#%d", e.Name, i), string(f.Raw)))
		}
	}
	for _, made := range offer.frames {
		d.frames = append(d.frames, newBaseFrame(made.name, made.raw))
	}
	for _, b := range fixtures.Malformed() {
		if b.In.Has(rev) {
			d.malformed = append(d.malformed, baseFrame{name: "malformed/" + b.Name, raw: string(b.Bytes), malformed: true})
		}
	}
	for _, cards := range [][]baseFrame{d.frames, d.malformed} {
		for _, c := range cards {
			d.byName[c.name] = &c
		}
	}
	return d
}

// openingOf names the golden exchange that opens the sessions: it declares
// what the server may ask the client for.
func openingExchange(rev spec.Revision) string {
	if rev.Facts().Stateless {
		return "server-discover"
	}
	return "initialize.capabilities"
}

func clientFrames(frames []wire.Frame) []wire.Frame {
	var out []wire.Frame
	for _, f := range frames {
		if f.From == wire.Client {
			out = append(out, f)
		}
	}
	return out
}

func newBaseFrame(name, raw string) baseFrame {
	tree := parseTree(raw)
	m := wire.Parse([]byte(raw))
	method := m.Method()
	if method == "" {
		method = m.Kind.String()
	}
	return baseFrame{
		method: method, name: name, raw: raw, tree: tree, pointers: tree.pointers(), objects: tree.objects(),
		isRequest: m.Kind == wire.Request, takesCursor: m.Kind == wire.Request && strings.HasSuffix(m.Method(), "/list"),
	}
}

// withoutID is the text of a message but for the value of its id, so that the
// same request is one card whatever exchange it stands in.
func withoutID(m wire.Message) string {
	if !m.ID().Present() {
		return string(m.Raw)
	}
	return strings.Replace(string(m.Raw), m.ID().Raw, wire.TypeName(m.Value().Get("id")), 1)
}

// rejected tells whether a golden frame must not be sent to the target: a call
// of a tool that happens to bear the name of one that manners keep us from,
// and an initialize that asks for a second revision.
func isUnsuitable(m wire.Message, rev spec.Revision, offer offering) bool {
	switch m.Method() {
	case "tools/call":
		return !offer.policy.allows(m.Raw)
	case "initialize":
		return m.Params().Get("protocolVersion").String() != string(rev)
	}
	return false
}

// Manners are the calls of tools that a target is spared: those of tools that
// it declares and does not call read-only, and arguments of our own making to
// any (a server that does not validate would execute them).
type toolPolicy struct {
	tools map[string]permission // those that the target declares
}

// A Tool is what manners know of a declared tool.
type permission struct {
	anyArguments  bool     // allowed by name: anything may be sent to it
	arguments []string // arguments that may be sent to it, as compact JSON
}

// free tells whether manners hold nothing back.
func (m toolPolicy) allowsEverything() bool {
	for _, t := range m.tools {
		if !t.anyArguments {
			return false
		}
	}
	return true
}

// allow tells whether a line may be sent. It looks at every object at any
// depth and at members that stand twice, since who knows which of them a
// server takes; what is no JSON is executed by nobody.
func (m toolPolicy) allows(line []byte) bool {
	if m.allowsEverything() {
		return true
	}
	line = bytes.Trim(bytes.TrimPrefix(line, []byte("\ufeff")), "\x00\r\t \n")
	if !gjson.ValidBytes(line) {
		// A lenient reader may take the first of several values.
		return !m.mentionsForbidden(line)
	}
	return m.allowsValue(gjson.ParseBytes(line))
}

// mentions tells whether the bytes hold the name of a tool that may not be
// called at all.
func (m toolPolicy) mentionsForbidden(line []byte) bool {
	for name, t := range m.tools {
		if !t.anyArguments && len(t.arguments) == 0 && bytes.Contains(line, []byte(quote(name))) {
			return true
		}
	}
	return false
}

func (m toolPolicy) allowsValue(v gjson.Result) bool {
	ok := !v.IsObject() || m.allowsObject(v)
	v.ForEach(func(_, child gjson.Result) bool {
		if child.IsObject() || child.IsArray() {
			ok = ok && m.allowsValue(child)
		}
		return ok
	})
	return ok
}

// allowCall looks at an object that may be a message that calls a tool.
func (m toolPolicy) allowsObject(v gjson.Result) bool {
	var params []gjson.Result
	calls := false
	v.ForEach(func(k, child gjson.Result) bool {
		switch {
		case strings.EqualFold(k.String(), "method"):
			calls = calls || strings.EqualFold(strings.Trim(child.String(), " /\x00"), "tools/call")
		case strings.EqualFold(k.String(), "params"):
			params = append(params, child)
		}
		return true
	})
	if !calls {
		return true
	}
	for _, p := range params {
		var names, args []gjson.Result
		p.ForEach(func(k, child gjson.Result) bool {
			switch {
			case strings.EqualFold(k.String(), "name"):
				names = append(names, child)
			case strings.EqualFold(k.String(), "arguments"):
				args = append(args, child)
			}
			return true
		})
		for _, n := range names {
			if !m.allowsCall(n.String(), args) {
				return false
			}
		}
	}
	return true
}

func (m toolPolicy) allowsCall(name string, args []gjson.Result) bool {
	t, declared := m.tools[name]
	if !declared || t.anyArguments {
		return true
	}
	if len(t.arguments) == 0 || len(args) > 1 {
		return false
	}
	given := "{}"
	if len(args) == 1 {
		given = string(parseTree(args[0].Raw).appendJSON(nil))
	}
	for _, known := range t.arguments {
		if given == known {
			return true
		}
	}
	return false
}
