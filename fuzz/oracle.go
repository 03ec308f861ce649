package fuzz

import (
	"regexp"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/catalog"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/view"
)

// A Symptom is what an oracle reports of an execution.
type Symptom struct {
	Oracle  string // one of the constants below, or the id of a judge
	Outcome string // the same whenever the cause is the same: without ids, counts and times
	Says    string // what happened in this execution
	Frame   int    // index of the frame at fault, or -1
	endKind string // how the peer ended, without what it wrote
}

// The oracles that are not judges. oracleBroken reports a judge that panicked,
// which is a bug of mcpcheck.
const (
	oracleDead   = "liveness.dead"
	oracleDesync = "liveness.desync"
	oracleMute   = "liveness.mute"
	oracleBroken = "mcpcheck"
)

// matches reports whether two symptoms may have the same cause.
func (s *Symptom) matches(other *Symptom) bool {
	return s != nil && other != nil && s.Oracle == other.Oracle && s.Outcome == other.Outcome
}

// judgesOf returns the judges of the server that apply at a revision over a
// transport. It returns those of a MUST only, since a finding fails the run.
func judgesOf(rev spec.Revision, over transport.Kind) []check.Check {
	return slices.DeleteFunc(catalog.Judges(), func(c check.Check) bool {
		return c.Of != wire.Server || c.Level != spec.Must || !c.In.Has(rev) || !c.On.Has(over)
	})
}

// oracles are the oracles of one revision.
type oracles struct {
	rev    spec.Revision
	judges []check.Check
}

func newOracles(rev spec.Revision, over transport.Kind) *oracles {
	return &oracles{rev, judgesOf(rev, over)}
}

// removeViolated removes the judges that report a violation without a mutation,
// and returns their ids. Such a violation is the subject of `mcpcheck server`.
func (o *oracles) removeViolated(x execution, whole *wire.Transcript) []string {
	var out []string
	v := view.New(o.rev, x.transcript)
	o.judges = slices.DeleteFunc(o.judges, func(c check.Check) bool {
		violated := check.JudgeView(c, v).State == check.Violated &&
			check.Judge(c, o.rev, whole).State == check.Violated
		if violated {
			out = append(out, c.ID)
		}
		return violated
	})
	return out
}

// judge returns the symptom of an execution, or nil. The state of the peer comes
// before the judges.
func (o *oracles) judge(x execution) *Symptom {
	last := len(x.frames) - 1
	switch x.state {
	case session.Dead:
		crash := crashLineOf(x)
		return &Symptom{
			Oracle: oracleDead, Outcome: "the peer ended: " + normalize(x.ended+crash), Says: x.why + crash,
			Frame: last, endKind: normalize(x.ended),
		}
	case session.OutOfSync:
		outcome := "the peer runs but answers no request any more"
		return &Symptom{Oracle: oracleDesync, Outcome: outcome, Says: x.why, Frame: last}
	case session.Mute:
		anomaly := x.anomaly
		if anomaly == "" {
			anomaly = "well-formed"
		}
		return &Symptom{Oracle: oracleMute, Outcome: "a request is never answered: " + anomaly, Says: x.why, Frame: -1}
	}
	if !o.keptRevision(x.transcript) {
		return nil
	}
	v := view.New(o.rev, x.transcript)
	for _, c := range o.judges {
		found := check.JudgeView(c, v)
		if found.State == check.Broken {
			return &Symptom{
				Oracle: oracleBroken, Outcome: c.ID + ": " + normalize(found.Detail), Says: found.Detail, Frame: -1,
			}
		}
		if found.State == check.Violated {
			says := found.Detail + " (" + found.Got + ")"
			return &Symptom{
				Oracle: c.ID, Outcome: normalize(found.Detail), Says: says, Frame: markedFrame(found, x.frames),
			}
		}
	}
	return nil
}

// confirms reports whether the judge of a symptom reports a violation in the
// transcript of the whole session too. An answer that arrives late is in the
// execution of another script.
func (o *oracles) confirms(s *Symptom, whole *wire.Transcript) bool {
	for _, c := range o.judges {
		if c.ID == s.Oracle {
			return check.Judge(c, o.rev, whole).State == check.Violated
		}
	}
	return true
}

// markedFrame returns the index of the frame that a judge marked, or -1.
func markedFrame(o check.Outcome, frames []wire.Frame) int {
	for _, marked := range o.Frames {
		if !marked.Marked {
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

// keptRevision reports whether the session stayed at its revision. A mutated
// initialize may have negotiated another one, which these judges do not know.
func (o *oracles) keptRevision(t *wire.Transcript) bool {
	for _, f := range t.Entries() {
		if f.From != wire.Server {
			continue
		}
		for _, m := range f.Message.Elements() {
			if v := m.Result().Get("protocolVersion"); v.Exists() && v.String() != string(o.rev) {
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
	idNames   = regexp.MustCompile(`\bid (?:#|…|\[[^\]]*\]|\{[^}]*\}|null|true|false)`)
)

// crashLineOf returns the line of the standard error that names the reason of a
// crash, with a colon before it, or "".
func crashLineOf(x execution) string {
	for text := range strings.Lines(x.stderr) {
		if crashLine.MatchString(text) {
			return ": " + wire.Clip(strings.TrimSpace(text), 200)
		}
	}
	return ""
}

// normalize removes from a text what differs between executions: quoted text,
// numbers and ids.
func normalize(text string) string {
	text = quoted.ReplaceAllString(text, "…")
	text = numbers.ReplaceAllString(text, "#")
	text = idNames.ReplaceAllString(text, "id #")
	return wire.Clip(text, 160)
}
