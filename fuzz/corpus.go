package fuzz

import (
	"fmt"
	"strings"

	"github.com/mcpcheck/mcpcheck/fixtures"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A baseFrame is a frame that a step of a plan starts from.
type baseFrame struct {
	// name is unique in the corpus: the golden exchange and the index in it,
	// the method and the index of what the target offers, or the name in the
	// table of malformed frames.
	name      string
	raw       string // valid JSON, unless malformed
	malformed bool   // from the table of malformed frames: it is not edited

	tree        *node
	pointers    []string // of all values below the root
	objects     []string // pointers of all objects, the root included
	method      string   // the method, or the kind of a response
	isRequest   bool
	takesCursor bool
}

// A corpus holds the base frames of one revision for one target.
type corpus struct {
	rev       spec.Revision
	overHTTP  bool // each frame is sent by a POST of its own
	frames    []baseFrame
	malformed []baseFrame
	opening   []wire.Frame      // the frames of the client that open a session, in order
	results   map[string]string // what the client answers to a request of the server, by method
	byName    map[string]*baseFrame
}

// newCorpus returns the corpus of a revision: the client's frames of the golden
// exchanges, requests for what the target offers, and the malformed frames.
func newCorpus(rev spec.Revision, offer offering) *corpus {
	c := &corpus{rev: rev, results: map[string]string{}, byName: map[string]*baseFrame{}}
	seen := map[string]bool{}
	for _, e := range fixtures.Golden(rev) {
		c.addExchange(e, seen, offer.policy)
	}
	for _, f := range offer.frames {
		c.frames = append(c.frames, newBaseFrame(f.name, f.raw))
	}
	for _, b := range fixtures.Malformed() {
		if b.In.Has(rev) {
			c.malformed = append(c.malformed, baseFrame{
				name: "malformed/" + b.Name, raw: string(b.Bytes), malformed: true,
			})
		}
	}
	for _, frames := range [][]baseFrame{c.frames, c.malformed} {
		for _, f := range frames {
			c.byName[f.name] = &f
		}
	}
	return c
}

// addExchange adds the client's frames of a golden exchange behind its opening,
// and what the client answers in it. seen are the texts of the frames so far.
func (c *corpus) addExchange(e fixtures.Exchange, seen map[string]bool, policy toolPolicy) {
	if e.Name == openingExchange(c.rev) {
		c.opening = clientFrames(e.Frames)
	}
	requests := map[string]string{} // of the server: id to method
	for i, f := range e.Frames {
		m := f.Message()
		if f.From == wire.Server {
			requests[m.ID().Key()] = m.Method()
			continue
		}
		if method := requests[m.ID().Key()]; m.Kind == wire.Result && c.results[method] == "" {
			c.results[method] = string(f.Raw)
		}
		if i < e.Opening || seen[withoutID(m)] || !isSuitable(m, c.rev, policy) {
			continue
		}
		seen[withoutID(m)] = true
		c.frames = append(c.frames, newBaseFrame(fmt.Sprintf("%s#%d", e.Name, i), string(f.Raw)))
	}
}

// openingExchange returns the name of the golden exchange that opens sessions.
// In it the client declares all capabilities, so that the server may send every
// request that it has.
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
	isRequest := m.Kind == wire.Request
	return baseFrame{
		name: name, raw: raw, tree: tree, pointers: tree.pointers(), objects: tree.objects(), method: method,
		isRequest: isRequest, takesCursor: isRequest && strings.HasSuffix(method, "/list"),
	}
}

// withoutID returns the text of a message with the type of its id in place of
// the id, so that a request that occurs in several exchanges is one base frame.
func withoutID(m wire.Message) string {
	if !m.ID().IsPresent() {
		return string(m.Raw)
	}
	return strings.Replace(string(m.Raw), m.ID().Raw, wire.TypeName(m.Value().Get("id")), 1)
}

// isSuitable reports whether a golden frame may be sent to the target. A call is
// not suitable if it names a tool of the target that must not be called so, nor
// is an initialize that requests another revision.
func isSuitable(m wire.Message, rev spec.Revision, policy toolPolicy) bool {
	switch m.Method() {
	case "tools/call":
		return policy.allows(m.Raw)
	case "initialize":
		return m.Params().Get("protocolVersion").String() == string(rev)
	}
	return true
}
