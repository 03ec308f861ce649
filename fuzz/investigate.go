package fuzz

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/reports"
)

// Bounds on what is reported for one symptom.
const (
	perSymptom  = 4 // findings of one outcome: what comes after is taken for one of them
	perOracle   = 8 // findings of outcomes that are alike
	confirmRuns = 3
	fatalHits   = 3 // plans that met a finding before others like it are set aside
)

// instanceOf returns the finding that a plan with a symptom is an instance of: one
// whose causes it has, all of them if the plan was not made small.
func (e *engine) instanceOf(symptom *Symptom, causes []string, small bool) *Found {
	alike, akin := 0, 0
	var last *Found
	for _, f := range e.known {
		if f.symptom.Oracle == symptom.Oracle && f.symptom.kind == symptom.kind {
			akin++
		}
		if !f.symptom.same(symptom) {
			if akin >= perOracle {
				return f
			}
			continue
		}
		both := common(f.shared, causes)
		if len(both) == len(f.shared) || small && len(both) > 0 {
			return f
		}
		alike, last = alike+1, f
	}
	if alike >= perSymptom {
		return last
	}
	return nil
}

// fatal tells whether a plan would meet a finding that ends the session once
// more: each costs a start of the target and shows nothing new. Only what is
// peculiar about lines is told beforehand.
func (e *engine) fatal(p Plan) bool {
	var mine []string
	for _, f := range e.known {
		if f.hits < fatalHits || !strings.HasPrefix(f.symptom.Oracle, "liveness.") || !peculiarOnly(f.shared) {
			continue
		}
		if mine == nil {
			mine = features(e.decks[p.Rev].Script(p, stride).Lines())
		}
		if len(common(f.shared, mine)) == len(f.shared) {
			return true
		}
	}
	return false
}

// again counts a plan that met a known finding.
func (e *engine) again(f *Found, causes []string, small bool) {
	f.hits++
	e.res.Stats.Again++
	if both := common(f.shared, causes); small && len(both) > 0 {
		f.shared = both
	}
}

// investigate makes a finding of a plan with a symptom: reproduces it on a
// fresh session, has it shrunk, confirms the smallest, and writes it down.
func (e *engine) investigate(ctx context.Context, p Plan, seed uint64, symptom *Symptom, l *line) {
	d := e.decks[p.Rev]
	every := d.everyCause(p, l.history[len(l.history)-1])
	if f := e.instanceOf(symptom, every, false); f != nil {
		e.again(f, every, false)
		return
	}
	found := &Found{symptom: symptom}
	var script Script
	if small, ok := e.smallest(ctx, p, seed, symptom); ok {
		found.Plan = small
		script = d.Script(small, stride)
		found.Causes = d.mainCauses(small, script)
	} else {
		if !e.benches[p.Rev].stands(symptom, l.Transcript) {
			e.res.Stats.Late++
			return
		}
		var again bool
		if script, again = e.together(ctx, l.history, symptom); again {
			// The plan alone is not enough: what was said before it counts.
			found.Causes = append(features(script.Lines()), "what was said before")
		} else {
			found.Plan, found.Causes = p, d.mainCauses(p, script)
		}
	}
	if ctx.Err() != nil {
		return
	}
	if f := e.instanceOf(symptom, found.Causes, true); f != nil {
		e.again(f, found.Causes, true)
		return
	}
	found.hits, found.shared, found.script, found.seed = 1, found.Causes, script, seed
	e.known = append(e.known, found)
	e.pending++
	check := func() {
		c := confirmation{found: found}
		c.confirmed, c.evidence, c.symptom = e.confirm(ctx, script, symptom)
		c.interrupted = ctx.Err() != nil
		e.results <- c
	}
	if e.alone(symptom) {
		go check()
		e.conclude(<-e.results)
		return
	}
	go check() // waits for the full timeout; the search goes on meanwhile
}

// A confirmation is what came of playing a finding on fresh instances.
type confirmation struct {
	found       *Found
	confirmed   int
	evidence    Played
	symptom     *Symptom // as it was seen last
	interrupted bool
}

// conclude records a finding that was confirmed, or takes it back.
func (e *engine) conclude(c confirmation) {
	e.pending--
	f := c.found
	if c.confirmed == 0 && !c.interrupted && (f.symptom.Oracle == "liveness.mute" || f.symptom.Oracle == "liveness.desync") {
		// It answers, only later than suspected: wait longer from now on.
		e.res.Stats.Slow++
		e.p.slower(e.o.Session.Timeout)
		e.known = slices.DeleteFunc(e.known, func(k *Found) bool { return k == f })
		return
	}
	f.symptom = c.symptom
	e.record(f, c)
}

// smallest has the plan of a seed shrunk; ok is false if it shows the symptom
// on no fresh session.
func (e *engine) smallest(ctx context.Context, p Plan, seed uint64, symptom *Symptom) (small Plan, ok bool) {
	// A session that a plan left well is good for the next: most plans of a
	// shrinking do not fail, and starts are what costs. What is found this way
	// is confirmed on fresh sessions.
	t := &trial{e: e, ctx: ctx}
	defer t.close()
	fails := func(q Plan) bool {
		return ctx.Err() == nil && q.Rev == p.Rev && t.play(q).same(symptom)
	}
	done := false // with one frame and one edit there is nothing to gain
	small, ok = e.gen.shrink(seed, e.budget(), func(q Plan) bool {
		if done || !fails(q) {
			return false
		}
		done = q.minimal()
		return true
	})
	if !ok {
		return small, false
	}
	return e.reduce(small, fails), true
}

// budget is how long a finding may be shrunk: no more than its share of what is
// left of the search.
func (e *engine) budget() time.Duration {
	if e.o.Time == 0 {
		return e.o.Shrink
	}
	return max(time.Second, min(e.o.Shrink, (e.o.Time-time.Since(e.began))/6))
}

// A trial plays plans of one revision, in one session for as long as that is
// well.
type trial struct {
	e   *engine
	ctx context.Context
	l   *line
}

func (t *trial) play(p Plan) *Symptom {
	d := t.e.decks[p.Rev]
	if t.l != nil && (p.Bare || !t.l.stands() || t.l.plans >= reuse || t.l.clashes(d.Script(p, base(t.l)).Lines())) {
		t.close()
	}
	s := d.Script(p, base(t.l))
	if !t.e.allowed(s) {
		return nil
	}
	if t.l == nil {
		l, err := t.e.open(t.ctx, s)
		if err != nil {
			return nil
		}
		t.l = l
	}
	played := t.l.play(t.ctx, s)
	symptom := t.e.benches[p.Rev].look(played)
	if symptom != nil || p.Bare || slices.Contains(played.Sent, "initialize") {
		t.l.drop(played.State != session.Alive)
		t.l = nil
	}
	return symptom
}

func (t *trial) close() {
	if t.l != nil {
		t.l.drop(t.l.Over() != nil)
		t.l = nil
	}
}

// minimal tells whether a plan is one frame with one edit at most.
func (p Plan) minimal() bool {
	return len(p.Steps) == 1 && len(p.Steps[0].Edits)+len(p.Steps[0].Bytes)+len(p.Chunks)+len(p.Answer) <= 1 && !p.Bare
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
	return e.benches[s.Rev].look(played), played
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

// together finds the fewest writes of a session that show the symptom. If not
// even all of them do so again, it returns the last script and false.
func (e *engine) together(ctx context.Context, history []Script, symptom *Symptom) (Script, bool) {
	var writes [][]byte
	for _, s := range history {
		writes = append(writes, s.Writes...)
	}
	fails := func(some [][]byte) bool {
		return ctx.Err() == nil && len(some) > 0 && e.fresh(ctx, e.p, merged(history[0], some)).same(symptom)
	}
	if !fails(writes) {
		return history[len(history)-1], false
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
	return merged(history[0], writes), true
}

// confirm plays the smallest script on fresh instances, with the full timeout.
func (e *engine) confirm(ctx context.Context, s Script, symptom *Symptom) (confirmed int, evidence Played, seen *Symptom) {
	seen = symptom
	var symptoms [confirmRuns]*Symptom
	var plays [confirmRuns]Played
	var wait sync.WaitGroup
	for i := range confirmRuns {
		run := func() { symptoms[i], plays[i] = e.playFresh(ctx, e.slow, s) }
		if e.alone(symptom) {
			run()
		} else {
			wait.Go(run)
		}
	}
	wait.Wait()
	for i, again := range symptoms {
		played := plays[i]
		if again.same(symptom) {
			confirmed++
			seen = again
			evidence = played
		} else if evidence.Frames == nil {
			evidence = played
		}
	}
	return confirmed, evidence, seen
}

// record makes the report and the case file of a finding.
func (e *engine) record(f *Found, c confirmation) {
	s := f.script
	if f.symptom.Oracle == oracleBroken {
		e.res.Broken = true
		e.res.Notes = append(e.res.Notes, fmt.Sprintf("mcpcheck itself erred at %s, plan seed %d: %s", s.Rev, f.seed, f.symptom.Says))
	}
	reproduced := fmt.Sprintf("%d/%d", c.confirmed, confirmRuns)
	switch {
	case c.interrupted:
		reproduced = "not confirmed: interrupted"
	case c.confirmed < confirmRuns:
		reproduced = "flaky " + reproduced
	}
	slices.Sort(f.Causes)
	f.Finding = reports.Finding{
		Oracle: f.symptom.Oracle, Signature: signature(f.symptom, f.Causes), Says: f.symptom.Says,
		Revision: s.Rev, Transport: string(e.kind), Seed: f.seed, Reproduced: reproduced,
	}
	f.Case = newCase(f, s, c.evidence, e.o)
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
	if e.o.Found != nil {
		e.o.Found(f)
	}
	e.tell()
}
