package fuzz

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A script is the bytes of a plan: what is sent between the opening of a session
// and the request that shows whether the peer still answers.
type script struct {
	rev      spec.Revision
	opening  []wire.Frame // frames of the client that open the session; none for a session without
	writes   [][]byte     // each in one write; together they end in a newline, unless overHTTP
	overHTTP bool         // each write is the body of a POST
	paced    bool         // the answers to a write are awaited before the next
	// to requests of the server: the first with the method, which is used once unless it is the last
	answers []answer

	parsed []wire.Message // of the writes, once they are known
}

// An answer is what the client answers to a request of the server.
type answer struct {
	method string
	raw    string // its id is replaced by that of the request
}

// idsPerPlan is the number of ids that are reserved for a plan.
const idsPerPlan = 8

// script returns the bytes of a plan. Its ids are counted from base on, so that
// two plans in one session share none.
func (c *corpus) script(p Plan, base int) script {
	s := script{rev: p.Rev, opening: c.opening, paced: p.Paced, overHTTP: c.overHTTP, answers: c.answers(p.AnswerEdits)}
	if p.NoOpening {
		s.opening = nil
	}
	ids := c.idsOf(p, base)
	var all, pending []byte // pending is what opJoin puts before the next frame
	for i, step := range p.Steps {
		f := c.byName[step.Frame]
		if f == nil {
			continue
		}
		frame, ends := f.bytes(step, i, base+i+1, ids)
		if i == len(p.Steps)-1 && !ends {
			frame, ends = append(frame, '\n'), true
		}
		all = append(all, frame...)
		pending = append(pending, frame...)
		if !ends {
			continue
		}
		switch {
		case c.overHTTP: // the body ends without a newline
			s.writes = append(s.writes, bytes.TrimSuffix(pending, []byte("\n")))
		case p.Paced:
			s.writes = append(s.writes, pending)
		}
		pending = nil
	}
	if !p.Paced && !c.overHTTP {
		s.writes = splitBytes(all, p.SplitAt)
	}
	s.parsed = s.messages()
	return s
}

// idsOf returns the ids of the steps of a plan. A request whose id is a string
// in the corpus has a string with a character beyond ASCII.
func (c *corpus) idsOf(p Plan, base int) []string {
	ids := make([]string, len(p.Steps))
	for i, step := range p.Steps {
		ids[i] = fmt.Sprint(base + i + 1)
		if f := c.byName[step.Frame]; f != nil && f.isRequest && strings.HasPrefix(f.tree.ensureMember("id").raw, `"`) {
			ids[i] = fmt.Sprintf(`"desk-%d/α"`, base+i+1)
		}
	}
	return ids
}

// bytes returns the frame with the edits of a step, which has an index in the
// plan. ends is false if an edit removed its newline.
func (f *baseFrame) bytes(step Step, i, salt int, ids []string) (frame []byte, ends bool) {
	line := []byte(f.raw)
	if f.malformed {
		line = saltIDs(line, salt)
	} else {
		root := parseTree(f.raw)
		f.assignIDs(root, i, salt, ids)
		for _, e := range step.Edits {
			e.apply(root, salt, ids)
		}
		line = root.appendJSON(nil)
	}
	before, end := []byte(nil), []byte("\n")
	for _, e := range step.ByteEdits {
		before, line, end = e.applyToBytes(before, line, end)
	}
	return slices.Concat(before, line, end), len(end) > 0
}

// assignIDs sets the ids in the tree of a frame: a request gets the id of its
// step, and a cancellation that of the step before it.
func (f *baseFrame) assignIDs(root *node, i, salt int, ids []string) {
	switch {
	case root.array:
		for j, element := range root.children {
			if element.object && element.indexOf("id") >= 0 {
				element.set("id", fmt.Sprintf(`"b-%d-%d"`, salt, j))
			}
		}
	case f.isRequest:
		root.set("id", ids[i])
	case root.valueAt("/params/requestId") != nil:
		cancelled := fmt.Sprint(salt)
		if i > 0 {
			cancelled = ids[i-1]
		}
		root.valueAt("/params").set("requestId", cancelled)
	}
}

// malformedID matches an id in the table of malformed frames.
var malformedID = regexp.MustCompile(`"id":9(\d\d)\b`)

// saltIDs makes the ids of a malformed frame differ from plan to plan.
func saltIDs(line []byte, salt int) []byte {
	return malformedID.ReplaceAll(line, fmt.Appendf(nil, `"id":1%05d$1`, salt))
}

// answers returns what the client answers to requests of the server. With edits,
// an edited answer comes first for each method.
func (c *corpus) answers(edits []Edit) []answer {
	var out []answer
	for _, method := range []string{"ping", "roots/list", "sampling/createMessage", "elicitation/create"} {
		raw := c.results[method]
		if raw == "" {
			continue
		}
		if len(edits) > 0 {
			root := parseTree(raw)
			for _, e := range edits {
				e.apply(root, 1, nil)
			}
			out = append(out, answer{method, string(root.appendJSON(nil))})
		}
		out = append(out, answer{method, raw})
	}
	return out
}

// splitBytes splits bytes into writes at positions in 1/1000 of their length.
func splitBytes(all []byte, positions []int) [][]byte {
	var out [][]byte
	cuts := make([]int, 0, len(positions))
	for _, p := range positions {
		cuts = append(cuts, p*len(all)/1000)
	}
	slices.Sort(cuts)
	from := 0
	for _, cut := range slices.Compact(cuts) {
		if cut > from && cut < len(all) {
			out = append(out, all[from:cut])
			from = cut
		}
	}
	return append(out, all[from:])
}

// messages returns what the peer reads: the lines, over HTTP the bodies.
func (s script) messages() []wire.Message {
	if s.parsed != nil {
		return s.parsed
	}
	var out []wire.Message
	if s.overHTTP {
		for _, body := range s.writes {
			out = append(out, wire.Parse(body))
		}
		return out
	}
	all := bytes.Join(s.writes, nil)
	for line := range bytes.SplitSeq(bytes.TrimSuffix(all, []byte("\n")), []byte("\n")) {
		out = append(out, wire.Parse(line))
	}
	return out
}
