package fuzz

import (
	"context"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
)

// shrinkPlan returns the smallest plan with the symptom that it finds in the
// time. ok is false if the plan of the seed does not show the symptom in a
// session of its own.
func (e *engine) shrinkPlan(ctx context.Context, p Plan, seed uint64, symptom *Symptom) (small Plan, ok bool) {
	t := &shrinkSession{engine: e, ctx: ctx}
	defer t.close()
	fails := func(q Plan) bool {
		return ctx.Err() == nil && q.Rev == p.Rev && t.run(q).matches(symptom)
	}
	done := false
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
	return reduce(small, fails), true
}

// shrinkBudget returns how long a finding may be shrunk: a sixth of the time that
// is left of the search at most.
func (e *engine) shrinkBudget() time.Duration {
	if e.options.Time == 0 {
		return e.options.ShrinkTime
	}
	const share = 6
	return max(time.Second, min(e.options.ShrinkTime, (e.options.Time-time.Since(e.started))/share))
}

// A shrinkSession executes plans of one revision. It goes on in one session while
// plans have no symptom, since most plans of a shrinking have none and each start
// of the target takes time. The result is confirmed in fresh sessions.
type shrinkSession struct {
	engine *engine
	ctx    context.Context
	conn   *connection
}

// run executes a plan and returns its symptom.
func (t *shrinkSession) run(p Plan) *Symptom {
	corpus := t.engine.corpora[p.Rev]
	if t.conn != nil && !t.canContinue(p, corpus) {
		t.close()
	}
	s := corpus.script(p, firstID(t.conn))
	if !t.engine.isAllowed(s) {
		return nil
	}
	if t.conn == nil {
		c, err := t.engine.openRetrying(t.ctx, s)
		if err != nil {
			return nil
		}
		t.conn = c
	}
	x := t.conn.execute(t.ctx, s)
	symptom := t.engine.oracles[p.Rev].judge(x)
	if symptom != nil || p.NoOpening || slices.Contains(x.sent, "initialize") {
		t.conn.end(x.state != session.Alive)
		t.conn = nil
	}
	return symptom
}

// canContinue reports whether a plan can be executed in the open session.
func (t *shrinkSession) canContinue(p Plan, c *corpus) bool {
	return !p.NoOpening && t.conn.isUsable() && t.conn.plans < plansPerSession &&
		!t.conn.reusesID(c.script(p, firstID(t.conn)).messages())
}

func (t *shrinkSession) close() {
	if t.conn != nil {
		t.conn.end(t.conn.ConnectionError() != nil)
		t.conn = nil
	}
}

// isMinimal reports whether a plan is one frame with one edit at most.
func (p Plan) isMinimal() bool {
	if len(p.Steps) != 1 || p.NoOpening {
		return false
	}
	return len(p.Steps[0].Edits)+len(p.Steps[0].ByteEdits)+len(p.SplitAt)+len(p.AnswerEdits) <= 1
}

// reduce removes steps, edits and ways of sending for as long as the plan fails.
// rapid has shrunk the random numbers of the plan; this makes minimal what is
// sent.
func reduce(p Plan, fails func(Plan) bool) Plan {
	for {
		i := slices.IndexFunc(reductions(p), fails)
		if i < 0 {
			return p
		}
		p = reductions(p)[i]
	}
}

// reductions returns the plans that have one step, one edit or one way of sending
// less.
func reductions(p Plan) []Plan {
	var out []Plan
	add := func(change func(*Plan)) {
		q := p
		q.Steps = slices.Clone(p.Steps)
		change(&q)
		out = append(out, q)
	}
	for i := range p.Steps {
		if len(p.Steps) > 1 {
			add(func(q *Plan) { q.Steps = slices.Delete(q.Steps, i, i+1) })
		}
	}
	for i, s := range p.Steps {
		for j := range s.Edits {
			add(func(q *Plan) { q.Steps[i].Edits = without(s.Edits, j) })
		}
		for j := range s.ByteEdits {
			add(func(q *Plan) { q.Steps[i].ByteEdits = without(s.ByteEdits, j) })
		}
	}
	if len(p.SplitAt) > 0 {
		add(func(q *Plan) { q.SplitAt = nil })
	}
	if len(p.AnswerEdits) > 0 {
		add(func(q *Plan) { q.AnswerEdits = nil })
	}
	if p.NoOpening {
		add(func(q *Plan) { q.NoOpening = false })
	}
	if p.Paced {
		add(func(q *Plan) { q.Paced = false })
	}
	return out
}

func without(edits []Edit, i int) []Edit { return slices.Delete(slices.Clone(edits), i, i+1) }

// minimizeHistory returns a script with the fewest writes of a session that show
// a symptom, one at a time. If not even all writes show it in a fresh session,
// it returns the last script and false.
func (e *engine) minimizeHistory(ctx context.Context, history []script, symptom *Symptom) (script, bool) {
	var writes [][]byte
	for _, s := range history {
		writes = append(writes, s.writes...)
	}
	fails := func(some [][]byte) bool {
		if ctx.Err() != nil || len(some) == 0 {
			return false
		}
		found, _ := e.executeFresh(ctx, e.searcher, pacedScript(history[0], some))
		return found.matches(symptom)
	}
	if !fails(writes) {
		return history[len(history)-1], false
	}
	for size := (len(writes) + 1) / 2; size > 0; size /= 2 {
		for at := 0; at < len(writes); {
			fewer := slices.Concat(writes[:at], writes[min(at+size, len(writes)):])
			if fails(fewer) {
				writes = fewer
			} else {
				at += size
			}
		}
	}
	return pacedScript(history[0], writes), true
}

// pacedScript returns a script like another one that sends other writes, one at
// a time.
func pacedScript(like script, writes [][]byte) script {
	like.paced, like.writes, like.parsed = true, writes, nil
	return like
}
