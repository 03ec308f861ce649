// Package fuzz searches for inputs that break a server: it draws plans of
// golden frames and mutations as data, plays them in sessions, and asks the
// invariant judges and the liveness of the peer. What a mutated input may be
// answered with is judged by nobody else; that it was accepted, never.
package fuzz

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A Plan is what is sent between an opening and the closing question whether
// the peer still lives. It is data: drawn first, then played.
type Plan struct {
	Rev   spec.Revision `json:"rev"`
	Steps []Step        `json:"steps"`
	// Paced: the answer to a step is awaited before the next is sent; else
	// all steps are written at once.
	Paced bool `json:"paced,omitempty"`
	// Chunks are places at which the bytes are split into writes, in 1/1000
	// of their length.
	SplitAt []int `json:"chunks,omitempty"`
	// Bare: nothing opens the session before the steps.
	NoOpening bool `json:"bare,omitempty"`
	// Answer is done to the first answer to a request of the server.
	AnswerEdits []Edit `json:"answer,omitempty"`
}

// A Step is one frame.
type Step struct {
	Frame  string `json:"card"` // the frame of the deck that it starts from
	Edits []Edit `json:"edits,omitempty"`
	ByteEdits []Edit `json:"bytes,omitempty"`
}

// An Edit is one mutation.
type Edit struct {
	Op    string `json:"op"`
	At    string `json:"at,omitempty"`    // JSON pointer into the frame as it stood in the deck
	Name  string `json:"name,omitempty"`  // of a member
	Value string `json:"value,omitempty"` // name of an odd value, see values
	N     int    `json:"n,omitempty"`     // a step, a place in 1/1000 of the bytes, or a count
}

// Key identifies equal plans.
func (p Plan) Key() string {
	b, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("fuzz: a plan cannot be written: %v", err))
	}
	return string(b)
}

// String tells what the plan does, a line a step.
func (p Plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "at %s", p.Rev)
	if p.NoOpening {
		b.WriteString(", without an opening")
	}
	if p.Paced {
		b.WriteString(", one at a time")
	}
	if len(p.SplitAt) > 0 {
		fmt.Fprintf(&b, ", in %d writes", len(p.SplitAt)+1)
	}
	for _, s := range p.Steps {
		fmt.Fprintf(&b, "\n  %s", s.Frame)
		for _, e := range append(append([]Edit(nil), s.Edits...), s.ByteEdits...) {
			fmt.Fprintf(&b, "; %s", e)
		}
	}
	for _, e := range p.AnswerEdits {
		fmt.Fprintf(&b, "\n  in our answer: %s", e)
	}
	return b.String()
}

func (e Edit) String() string {
	s := e.Op
	if e.At != "" {
		s += " " + e.At
	}
	if e.Name != "" {
		s += " member " + quote(e.Name)
	}
	if e.Value != "" {
		s += " with " + e.Value
	}
	if e.N != 0 {
		s += fmt.Sprintf(" (%d)", e.N)
	}
	return s
}
