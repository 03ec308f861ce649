package schema

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// instance returns a valid instance of the definition, as JSON. It panics if the
// revision has no definition of that name.
func (s *Set) instance(src Source, def string) []byte {
	r := s.defs[def]
	if r == nil {
		panic(fmt.Sprintf("schema: revision %s has no definition %q", s.rev, def))
	}
	return (&instanceMaker{src}).make(nil, r, "", 0)
}

// An instanceMaker makes instances of definitions.
type instanceMaker struct{ src Source }

// fullDepth is the depth from which on only required members are made.
const fullDepth = 6

func (m *instanceMaker) make(b []byte, r *node, member string, depth int) []byte {
	r = r.target()
	switch {
	case len(r.anyOf) > 0:
		return m.make(b, r.anyOf[m.src.IntN(len(r.anyOf))], member, depth)
	case len(r.enum) > 0:
		return append(b, r.enum[m.src.IntN(len(r.enum))].Raw...)
	case len(r.types) == 0:
		return m.anything(b)
	}
	switch kind := r.types[m.src.IntN(len(r.types))]; kind {
	case "string":
		return gjson.AppendJSONString(b, m.text(r.format, member))
	case "number", "integer":
		return m.number(b, r)
	case "boolean":
		return strconv.AppendBool(b, m.src.IntN(2) == 1)
	case "null":
		return append(b, "null"...)
	case "array":
		return m.array(b, r, member, depth)
	case "object":
		return m.object(b, r, depth)
	default:
		panic("schema: unknown type " + kind)
	}
}

func (m *instanceMaker) array(b []byte, r *node, member string, depth int) []byte {
	n := 0
	if depth < fullDepth {
		n = m.src.IntN(3)
	}
	if r.maxItems >= 0 {
		n = min(n, r.maxItems)
	}
	b = append(b, '[')
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		if r.items == nil {
			b = m.anything(b)
		} else {
			b = m.make(b, r.items, member, depth+1)
		}
	}
	return append(b, ']')
}

func (m *instanceMaker) object(b []byte, r *node, depth int) []byte {
	b = append(b, '{')
	first := true
	put := func(name string, sub *node) {
		if !first {
			b = append(b, ',')
		}
		first = false
		b = append(gjson.AppendJSONString(b, name), ':')
		switch {
		case sub == nil:
			b = m.anything(b)
		case name == "resultType" && r.name == "InputRequiredResult":
			b = append(b, `"input_required"`...)
		case name == "resultType":
			b = append(b, `"complete"`...) // any other belongs to an extension
		default:
			b = m.make(b, sub, name, depth+1)
		}
	}
	for _, p := range r.properties {
		if slices.Contains(r.required, p.name) || depth < fullDepth && m.src.IntN(3) == 1 {
			put(p.name, p.node)
		}
	}
	if depth >= fullDepth {
		return append(b, '}')
	}
	if r.values != nil {
		for _, name := range []string{"a", "example/b"}[:m.src.IntN(3)] {
			put(name, r.values)
		}
	} else if m.src.IntN(8) == 1 {
		put("example.com/extra", nil) // every object is open
	}
	return append(b, '}')
}

// anything makes a small JSON value of any type.
func (m *instanceMaker) anything(b []byte) []byte {
	plain := []string{`"text"`, `0`, `true`, `null`, `1.5`, `{}`, `[]`, `{"k":"v"}`, `["v",1]`, `12345678901234567890`}
	return append(b, plain[m.src.IntN(len(plain))]...)
}

// number makes an integer in the bounds, and a fraction only between 0 and 1:
// pages of a revision require of several numbers that they are integers, which
// the schema does not state (progress tokens: basic/utilities/progress).
func (m *instanceMaker) number(b []byte, r *node) []byte {
	if r.minimum != "" && r.maximum != "" {
		within := []string{r.minimum, r.maximum}
		if r.minimum == "0" && r.maximum == "1" && r.types[0] == "number" {
			within = append(within, "0.5", "0.25")
		}
		return append(b, within[m.src.IntN(len(within))]...)
	}
	whole := []string{"1", "0", "7", "2147483648", "9007199254740991", "-1"}
	if r.minimum != "" {
		whole = slices.DeleteFunc(whole, func(n string) bool { return compare(n, r.minimum) < 0 })
	}
	if r.maximum != "" {
		whole = slices.DeleteFunc(whole, func(n string) bool { return compare(n, r.maximum) > 0 })
	}
	return append(b, whole[m.src.IntN(len(whole))]...)
}

func (m *instanceMaker) text(format, member string) string {
	switch format {
	case "uri":
		return []string{"file:///project/readme.md", "https://example.com/a?b=c#d", "urn:example:1"}[m.src.IntN(3)]
	case "uri-template":
		return []string{"file:///{path}", "https://example.com/{id}{?q,lang}"}[m.src.IntN(2)]
	case "byte":
		return []string{"aGk=", "", "AAECAwQ="}[m.src.IntN(3)]
	}
	switch {
	case strings.HasSuffix(member, "ersion") || strings.HasSuffix(member, "ersions"):
		return []string{"2025-06-18", "1.0.0"}[m.src.IntN(2)]
	case member == "mimeType":
		return []string{"text/plain", "image/png", "application/json"}[m.src.IntN(3)]
	case strings.HasSuffix(member, "At") || member == "lastModified":
		return "2025-11-25T10:30:00Z"
	}
	words := []string{"name", "a", "two words", "ünï", "😀", "line\nbreak", "\"quoted\"", "", "\u0000",
		strings.Repeat("x", 300)}
	return words[m.src.IntN(len(words))]
}

// definitions returns the names of all definitions, sorted.
func (s *Set) definitions() []string { return slices.Sorted(maps.Keys(s.defs)) }
