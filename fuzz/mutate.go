package fuzz

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/tidwall/gjson"
)

// The operations on the tree of a frame.
const (
	opDrop      = "drop"      // removes the member or element at At
	opDuplicate = "duplicate" // repeats the member or element at At, with Value ("" for its own value)
	opSet       = "set"       // sets the value at At to Value
	opAdd       = "add"       // adds the member Name with Value to the object at At
	opRename    = "rename"    // renames the member at At to Name, or changes the case of its name ("")
	opID        = "id"        // sets the id to Value, salted
	opReuse     = "reuse id"  // sets the id to that of step N
	opMethod    = "method"    // sets the method to Name
	opCursor    = "cursor"    // sets params.cursor to Value
	opMeta      = "meta"      // adds the member Name with Value to params._meta
	opRespell   = "respell"   // writes the scalar at At in another way that has the same value
)

// The operations on the bytes of a frame.
const (
	opCut    = "cut"    // removes the bytes from N on
	opFlip   = "flip"   // flips a bit of the byte at N
	opInsert = "insert" // inserts Value at N
	opPrefix = "prefix" // inserts Value at the beginning
	opSuffix = "suffix" // appends Value
	opErase  = "erase"  // removes the byte at N
	opJoin   = "join"   // removes the newline: the next frame follows on the same line
	opBlank  = "blank"  // inserts N+1 blank lines before the frame
	opCRLF   = "crlf"   // ends the line in CR LF
)

// apply edits the tree of a frame. An edit at a place that an earlier edit
// removed does nothing. ids are the ids of the steps, salt that of this step.
func (e Edit) apply(root *node, salt int, ids []string) {
	switch e.Op {
	case opDrop, opDuplicate, opSet, opRename, opRespell:
		if parent, i, ok := root.find(e.At); ok {
			e.applyTo(parent, i, salt)
		}
	case opAdd:
		if n := root.valueAt(e.At); n != nil && n.object {
			n.add(e.Name, e.jsonValue(salt))
		}
	case opID:
		root.set("id", lookupValue(idValues, e.Value, salt))
	case opReuse:
		if len(ids) > 0 {
			root.set("id", ids[e.N%len(ids)])
		}
	case opMethod:
		root.set("method", quote(e.Name))
	case opCursor:
		if params := root.ensureMember("params"); params != nil {
			params.set("cursor", lookupValue(cursorValues, e.Value, salt))
		}
	case opMeta:
		params := root.ensureMember("params")
		if params == nil {
			return
		}
		if meta := params.ensureMember("_meta"); meta != nil && meta.object {
			meta.add(e.Name, e.jsonValue(salt))
		}
	}
}

// applyTo edits the child of a node at an index.
func (e Edit) applyTo(parent *node, i, salt int) {
	switch e.Op {
	case opDrop:
		parent.remove(i)
	case opDuplicate:
		twin, name := parent.children[i], ""
		if e.Value != "" {
			twin = scalar(e.jsonValue(salt))
		}
		if parent.object {
			name = parent.names[i]
		}
		parent.insert(i+1, name, twin)
	case opSet:
		parent.children[i] = scalar(e.jsonValue(salt))
	case opRename:
		if !parent.object {
			return
		}
		if e.Name == "" {
			parent.names[i] = swapCase(parent.names[i])
		} else {
			parent.names[i] = quote(e.Name)
		}
	case opRespell:
		if raw := parent.children[i].raw; raw != "" {
			parent.children[i] = scalar(respell(raw))
		}
	}
}

func (e Edit) jsonValue(salt int) string { return lookupValue(jsonValues, e.Value, salt) }

// swapCase returns a quoted name with its first character in the other case.
func swapCase(name string) string {
	first, size := utf8.DecodeRuneInString(name[1:])
	swapped := unicode.ToUpper(first)
	if swapped == first {
		swapped = unicode.ToLower(first)
	}
	return `"` + string(swapped) + name[1+size:]
}

// respell returns another JSON text of a scalar that has the same value.
func respell(raw string) string {
	v := gjson.Parse(raw)
	switch v.Type {
	case gjson.String:
		var b strings.Builder
		b.WriteByte('"')
		for _, r := range v.String() {
			if r > 0xffff {
				b.WriteRune(r)
				continue
			}
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		return b.String() + `"`
	case gjson.Number:
		if strings.ContainsAny(raw, ".eE") {
			return raw
		}
		return raw + ".0"
	}
	return raw
}

// applyToBytes edits a line without its newline. It returns the bytes before the
// line, the line, and the bytes that end it.
func (e Edit) applyToBytes(before, line, end []byte) (_, _, _ []byte) {
	at := 0
	if len(line) > 0 {
		at = min(e.N*len(line)/1000, len(line)-1)
	}
	switch e.Op {
	case opCut:
		line = line[:at]
	case opFlip:
		if len(line) > 0 {
			line = bytes.Clone(line)
			line[at] ^= 1 << (e.N % 7)
		}
	case opInsert:
		line = bytes.Join([][]byte{line[:at], line[at:]}, []byte(lookupInsertion(e.Value)))
	case opPrefix:
		line = append([]byte(lookupInsertion(e.Value)), line...)
	case opSuffix:
		line = append(bytes.Clone(line), lookupInsertion(e.Value)...)
	case opErase:
		if len(line) > 0 {
			line = append(bytes.Clone(line[:at]), line[at+1:]...)
		}
	case opJoin:
		end = nil
	case opBlank:
		before = append(before, bytes.Repeat([]byte("\n"), e.N+1)...)
	case opCRLF:
		end = []byte("\r\n")
	}
	return before, line, end
}
