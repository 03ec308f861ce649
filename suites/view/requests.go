package view

import (
	"bytes"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// RequestOf returns the request that a response answers: the message with its id before
// it, from the other side. ok is false if that is not known: no message had the id,
// several had it (also invalid JSON that the peer may have read), or a member of the
// request is a duplicate, of which either may count.
func (v *View) RequestOf(response wire.Entry) (request wire.Entry, ok bool) {
	type answer struct {
		index int
		id    string
	}
	type asked struct {
		request wire.Entry
		ok      bool
	}
	found := Derived(v, response.From, "answered requests", func() map[answer]asked {
		return map[answer]asked{}
	})
	key := answer{response.Index, response.Message.ID().Raw}
	a, known := found[key]
	if !known {
		a.request, a.ok = v.findRequestOf(response)
		found[key] = a
	}
	return a.request, a.ok
}

// findRequestOf is RequestOf without the memory of what was found before.
func (v *View) findRequestOf(response wire.Entry) (request wire.Entry, ok bool) {
	asked := v.requestsBefore(response)
	if len(asked) != 1 || len(v.Entry(asked[0].Index).Message.DuplicateKeys) > 0 || v.MatchesInvalidJSON(response) {
		return wire.Entry{}, false
	}
	return asked[0], true
}

// MatchesInvalidJSON reports whether invalid JSON from the other side, before a
// response, seems to have its id.
func (v *View) MatchesInvalidJSON(response wire.Entry) bool {
	side := response.From.Peer()
	broken := Derived(v, side, "invalid JSON", func() (out []wire.Entry) {
		for _, e := range v.entries {
			if e.From == side && e.Message.SyntaxError != nil {
				out = append(out, e)
			}
		}
		return out
	})
	return slices.ContainsFunc(broken, func(e wire.Entry) bool {
		return e.Index < response.Index && mayHoldID(e.Raw, response.Message.ID().Raw)
	})
}

// mayHoldID reports whether bytes contain a member id with a value.
func mayHoldID(raw []byte, id string) bool {
	for {
		_, rest, found := bytes.Cut(raw, []byte(`"id"`))
		if !found || id == "" {
			return false
		}
		raw = rest
		value, found := bytes.CutPrefix(bytes.TrimLeft(bytes.TrimLeft(rest, " \t\r\n"), ": \t\r\n"), []byte(id))
		if found && (len(value) == 0 || !strings.ContainsRune("0123456789.eE", rune(value[0]))) {
			return true
		}
	}
}

// HasRequest reports whether any message from the other side, before a response, had
// its id.
func (v *View) HasRequest(response wire.Entry) bool { return len(v.requestsBefore(response)) > 0 }

// requestsBefore returns the messages from the other side, before a response, that had
// its id.
func (v *View) requestsBefore(response wire.Entry) []wire.Entry {
	side := response.From.Peer()
	byID := Derived(v, side, "requests by id", func() map[string][]wire.Entry {
		out := map[string][]wire.Entry{}
		for _, e := range v.Messages(side) {
			if e.Message.IsResponse() {
				continue
			}
			// Either of two duplicate ids may count.
			e.Message.Value().ForEach(func(name, value gjson.Result) bool {
				if name.String() == "id" {
					key := wire.ID{Raw: value.Raw}.Key()
					out[key] = append(out[key], e)
				}
				return true
			})
		}
		return out
	})
	all := byID[response.Message.ID().Key()]
	n := slices.IndexFunc(all, func(e wire.Entry) bool { return e.Index >= response.Index })
	if n < 0 {
		n = len(all)
	}
	return all[:n:n]
}
