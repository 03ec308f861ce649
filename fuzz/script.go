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

// A Script is a plan made bytes: what a session sends between its opening and
// the closing question.
type script struct {
	rev     spec.Revision
	opening []wire.Frame // frames of the client that open the session; none: a bare one
	writes  [][]byte     // each in one write; together they end in a newline, unless Posted
	overHTTP  bool         // each write is the body of a POST
	paced   bool         // the answers to a write are awaited before the next
	answers []answer     // to requests of the server, by method; the first that fits is used up, the last of a method stays

	parsed []wire.Message // once they are known
}

// An Answer is what the client answers to a request of the server.
type answer struct {
	method string
	raw    string // the id in it is replaced by that of the request
}

// stride is how many ids a plan may use.
const idsPerPlan = 8

// Script makes bytes of a plan. Ids are counted from base on, so that plans in
// one session do not share any.
func (d *corpus) script(p Plan, base int) script {
	s := script{rev: p.Rev, opening: d.opening, paced: p.Paced, overHTTP: d.overHTTP}
	if p.NoOpening {
		s.opening = nil
	}
	s.answers = d.answers(p.AnswerEdits)
	used := make([]string, len(p.Steps))
	for i := range p.Steps {
		used[i] = fmt.Sprint(base + i + 1)
		if c := d.byName[p.Steps[i].Frame]; c != nil && c.isRequest && isString(c.tree.ensureMember("id").raw) {
			used[i] = fmt.Sprintf(`"desk-%d/α"`, base+i+1)
		}
	}
	var all, pending []byte // pending: what the next frame goes on in the same line
	for i, step := range p.Steps {
		card := d.byName[step.Frame]
		if card == nil {
			continue
		}
		line := []byte(card.raw)
		if card.malformed {
			line = saltIDs(line, base+i+1)
		} else {
			root := parseTree(card.raw)
			assignIDs(root, card, base+i+1, used, i)
			for _, e := range step.Edits {
				e.apply(root, base+i+1, used)
			}
			line = root.appendJSON(nil)
		}
		before, end := []byte(nil), []byte("\n")
		for _, e := range step.ByteEdits {
			before, line, end = e.applyToBytes(before, line, end)
		}
		if i == len(p.Steps)-1 && len(end) == 0 {
			end = []byte("\n")
		}
		frame := slices.Concat(before, line, end)
		if pending = append(pending, frame...); (p.Paced || d.overHTTP) && len(end) > 0 {
			if d.overHTTP { // its end is that of the body
				pending = bytes.TrimSuffix(pending, []byte("\n"))
			}
			s.writes = append(s.writes, pending)
			pending = nil
		}
		all = append(all, frame...)
	}
	if !p.Paced && !d.overHTTP {
		s.writes = splitBytes(all, p.SplitAt)
	}
	s.parsed = s.messages()
	return s
}

// number gives a frame the ids of its place: requests their own, and a
// cancellation that of the request before it.
func assignIDs(root *node, card *baseFrame, salt int, used []string, step int) {
	switch {
	case root.array:
		for i, element := range root.children {
			if element.object && element.indexOf("id") >= 0 {
				setMember(element, "id", fmt.Sprintf(`"b-%d-%d"`, salt, i))
			}
		}
	case card.isRequest:
		setMember(root, "id", used[step])
	case root.valueAt("/params/requestId") != nil:
		target := fmt.Sprint(salt)
		if step > 0 {
			target = used[step-1]
		}
		setMember(root.valueAt("/params"), "requestId", target)
	}
}

// tableID is an id of the table of malformed frames.
var malformedID = regexp.MustCompile(`"id":9(\d\d)\b`)

// salted makes the ids of a malformed frame differ from plan to plan.
func saltIDs(line []byte, salt int) []byte {
	return malformedID.ReplaceAll(line, fmt.Appendf(nil, `"id":1%05d$1`, salt))
}

func isString(raw string) bool { return strings.HasPrefix(raw, `"`) }

// answers returns what the client answers, with the edits done to the first
// answer of each method.
func (d *corpus) answers(edits []Edit) []answer {
	var out []answer
	for _, method := range []string{"ping", "roots/list", "sampling/createMessage", "elicitation/create"} {
		raw := d.results[method]
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

// split cuts bytes into writes at places in 1/1000 of their length.
func splitBytes(all []byte, places []int) [][]byte {
	var out [][]byte
	cuts := make([]int, 0, len(places))
	for _, p := range places {
		cuts = append(cuts, p*len(all)/1000)
	}
	slices.Sort(cuts)
	from := 0
	for _, c := range slices.Compact(cuts) {
		if c > from && c < len(all) {
			out = append(out, all[from:c])
			from = c
		}
	}
	return append(out, all[from:])
}

// Lines returns what the peer reads, line by line, over HTTP body by body.
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
	for _, line := range bytes.Split(bytes.TrimSuffix(all, []byte("\n")), []byte("\n")) {
		out = append(out, wire.Parse(line))
	}
	return out
}
