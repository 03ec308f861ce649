package fuzz

import (
	"bytes"
	"context"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A ReplayResult is the outcome of a replay.
type ReplayResult struct {
	Reproduces  bool     // there is a symptom
	SameOutcome bool     // with the oracle and the outcome of the case
	Symptom     *Symptom // nil if there is none
	Frames      []wire.Frame
}

// replayRuns is how often a case is executed before it counts as fixed.
const replayRuns = 3

// Replay executes a case on fresh instances of a target until it reproduces,
// three times at most. Its oracles are the state of the peer and the judge of the
// case. restart restarts a server over HTTP, or is nil. Replay fails if no session
// could be opened.
func Replay(
	ctx context.Context, target transport.Target, c Case, o session.Options, restart func(context.Context) error,
) (ReplayResult, error) {
	x := newExecutor(target, o, o.Timeout)
	x.server = newSharedServer(target, o, restart)
	defer x.close()
	over := target.Transport()
	oracles := newOracles(c.Revision, over)
	oracles.judges = slices.DeleteFunc(oracles.judges, func(j check.Check) bool { return j.ID != c.Oracle })
	var out ReplayResult
	for range replayRuns {
		s := c.script(over)
		conn, err := x.open(ctx, s)
		if err != nil {
			return out, err
		}
		executed := conn.execute(ctx, s)
		conn.end(executed.state != session.Alive)
		if ctx.Err() != nil {
			return out, ctx.Err()
		}
		out = ReplayResult{Frames: executed.frames, Symptom: oracles.judge(executed)}
		out.SameOutcome = out.Symptom.matches(&Symptom{Oracle: c.Oracle, Outcome: c.Outcome})
		out.Reproduces = out.Symptom != nil
		if out.Reproduces {
			break
		}
	}
	return out, nil
}

// script returns what a replay sends over a transport, which may differ from
// that of the case.
func (c Case) script(over transport.Kind) script {
	s := script{rev: c.Revision, paced: c.Paced, overHTTP: over != transport.Stdio}
	requests := map[string]string{} // of the server so far: id to method
	var stream []byte
	for _, f := range c.Frames {
		m := f.Message()
		switch {
		case f.From == wire.Server:
			if m.Kind == wire.Request {
				requests[m.ID().Key()] = m.Method()
			}
		case f.Note == noteOpening:
			s.opening = append(s.opening, wire.Frame{From: wire.Client, Raw: f.Raw})
		case f.Note == noteAnswer:
			if method := requests[m.ID().Key()]; method != "" {
				s.answers = append(s.answers, answer{method, string(f.Raw)})
			}
		case f.Note == noteLiveness, f.IsTransportOnly():
		case s.overHTTP:
			s.writes = append(s.writes, f.Raw)
		case c.Transport != transport.Stdio && c.Paced:
			s.writes = append(s.writes, append(bytes.Clone(f.Raw), '\n'))
		default:
			stream = append(append(stream, f.Raw...), '\n')
		}
	}
	if !s.overHTTP {
		s.writes = append(s.writes, splitAt(stream, c.Splits)...)
	}
	return s
}

// splitAt splits bytes at offsets. It ignores offsets that are not behind the one
// before.
func splitAt(all []byte, offsets []int) [][]byte {
	var out [][]byte
	from := 0
	for _, at := range offsets {
		if at > from && at < len(all) {
			out = append(out, all[from:at])
			from = at
		}
	}
	if from < len(all) {
		out = append(out, all[from:])
	}
	return out
}
