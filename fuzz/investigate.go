package fuzz

import (
	"context"
	"fmt"
	"slices"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/reports"
)

// Bounds on what is reported for one symptom.
const (
	perSymptom  = 4 // findings: what comes after is taken for one of them
	confirmRuns = 3
	fatalHits   = 3 // plans that met a finding before others like it are set aside
)

// known returns the finding that a plan with a symptom is an instance of.
func (e *engine) known(symptom *Symptom, causes []string) *Found {
	alike := 0
	var last *Found
	for _, f := range e.res.Findings {
		if !f.symptom.same(symptom) {
			continue
		}
		if subset(f.Causes, causes) {
			return f
		}
		alike, last = alike+1, f
	}
	if alike >= perSymptom {
		return last
	}
	return nil
}

func subset(some, all []string) bool {
	for _, s := range some {
		if !slices.Contains(all, s) {
			return false
		}
	}
	return true
}

// fatal tells whether a plan would meet a finding that ends the session once
// more: each costs a start of the target and shows nothing new. Only flaws of
// lines are told beforehand; what an operation does is not.
func (e *engine) fatal(p Plan) bool {
	var mine []string
	for _, f := range e.res.Findings {
		if f.hits < fatalHits || f.symptom.Oracle[:4] != "live" || !allFlaws(f.Causes) {
			continue
		}
		if mine == nil {
			mine = flaws(e.decks[p.Rev].Script(p, stride))
		}
		if subset(f.Causes, mine) {
			return true
		}
	}
	return false
}

// investigate makes a finding of a plan with a symptom: reproduces it on a
// fresh session, has it shrunk, confirms the smallest, and writes it down.
func (e *engine) investigate(ctx context.Context, p Plan, seed uint64, symptom *Symptom, history []Script) {
	d := e.decks[p.Rev]
	if f := e.known(symptom, everyCause(p, history[len(history)-1])); f != nil {
		f.hits++
		e.res.Stats.Again++
		return
	}
	fails := func(q Plan) bool {
		s := d.Script(q, stride)
		return ctx.Err() == nil && q.Rev == p.Rev && e.allowed(s) && e.fresh(ctx, e.p, s).same(symptom)
	}
	found := &Found{symptom: symptom}
	var script Script
	if small, ok := e.gen.shrink(seed, e.o.Shrink, fails); ok {
		found.Plan = e.reduce(small, fails)
		script = d.Script(found.Plan, stride)
		found.Causes = mainCauses(found.Plan, script)
	} else {
		// The plan alone is not enough: what was said before it counts.
		writes := e.together(ctx, history, symptom)
		script = merged(history[0], writes)
		found.Causes = append(flaws(script), "what was said before")
	}
	if ctx.Err() != nil {
		return
	}
	if f := e.known(symptom, found.Causes); f != nil {
		f.hits++
		e.res.Stats.Again++
		return
	}
	confirmed, evidence := e.confirm(ctx, script, symptom)
	if ctx.Err() != nil {
		return
	}
	if confirmed == 0 && (symptom.Oracle == "liveness.mute" || symptom.Oracle == "liveness.desync") {
		// It answers, only later than suspected: wait longer from now on.
		e.res.Stats.Slow++
		e.p.wait = min(2*e.p.wait, e.o.Session.Timeout)
		e.p.opts.Timeout = e.p.wait
		return
	}
	e.record(found, script, confirmed, evidence, seed)
}

// fresh plays a script on an instance of its own and returns the symptom.
func (e *engine) fresh(ctx context.Context, p *player, s Script) *Symptom {
	symptom, _ := e.playFresh(ctx, p, s)
	return symptom
}

func (e *engine) playFresh(ctx context.Context, p *player, s Script) (*Symptom, Played) {
	l, err := p.open(ctx, s)
	if err != nil {
		return nil, Played{}
	}
	played := l.play(ctx, s)
	l.drop(played.State != session.Alive)
	return e.benches[s.Rev].look(played, nil), played
}

// reduce takes away whole steps, edits and ways of sending for as long as the
// plan fails. rapid has shrunk the draws; this makes the plan minimal in terms
// of what was sent.
func (e *engine) reduce(p Plan, fails func(Plan) bool) Plan {
	for again := true; again; {
		again = false
		for _, q := range smaller(p) {
			if fails(q) {
				p, again = q, true
				break
			}
		}
	}
	return p
}

// smaller returns the plans that are one thing less.
func smaller(p Plan) []Plan {
	var out []Plan
	for i := range p.Steps {
		if len(p.Steps) > 1 {
			q := p
			q.Steps = slices.Delete(slices.Clone(p.Steps), i, i+1)
			out = append(out, q)
		}
	}
	with := func(i int, change func(*Step)) {
		q := p
		q.Steps = slices.Clone(p.Steps)
		change(&q.Steps[i])
		out = append(out, q)
	}
	for i, s := range p.Steps {
		for j := range s.Edits {
			with(i, func(s *Step) { s.Edits = slices.Delete(slices.Clone(s.Edits), j, j+1) })
		}
		for j := range s.Bytes {
			with(i, func(s *Step) { s.Bytes = slices.Delete(slices.Clone(s.Bytes), j, j+1) })
		}
	}
	if len(p.Chunks) > 0 {
		q := p
		q.Chunks = nil
		out = append(out, q)
	}
	if len(p.Answer) > 0 {
		q := p
		q.Answer = nil
		out = append(out, q)
	}
	if p.Bare {
		q := p
		q.Bare = false
		out = append(out, q)
	}
	if p.Paced {
		q := p
		q.Paced = false
		out = append(out, q)
	}
	return out
}

// merged is a script of writes of several, one at a time.
func merged(like Script, writes [][]byte) Script {
	like.Paced, like.Writes, like.lines = true, writes, nil
	return like
}

// together finds the fewest writes of a session that show the symptom; all of
// them, if not even all do so again.
func (e *engine) together(ctx context.Context, history []Script, symptom *Symptom) [][]byte {
	var writes [][]byte
	for _, s := range history {
		writes = append(writes, s.Writes...)
	}
	fails := func(some [][]byte) bool {
		return ctx.Err() == nil && len(some) > 0 && e.fresh(ctx, e.p, merged(history[0], some)).same(symptom)
	}
	if !fails(writes) {
		return history[len(history)-1].Writes
	}
	for size := (len(writes) + 1) / 2; size > 0; size /= 2 {
		for at := 0; at < len(writes); {
			less := slices.Concat(writes[:at], writes[min(at+size, len(writes)):])
			if fails(less) {
				writes = less
			} else {
				at += size
			}
		}
	}
	return writes
}

// confirm plays the smallest script on fresh instances, with the full timeout.
func (e *engine) confirm(ctx context.Context, s Script, symptom *Symptom) (confirmed int, evidence Played) {
	for range confirmRuns {
		again, played := e.playFresh(ctx, e.slow, s)
		if again.same(symptom) {
			confirmed++
			*symptom = *again
			evidence = played
		} else if evidence.Frames == nil {
			evidence = played
		}
	}
	return confirmed, evidence
}

// record makes the report and the case file of a finding.
func (e *engine) record(f *Found, s Script, confirmed int, evidence Played, seed uint64) {
	reproduced := fmt.Sprintf("%d/%d", confirmed, confirmRuns)
	if confirmed < confirmRuns {
		reproduced = "flaky " + reproduced
	}
	slices.Sort(f.Causes)
	f.hits = 1
	f.Finding = reports.Finding{
		Oracle: f.symptom.Oracle, Signature: signature(f.symptom, f.Causes), Says: f.symptom.Says,
		Revision: s.Rev, Transport: "stdio", Seed: seed, Reproduced: reproduced,
	}
	f.Case = newCase(f, s, evidence, e.o)
	f.Frames = f.Case.Frames
	if e.o.Out != "" {
		file, err := f.Case.write(e.o.Out)
		if err != nil {
			e.res.Notes = append(e.res.Notes, err.Error())
		} else if f.Finding.Case = file; e.o.Command != nil {
			f.Replay = e.o.Command(file)
		}
	}
	e.res.Findings = append(e.res.Findings, f)
	e.tell()
}
