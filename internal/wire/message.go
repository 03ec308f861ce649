// Package wire holds JSON-RPC messages together with their bytes on the wire.
//
// A Frame is the bytes of one message as its sender wrote them, with the HTTP part
// that carried it. Parse turns the bytes into a Message without any repair: bytes
// that are no message are a Message of kind Invalid whose FormatError says why. A
// Transcript records all frames of one session in the order in which one side saw
// them. An Entry is a frame of a transcript with its index and message.
//
// Each side of a connection adds its own frame to the transcript before it hands the
// bytes to the transport, and a frame of the peer when it has read it. Checks then
// read the entries, and reports write them with Frame.AppendJSON.
package wire

import (
	"fmt"
	"strconv"
	"unsafe"

	"github.com/tidwall/gjson"
)

// A Role is one end of a connection.
type Role string

// The two ends of a connection.
const (
	Client Role = "client"
	Server Role = "server"
)

// Peer returns the other end.
func (r Role) Peer() Role {
	if r == Client {
		return Server
	}
	return Client
}

// A Kind is the kind of a message under JSON-RPC 2.0.
type Kind uint8

// The kinds of messages. A message of kind Invalid has the members of none of the
// others, or is no JSON text.
const (
	Invalid Kind = iota
	Request
	Notification
	Result
	Error
	Batch
)

func (k Kind) String() string {
	return [...]string{"invalid message", "request", "notification", "result", "error", "batch"}[k]
}

// A Message is one parsed frame. Parsing repairs nothing and never fails: bytes
// that are no message are a Message of kind Invalid.
type Message struct {
	Raw           []byte
	Kind          Kind
	SyntaxError   *SyntaxError   // why the bytes are no JSON text; nil if they are one
	DuplicateKeys []string       // JSON pointers of object keys that occur twice
	EnvelopeError *EnvelopeError // why the JSON text is no well-formed message; nil if it is one
	parsed        *parsed        // nil if the bytes are no JSON text
}

// A parsed is what is looked up once, when a message is parsed.
type parsed struct {
	value gjson.Result
	members
	itself [1]Message // what Elements returns of a message that is no batch
}

// members holds the members of a message that JSON-RPC defines; of several members
// of one name the first.
type members struct{ jsonrpc, id, method, params, result, errorMember gjson.Result }

// members returns the members of the message; the zero value for a frame that is
// no object and for the zero Message.
func (m Message) members() *members {
	if m.parsed == nil {
		return &members{}
	}
	return &m.parsed.members
}

// read looks up the members of an object.
func (m *members) read(v gjson.Result) {
	v.ForEach(func(key, value gjson.Result) bool {
		var place *gjson.Result
		switch key.String() {
		case "jsonrpc":
			place = &m.jsonrpc
		case "id":
			place = &m.id
		case "method":
			place = &m.method
		case "params":
			place = &m.params
		case "result":
			place = &m.result
		case "error":
			place = &m.errorMember
		}
		if place != nil && !place.Exists() {
			*place = value
		}
		return true
	})
}

// EnvelopeError is a violation of the JSON-RPC 2.0 message format by a JSON text.
type EnvelopeError struct {
	Member  string // jsonrpc, id, method, params or result; "" if the combination of members is wrong
	Problem string // e.g. "a result has no id"
}

func (m *EnvelopeError) Error() string { return m.Problem }

// Parse reads the bytes of one frame, which the caller must not change later.
func Parse(raw []byte) Message {
	m := Message{Raw: raw}
	if m.SyntaxError, m.DuplicateKeys = checkText(raw); m.SyntaxError != nil {
		return m
	}
	// The bytes of a message are never changed, so that the text need not be a copy of them.
	return classify(m, gjson.Parse(unsafe.String(unsafe.SliceData(raw), len(raw))))
}

func classify(m Message, v gjson.Result) Message {
	m.parsed = &parsed{value: v}
	if v.IsArray() {
		m.Kind = Batch
		return m
	}
	if v.IsObject() {
		m.parsed.read(v)
	}
	m.Kind, m.EnvelopeError = kindOfObject(v, &m.parsed.members)
	m.parsed.itself[0] = m
	return m
}

// kindOfObject returns the kind of a message by the members that it has, and the
// first violation of the format of that kind. A message with a method is a request
// or a notification, one with result or error is a response.
func kindOfObject(v gjson.Result, m *members) (Kind, *EnvelopeError) {
	if !v.IsObject() {
		return Invalid, &EnvelopeError{"", "a message is an object, not " + TypeName(v)}
	}
	switch method, result, fail, id := m.method, m.result, m.errorMember, m.id; {
	case method.Exists() && (result.Exists() || fail.Exists()):
		return Invalid, &EnvelopeError{"", "has both method and result or error"}
	case method.Exists() && id.Exists():
		return Request, m.checkCall()
	case method.Exists():
		return Notification, m.checkCall()
	case fail.Exists() && result.Exists():
		return Error, &EnvelopeError{"result", "has both result and error"}
	case fail.Exists():
		return Error, m.checkVersion()
	case result.Exists() && !id.Exists():
		return Result, &EnvelopeError{"id", "a result has no id"}
	case result.Exists():
		return Result, m.checkVersion()
	default:
		return Invalid, &EnvelopeError{"", "has neither method nor result nor error"}
	}
}

// checkCall returns the first violation of the format of a request or notification.
func (m *members) checkCall() *EnvelopeError {
	if m.method.Type != gjson.String {
		return &EnvelopeError{"method", "method is " + TypeName(m.method) + ", not a string"}
	}
	if p := m.params; p.Exists() && !p.IsObject() {
		return &EnvelopeError{"params", "params is " + TypeName(p) + ", not an object"}
	}
	return m.checkVersion()
}

// checkVersion returns the violation of the jsonrpc member, or nil.
func (m *members) checkVersion() *EnvelopeError {
	switch j := m.jsonrpc; {
	case !j.Exists():
		return &EnvelopeError{"jsonrpc", "has no jsonrpc member"}
	case j.Type != gjson.String || j.String() != "2.0":
		return &EnvelopeError{"jsonrpc", fmt.Sprintf("jsonrpc is %s, not \"2.0\"", j.Raw)}
	}
	return nil
}

// FormatError returns the SyntaxError or the EnvelopeError of the message, or nil for
// a well-formed one. A batch has neither; its elements have their own.
func (m Message) FormatError() error {
	switch {
	case m.SyntaxError != nil:
		return m.SyntaxError
	case m.EnvelopeError != nil:
		return m.EnvelopeError
	}
	return nil
}

// Member returns the member of an object with exactly this key. Unlike a gjson
// path the key may hold any character.
func Member(v gjson.Result, key string) (found gjson.Result) {
	if !v.IsObject() {
		return
	}
	v.ForEach(func(k, child gjson.Result) bool {
		if k.String() == key {
			found = child
			return false
		}
		return true
	})
	return found
}

// Value returns the parsed JSON of the frame. The value does not exist for a frame
// that is no JSON text.
func (m Message) Value() gjson.Result {
	if m.parsed == nil {
		return gjson.Result{}
	}
	return m.parsed.value
}

// Get returns the value at a gjson path.
func (m Message) Get(path string) gjson.Result { return m.Value().Get(path) }

// Elements returns the messages of a batch, or the message itself if it is none. They
// must not be changed.
func (m Message) Elements() []Message {
	switch {
	case m.parsed == nil:
		return []Message{m}
	case m.Kind != Batch:
		return m.parsed.itself[:]
	}
	var out []Message
	m.Value().ForEach(func(_, e gjson.Result) bool {
		out = append(out, classify(Message{Raw: []byte(e.Raw)}, e))
		return true
	})
	return out
}

// IsIdentifiable reports whether every peer can read the id of the message, if it has
// one: it is well-formed, repeats no member, exceeds no limit that readers commonly
// have, and a request has a valid id. A peer may answer any other message without an
// id; so may a peer without batches answer a batch.
func (m Message) IsIdentifiable() bool {
	return m.Kind != Batch && m.FormatError() == nil && len(m.DuplicateKeys) == 0 && !m.ExceedsCommonLimits() &&
		(m.Kind != Request || m.ID().IsValid())
}

// ID returns the id member as sent.
func (m Message) ID() ID { return ID{m.members().id.Raw} }

// Method returns the method of a request or notification, or "".
func (m Message) Method() string {
	if m.Kind != Request && m.Kind != Notification {
		return ""
	}
	return m.members().method.String()
}

// Params returns the params member.
func (m Message) Params() gjson.Result { return m.members().params }

// Result returns the result member.
func (m Message) Result() gjson.Result { return m.members().result }

// Error returns the error member.
func (m Message) Error() gjson.Result { return m.members().errorMember }

// ErrorCode returns the code of an error response. ok is false if the message is no
// error response or its code is no integer.
func (m Message) ErrorCode() (code int, ok bool) {
	c := m.members().errorMember.Get("code")
	if m.Kind != Error || c.Type != gjson.Number {
		return 0, false
	}
	n, err := strconv.Atoi(c.Raw)
	if err != nil {
		f := c.Float()
		return int(f), f == float64(int(f))
	}
	return n, true
}

// IsResponse reports whether the message is a result or an error.
func (m Message) IsResponse() bool { return m.Kind == Result || m.Kind == Error }

// Summary describes the message in a few words, for reports and logs.
func (m Message) Summary() string {
	switch m.Kind {
	case Request:
		return fmt.Sprintf("request %s (id %s)", m.Method(), m.ID())
	case Notification:
		return "notification " + m.Method()
	case Result:
		return fmt.Sprintf("result for id %s", m.ID())
	case Error:
		e := m.Error()
		text := fmt.Sprintf("error %s %q", e.Get("code").Raw, Clip(e.Get("message").String(), 120))
		if m.ID().Raw == "" {
			return text + " without an id"
		}
		return fmt.Sprintf("%s for id %s", text, m.ID())
	case Batch:
		return fmt.Sprintf("batch of %d", len(m.Elements()))
	}
	return fmt.Sprintf("no message (%v): %s", m.FormatError(), Clip(string(m.Raw), 120)) // Invalid
}

// TypeName returns the JSON type of a value with its article, e.g. "an object".
func TypeName(v gjson.Result) string {
	switch {
	case !v.Exists():
		return "absent"
	case v.IsObject():
		return "an object"
	case v.IsArray():
		return "an array"
	case v.IsBool():
		return "a boolean"
	case v.Type == gjson.String:
		return "a string"
	case v.Type == gjson.Number:
		return "a number"
	}
	return "null"
}

// Clip shortens a text to at most n bytes, on a rune boundary, and adds an
// ellipsis to a text that was longer.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
