// Package yamldoc reads YAML files that hold one document, with errors of one
// line that tell where.
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

// ByteOrderMark may begin a file (YAML 1.2.2 section 5.2); the library takes it
// for a part of the first key.
var ByteOrderMark = []byte("\ufeff")

// Parse returns the root of the only document of a text, nil where it holds
// nothing but comments. A second document is an error that says what the file
// should have been ("a baseline is one list").
func Parse(text []byte, one string) (ast.Node, error) {
	file, err := parser.ParseBytes(bytes.TrimPrefix(text, ByteOrderMark), 0)
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

// maxMapping bounds the text of a mapping. A peer may write it, and the library
// takes the square of its length for nested lists.
const maxMapping = 32 << 10

// Mapping returns the values of a document that is a mapping with names for
// keys: nil, booleans, numbers, strings, []any and map[string]any; []byte of a
// value tagged !!binary.
func Mapping(text []byte) (map[string]any, error) {
	if len(text) > maxMapping {
		return nil, fmt.Errorf("it is longer than %d bytes", maxMapping)
	}
	var out map[string]any
	if err := yaml.Unmarshal(bytes.TrimPrefix(text, ByteOrderMark), &out); err != nil {
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
