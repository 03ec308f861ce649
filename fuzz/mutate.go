package fuzz

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

// The operations on the tree of a frame.
const (
	opDrop      = "drop"      // the member or element at At
	opDuplicate = "duplicate" // the member at At stands twice, the second time with Value ("" for the same)
	opSet       = "set"       // the value at At to Value
	opAdd       = "add"       // member Name with Value to the object at At
	opRename    = "rename"    // the member at At to Name, or to its own name in other case
	opID        = "id"        // the id to Value, salted
	opReuse     = "reuse id"  // the id of step N
	opMethod    = "method"    // method to Name
	opCursor    = "cursor"    // params.cursor to Value
	opMeta      = "meta"      // member Name with Value to params._meta
	opRespell   = "respell"   // the scalar at At in another spelling of the same value
)

// The operations on the bytes of a frame.
const (
	opCut    = "cut"    // the bytes from N on
	opFlip   = "flip"   // a bit of the byte at N
	opInsert = "insert" // Value at N
	opPrefix = "prefix" // Value before
	opSuffix = "suffix" // Value behind
	opErase  = "erase"  // the byte at N
	opJoin   = "join"   // no newline behind: the next frame follows on the same line
	opBlank  = "blank"  // N+1 blank lines before
	opCRLF   = "crlf"   // the line ends in CR LF
)

// apply does an edit to a tree. An edit whose place is gone does nothing. used
// are the ids of the steps, salt the one of this step.
func (e Edit) apply(root *node, salt int, used []string) {
	switch e.Op {
	case opDrop:
		if parent, i, ok := root.find(e.At); ok {
			parent.remove(i)
		}
	case opDuplicate:
		if parent, i, ok := root.find(e.At); ok {
			twin, name := parent.children[i], ""
			if e.Value != "" {
				twin = scalar(lookupValue(jsonValues, e.Value, salt))
			}
			if parent.object {
				name = parent.names[i]
			}
			parent.insert(i+1, name, twin)
		}
	case opSet:
		if parent, i, ok := root.find(e.At); ok {
			parent.children[i] = scalar(lookupValue(jsonValues, e.Value, salt))
		}
	case opAdd:
		if n := root.valueAt(e.At); n != nil && n.object {
			n.insert(len(n.children), quote(e.Name), scalar(lookupValue(jsonValues, e.Value, salt)))
		}
	case opRename:
		if parent, i, ok := root.find(e.At); ok && parent.object {
			name := quote(e.Name)
			if e.Name == "" {
				name = swapCase(parent.names[i])
			}
			parent.names[i] = name
		}
	case opID:
		setMember(root, "id", lookupValue(idValues, e.Value, salt))
	case opReuse:
		if len(used) > 0 {
			setMember(root, "id", used[e.N%len(used)])
		}
	case opMethod:
		setMember(root, "method", quote(e.Name))
	case opCursor:
		if p := root.ensureMember("params"); p != nil {
			setMember(p, "cursor", lookupValue(cursorValues, e.Value, salt))
		}
	case opMeta:
		if p := root.ensureMember("params"); p != nil {
			if m := p.ensureMember("_meta"); m != nil && m.object {
				m.insert(len(m.children), quote(e.Name), scalar(lookupValue(jsonValues, e.Value, salt)))
			}
		}
	case opRespell:
		if parent, i, ok := root.find(e.At); ok && parent.children[i].raw != "" {
			parent.children[i] = scalar(respell(parent.children[i].raw))
		}
	}
}

// setMember sets a member of an object, or adds it.
func setMember(n *node, name, raw string) {
	if !n.object {
		return
	}
	if i := n.indexOf(name); i >= 0 {
		n.children[i] = scalar(raw)
		return
	}
	n.insert(len(n.children), quote(name), scalar(raw))
}

func swapCase(name string) string {
	if upper := strings.ToUpper(name[:2]) + name[2:]; upper != name {
		return upper
	}
	return strings.ToLower(name)
}

// respell writes a scalar in another way that JSON holds equal.
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

// applyBytes does a byte edit to a line without its newline, and returns what
// comes before it, it, and what ends it.
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
		line = bytes.Join([][]byte{line[:at], line[at:]}, []byte(insertedBytes(e.Value)))
	case opPrefix:
		line = append([]byte(insertedBytes(e.Value)), line...)
	case opSuffix:
		line = append(bytes.Clone(line), insertedBytes(e.Value)...)
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

func insertedBytes(name string) string {
	for _, i := range byteInsertions {
		if i.name == name {
			return i.bytes
		}
	}
	return ""
}
