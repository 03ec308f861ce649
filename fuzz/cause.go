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

// The cause of a finding is named by the anomalies of the lines of its smallest
// script, not by the mutations that made them, since many mutations meet the same
// bug. If the lines have no anomaly, the cause is the places in which they differ
// from the base frames; if they do not differ, it is the base frames.

// linePrefix begins the causes that are anomalies of lines.
const linePrefix = "line: "

// lineCauses returns the causes in the lines.
func lineCauses(lines []wire.Message) []string {
	var out []string
	for _, m := range lines {
		for _, a := range anomalies(m) {
			out = append(out, linePrefix+a)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// A textList collects texts.
type textList []string

func (l *textList) addIf(condition bool, text string) {
	if condition {
		*l = append(*l, text)
	}
}

// anomalies returns all anomalies of a line.
func anomalies(m wire.Message) []string {
	var out textList
	flaw := anomaly(m)
	out.addIf(flaw != "", flaw)
	out.addIf(bytes.HasSuffix(m.Raw, []byte("\r")), "ends in CR LF")
	out.addIf(len(m.Raw) > 16<<10, "is longer than 16 KiB")
	out.addIf(nestsDeeper(m.Raw, 64), "is nested deeper than 64")
	if m.SyntaxError != nil {
		return out
	}
	out.addIf(m.Kind == wire.Batch, "is a batch")
	out.addIf(m.IsResponse(), "is a response without a request")
	hasUnknown := slices.ContainsFunc(m.Elements(), hasUnknownMember)
	out.addIf(hasUnknown, "has a member that its envelope does not define")
	out.addIf(!hasUnknown && bytes.Contains(m.Raw, []byte(`"__proto__":`)), "has a member __proto__")
	raw := strings.ToLower(string(m.Raw))
	out.addIf(strings.Contains(raw, `\ud8`) || strings.Contains(raw, `\udf`), "has an escaped surrogate")
	out.addIf(strings.Contains(raw, `\u0000`), "has an escaped NUL")
	for _, element := range m.Elements() {
		out = append(out, idAnomalies(element)...)
	}
	return out
}

// idAnomalies returns the anomalies of the id of a message.
func idAnomalies(m wire.Message) []string {
	id := m.ID().Raw
	if id == "" {
		return nil
	}
	var out textList
	_, err := strconv.ParseInt(id, 10, 53)
	isNumber := gjson.Parse(id).Type == gjson.Number
	isDecimal := strings.ContainsAny(id, ".eE")
	out.addIf(!m.ID().IsValid(), "has an id that is neither a string nor an integer")
	out.addIf(isNumber && m.ID().IsValid() && err != nil && isDecimal, "has an integral id with point or exponent")
	out.addIf(isNumber && err != nil && !isDecimal, "has an id beyond 2^53")
	out.addIf(strings.Contains(id, `\`), "has an id with escapes")
	out.addIf(len(id) > 128, "has a long id")
	out.addIf(id == `""` || id == "0" || id == "-0", "has an id that is falsy")
	return out
}

// anomaly returns the flaw in the bytes or the envelope of a line, or "".
func anomaly(m wire.Message) string {
	switch {
	case len(bytes.TrimSpace(m.Raw)) == 0:
		return "is blank"
	case bytes.HasPrefix(m.Raw, []byte("\ufeff")):
		return "starts with a byte order mark"
	case m.SyntaxError != nil:
		what, _, _ := strings.Cut(m.SyntaxError.Error(), " at byte")
		return "is " + what
	case len(m.DuplicateKeys) > 0:
		return "has a duplicate member"
	case m.EnvelopeError != nil && m.EnvelopeError.Member == "jsonrpc":
		return "has no jsonrpc 2.0"
	case m.EnvelopeError != nil && m.EnvelopeError.Member == "params":
		return "has params that are no object"
	case m.EnvelopeError != nil:
		return m.EnvelopeError.Problem
	}
	return ""
}

// hasUnknownMember reports whether a request or notification has a member that
// JSON-RPC does not define. It is valid all the same.
func hasUnknownMember(m wire.Message) bool {
	if m.Kind != wire.Request && m.Kind != wire.Notification {
		return false
	}
	unknown := false
	m.Value().ForEach(func(k, _ gjson.Result) bool {
		unknown = !slices.Contains([]string{"jsonrpc", "id", "method", "params"}, k.String())
		return !unknown
	})
	return unknown
}

// nestsDeeper reports whether brackets nest deeper than n. It counts brackets in
// strings too, since a line that is not JSON has no strings.
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

// editedPlaces returns the places in which the steps of a plan differ from their
// base frames, and the ways of sending that the plan changes.
func (c *corpus) editedPlaces(p Plan, base int) []string {
	plain := p
	plain.Steps = slices.Clone(p.Steps)
	for i := range plain.Steps {
		plain.Steps[i].Edits, plain.Steps[i].ByteEdits = nil, nil
	}
	edited, unedited := c.script(p, base).messages(), c.script(plain, base).messages()
	var out []string
	for i := range min(len(edited), len(unedited)) {
		was, is := unedited[i], edited[i]
		if !bytes.Equal(was.Raw, is.Raw) && was.SyntaxError == nil && is.SyntaxError == nil {
			out = appendDifferences(out, was.Value(), is.Value(), "")
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

// appendDifferences appends the pointers of the values that differ. A new member
// has a star in place of its name, since a mutation may give it any name.
func appendDifferences(out []string, was, is gjson.Result, at string) []string {
	if !was.IsObject() || !is.IsObject() {
		if was.Raw != is.Raw {
			out = append(out, at)
		}
		return out
	}
	was.ForEach(func(k, v gjson.Result) bool {
		place := at + "/" + k.String()
		if now := wire.Member(is, k.String()); now.Exists() {
			out = appendDifferences(out, v, now, place)
		} else {
			out = append(out, place)
		}
		return true
	})
	is.ForEach(func(k, v gjson.Result) bool {
		switch place := newPlace(at, k.String()); {
		case wire.Member(was, k.String()).Exists():
		case v.IsObject() && v.Get("@keys.#").Int() > 0 && !strings.HasSuffix(place, "*"):
			out = appendDifferences(out, gjson.Parse("{}"), v, place)
		default:
			out = append(out, place)
		}
		return true
	})
	return out
}

// newPlace returns the place of a new member. Members of the protocol keep their
// name.
func newPlace(at, name string) string {
	known := []string{"params", "cursor", "_meta", "progressToken", "arguments", "id", "result", "error"}
	if slices.Contains(known, name) {
		return at + "/" + name
	}
	return at + "/*"
}

// frameCauses names the base frames of a plan.
func (p Plan) frameCauses() []string {
	var out []string
	for _, s := range p.Steps {
		name, _, _ := strings.Cut(s.Frame, "#")
		out = append(out, fmt.Sprintf("the frame %s", name))
	}
	return out
}

// allCauses returns everything that may be the cause of the symptom of a plan.
func (c *corpus) allCauses(p Plan, s script) []string {
	return slices.Concat(lineCauses(s.messages()), c.editedPlaces(p, idsPerPlan), p.frameCauses())
}

// mainCauses returns the cause of the symptom of a smallest plan.
func (c *corpus) mainCauses(p Plan, s script) []string {
	out := lineCauses(s.messages())
	if len(out) == 0 {
		out = c.editedPlaces(p, idsPerPlan)
	}
	if len(out) == 0 {
		out = p.frameCauses()
	}
	return out
}

// areLineCauses reports whether the lines alone show all of the causes.
func areLineCauses(causes []string) bool {
	return !slices.ContainsFunc(causes, func(c string) bool { return !strings.HasPrefix(c, linePrefix) })
}

// intersection returns the causes in both lists.
func intersection(a, b []string) []string {
	var out []string
	for _, c := range a {
		if slices.Contains(b, c) {
			out = append(out, c)
		}
	}
	return out
}
