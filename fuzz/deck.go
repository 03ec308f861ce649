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
type Card struct {
	Name string // the golden exchange and the place in it, or what it was made for
	Raw  string // valid JSON, unless Bad
	Bad  bool   // of fixtures/malformed: byte edits only

	tree     *node
	pointers []string // of all values beneath the root
	objects  []string // of all objects
	method   string   // what it is of: the method, or the kind of a response
	request  bool
	list     bool // takes a cursor
}

// A Deck is the frames of one revision, fitted to a target.
type Deck struct {
	Rev     spec.Revision
	Posted  bool // each frame is sent by a POST of its own
	Cards   []Card
	Bad     []Card
	Opening []wire.Frame // the frames of the client that open a session, in order
	Answers map[string]string
	byName  map[string]*Card
}

// NewDeck returns the frames of a revision: those of the golden exchanges, of
// the malformed table, and those made for what the target offers.
func NewDeck(rev spec.Revision, offer Offer) *Deck {
	d := &Deck{Rev: rev, Answers: map[string]string{}, byName: map[string]*Card{}}
	seen := map[string]bool{}
	for _, e := range fixtures.Golden(rev) {
		if e.Name == openingOf(rev) {
			d.Opening = clientFrames(e.Frames)
		}
		asked := map[string]string{} // id of a request of the server: its method
		for i, f := range e.Frames {
			m := f.Message()
			switch {
			case f.From == wire.Server:
				asked[m.ID().Key()] = m.Method()
			case m.Kind == wire.Result && d.Answers[asked[m.ID().Key()]] == "":
				d.Answers[asked[m.ID().Key()]] = string(f.Raw)
			}
			if f.From != wire.Client || i < e.Opening || seen[withoutID(m)] || rejected(m, rev, offer) {
				continue
			}
			seen[withoutID(m)] = true
			d.Cards = append(d.Cards, newCard(fmt.Sprintf("%s#%d", e.Name, i), string(f.Raw)))
		}
	}
	for _, made := range offer.Frames {
		d.Cards = append(d.Cards, newCard(made.Name, made.Raw))
	}
	for _, b := range fixtures.Malformed() {
		if b.In.Has(rev) {
			d.Bad = append(d.Bad, Card{Name: "malformed/" + b.Name, Raw: string(b.Bytes), Bad: true})
		}
	}
	for _, cards := range [][]Card{d.Cards, d.Bad} {
		for _, c := range cards {
			d.byName[c.Name] = &c
		}
	}
	return d
}

// openingOf names the golden exchange that opens the sessions: it declares
// what the server may ask the client for.
func openingOf(rev spec.Revision) string {
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

func newCard(name, raw string) Card {
	tree := parseTree(raw)
	m := wire.Parse([]byte(raw))
	method := m.Method()
	if method == "" {
		method = m.Kind.String()
	}
	return Card{
		method: method, Name: name, Raw: raw, tree: tree, pointers: tree.pointers(), objects: tree.objects(),
		request: m.Kind == wire.Request, list: m.Kind == wire.Request && strings.HasSuffix(m.Method(), "/list"),
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
func rejected(m wire.Message, rev spec.Revision, offer Offer) bool {
	switch m.Method() {
	case "tools/call":
		return !offer.Manners.allow(m.Raw)
	case "initialize":
		return m.Params().Get("protocolVersion").String() != string(rev)
	}
	return false
}

// Manners are the calls of tools that a target is spared: those of tools that
// it declares and does not call read-only, and arguments of our own making to
// any (a server that does not validate would execute them).
type Manners struct {
	Tools map[string]Tool // those that the target declares
}

// A Tool is what manners know of a declared tool.
type Tool struct {
	Any  bool     // allowed by name: anything may be sent to it
	Args []string // arguments that may be sent to it, as compact JSON
}

// free tells whether manners hold nothing back.
func (m Manners) free() bool {
	for _, t := range m.Tools {
		if !t.Any {
			return false
		}
	}
	return true
}

// allow tells whether a line may be sent. It looks at every object at any
// depth and at members that stand twice, since who knows which of them a
// server takes; what is no JSON is executed by nobody.
func (m Manners) allow(line []byte) bool {
	if m.free() {
		return true
	}
	line = bytes.Trim(bytes.TrimPrefix(line, []byte("\ufeff")), "\x00\r\t \n")
	if !gjson.ValidBytes(line) {
		// A lenient reader may take the first of several values.
		return !m.mentions(line)
	}
	return m.allowValue(gjson.ParseBytes(line))
}

// mentions tells whether the bytes hold the name of a tool that may not be
// called at all.
func (m Manners) mentions(line []byte) bool {
	for name, t := range m.Tools {
		if !t.Any && len(t.Args) == 0 && bytes.Contains(line, []byte(quote(name))) {
			return true
		}
	}
	return false
}

func (m Manners) allowValue(v gjson.Result) bool {
	ok := !v.IsObject() || m.allowCall(v)
	v.ForEach(func(_, child gjson.Result) bool {
		if child.IsObject() || child.IsArray() {
			ok = ok && m.allowValue(child)
		}
		return ok
	})
	return ok
}

// allowCall looks at an object that may be a message that calls a tool.
func (m Manners) allowCall(v gjson.Result) bool {
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
			if !m.allowArgs(n.String(), args) {
				return false
			}
		}
	}
	return true
}

func (m Manners) allowArgs(name string, args []gjson.Result) bool {
	t, declared := m.Tools[name]
	if !declared || t.Any {
		return true
	}
	if len(t.Args) == 0 || len(args) > 1 {
		return false
	}
	given := "{}"
	if len(args) == 1 {
		given = string(parseTree(args[0].Raw).append(nil))
	}
	for _, known := range t.Args {
		if given == known {
			return true
		}
	}
	return false
}
