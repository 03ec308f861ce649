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
	maxPerSymptom  = 4 // findings of one outcome: what comes after is taken for one of them
	maxPerKindOfEnd   = 8 // findings of outcomes that are alike
	confirmRuns = 3
	fatalAfter   = 3 // plans that met a finding before others like it are set aside
)

// instanceOf returns the finding that a plan with a symptom is an instance of: one
// whose causes it has, all of them if the plan was not made small.
func (e *engine) knownFinding(symptom *Symptom, causes []string, small bool) *Found {
	alike, akin := 0, 0
	var last *Found
	for _, f := range e.known {
		if f.symptom.Oracle == symptom.Oracle && f.symptom.endKind == symptom.endKind {
			akin++
		}
		if !f.symptom.matches(symptom) {
			if akin >= maxPerKindOfEnd {
				return f
			}
			continue
		}
		both := intersection(f.sharedCauses, causes)
		if len(both) == len(f.sharedCauses) || small && len(both) > 0 {
			return f
		}
		alike, last = alike+1, f
	}
	if alike >= maxPerSymptom {
		return last
	}
	return nil
}

// fatal tells whether a plan would meet a finding that ends the session once
// more: each costs a start of the target and shows nothing new. Only what is
// peculiar about lines is told beforehand.
func (e *engine) meetsFatalFinding(p Plan) bool {
	var mine []string
	for _, f := range e.known {
		if f.hits < fatalAfter || !strings.HasPrefix(f.symptom.Oracle, "liveness.") || !areLineCauses(f.sharedCauses) {
			continue
		}
		if mine == nil {
			mine = lineCauses(e.corpora[p.Rev].script(p, idsPerPlan).messages())
		}
		if len(intersection(f.sharedCauses, mine)) == len(f.sharedCauses) {
			return true
		}
	}
	return false
}

// again counts a plan that met a known finding.
func (e *engine) countKnown(f *Found, causes []string, small bool) {
	f.hits++
	e.result.Stats.Again++
	if both := intersection(f.sharedCauses, causes); small && len(both) > 0 {
		f.sharedCauses = both
	}
}

// investigate makes a finding of a plan with a symptom: reproduces it on a
// fresh session, has it shrunk, confirms the smallest, and writes it down.
func (e *engine) investigate(ctx context.Context, p Plan, seed uint64, symptom *Symptom, l *connection) {
	d := e.corpora[p.Rev]
	every := d.allCauses(p, l.history[len(l.history)-1])
	if f := e.knownFinding(symptom, every, false); f != nil {
		e.countKnown(f, every, false)
		return
	}
	found := &Found{symptom: symptom}
	var script script
	if small, ok := e.shrinkPlan(ctx, p, seed, symptom); ok {
		found.Plan = small
		script = d.script(small, idsPerPlan)
		found.Causes = d.mainCauses(small, script)
	} else {
		if !e.oracles[p.Rev].confirms(symptom, l.Transcript) {
			e.result.Stats.Misattributed++
			return
		}
		var again bool
		if script, again = e.minimizeHistory(ctx, l.history, symptom); again {
			// The plan alone is not enough: what was said before it counts.
			found.Causes = append(lineCauses(script.messages()), "what was said before")
		} else {
			found.Plan, found.Causes = p, d.mainCauses(p, script)
		}
	}
	if ctx.Err() != nil {
		return
	}
	if f := e.knownFinding(symptom, found.Causes, true); f != nil {
		e.countKnown(f, found.Causes, true)
		return
	}
	found.hits, found.sharedCauses, found.script, found.seed = 1, found.Causes, script, seed
	e.known = append(e.known, found)
	e.pending++
	check := func() {
		c := confirmation{found: found}
		c.confirmed, c.evidence, c.symptom = e.confirm(ctx, script, symptom)
		c.interrupted = ctx.Err() != nil
		e.confirmations <- c
	}
	if e.confirmsSerially(symptom) {
		go check()
		e.conclude(<-e.confirmations)
		return
	}
	go check() // waits for the full timeout; the search goes on meanwhile
}

// A confirmation is what came of playing a finding on fresh instances.
type confirmation struct {
	found       *Found
	confirmed   int
	evidence    execution
	symptom     *Symptom // as it was seen last
	interrupted bool
}

// conclude records a finding that was confirmed, or takes it back.
func (e *engine) conclude(c confirmation) {
	e.pending--
	f := c.found
	if c.confirmed == 0 && !c.interrupted && (f.symptom.Oracle == "liveness.mute" || f.symptom.Oracle == "liveness.desync") {
		// It answers, only later than suspected: wait longer from now on.
		e.result.Stats.Slow++
		e.searcher.doubleTimeout(e.options.Session.Timeout)
		e.known = slices.DeleteFunc(e.known, func(k *Found) bool { return k == f })
		return
	}
	f.symptom = c.symptom
	e.record(f, c)
}

// smallest has the plan of a seed shrunk; ok is false if it shows the symptom
// on no fresh session.
func (e *engine) shrinkPlan(ctx context.Context, p Plan, seed uint64, symptom *Symptom) (small Plan, ok bool) {
	// A session that a plan left well is good for the next: most plans of a
	// shrinking do not fail, and starts are what costs. What is found this way
	// is confirmed on fresh sessions.
	t := &shrinkSession{engine: e, ctx: ctx}
	defer t.close()
	fails := func(q Plan) bool {
		return ctx.Err() == nil && q.Rev == p.Rev && t.run(q).matches(symptom)
	}
	done := false // with one frame and one edit there is nothing to gain
	small, ok = e.generator.shrink(seed, e.shrinkBudget(), func(q Plan) bool {
		if done || !fails(q) {
			return false
		}
		done = q.isMinimal()
		return true
	})
	if !ok {
		return small, false
	}
	return e.reduce(small, fails), true
}

// budget is how long a finding may be shrunk: no more than its share of what is
// left of the search.
func (e *engine) shrinkBudget() time.Duration {
	if e.options.Time == 0 {
		return e.options.ShrinkTime
	}
	return max(time.Second, min(e.options.ShrinkTime, (e.options.Time-time.Since(e.started))/6))
}

// A trial plays plans of one revision, in one session for as long as that is
// well.
type shrinkSession struct {
	engine   *engine
	ctx context.Context
	conn   *connection
}

func (t *shrinkSession) run(p Plan) *Symptom {
	d := t.engine.corpora[p.Rev]
	if t.conn != nil && (p.NoOpening || !t.conn.isUsable() || t.conn.plans >= plansPerSession || t.conn.reusesID(d.script(p, firstID(t.conn)).messages())) {
		t.close()
	}
	s := d.script(p, firstID(t.conn))
	if !t.engine.isAllowed(s) {
		return nil
	}
	if t.conn == nil {
		l, err := t.engine.openRetrying(t.ctx, s)
		if err != nil {
			return nil
		}
		t.conn = l
	}
	played := t.conn.execute(t.ctx, s)
	symptom := t.engine.oracles[p.Rev].judge(played)
	if symptom != nil || p.NoOpening || slices.Contains(played.sent, "initialize") {
		t.conn.end(played.state != session.Alive)
		t.conn = nil
	}
	return symptom
}

func (t *shrinkSession) close() {
	if t.conn != nil {
		t.conn.end(t.conn.Over() != nil)
		t.conn = nil
	}
}

// minimal tells whether a plan is one frame with one edit at most.
func (p Plan) isMinimal() bool {
	return len(p.Steps) == 1 && len(p.Steps[0].Edits)+len(p.Steps[0].ByteEdits)+len(p.SplitAt)+len(p.AnswerEdits) <= 1 && !p.NoOpening
}

// fresh plays a script on an instance of its own and returns the symptom.
func (e *engine) freshSymptom(ctx context.Context, p *executor, s script) *Symptom {
	symptom, _ := e.runFresh(ctx, p, s)
	return symptom
}

func (e *engine) runFresh(ctx context.Context, p *executor, s script) (*Symptom, execution) {
	l, err := p.open(ctx, s)
	if err != nil {
		return nil, execution{}
	}
	played := l.execute(ctx, s)
	l.end(played.state != session.Alive)
	return e.oracles[s.rev].judge(played), played
}

// reduce takes away whole steps, edits and ways of sending for as long as the
// plan fails. rapid has shrunk the draws; this makes the plan minimal in terms
// of what was sent.
func (e *engine) reduce(p Plan, fails func(Plan) bool) Plan {
	for again := true; again; {
		again = false
		for _, q := range reductions(p) {
			if fails(q) {
				p, again = q, true
				break
			}
		}
	}
	return p
}

// smaller returns the plans that are one thing less.
func reductions(p Plan) []Plan {
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
		for j := range s.ByteEdits {
			with(i, func(s *Step) { s.ByteEdits = slices.Delete(slices.Clone(s.ByteEdits), j, j+1) })
		}
	}
	if len(p.SplitAt) > 0 {
		q := p
		q.SplitAt = nil
		out = append(out, q)
	}
	if len(p.AnswerEdits) > 0 {
		q := p
		q.AnswerEdits = nil
		out = append(out, q)
	}
	if p.NoOpening {
		q := p
		q.NoOpening = false
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
func mergedScript(like script, writes [][]byte) script {
	like.paced, like.writes, like.parsed = true, writes, nil
	return like
}

// together finds the fewest writes of a session that show the symptom. If not
// even all of them do so again, it returns the last script and false.
func (e *engine) minimizeHistory(ctx context.Context, history []script, symptom *Symptom) (script, bool) {
	var writes [][]byte
	for _, s := range history {
		writes = append(writes, s.writes...)
	}
	fails := func(some [][]byte) bool {
		return ctx.Err() == nil && len(some) > 0 && e.freshSymptom(ctx, e.searcher, mergedScript(history[0], some)).matches(symptom)
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
	return mergedScript(history[0], writes), true
}

// confirm plays the smallest script on fresh instances, with the full timeout.
func (e *engine) confirm(ctx context.Context, s script, symptom *Symptom) (confirmed int, evidence execution, seen *Symptom) {
	seen = symptom
	var symptoms [confirmRuns]*Symptom
	var plays [confirmRuns]execution
	var wait sync.WaitGroup
	for i := range confirmRuns {
		run := func() { symptoms[i], plays[i] = e.runFresh(ctx, e.confirmer, s) }
		if e.confirmsSerially(symptom) {
			run()
		} else {
			wait.Go(run)
		}
	}
	wait.Wait()
	for i, again := range symptoms {
		played := plays[i]
		if again.matches(symptom) {
			confirmed++
			seen = again
			evidence = played
		} else if evidence.frames == nil {
			evidence = played
		}
	}
	return confirmed, evidence, seen
}

// record makes the report and the case file of a finding.
func (e *engine) record(f *Found, c confirmation) {
	s := f.script
	if f.symptom.Oracle == oracleBroken {
		e.result.Broken = true
		e.result.Notes = append(e.result.Notes, fmt.Sprintf("mcpcheck itself erred at %s, plan seed %d: %s", s.rev, f.seed, f.symptom.Says))
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
		Revision: s.rev, Transport: string(e.kind), Seed: f.seed, Reproduced: reproduced,
	}
	f.Case = newCase(f, s, c.evidence, e.options)
	f.Frames = f.Case.Frames
	if e.options.Out != "" {
		file, err := f.Case.write(e.options.Out)
		if err != nil {
			e.result.Notes = append(e.result.Notes, err.Error())
		} else if f.Finding.Case = file; e.options.Command != nil {
			f.Replay = e.options.Command(file)
		}
	}
	e.result.Findings = append(e.result.Findings, f)
	if e.options.Found != nil {
		e.options.Found(f)
	}
	e.reportProgress()
}
