package fuzz

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/reports"
)

const (
	// maxPerSymptom bounds the findings with one symptom: a further plan with
	// it is taken for the last of them.
	maxPerSymptom = 4
	// maxPerEnd bounds the findings of one oracle whose peer ended in one way.
	maxPerEnd = 8
	// fatalHits is how many plans meet a finding that ends the session before
	// plans with the same cause are left out.
	fatalHits = 3
	// confirmRuns is how often the smallest script is executed in fresh sessions.
	confirmRuns = 3
)

// knownFinding returns the finding that a plan with a symptom belongs to, or nil.
// The causes of the plan must include all causes that the finding shares with its
// plans. If the plan is a smallest one, one of them is enough.
func (e *engine) knownFinding(symptom *Symptom, causes []string, isSmallest bool) *Finding {
	sameSymptom, sameEnd := 0, 0
	var last *Finding
	for _, f := range e.known {
		if f.symptom.Oracle == symptom.Oracle && f.symptom.endKind == symptom.endKind {
			sameEnd++
		}
		if !f.symptom.matches(symptom) {
			if sameEnd >= maxPerEnd {
				return f
			}
			continue
		}
		both := intersection(f.sharedCauses, causes)
		if len(both) == len(f.sharedCauses) || isSmallest && len(both) > 0 {
			return f
		}
		sameSymptom, last = sameSymptom+1, f
	}
	if sameSymptom >= maxPerSymptom {
		return last
	}
	return nil
}

// meetsFatalFinding reports whether a plan has the causes of a known finding that
// ends the session. Such a plan costs a start of the target and shows nothing
// new. Only causes in the lines are known before the plan is executed.
func (e *engine) meetsFatalFinding(p Plan) bool {
	var causes []string
	for _, f := range e.known {
		if f.hits < fatalHits || !strings.HasPrefix(f.symptom.Oracle, "liveness.") || !areLineCauses(f.sharedCauses) {
			continue
		}
		if causes == nil {
			causes = lineCauses(e.corpora[p.Rev].script(p, idsPerPlan).messages())
		}
		if len(intersection(f.sharedCauses, causes)) == len(f.sharedCauses) {
			return true
		}
	}
	return false
}

// countKnown counts a plan that belongs to a known finding.
func (e *engine) countKnown(f *Finding, causes []string, isSmallest bool) {
	f.hits++
	e.result.Stats.Known++
	if both := intersection(f.sharedCauses, causes); isSmallest && len(both) > 0 {
		f.sharedCauses = both
	}
}

// investigate makes a finding of a plan whose symptom is not known yet: it
// shrinks the plan and has the smallest script confirmed. c is the connection on
// which the plan was executed last.
func (e *engine) investigate(ctx context.Context, p Plan, seed uint64, symptom *Symptom, c *connection) {
	corpus := e.corpora[p.Rev]
	causes := corpus.allCauses(p, c.history[len(c.history)-1])
	if f := e.knownFinding(symptom, causes, false); f != nil {
		e.countKnown(f, causes, false)
		return
	}
	found := &Finding{symptom: symptom, seed: seed, hits: 1}
	if small, ok := e.shrinkPlan(ctx, p, seed, symptom); ok {
		found.Plan, found.script = small, corpus.script(small, idsPerPlan)
		found.Causes = corpus.mainCauses(small, found.script)
	} else {
		if !e.oracles[p.Rev].confirms(symptom, c.Transcript) {
			e.result.Stats.Misattributed++
			return
		}
		// The plan does not show the symptom in a fresh session. Earlier plans
		// of its session may be needed.
		if found.script, ok = e.minimizeHistory(ctx, c.history, symptom); ok {
			found.Causes = append(lineCauses(found.script.messages()), "the messages before")
		} else {
			found.Plan, found.Causes = p, corpus.mainCauses(p, found.script)
		}
	}
	if ctx.Err() != nil {
		return
	}
	if f := e.knownFinding(symptom, found.Causes, true); f != nil {
		e.countKnown(f, found.Causes, true)
		return
	}
	found.sharedCauses = found.Causes
	e.known = append(e.known, found)
	e.pending++
	go func() { e.confirmations <- e.confirm(ctx, found, found.script, symptom) }()
	if e.confirmsSerially(symptom) {
		e.conclude(<-e.confirmations)
	}
}

// confirmsSerially reports whether a symptom is confirmed in one session after
// another while the search rests. If sessions share a server, one that ends or
// blocks it would disturb the others.
func (e *engine) confirmsSerially(symptom *Symptom) bool {
	blocks := symptom.Oracle == oracleDead || symptom.Oracle == oracleDesync
	return e.options.Session.Serial || e.searcher.server.isShared && blocks
}

// A confirmation is the outcome of executing a script in fresh sessions.
type confirmation struct {
	found       *Finding
	confirmed   int       // executions with the symptom
	evidence    execution // the last of them, or the first one without
	symptom     *Symptom  // of the last of them
	interrupted bool
}

// confirm executes the smallest script in fresh sessions, with the full timeout.
func (e *engine) confirm(ctx context.Context, found *Finding, s script, symptom *Symptom) confirmation {
	out := confirmation{found: found, symptom: symptom}
	var symptoms [confirmRuns]*Symptom
	var executions [confirmRuns]execution
	var wait sync.WaitGroup
	for i := range confirmRuns {
		run := func() { symptoms[i], executions[i] = e.executeFresh(ctx, e.confirmer, s) }
		if e.confirmsSerially(symptom) {
			run()
		} else {
			wait.Go(run)
		}
	}
	wait.Wait()
	for i, x := range executions {
		if symptoms[i].matches(symptom) {
			out.confirmed++
			out.symptom, out.evidence = symptoms[i], x
		} else if out.evidence.frames == nil {
			out.evidence = x
		}
	}
	out.interrupted = ctx.Err() != nil
	return out
}

// executeFresh executes a script in a session of its own and returns the symptom.
func (e *engine) executeFresh(ctx context.Context, x *executor, s script) (*Symptom, execution) {
	c, err := x.open(ctx, s)
	if err != nil {
		return nil, execution{}
	}
	out := c.execute(ctx, s)
	c.end(out.state != session.Alive)
	return e.oracles[s.rev].judge(out), out
}

// conclude records a confirmed finding. It drops one whose answers were only
// slower than the first timeout.
func (e *engine) conclude(c confirmation) {
	e.pending--
	f := c.found
	awaitsAnswer := f.symptom.Oracle == oracleMute || f.symptom.Oracle == oracleDesync
	if c.confirmed == 0 && !c.interrupted && awaitsAnswer {
		e.result.Stats.Slow++
		e.searcher.doubleTimeout(e.options.Session.Timeout)
		e.known = slices.DeleteFunc(e.known, func(k *Finding) bool { return k == f })
		return
	}
	f.symptom = c.symptom
	e.record(f, c)
}

// record writes the case file of a finding and adds the finding to the result.
func (e *engine) record(f *Finding, c confirmation) {
	s := f.script
	if f.symptom.Oracle == oracleBroken {
		e.result.Broken = true
		e.addNote("mcpcheck failed at %s, plan seed %d: %s", s.rev, f.seed, f.symptom.Says)
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
		Revision: s.rev, Transport: string(e.transport), Seed: f.seed, Reproduced: reproduced,
	}
	f.Case = newCase(f, s, c.evidence, e.options)
	f.Frames = f.Case.Frames
	e.writeCase(f)
	e.result.Findings = append(e.result.Findings, f)
	if e.options.OnFinding != nil {
		e.options.OnFinding(f)
	}
	e.reportProgress()
}

func (e *engine) writeCase(f *Finding) {
	if e.options.CaseDir == "" {
		return
	}
	file, err := f.Case.write(e.options.CaseDir, e.options.Hide)
	if err != nil {
		e.addNote("%v", err)
		return
	}
	f.Finding.Case = file
	if e.options.ReplayCommand != nil {
		f.Replay = e.options.ReplayCommand(file)
	}
}

// signature identifies a finding in reports.
func signature(s *Symptom, causes []string) string {
	return fmt.Sprintf("%s: %s [%s]", s.Oracle, s.Outcome, strings.Join(causes, ", "))
}
