package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// An ordered is a JSON object that keeps the order of its members.
type ordered []field

type field struct {
	key   string
	value any
}

func (o ordered) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, f := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		key, err := json.Marshal(f.key)
		if err != nil {
			return nil, err
		}
		b.Write(key)
		b.WriteByte(':')
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.key, err)
		}
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// schemaOf returns the schema document of one revision, a definition a line.
func schemaOf(src *source, rev spec.Revision) ([]byte, error) {
	e := emitter{rev: rev, defs: map[string]definition{}}
	var names []string
	for _, d := range src.defs {
		if !d.in.Has(rev) {
			continue
		}
		if _, twice := e.defs[d.name]; twice {
			return nil, fmt.Errorf("%s: two definitions of %s", rev, d.name)
		}
		e.defs[d.name] = d
		if d.named.Has(rev) {
			names = append(names, d.name)
		}
	}
	slices.Sort(names)

	var b bytes.Buffer
	fmt.Fprintf(&b, "{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\n")
	fmt.Fprintf(&b,
		"\"$comment\":\"The messages of MCP %s. Written by go generate ./internal/schema from "+
			"internal/schema/gen/messages.yaml; not to be edited.\",\n", rev)
	b.WriteString("\"x-methods\":{\n")
	var methods []string
	for _, m := range src.methods {
		if !m.in.Has(rev) {
			continue
		}
		if slices.Contains(methods, m.name) {
			return nil, fmt.Errorf("%s: two descriptions of the method %s", rev, m.name)
		}
		o, err := e.method(m)
		if err != nil {
			return nil, fmt.Errorf("%s: method %s: %w", rev, m.name, err)
		}
		if err := writeLine(&b, len(methods) == 0, m.name, o); err != nil {
			return nil, err
		}
		methods = append(methods, m.name)
	}
	b.WriteString("\n},\n\"$defs\":{\n")
	for i, name := range names {
		o, err := e.emit(e.defs[name].is)
		if err != nil {
			return nil, fmt.Errorf("%s: definition %s: %w", rev, name, err)
		}
		if err := writeLine(&b, i == 0, name, o); err != nil {
			return nil, err
		}
	}
	b.WriteString("\n}}\n")
	return b.Bytes(), nil
}

func writeLine(b *bytes.Buffer, first bool, key string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	if !first {
		b.WriteString(",\n")
	}
	fmt.Fprintf(b, "%q:%s", key, text)
	return nil
}

// An emitter converts expressions to the schema of one revision.
type emitter struct {
	rev  spec.Revision
	defs map[string]definition // those of the revision
}

func (e *emitter) method(m method) (ordered, error) {
	o := ordered{{"from", m.from}}
	names := []string{m.message}
	switch r := m.response.(type) {
	case nil:
		o = append(o, field{"notification", m.message})
	case ref:
		names = append(names, string(r))
		o = append(o, field{"request", m.message}, field{"results", names[1:]})
	case union:
		for _, b := range r {
			if b.in.Has(e.rev) {
				names = append(names, string(b.is.(ref)))
			}
		}
		o = append(o, field{"request", m.message}, field{"results", names[1:]})
	}
	for _, name := range names {
		if d, ok := e.defs[name]; !ok || !d.named.Has(e.rev) {
			return nil, fmt.Errorf("%s is not defined", name)
		}
	}
	return o, nil
}

// emit returns the schema of x.
func (e *emitter) emit(x expr) (ordered, error) {
	switch x := x.(type) {
	case ref:
		d, ok := e.defs[string(x)]
		if !ok {
			return nil, fmt.Errorf("%s is not defined", x)
		}
		if !d.named.Has(e.rev) {
			return e.emit(d.is)
		}
		return ordered{{"$ref", "#/$defs/" + string(x)}}, nil
	case literal:
		return ordered{{"const", x.value}}, nil
	case scalar:
		return emitScalar(x), nil
	case array:
		items, err := e.emit(x.of)
		o := ordered{{"type", "array"}, {"items", items}}
		if x.max != "" {
			o = append(o, field{"maxItems", json.Number(x.max)})
		}
		return o, err
	case dictionary:
		values, err := e.emit(x.of)
		return ordered{{"type", "object"}, {"additionalProperties", values}}, err
	case union:
		return e.union(x)
	case object:
		return e.object(x)
	}
	panic(fmt.Sprintf("gen: unknown expression %T", x))
}

func emitScalar(x scalar) ordered {
	if x.kind == "any" {
		return ordered{}
	}
	o := ordered{{"type", x.kind}}
	if x.format != "" {
		o = append(o, field{"format", x.format})
	}
	if x.min != "" {
		o = append(o, field{"minimum", json.Number(x.min)})
	}
	if x.max != "" {
		o = append(o, field{"maximum", json.Number(x.max)})
	}
	return o
}

// union returns one enum for literals, one list of types for scalars, and an anyOf
// otherwise.
func (e *emitter) union(u union) (ordered, error) {
	branches, err := e.branches(u)
	if err != nil {
		return nil, err
	}
	if len(branches) == 0 {
		return nil, fmt.Errorf("no branch of a union is of this revision")
	}
	if len(branches) == 1 {
		return e.emit(branches[0])
	}
	var literals []any
	var types []string
	var others []ordered
	for _, b := range branches {
		switch b := b.(type) {
		case literal:
			literals = append(literals, b.value)
		case scalar:
			if b != (scalar{kind: b.kind}) || b.kind == "any" {
				return nil, fmt.Errorf("a bounded or open %s in a union", b.kind)
			}
			types = append(types, b.kind)
		default:
			o, err := e.emit(b)
			if err != nil {
				return nil, err
			}
			others = append(others, o)
		}
	}
	switch {
	case len(literals) == len(branches):
		return ordered{{"enum", literals}}, nil
	case len(literals) > 0:
		return nil, fmt.Errorf("a union of literals and other types")
	case len(types) == len(branches):
		return ordered{{"type", types}}, nil
	case len(types) == 1:
		others = append(others, ordered{{"type", types[0]}})
	case len(types) > 1:
		others = append(others, ordered{{"type", types}})
	}
	return ordered{{"anyOf", others}}, nil
}

// branches returns the branches of the revision. A union without a name in this
// revision is replaced by its branches.
func (e *emitter) branches(u union) ([]expr, error) {
	var out []expr
	for _, b := range u {
		if !b.in.Has(e.rev) {
			continue
		}
		is := b.is
		if r, ok := is.(ref); ok {
			d, ok := e.defs[string(r)]
			if !ok {
				return nil, fmt.Errorf("%s is not defined", r)
			}
			if inner, ok := d.is.(union); ok && !d.named.Has(e.rev) {
				more, err := e.branches(inner)
				if err != nil {
					return nil, err
				}
				out = append(out, more...)
				continue
			}
		}
		out = append(out, is)
	}
	return out, nil
}

func (e *emitter) object(x object) (ordered, error) {
	members, err := e.members(x)
	if err != nil {
		return nil, err
	}
	var properties ordered
	var required []string
	for _, m := range members {
		is, err := e.emit(m.is)
		if err != nil {
			return nil, fmt.Errorf("member %s: %w", m.name, err)
		}
		properties = append(properties, field{m.name, is})
		if !m.optional {
			required = append(required, m.name)
		}
	}
	o := ordered{{"type", "object"}}
	if len(properties) > 0 {
		o = append(o, field{"properties", properties})
	}
	if len(required) > 0 {
		o = append(o, field{"required", required})
	}
	return o, nil
}

// members returns the members of the revision, inherited ones first.
func (e *emitter) members(x object) ([]member, error) {
	var out []member
	put := func(m member) {
		if i := slices.IndexFunc(out, func(o member) bool { return o.name == m.name }); i >= 0 {
			out[i] = m
			return
		}
		out = append(out, m)
	}
	for _, b := range x.bases {
		if !b.in.Has(e.rev) {
			continue
		}
		d, ok := e.defs[string(b.is.(ref))]
		base, isObject := d.is.(object)
		if !ok || !isObject {
			return nil, fmt.Errorf("$extends %s, which is not an object of this revision", b.is)
		}
		inherited, err := e.members(base)
		if err != nil {
			return nil, err
		}
		for _, m := range inherited {
			put(m)
		}
	}
	var own []string
	for _, m := range x.members {
		if !m.in.Has(e.rev) {
			continue
		}
		if slices.Contains(own, m.name) {
			return nil, fmt.Errorf("member %s is defined twice", m.name)
		}
		own = append(own, m.name)
		put(m)
	}
	return out, nil
}
