package fuzz

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A cause is told by what is peculiar about the lines of a smallest script,
// not by how they came to be: the same bug is met by many mutations. What
// lines hold is named first; where they hold nothing peculiar, the places in
// which they differ from the frames of the deck.

// feature marks causes that are peculiarities of lines.
const feature = "line: "

// features names what is peculiar about the lines.
func features(lines []wire.Message) []string {
	var out []string
	for _, m := range lines {
		for _, f := range peculiar(m) {
			out = append(out, feature+f)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// peculiar names all that is peculiar about one line.
func peculiar(m wire.Message) []string {
	var out []string
	mark := func(is bool, what string) {
		if is {
			out = append(out, what)
		}
	}
	if odd := oddity(m); odd != "" {
		out = append(out, odd)
	}
	mark(bytes.HasSuffix(m.Raw, []byte("\r")), "ends in CR LF")
	mark(len(m.Raw) > 16<<10, "is longer than 16 KiB")
	mark(deeper(m.Raw, 64), "is nested deeper than 64")
	if m.Fault != nil {
		return out
	}
	mark(m.Kind == wire.Batch, "is a batch")
	mark(m.IsResponse(), "is a response that nobody asked for")
	undefined := slices.ContainsFunc(m.Elements(), beyondEnvelope)
	mark(undefined, "has a member that its envelope does not define")
	mark(!undefined && bytes.Contains(m.Raw, []byte(`"__proto__":`)), "has a member __proto__")
	raw := strings.ToLower(string(m.Raw))
	mark(strings.Contains(raw, `\ud8`) || strings.Contains(raw, `\udf`), "has an escaped surrogate")
	mark(strings.Contains(raw, `\u0000`), "has an escaped NUL")
	for _, part := range m.Elements() {
		out = append(out, peculiarID(part)...)
	}
	return out
}

// peculiarID names what is peculiar about the id of a message.
func peculiarID(m wire.Message) []string {
	var out []string
	mark := func(is bool, what string) {
		if is {
			out = append(out, what)
		}
	}
	if id := m.ID().Raw; id != "" {
		_, err := strconv.ParseInt(id, 10, 53)
		number := gjson.Parse(id).Type == gjson.Number
		mark(!m.ID().Usable(), "has an id that is no string and no integer")
		mark(number && m.ID().Usable() && err != nil && strings.ContainsAny(id, ".eE"), "has an integral id with point or exponent")
		mark(number && err != nil && !strings.ContainsAny(id, ".eE"), "has an id beyond 2^53")
		mark(strings.Contains(id, `\`), "has an id with escapes")
		mark(len(id) > 128, "has a long id")
		mark(id == `""` || id == "0" || id == "-0", "has an id that is falsy")
	}
	return out
}

// oddity names the flaw of the bytes or the envelope of a line, "" if it has
// none.
func oddity(m wire.Message) string {
	switch {
	case len(bytes.TrimSpace(m.Raw)) == 0:
		return "is blank"
	case bytes.HasPrefix(m.Raw, []byte("\ufeff")):
		return "starts with a byte order mark"
	case m.Fault != nil:
		what, _, _ := strings.Cut(m.Fault.Error(), " at byte")
		return "is " + what
	case len(m.Duplicates) > 0:
		return "has a member that stands twice"
	case m.Misfit != nil && m.Misfit.Member == "jsonrpc":
		return "has no jsonrpc 2.0"
	case m.Misfit != nil && m.Misfit.Member == "params":
		return "has params that are no object"
	case m.Misfit != nil:
		return m.Misfit.What
	}
	return ""
}

// beyondEnvelope tells whether a request or notification has a member that
// JSON-RPC does not give it. It is a valid one all the same.
func beyondEnvelope(m wire.Message) bool {
	if m.Kind != wire.Request && m.Kind != wire.Notification {
		return false
	}
	beyond := false
	m.Value().ForEach(func(k, _ gjson.Result) bool {
		beyond = !slices.Contains([]string{"jsonrpc", "id", "method", "params"}, k.String())
		return !beyond
	})
	return beyond
}

// deeper tells whether brackets nest deeper than n anywhere, strings not
// minded: a line that is no JSON has none.
func deeper(raw []byte, n int) bool {
	level := 0
	for _, c := range raw {
		switch c {
		case '[', '{':
			if level++; level > n {
				return true
			}
		case ']', '}':
			level--
		}
	}
	return false
}

// places names where the steps of a plan differ from the frames of the deck.
func (d *Deck) places(p Plan, base int) []string {
	edited, plain := d.Script(p, base), p
	plain.Steps = slices.Clone(p.Steps)
	for i := range plain.Steps {
		plain.Steps[i].Edits, plain.Steps[i].Bytes = nil, nil
	}
	lines, whole := edited.Lines(), d.Script(plain, base).Lines()
	var out []string
	for i := range min(len(lines), len(whole)) {
		if !bytes.Equal(lines[i].Raw, whole[i].Raw) && lines[i].Fault == nil && whole[i].Fault == nil {
			out = differences(out, whole[i].Value(), lines[i].Value(), "")
		}
	}
	if len(p.Chunks) > 0 {
		out = append(out, "bytes in several writes")
	}
	for _, e := range p.Answer {
		out = append(out, "our answer"+e.At)
	}
	if p.Bare {
		out = append(out, "no opening")
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// differences names the places in which two values differ: members that are
// new by a star in the place of their name, since they may have any.
func differences(out []string, was, is gjson.Result, at string) []string {
	if !was.IsObject() || !is.IsObject() {
		if was.Raw != is.Raw {
			out = append(out, at)
		}
		return out
	}
	was.ForEach(func(k, v gjson.Result) bool {
		place := at + "/" + k.String()
		if now := wire.Member(is, k.String()); now.Exists() {
			out = differences(out, v, now, place)
		} else {
			out = append(out, place)
		}
		return true
	})
	is.ForEach(func(k, v gjson.Result) bool {
		switch place := newPlace(at, k.String()); {
		case wire.Member(was, k.String()).Exists():
		case v.IsObject() && v.Get("@keys.#").Int() > 0 && !strings.HasSuffix(place, "*"):
			out = differences(out, gjson.Parse("{}"), v, place)
		default:
			out = append(out, place)
		}
		return true
	})
	return out
}

// newPlace names the place of a new member: those that the protocol knows by
// their name, others by a star.
func newPlace(at, name string) string {
	for _, known := range []string{"params", "cursor", "_meta", "progressToken", "arguments", "id", "result", "error"} {
		if name == known {
			return at + "/" + name
		}
	}
	return at + "/*"
}

// frames names the frames of a plan.
func (p Plan) frames() []string {
	var out []string
	for _, s := range p.Steps {
		name, _, _ := strings.Cut(s.Card, "#")
		out = append(out, fmt.Sprintf("the frame %s", name))
	}
	return out
}

// everyCause names all that may be the cause of what a plan met.
func (d *Deck) everyCause(p Plan, s Script) []string {
	return slices.Concat(features(s.Lines()), d.places(p, stride), p.frames())
}

// mainCauses names the cause of what a smallest plan meets.
func (d *Deck) mainCauses(p Plan, s Script) []string {
	out := features(s.Lines())
	if len(out) == 0 {
		out = d.places(p, stride)
	}
	if len(out) == 0 {
		out = p.frames()
	}
	return out
}

// peculiarOnly tells whether causes can be told from lines alone.
func peculiarOnly(causes []string) bool {
	return !slices.ContainsFunc(causes, func(c string) bool { return !strings.HasPrefix(c, feature) })
}

// common returns the causes in both lists.
func common(a, b []string) []string {
	var out []string
	for _, c := range a {
		if slices.Contains(b, c) {
			out = append(out, c)
		}
	}
	return out
}
