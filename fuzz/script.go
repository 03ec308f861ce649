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
type Script struct {
	Rev     spec.Revision
	Opening []wire.Frame // frames of the client that open the session; none: a bare one
	Writes  [][]byte     // each in one write; together they end in a newline, unless Posted
	Posted  bool         // each write is the body of a POST
	Paced   bool         // the answers to a write are awaited before the next
	Answers []Answer     // to requests of the server, by method; the first that fits is used up, the last of a method stays

	lines []wire.Message // once they are known
}

// An Answer is what the client answers to a request of the server.
type Answer struct {
	Method string
	Raw    string // the id in it is replaced by that of the request
}

// stride is how many ids a plan may use.
const stride = 8

// Script makes bytes of a plan. Ids are counted from base on, so that plans in
// one session do not share any.
func (d *Deck) Script(p Plan, base int) Script {
	s := Script{Rev: p.Rev, Opening: d.Opening, Paced: p.Paced, Posted: d.Posted}
	if p.Bare {
		s.Opening = nil
	}
	s.Answers = d.answers(p.Answer)
	used := make([]string, len(p.Steps))
	for i := range p.Steps {
		used[i] = fmt.Sprint(base + i + 1)
		if c := d.byName[p.Steps[i].Card]; c != nil && c.request && parseString(c.tree.member("id").raw) {
			used[i] = fmt.Sprintf(`"desk-%d/α"`, base+i+1)
		}
	}
	var all, pending []byte // pending: what the next frame goes on in the same line
	for i, step := range p.Steps {
		card := d.byName[step.Card]
		if card == nil {
			continue
		}
		line := []byte(card.Raw)
		if card.Bad {
			line = salted(line, base+i+1)
		} else {
			root := parseTree(card.Raw)
			number(root, card, base+i+1, used, i)
			for _, e := range step.Edits {
				e.apply(root, base+i+1, used)
			}
			line = root.append(nil)
		}
		before, end := []byte(nil), []byte("\n")
		for _, e := range step.Bytes {
			before, line, end = e.applyBytes(before, line, end)
		}
		if i == len(p.Steps)-1 && len(end) == 0 {
			end = []byte("\n")
		}
		frame := slices.Concat(before, line, end)
		if pending = append(pending, frame...); (p.Paced || d.Posted) && len(end) > 0 {
			if d.Posted { // its end is that of the body
				pending = bytes.TrimSuffix(pending, []byte("\n"))
			}
			s.Writes = append(s.Writes, pending)
			pending = nil
		}
		all = append(all, frame...)
	}
	if !p.Paced && !d.Posted {
		s.Writes = split(all, p.Chunks)
	}
	s.lines = s.Lines()
	return s
}

// number gives a frame the ids of its place: requests their own, and a
// cancellation that of the request before it.
func number(root *node, card *Card, salt int, used []string, step int) {
	switch {
	case root.array:
		for i, element := range root.nested {
			if element.object && element.index("id") >= 0 {
				setMember(element, "id", fmt.Sprintf(`"b-%d-%d"`, salt, i))
			}
		}
	case card.request:
		setMember(root, "id", used[step])
	case root.at("/params/requestId") != nil:
		target := fmt.Sprint(salt)
		if step > 0 {
			target = used[step-1]
		}
		setMember(root.at("/params"), "requestId", target)
	}
}

// tableID is an id of the table of malformed frames.
var tableID = regexp.MustCompile(`"id":9(\d\d)\b`)

// salted makes the ids of a malformed frame differ from plan to plan.
func salted(line []byte, salt int) []byte {
	return tableID.ReplaceAll(line, fmt.Appendf(nil, `"id":1%05d$1`, salt))
}

func parseString(raw string) bool { return strings.HasPrefix(raw, `"`) }

// answers returns what the client answers, with the edits done to the first
// answer of each method.
func (d *Deck) answers(edits []Edit) []Answer {
	var out []Answer
	for _, method := range []string{"ping", "roots/list", "sampling/createMessage", "elicitation/create"} {
		raw := d.Answers[method]
		if raw == "" {
			continue
		}
		if len(edits) > 0 {
			root := parseTree(raw)
			for _, e := range edits {
				e.apply(root, 1, nil)
			}
			out = append(out, Answer{method, string(root.append(nil))})
		}
		out = append(out, Answer{method, raw})
	}
	return out
}

// split cuts bytes into writes at places in 1/1000 of their length.
func split(all []byte, places []int) [][]byte {
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
func (s Script) Lines() []wire.Message {
	if s.lines != nil {
		return s.lines
	}
	var out []wire.Message
	if s.Posted {
		for _, body := range s.Writes {
			out = append(out, wire.Parse(body))
		}
		return out
	}
	all := bytes.Join(s.Writes, nil)
	for _, line := range bytes.Split(bytes.TrimSuffix(all, []byte("\n")), []byte("\n")) {
		out = append(out, wire.Parse(line))
	}
	return out
}
