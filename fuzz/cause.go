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
const lineCause = "line: "

// features names what is peculiar about the lines.
func lineCauses(lines []wire.Message) []string {
	var out []string
	for _, m := range lines {
		for _, f := range peculiarities(m) {
			out = append(out, lineCause+f)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// peculiar names all that is peculiar about one line.
func peculiarities(m wire.Message) []string {
	var out []string
	mark := func(is bool, what string) {
		if is {
			out = append(out, what)
		}
	}
	if odd := anomaly(m); odd != "" {
		out = append(out, odd)
	}
	mark(bytes.HasSuffix(m.Raw, []byte("\r")), "ends in CR LF")
	mark(len(m.Raw) > 16<<10, "is longer than 16 KiB")
	mark(nestsDeeper(m.Raw, 64), "is nested deeper than 64")
	if m.Fault != nil {
		return out
	}
	mark(m.Kind == wire.Batch, "is a batch")
	mark(m.IsResponse(), "is a response that nobody asked for")
	undefined := slices.ContainsFunc(m.Elements(), hasUnknownMember)
	mark(undefined, "has a member that its envelope does not define")
	mark(!undefined && bytes.Contains(m.Raw, []byte(`"__proto__":`)), "has a member __proto__")
	raw := strings.ToLower(string(m.Raw))
	mark(strings.Contains(raw, `\ud8`) || strings.Contains(raw, `\udf`), "has an escaped surrogate")
	mark(strings.Contains(raw, `\u0000`), "has an escaped NUL")
	for _, part := range m.Elements() {
		out = append(out, idPeculiarities(part)...)
	}
	return out
}

// peculiarID names what is peculiar about the id of a message.
func idPeculiarities(m wire.Message) []string {
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
func anomaly(m wire.Message) string {
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
func hasUnknownMember(m wire.Message) bool {
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
func nestsDeeper(raw []byte, n int) bool {
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
func (d *corpus) editedPlaces(p Plan, base int) []string {
	edited, plain := d.script(p, base), p
	plain.Steps = slices.Clone(p.Steps)
	for i := range plain.Steps {
		plain.Steps[i].Edits, plain.Steps[i].ByteEdits = nil, nil
	}
	lines, whole := edited.messages(), d.script(plain, base).messages()
	var out []string
	for i := range min(len(lines), len(whole)) {
		if !bytes.Equal(lines[i].Raw, whole[i].Raw) && lines[i].Fault == nil && whole[i].Fault == nil {
			out = differences(out, whole[i].Value(), lines[i].Value(), "")
		}
	}
	if len(p.SplitAt) > 0 {
		out = append(out, "bytes in several writes")
	}
	for _, e := range p.AnswerEdits {
		out = append(out, "our answer"+e.At)
	}
	if p.NoOpening {
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
func (p Plan) frameCauses() []string {
	var out []string
	for _, s := range p.Steps {
		name, _, _ := strings.Cut(s.Frame, "#")
		out = append(out, fmt.Sprintf("the frame %s", name))
	}
	return out
}

// everyCause names all that may be the cause of what a plan met.
func (d *corpus) allCauses(p Plan, s script) []string {
	return slices.Concat(lineCauses(s.messages()), d.editedPlaces(p, idsPerPlan), p.frameCauses())
}

// mainCauses names the cause of what a smallest plan meets.
func (d *corpus) mainCauses(p Plan, s script) []string {
	out := lineCauses(s.messages())
	if len(out) == 0 {
		out = d.editedPlaces(p, idsPerPlan)
	}
	if len(out) == 0 {
		out = p.frameCauses()
	}
	return out
}

// peculiarOnly tells whether causes can be told from lines alone.
func areLineCauses(causes []string) bool {
	return !slices.ContainsFunc(causes, func(c string) bool { return !strings.HasPrefix(c, lineCause) })
}

// common returns the causes in both lists.
func intersection(a, b []string) []string {
	var out []string
	for _, c := range a {
		if slices.Contains(b, c) {
			out = append(out, c)
		}
	}
	return out
}
