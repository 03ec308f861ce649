package server

import (
	"encoding/json"
	"fmt"
	"strings"
)

// maxNumberLength bounds the numbers of a message, each in bytes: the validation
// does exact arithmetic, whose time grows with the square of their length.
const maxNumberLength = 10_000

var errLongNumber = fmt.Errorf("a number is longer than %d bytes", maxNumberLength)

// decode reads an object of a message that wire.Parse accepted, nil for any other
// value. Of members with one name the last counts. With an object that holds a
// number that is too long it returns errLongNumber; such an object may be examined
// but not validated.
func decode(raw string) (Object, error) {
	if raw == "" {
		return nil, nil
	}
	d := decoder{text: raw}
	o, _ := d.value().(Object)
	if d.hasLongNumber {
		return o, errLongNumber
	}
	return o, nil
}

// A decoder reads the value of a valid JSON text, as encoding/json does with
// UseNumber, but several times as fast. wire.Parse bounds the nesting, and with it
// the recursion.
type decoder struct {
	text          string
	at            int
	hasLongNumber bool
}

// value reads the next value.
func (d *decoder) value() any {
	switch d.next() {
	case '{':
		return d.object()
	case '[':
		return d.array()
	case '"':
		return d.string()
	case 't':
		d.at += len("true")
		return true
	case 'f':
		d.at += len("false")
		return false
	case 'n':
		d.at += len("null")
		return nil
	}
	return d.number()
}

// next skips white space and separators. It returns the character after them.
func (d *decoder) next() byte {
	for strings.IndexByte(" \t\r\n,:", d.text[d.at]) >= 0 {
		d.at++
	}
	return d.text[d.at]
}

func (d *decoder) object() Object {
	o := Object{}
	for d.at++; d.next() != '}'; {
		key := d.string()
		o[key] = d.value()
	}
	d.at++
	return o
}

func (d *decoder) array() []any {
	a := []any{}
	for d.at++; d.next() != ']'; {
		a = append(a, d.value())
	}
	d.at++
	return a
}

// string reads a string. One with an escape is left to encoding/json.
func (d *decoder) string() string {
	begin, isEscaped := d.at, false
	for d.at++; d.text[d.at] != '"'; d.at++ {
		if d.text[d.at] == '\\' {
			isEscaped = true
			d.at++
		}
	}
	d.at++
	token := d.text[begin:d.at]
	if !isEscaped {
		return token[1 : len(token)-1]
	}
	var s string
	if err := json.Unmarshal([]byte(token), &s); err != nil {
		panic(fmt.Sprintf("server: decode %s: %v", token, err)) // wire.Parse accepted it
	}
	return s
}

func (d *decoder) number() json.Number {
	begin := d.at
	for d.at < len(d.text) && strings.IndexByte("+-.0123456789eE", d.text[d.at]) >= 0 {
		d.at++
	}
	if d.at-begin > maxNumberLength {
		d.hasLongNumber = true
	}
	return json.Number(d.text[begin:d.at])
}
