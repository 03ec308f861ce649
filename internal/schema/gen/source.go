package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A source is the content of messages.yaml.
type source struct {
	defs    []definition
	methods []method
}

// A definition describes a type in some revisions. Definitions of the same name are
// of disjoint revisions.
type definition struct {
	name  string
	in    spec.Set // the revisions it describes
	named spec.Set // those whose schema has a definition of this name
	is    expr
}

// A method is a request with its results or, without results, a notification.
type method struct {
	name     string
	in       spec.Set
	from     string // client, server, both or input
	message  string
	response expr // nil for a notification
}

// An expr describes a type: ref, literal, scalar, array, dictionary, union or
// object.
type expr any

type (
	ref     string
	literal struct{ value any } // a string or an int64
	scalar  struct {
		kind, format string
		min, max     string // bounds of a number; "" is none
	}
	array struct {
		of  expr
		max string
	}
	dictionary struct{ of expr }
	union      []branch
	branch     struct {
		is expr
		in spec.Set
	}
	object struct {
		bases   []branch // refs
		members []member
	}
	member struct {
		name     string
		optional bool
		in       spec.Set
		is       expr
	}
)

func readSource(text []byte) (*source, error) {
	var file struct {
		Definitions yaml.MapSlice `yaml:"definitions"`
		Methods     yaml.MapSlice `yaml:"methods"`
	}
	if err := yaml.UnmarshalWithOptions(text, &file, yaml.UseOrderedMap(), yaml.Strict()); err != nil {
		return nil, fmt.Errorf("read the definitions: %w", err)
	}
	src := new(source)
	for _, item := range file.Definitions {
		d, err := readDefinition(fmt.Sprint(item.Key), item.Value)
		if err != nil {
			return nil, fmt.Errorf("definition %v: %w", item.Key, err)
		}
		src.defs = append(src.defs, d)
	}
	for _, item := range file.Methods {
		m, err := readMethod(fmt.Sprint(item.Key), fmt.Sprint(item.Value))
		if err != nil {
			return nil, fmt.Errorf("method %v: %w", item.Key, err)
		}
		src.methods = append(src.methods, m)
	}
	return src, nil
}

func readDefinition(key string, value any) (d definition, err error) {
	name, marks, onlyNamed := strings.Cut(key, " named ")
	d.in, d.named = spec.Every, spec.Every
	switch {
	case onlyNamed:
		d.named, err = readMarks(strings.Fields(marks))
	default:
		name, d.in, err = splitMarks(key)
		d.named = d.in
	}
	if strings.HasPrefix(name, "_") {
		d.named = 0
	}
	d.name = name
	if err == nil {
		d.is, err = readValue(value)
	}
	return d, err
}

func readMethod(key, value string) (m method, err error) {
	if m.name, m.in, err = splitMarks(key); err != nil {
		return m, err
	}
	said, results, isRequest := strings.Cut(value, " -> ")
	words := strings.Fields(said)
	if len(words) != 2 {
		return m, fmt.Errorf("want SENDER MESSAGE, got %q", said)
	}
	m.from, m.message = words[0], words[1]
	if !slices.Contains([]string{"client", "server", "both", "input"}, m.from) {
		return m, fmt.Errorf("unknown sender %q", m.from)
	}
	if isRequest {
		m.response, err = parseExpr(results)
	}
	return m, err
}

func readValue(value any) (expr, error) {
	switch v := value.(type) {
	case string:
		return parseExpr(v)
	case yaml.MapSlice:
		return readObject(v)
	}
	return nil, fmt.Errorf("want a type or a mapping of members, got %T", value)
}

func readObject(items yaml.MapSlice) (object, error) {
	var o object
	for _, item := range items {
		key := fmt.Sprint(item.Key)
		if key == "$extends" {
			for _, base := range strings.Split(fmt.Sprint(item.Value), ",") {
				name, in, err := splitMarks(strings.TrimSpace(base))
				if err != nil {
					return o, err
				}
				o.bases = append(o.bases, branch{ref(name), in})
			}
			continue
		}
		name, in, err := splitMarks(key)
		if err != nil {
			return o, err
		}
		m := member{in: in}
		m.name, m.optional = strings.CutSuffix(name, "?")
		if m.is, err = readValue(item.Value); err != nil {
			return o, fmt.Errorf("member %s: %w", name, err)
		}
		o.members = append(o.members, m)
	}
	return o, nil
}

// splitMarks splits a key into its name and its marks: "title? since 2025-06-18".
func splitMarks(key string) (name string, in spec.Set, err error) {
	words := strings.Fields(key)
	if len(words) == 0 {
		return "", 0, fmt.Errorf("an empty name")
	}
	in, err = readMarks(words[1:])
	return words[0], in, err
}

// readMarks returns the revisions that all marks include.
func readMarks(words []string) (spec.Set, error) {
	in := spec.Every
	if len(words)%2 != 0 {
		return 0, fmt.Errorf("marks %q are not pairs of a word and a revision", words)
	}
	for i := 0; i < len(words); i += 2 {
		rev, err := spec.ParseRevision(words[i+1])
		if err != nil {
			return 0, err
		}
		switch words[i] {
		case "since":
			in &= spec.Since(rev)
		case "until":
			in &= spec.Until(rev)
		case "in":
			in &= spec.Only(rev)
		default:
			return 0, fmt.Errorf("unknown mark %q", words[i])
		}
	}
	if in == 0 {
		return 0, fmt.Errorf("marks %q leave no revision", words)
	}
	return in, nil
}

var (
	isName    = regexp.MustCompile(`^_?[A-Z][A-Za-z0-9]*$`)
	isInteger = regexp.MustCompile(`^-?[0-9]+$`)
	scalars   = map[string]bool{"string": true, "number": true, "integer": true, "boolean": true, "null": true,
		"object": true, "any": true}
)

// parseExpr parses a union of marked branches. No type contains a union, so that a
// bar always separates branches of the whole.
func parseExpr(text string) (expr, error) {
	parts := strings.Split(text, "|")
	var u union
	for _, part := range parts {
		word, in, err := splitMarks(part)
		if err != nil {
			return nil, fmt.Errorf("type %q: %w", text, err)
		}
		e, err := parseBranch(word)
		if err != nil {
			return nil, fmt.Errorf("type %q: %w", text, err)
		}
		u = append(u, branch{e, in})
	}
	if len(u) == 1 && u[0].in == spec.Every {
		return u[0].is, nil
	}
	return u, nil
}

func parseBranch(word string) (expr, error) {
	if lit, ok := strings.CutPrefix(word, "="); ok {
		if isInteger.MatchString(lit) {
			n, err := strconv.ParseInt(lit, 10, 64)
			return literal{n}, err
		}
		return literal{lit}, nil
	}
	if inner, ok := strings.CutSuffix(word, "]"); ok {
		of, max, ok := strings.Cut(inner, "[")
		if !ok {
			return nil, fmt.Errorf("unmatched ] in %q", word)
		}
		e, err := parseBranch(of)
		return array{e, strings.TrimPrefix(max, "..")}, err
	}
	name, arg := word, ""
	if inner, ok := strings.CutSuffix(word, ">"); ok {
		if name, arg, ok = strings.Cut(inner, "<"); !ok {
			return nil, fmt.Errorf("unmatched > in %q", word)
		}
	}
	switch {
	case name == "map":
		e, err := parseBranch(arg)
		return dictionary{e}, err
	case scalars[name]:
		s := scalar{kind: name}
		if low, high, isRange := strings.Cut(arg, ".."); isRange {
			s.min, s.max = low, high
		} else {
			s.format = arg
		}
		return s, nil
	case isName.MatchString(name) && arg == "":
		return ref(name), nil
	}
	return nil, fmt.Errorf("unknown type %q", word)
}
