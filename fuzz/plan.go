package fuzz

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A Plan says what is sent between the opening of a session and the request
// that shows whether the peer still answers. It is data: a generator draws it
// before anything is sent.
type Plan struct {
	Rev   spec.Revision `json:"rev"`
	Steps []Step        `json:"steps"`
	// Paced: the answer to a step is awaited before the next step is sent.
	// Otherwise all steps are sent at once.
	Paced bool `json:"paced,omitempty"`
	// SplitAt are places at which the bytes are split into writes, in 1/1000
	// of their length.
	SplitAt []int `json:"splitAt,omitempty"`
	// NoOpening: the steps are sent without an opening before them.
	NoOpening bool `json:"noOpening,omitempty"`
	// AnswerEdits mutate the first answer to each request of the server.
	AnswerEdits []Edit `json:"answerEdits,omitempty"`
}

// A Step is one frame.
type Step struct {
	Frame     string `json:"frame"` // name of the base frame in the corpus
	Edits     []Edit `json:"edits,omitempty"`
	ByteEdits []Edit `json:"byteEdits,omitempty"`
}

// An Edit is one mutation of a frame.
type Edit struct {
	Op    string `json:"op"`
	At    string `json:"at,omitempty"`    // JSON pointer into the base frame
	Name  string `json:"name,omitempty"`  // of a member
	Value string `json:"value,omitempty"` // name of a value in values.go
	N     int    `json:"n,omitempty"`     // a step, a place in 1/1000 of the bytes, or a count
}

// Key returns a text that is the same for equal plans.
func (p Plan) Key() string {
	b, err := json.Marshal(p)
	if err != nil {
		panic(fmt.Sprintf("fuzz: a plan cannot be encoded: %v", err)) // it holds strings and numbers only
	}
	return string(b)
}

// String describes the plan, one line a step.
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
		for _, e := range slices.Concat(s.Edits, s.ByteEdits) {
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
