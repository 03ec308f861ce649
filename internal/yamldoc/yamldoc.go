// Package yamldoc reads YAML files that hold one document, with errors of one
// line that tell where.
package yamldoc

import (
	"errors"
	"fmt"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Parse returns the root of the only document of a text, nil where it holds
// nothing but comments. A second document is an error that says what the file
// should have been ("a baseline is one list").
func Parse(text []byte, one string) (ast.Node, error) {
	file, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, Plain(err)
	}
	docs := slices.DeleteFunc(file.Docs, func(d *ast.DocumentNode) bool {
		return d.Body == nil || d.Body.Type() == ast.NullType || d.Body.Type() == ast.CommentType
	})
	switch len(docs) {
	case 0:
		return nil, nil
	case 1:
		return docs[0].Body, nil
	}
	return nil, fmt.Errorf("line %d: a second document; %s", Line(docs[1].Body), one)
}

// Mapping returns the values of a document that is a mapping with names for
// keys: nil, booleans, numbers, strings, []any and map[string]any.
func Mapping(text []byte) (map[string]any, error) {
	var out map[string]any
	if err := yaml.Unmarshal(text, &out); err != nil {
		return nil, Plain(err)
	}
	return out, nil
}

// Line returns the line on which a value begins, an object where its first key
// does; 0 where that is not known.
func Line(node ast.Node) int {
	switch n := node.(type) {
	case *ast.MappingValueNode:
		node = n.Key
	case *ast.MappingNode:
		if len(n.Values) > 0 {
			node = n.Values[0].Key
		}
	}
	if t := node.GetToken(); t != nil && t.Position != nil {
		return t.Position.Line
	}
	return 0
}

// Plain turns an error of the library, which carries an excerpt over several
// lines, into one line.
func Plain(err error) error {
	var told yaml.Error
	if !errors.As(err, &told) {
		return err
	}
	if t := told.GetToken(); t != nil && t.Position != nil {
		return fmt.Errorf("line %d: %s", t.Position.Line, told.GetMessage())
	}
	return errors.New(told.GetMessage())
}
