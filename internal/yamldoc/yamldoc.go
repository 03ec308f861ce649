// Package yamldoc reads YAML files of one document. Its errors are one line and
// name the line at fault.
package yamldoc

import (
	"bytes"
	"errors"
	"fmt"
	"slices"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// ByteOrderMark may begin a file (YAML 1.2.2 section 5.2). The library takes it
// for a part of the first key.
var ByteOrderMark = []byte("\ufeff")

// Parse returns the root of the only document of a text, nil if the text holds
// nothing but comments. A second document is an error, which ends in what the
// file should have been ("a baseline is one list").
func Parse(text []byte, want string) (ast.Node, error) {
	file, err := parser.ParseBytes(bytes.TrimPrefix(text, ByteOrderMark), 0)
	if err != nil {
		return nil, OneLine(err)
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
	return nil, fmt.Errorf("line %d: a second document; %s", Line(docs[1].Body), want)
}

// maxMapping bounds the text of a mapping. A peer may write it, and the time of
// the library is quadratic in the depth of nested lists.
const maxMapping = 32 << 10

// Mapping returns the values of a document that is a mapping with strings as
// keys: nil, booleans, numbers, strings, []any and map[string]any, and []byte for
// a value with the tag !!binary.
func Mapping(text []byte) (map[string]any, error) {
	if len(text) > maxMapping {
		return nil, fmt.Errorf("it is longer than %d bytes", maxMapping)
	}
	var out map[string]any
	if err := yaml.Unmarshal(bytes.TrimPrefix(text, ByteOrderMark), &out); err != nil {
		return nil, OneLine(err)
	}
	return out, nil
}

// Line returns the line on which a value begins, that of the first key for a
// mapping; 0 if it is not known.
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

// OneLine returns an error of one line for an error of the library, which holds an
// excerpt of several lines.
func OneLine(err error) error {
	var syntax yaml.Error
	if !errors.As(err, &syntax) {
		return err
	}
	if t := syntax.GetToken(); t != nil && t.Position != nil {
		return fmt.Errorf("line %d: %s", t.Position.Line, syntax.GetMessage())
	}
	return errors.New(syntax.GetMessage())
}
