// Package wire holds what goes over a transport as bytes first: frames as they
// came, messages parsed from them without any repair, and transcripts.
package wire

import (
	"fmt"
	"strconv"

	"github.com/tidwall/gjson"
)

// A Role is an end of the connection.
type Role string

// The two ends.
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

// A Kind is what a frame is under JSON-RPC 2.0.
type Kind uint8

// The kinds of messages. Invalid is a frame that fits none of the shapes;
// Message.Flaw tells why.
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

// A Message is one parsed frame. Parsing never repairs and never fails: bytes
// that are no message are a Message of kind Invalid.
type Message struct {
	Raw        []byte
	Kind       Kind
	Fault      *Fault   // why the bytes are no JSON text, or nil
	Duplicates []string // JSON pointers of object keys that occur twice
	Misfit     *Misfit  // what keeps the JSON text from being one well-formed message, or nil
	v          gjson.Result
	in         *members
}

// members are the members of a message that have a meaning in JSON-RPC, the
// first of each name, found once.
type members struct{ jsonrpc, id, method, params, result, fail gjson.Result }

// known returns the members; a frame that is no object, and the zero Message,
// have none.
func (m Message) known() *members {
	if m.in == nil {
		return &members{}
	}
	return m.in
}

func membersOf(v gjson.Result) *members {
	if !v.IsObject() {
		return nil
	}
	m := &members{}
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
			place = &m.fail
		}
		if place != nil && !place.Exists() {
			*place = value
		}
		return true
	})
	return m
}

// A Misfit is one way in which a frame is no well-formed JSON-RPC 2.0 message.
type Misfit struct {
	Member string // the member at fault: jsonrpc, id, method, params; "" if the shape as a whole fits none
	What   string
}

func (m *Misfit) Error() string { return m.What }

// Parse reads the bytes of one frame.
func Parse(raw []byte) Message {
	m := Message{Raw: raw}
	if m.Fault, m.Duplicates = inspect(raw); m.Fault != nil {
		return m
	}
	return classify(m, gjson.ParseBytes(raw))
}

func classify(m Message, v gjson.Result) Message {
	m.v, m.in = v, membersOf(v)
	if v.IsArray() {
		m.Kind = Batch
		return m
	}
	m.Kind, m.Misfit = kindOf(v, m.in)
	return m
}

// kindOf tells the kind by the members that a message has, and what keeps it
// from being a well-formed one of that kind. A message with a method is meant
// as a request or notification, one with result or error as a response.
func kindOf(v gjson.Result, m *members) (Kind, *Misfit) {
	if !v.IsObject() {
		return Invalid, &Misfit{"", "a message is an object, not " + TypeName(v)}
	}
	switch method, result, fail, id := m.method, m.result, m.fail, m.id; {
	case method.Exists() && (result.Exists() || fail.Exists()):
		return Invalid, &Misfit{"", "has both method and result or error"}
	case method.Exists() && id.Exists():
		return Request, m.envelope()
	case method.Exists():
		return Notification, m.envelope()
	case fail.Exists() && result.Exists():
		return Error, &Misfit{"result", "has both result and error"}
	case fail.Exists():
		return Error, m.version()
	case result.Exists() && !id.Exists():
		return Result, &Misfit{"id", "a result has no id"}
	case result.Exists():
		return Result, m.version()
	default:
		return Invalid, &Misfit{"", "has neither method nor result nor error"}
	}
}

func (m *members) envelope() *Misfit {
	if m.method.Type != gjson.String {
		return &Misfit{"method", "method is " + TypeName(m.method) + ", not a string"}
	}
	if p := m.params; p.Exists() && !p.IsObject() {
		return &Misfit{"params", "params is " + TypeName(p) + ", not an object"}
	}
	return m.version()
}

func (m *members) version() *Misfit {
	switch j := m.jsonrpc; {
	case !j.Exists():
		return &Misfit{"jsonrpc", "has no jsonrpc member"}
	case j.Type != gjson.String || j.String() != "2.0":
		return &Misfit{"jsonrpc", fmt.Sprintf("jsonrpc is %s, not \"2.0\"", j.Raw)}
	}
	return nil
}

// Flaw returns what is wrong with the frame as one JSON-RPC 2.0 message, its
// bytes or its members, or nil. Batches have none; their elements are asked
// one by one.
func (m Message) Flaw() error {
	switch {
	case m.Fault != nil:
		return m.Fault
	case m.Misfit != nil:
		return m.Misfit
	}
	return nil
}

// Member returns the member of an object by its exact key, which unlike a gjson
// path may hold any character.
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

// Value returns the parsed JSON of the frame; it does not exist for a frame
// that is no JSON text.
func (m Message) Value() gjson.Result { return m.v }

// Get returns the member at a gjson path.
func (m Message) Get(path string) gjson.Result { return m.v.Get(path) }

// Elements returns the messages of a batch, or the message itself.
func (m Message) Elements() []Message {
	if m.Kind != Batch {
		return []Message{m}
	}
	var out []Message
	m.v.ForEach(func(_, e gjson.Result) bool {
		out = append(out, classify(Message{Raw: []byte(e.Raw)}, e))
		return true
	})
	return out
}

// Readable tells whether any peer can tell which request the frame is, if it
// is one: it is well-formed, no member stands twice, nothing goes to limits that
// a reader may have, and its id is such as a request may have. What is not
// readable may be answered without an id; so may a batch, by a peer that knows
// none.
func (m Message) Readable() bool {
	return m.Kind != Batch && m.Flaw() == nil && len(m.Duplicates) == 0 && !m.Extreme() && (m.Kind != Request || m.ID().Usable())
}

// ID returns the id member as sent.
func (m Message) ID() ID { return ID{m.known().id.Raw} }

// Method returns the method of a request or notification, or "".
func (m Message) Method() string {
	if m.Kind != Request && m.Kind != Notification {
		return ""
	}
	return m.known().method.String()
}

// Params, Result and Error return those members.
func (m Message) Params() gjson.Result { return m.known().params }
func (m Message) Result() gjson.Result { return m.known().result }
func (m Message) Error() gjson.Result  { return m.known().fail }

// Code returns the error code of an error response; ok is false if the frame
// is none or its code is not an integer.
func (m Message) Code() (code int, ok bool) {
	c := m.known().fail.Get("code")
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

// IsResponse tells whether the message is a result or an error.
func (m Message) IsResponse() bool { return m.Kind == Result || m.Kind == Error }

// Summary names the message in a few words, for details and logs.
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
		return fmt.Sprintf("error %s %q for id %s", e.Get("code").Raw, Clip(e.Get("message").String(), 120), m.ID())
	case Batch:
		return fmt.Sprintf("batch of %d", len(m.Elements()))
	}
	return fmt.Sprintf("no message (%v): %s", m.Flaw(), Clip(string(m.Raw), 120))
}

// TypeName names the JSON type of a value with its article: "an object".
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

// Clip shortens a text to at most n bytes, on a rune boundary.
func Clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && s[n]&0xC0 == 0x80 {
		n--
	}
	return s[:n] + "…"
}
