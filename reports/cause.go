package reports

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A Cause is one deviation of the target: a check that fails or warns, with the
// revisions at which it does and the other checks that saw the same.
type Cause struct {
	ID        string          `json:"id"`
	Verdict   Verdict         `json:"verdict"` // the worst of them
	Revisions []spec.Revision `json:"revisions"`
	Also      []string        `json:"also,omitempty"`      // ids of other checks
	Known     string          `json:"known,omitempty"`     // that it is known of an SDK
	Baselined bool            `json:"baselined,omitempty"` // the baseline excuses it
}

// A problem is one deviation: the outcomes of a check that fail, warn or are
// broken, grouped by what they say, and those of other checks that saw the same.
type problem struct {
	ID       string
	Verdict  Verdict // the worst
	Variants []variant
	Also     []variant // one of each other check
}

// A variant is the outcomes of a problem that say the same.
type variant struct {
	Outcome           // the last of them, so that the rules are those of the newest revision
	Places  []Outcome // all of them
}

// problemsOf groups the outcomes that fail, are broken or warn by their cause.
// Fails come first, then broken, then warns. It takes either those that the
// baseline excuses or the others.
func problemsOf(run *Run, excused bool) []problem {
	var all []problem
	for _, v := range []Verdict{Fail, Broken, Warn} {
		for _, o := range run.Outcomes {
			if o.Verdict != v || (o.Baselined != "") != excused {
				continue
			}
			i := slices.IndexFunc(all, func(p problem) bool { return p.ID == o.ID })
			if i < 0 {
				i = len(all)
				all = append(all, problem{ID: o.ID, Verdict: v})
			}
			all[i].add(o)
		}
	}
	return mergeCauses(all)
}

// add puts an outcome of the problem's check to those that say the same.
func (p *problem) add(o Outcome) {
	for i := range p.Variants {
		if v := &p.Variants[i]; saySame(v.Outcome, o) {
			v.Outcome = o
			v.Places = append(v.Places, o)
			return
		}
	}
	p.Variants = append(p.Variants, variant{Outcome: o, Places: []Outcome{o}})
}

// mergeCauses puts a problem of which another check saw everything to the problem
// of that check.
func mergeCauses(all []problem) []problem {
	var out []problem
next:
	for _, p := range all {
		for i := range out {
			if p.Verdict != Broken && out[i].Verdict != Broken && out[i].shows(p) {
				places := slices.Concat(placesOf(p.Variants)...)
				last := p.Variants[len(p.Variants)-1].Outcome
				out[i].Also = append(out[i].Also, variant{Outcome: last, Places: places})
				continue next
			}
		}
		out = append(out, p)
	}
	return out
}

// advised ends the id of a check whose rule is a MUST at other revisions. There the
// check with the id without this suffix judges it.
const advised = ".advised"

func placesOf(variants []variant) [][]Outcome {
	var all [][]Outcome
	for _, v := range variants {
		all = append(all, v.Places)
	}
	return all
}

// shows reports whether every outcome of another problem shows a deviation that one
// of p shows too, or the other problem is of the same rule at revisions at which its
// level is SHOULD.
func (p problem) shows(other problem) bool {
	if strings.TrimSuffix(p.ID, advised) == strings.TrimSuffix(other.ID, advised) {
		return true
	}
	for _, theirs := range other.Variants {
		for _, o := range theirs.Places {
			if !slices.ContainsFunc(slices.Concat(placesOf(p.Variants)...), func(ours Outcome) bool {
				return haveSameCause(ours, o)
			}) {
				return false
			}
		}
	}
	return true
}

// haveSameCause reports whether outcomes of two checks show one deviation: of messages
// of the same methods they say the same, or the same answer to the same request differs
// in the same way from what is due.
func haveSameCause(a, b Outcome) bool {
	clientA, serverA := evidence(a.Frames)
	clientB, serverB := evidence(b.Frames)
	if methodOf(clientA) != methodOf(clientB) || methodOf(serverA) != methodOf(serverB) {
		return false
	}
	if a.Detail != "" && saySame(a, b) {
		return true
	}
	return serverA != "" && a.Got != "" && saySameValues(a, b) &&
		withoutCounted(clientA) == withoutCounted(clientB) && withoutCounted(serverA) == withoutCounted(serverB)
}

func methodOf(message string) string { return wire.Parse([]byte(message)).Method() }

// saySame reports whether two outcomes differ in place only.
func saySame(a, b Outcome) bool {
	return withoutIDs(a.Detail) == withoutIDs(b.Detail) && saySameValues(a, b) && a.Baselined == b.Baselined
}

// saySameValues reports whether two outcomes expected the same and got the same.
func saySameValues(a, b Outcome) bool {
	return withoutIDs(a.Expected) == withoutIDs(b.Expected) && withoutIDs(a.Got) == withoutIDs(b.Got)
}

// withoutIDs removes the request ids that a session counts up. They differ from
// run to run and carry no meaning.
func withoutIDs(text string) string { return countedID.ReplaceAllString(text, "id") }

// withoutCounted removes from a message the id and the progress token that are
// counted up, and the revision that it names.
func withoutCounted(message string) string {
	for _, rev := range spec.Revisions() {
		message = strings.ReplaceAll(message, string(rev), "REVISION")
	}
	return countedMember.ReplaceAllString(message, `"$1":0`)
}

var (
	countedID     = regexp.MustCompile(`\bid [0-9]{1,9}\b`)
	countedMember = regexp.MustCompile(`"(id|progressToken)":[0-9]{1,9}\b`)
)

// outcomes returns all outcomes of the cause, those of its own check first.
func (p problem) outcomes() []Outcome {
	return slices.Concat(slices.Concat(placesOf(p.Variants)...), slices.Concat(placesOf(p.Also)...))
}

// newest returns the outcome that stands for the cause where only one can be shown:
// that of its check with the worst verdict at the newest revision.
func (p problem) newest() Outcome {
	var out Outcome
	for _, o := range slices.Concat(placesOf(p.Variants)...) {
		if o.Verdict == p.Verdict && o.Revision >= out.Revision {
			out = o
		}
	}
	return out
}

// Causes returns the deviations of the target, each once, those that the baseline
// excuses last.
func (r *Run) Causes() []Cause {
	var all []Cause
	for _, excused := range []bool{false, true} {
		for _, p := range problemsOf(r, excused) {
			c := Cause{ID: p.ID, Verdict: p.Verdict, Known: p.newest().Known, Baselined: excused}
			for _, o := range p.outcomes() {
				if !slices.Contains(c.Revisions, o.Revision) {
					c.Revisions = append(c.Revisions, o.Revision)
				}
			}
			slices.Sort(c.Revisions)
			for _, v := range p.Also {
				c.Also = append(c.Also, v.ID)
			}
			all = append(all, c)
		}
	}
	return all
}
