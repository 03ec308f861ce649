package fuzz

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
)

// A Symptom is what an oracle objects to.
type Symptom struct {
	Oracle  string // id of the judge, or liveness.dead, liveness.desync, liveness.mute
	Outcome string // the same for every run of one cause: no ids, counts or times
	Says    string // what happened this time
	Frame   int    // the offending one of Played.Frames, or -1
	endKind    string // of outcomes that are alike: how a peer ended, whatever it said
}

// oracleBroken is the oracle of symptoms that are our own: a judge that failed.
const oracleBroken = "mcpcheck"

// same tells whether two symptoms may be of one cause.
func (s *Symptom) matches(other *Symptom) bool {
	return s != nil && other != nil && s.Oracle == other.Oracle && s.Outcome == other.Outcome
}

// judges are the oracles of a revision over a transport: those of a MUST, since
// a finding fails the run.
func judgesOf(rev spec.Revision, over transport.Kind) []check.Check {
	return slices.DeleteFunc(catalog.Judges(), func(c check.Check) bool {
		return c.Of != wire.Server || c.Level != spec.Must || !c.In.Has(rev) || !c.On.Has(over)
	})
}

// A bench is the oracles of one revision.
type oracles struct {
	rev    spec.Revision
	judges []check.Check
}

func newOracles(rev spec.Revision, over transport.Kind) *oracles { return &oracles{rev, judgesOf(rev, over)} }

// setAside leaves out the judges that object to a session without mutations:
// their verdict belongs to `mcpcheck server`. It returns their ids.
func (b *oracles) removeObjecting(p execution, whole *wire.Transcript) []string {
	var out []string
	view := check.NewView(b.rev, p.transcript)
	b.judges = slices.DeleteFunc(b.judges, func(c check.Check) bool {
		objects := view.Look(c).State == check.Violated && check.Look(c, b.rev, whole).State == check.Violated
		if objects {
			out = append(out, c.ID)
		}
		return objects
	})
	return out
}

// look asks liveness and then the judges.
func (b *oracles) judge(p execution) *Symptom {
	switch p.state {
	case session.Dead:
		what, why := describeEnd(p)
		return &Symptom{Oracle: "liveness.dead", Outcome: "the peer ended: " + normalize(what+why), Says: p.why + why, Frame: len(p.frames) - 1, endKind: normalize(what)}
	case session.Desync:
		return &Symptom{Oracle: "liveness.desync", Outcome: "the peer runs but answers no request any more", Says: p.why, Frame: len(p.frames) - 1}
	case session.Mute:
		odd := p.anomaly
		if odd == "" {
			odd = "well-formed"
		}
		return &Symptom{Oracle: "liveness.mute", Outcome: "a request is never answered: " + odd, Says: p.why, Frame: -1}
	}
	t := p.transcript
	if !b.keptRevision(t) {
		return nil
	}
	view := check.NewView(b.rev, t)
	for _, c := range b.judges {
		o := view.Look(c)
		if o.State == check.Broken {
			return &Symptom{Oracle: oracleBroken, Outcome: c.ID + ": " + normalize(o.Detail), Says: o.Detail, Frame: -1}
		}
		if o.State != check.Violated {
			continue
		}
		return &Symptom{Oracle: c.ID, Outcome: normalize(o.Detail), Says: o.Detail + " (" + o.Got + ")", Frame: markedFrame(o, p.frames)}
	}
	return nil
}

// stands tells whether a judge objects to everything said on a connection as
// well: an answer may be late, and then stands beside the wrong script.
func (b *oracles) confirms(s *Symptom, whole *wire.Transcript) bool {
	for _, c := range b.judges {
		if c.ID == s.Oracle {
			return check.Look(c, b.rev, whole).State == check.Violated
		}
	}
	return true
}

// offender finds the frame that a judge marked.
func markedFrame(o check.Outcome, frames []wire.Frame) int {
	for _, marked := range o.Frames {
		if !marked.Mark {
			continue
		}
		for i, f := range slices.Backward(frames) {
			if f.From == marked.From && string(f.Raw) == string(marked.Raw) {
				return i
			}
		}
	}
	return -1
}

// spoken tells whether the session stayed at its revision: an initialize among
// the mutations may have negotiated another, by which the judges do not judge.
func (b *oracles) keptRevision(t *wire.Transcript) bool {
	for _, f := range t.Entries() {
		if f.From != wire.Server {
			continue
		}
		for _, m := range f.Message.Elements() {
			if v := m.Result().Get("protocolVersion"); v.Exists() && v.String() != string(b.rev) {
				return false
			}
		}
	}
	return true
}

var (
	crashLine = regexp.MustCompile(`(?i)panic|fatal|error|exception|assert|abort|segmentation`)
	quoted    = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\x60[^\x60]*\x60`)
	numbers   = regexp.MustCompile(`0x[0-9a-fA-F]+|[-+]?\d+(\.\d+)?([eE][-+]?\d+)?`)
	idNames      = regexp.MustCompile(`\bid (?:#|…|\[[^\]]*\]|\{[^}]*\}|null|true|false)`)
)

// ending tells how a peer ended: its status, and the line of its standard
// error that tells why.
func describeEnd(p execution) (what, why string) {
	for text := range strings.Lines(p.stderr) {
		if crashLine.MatchString(text) {
			return p.ended, ": " + wire.Clip(strings.TrimSpace(text), 200)
		}
	}
	return p.ended, ""
}

// normal takes out of a text what differs from run to run.
func normalize(text string) string {
	text = quoted.ReplaceAllString(text, "…")
	text = numbers.ReplaceAllString(text, "#")
	text = idNames.ReplaceAllString(text, "id #")
	return wire.Clip(text, 160)
}
