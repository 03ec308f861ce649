package fuzz

import (
	"context"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reports"
)

// Options configure a run.
type Options struct {
	Revisions []spec.Revision
	Runs      int           // distinct plans to execute; 0 for no limit
	Time      time.Duration // of the search; 0 for no limit
	Seed      uint64
	Session   session.Options
	// Restarts a server over HTTP that does not open sessions any more; nil if
	// that is not possible. On stdio each session starts a process.
	Restart func(ctx context.Context) error
	// How long an answer is awaited during the search; 0 means a second. A plan
	// without its answer is executed again with the timeout of Session.
	FirstTimeout time.Duration
	ShrinkTime   time.Duration // for one finding; 0 means 30 s
	// Reports whether any arguments may be sent to a tool; nil for no tool.
	AllowTool func(tool string) bool
	Hide      func(text string) string // returns a text without secrets, for the case files; nil for none
	CaseDir   string                   // directory of the case files; "" writes none
	Version   string                   // of mcpcheck, for the case files
	Target    []string                 // arguments that name the target, for the case files; nil if they do not name it
	Headers   []string                 // names of the header fields that a replay needs
	// Returns the command that replays a case file on the target, for reports.
	ReplayCommand func(file string) string
	OnProgress    func(Stats)    // called about once a second and at each finding
	OnFinding     func(*Finding) // called with each finding after its case file is written
}

// Stats count what a run did.
type Stats struct {
	Preparation   time.Duration // the time before the search
	Elapsed       time.Duration // the time of the search
	Plans         int           // distinct plans that were executed
	Duplicates    int           // plans that were drawn again
	Withheld      int           // plans withheld: they call a tool that may not be called so
	Skipped       int           // plans left out: a known finding would end their session
	Known         int           // plans whose symptom is a known finding
	Slow          int           // plans whose answers arrived after the first timeout
	Misattributed int           // plans whose symptom is an answer to an earlier plan
	Starts        int           // of the target
	Findings      int
	Methods       map[spec.Revision]map[string]MethodCount
	WithheldTools []string // tools that may not be called
}

// A MethodCount counts the messages of a method that are well-formed, and the results
// in answer to them.
type MethodCount struct{ Sent, Served int }

// Rate returns the plans a second.
func (s Stats) Rate() float64 { return float64(s.Plans) / max(s.Elapsed.Seconds(), 1e-9) }

// A Result is the outcome of a run.
type Result struct {
	Stats     Stats
	Findings  []*Finding
	Revisions []reports.RevisionRun
	Name      string // of the target
	Version   string
	Notes     []string
	Ended     string // reports.Complete or reports.Interrupted
	Broken    bool   // a judge panicked; Notes say which
}

// A Finding is a finding with what replays it.
type Finding struct {
	reports.Finding
	Plan   Plan // the smallest plan; the zero Plan if several plans of a session are needed
	Case   Case
	Causes []string

	symptom      *Symptom
	sharedCauses []string // of all plans that were taken for this finding
	hits         int      // their number
	script       script
	seed         uint64
}

// An engine is the state of one run.
type engine struct {
	options   Options
	transport transport.Kind
	searcher  *executor // awaits answers for a short time
	confirmer *executor // awaits answers for the full timeout
	generator *generator
	started   time.Time
	result    *Result

	corpora     map[spec.Revision]*corpus
	offerings   map[spec.Revision]offering
	oracles     map[spec.Revision]*oracles
	connections map[spec.Revision]*connection // in which the next plan is executed

	known         []*Finding // all findings, those that are being confirmed included
	confirmations chan confirmation
	pending       int // confirmations to receive
	lastProgress  time.Time
}

// Run searches until the plans or the time are used up, or ctx ends. It fails if
// no session could be opened with the target. The result is never nil.
func Run(ctx context.Context, target transport.Target, o Options) (*Result, error) {
	if o.FirstTimeout == 0 {
		o.FirstTimeout = min(time.Second, o.Session.Timeout)
	}
	if o.ShrinkTime == 0 {
		o.ShrinkTime = 30 * time.Second
	}
	if o.AllowTool == nil {
		o.AllowTool = func(string) bool { return false }
	}
	e := newEngine(target, o)
	defer e.close()
	if err := e.prepare(ctx); err != nil {
		return e.result, err
	}
	err := e.search(ctx)
	for e.pending > 0 {
		e.conclude(<-e.confirmations)
	}
	e.updateStats()
	if ctx.Err() != nil {
		e.result.Ended = reports.Interrupted
		return e.result, nil
	}
	return e.result, err
}

func newEngine(target transport.Target, o Options) *engine {
	quick := o.Session
	quick.Timeout = o.FirstTimeout
	e := &engine{
		options: o, transport: target.Transport(),
		searcher:  newExecutor(target, quick, o.FirstTimeout),
		confirmer: newExecutor(target, o.Session, o.Session.Timeout),
		corpora:   map[spec.Revision]*corpus{}, offerings: map[spec.Revision]offering{},
		oracles: map[spec.Revision]*oracles{}, connections: map[spec.Revision]*connection{},
		result: &Result{Ended: reports.Complete}, started: time.Now(), confirmations: make(chan confirmation),
	}
	e.result.Stats.Methods = map[spec.Revision]map[string]MethodCount{}
	e.confirmer.server = newSharedServer(target, o.Session, o.Restart)
	e.searcher.server = e.confirmer.server
	return e
}

func (e *engine) close() {
	for _, c := range e.connections {
		c.end(false)
	}
	e.searcher.close()
	e.confirmer.close()
}

// plansPerSession is how many plans are executed in a session before another is
// opened.
const plansPerSession = 100

// connect returns a connection for a plan, and the script of the plan there. The
// connection is nil if the plan has to be withheld.
func (e *engine) connect(ctx context.Context, p Plan) (*connection, script, error) {
	corpus := e.corpora[p.Rev]
	current := e.connections[p.Rev]
	if current != nil && !p.NoOpening {
		s := corpus.script(p, firstID(current))
		if !e.isAllowed(s) {
			return nil, s, nil
		}
		if current.plans < plansPerSession && current.isUsable() && !current.reusesID(s.messages()) {
			return current, s, nil
		}
		delete(e.connections, p.Rev)
		current.end(current.ConnectionError() != nil)
	}
	s := corpus.script(p, firstID(nil))
	if !e.isAllowed(s) {
		return nil, s, nil
	}
	fresh, err := e.openRetrying(ctx, s)
	if err != nil {
		return nil, s, err
	}
	if !p.NoOpening {
		e.connections[p.Rev] = fresh
	}
	return fresh, s, nil
}

// firstID returns the id from which the ids of the next plan on a connection are
// counted.
func firstID(c *connection) int {
	if c == nil {
		return idsPerPlan
	}
	return (c.plans + 1) * idsPerPlan
}

// openRetrying opens a session, in three attempts: a target that crashed may need
// a moment until it can start again.
func (e *engine) openRetrying(ctx context.Context, s script) (c *connection, err error) {
	const attempts = 3
	for range attempts {
		if c, err = e.searcher.open(ctx, s); err == nil || ctx.Err() != nil {
			return c, err
		}
	}
	return nil, err
}

// isAllowed reports whether a script calls only tools that may be called so.
func (e *engine) isAllowed(s script) bool {
	policy := e.offerings[s.rev].policy
	for _, m := range s.messages() {
		if !policy.allows(m.Raw) {
			return false
		}
	}
	return true
}

// search draws and executes plans.
func (e *engine) search(ctx context.Context) error {
	seen := map[uint64]bool{}
	stats := &e.result.Stats
	stats.Preparation = time.Since(e.started)
	e.started = time.Now()
	for i := 0; ctx.Err() == nil && !e.isUsedUp(); i++ {
		seed := planSeed(e.options.Seed, i)
		p := e.generator.draw(seed)
		key := hashOf(p.Key())
		if seen[key] {
			stats.Duplicates++
			continue
		}
		seen[key] = true
		if err := e.runPlan(ctx, p, seed); err != nil {
			return err
		}
		select {
		case c := <-e.confirmations:
			e.conclude(c)
		default:
		}
		if time.Since(e.lastProgress) > time.Second {
			e.reportProgress()
		}
	}
	return nil
}

// isUsedUp reports whether the search has executed all plans or used all time.
func (e *engine) isUsedUp() bool {
	o := e.options
	return o.Runs > 0 && e.result.Stats.Plans >= o.Runs || o.Time > 0 && time.Since(e.started) >= o.Time
}

// runPlan executes one plan and investigates its symptom if it has one.
func (e *engine) runPlan(ctx context.Context, p Plan, seed uint64) error {
	stats := &e.result.Stats
	if e.meetsFatalFinding(p) {
		stats.Skipped++
		return nil
	}
	c, s, err := e.connect(ctx, p)
	switch {
	case err != nil && ctx.Err() == nil:
		return err
	case err != nil:
		return nil
	case c == nil:
		stats.Withheld++
		return nil
	}
	x := c.execute(ctx, s)
	if ctx.Err() != nil {
		c.end(true)
		delete(e.connections, p.Rev)
		return nil
	}
	stats.Plans++
	e.countMethods(p.Rev, x)
	symptom := e.oracles[p.Rev].judge(x)
	e.release(c, p, x, symptom)
	if symptom != nil {
		e.investigate(ctx, p, seed, symptom, c)
	}
	return nil
}

// countMethods adds the messages of an execution to the statistics.
func (e *engine) countMethods(rev spec.Revision, x execution) {
	counts := e.result.Stats.Methods[rev]
	for _, method := range x.sent {
		count := counts[method]
		count.Sent++
		counts[method] = count
	}
	for _, method := range x.served {
		count := counts[method]
		count.Served++
		counts[method] = count
	}
}

// release keeps the connection for the next plan, or ends it if this plan may
// affect the next one.
func (e *engine) release(c *connection, p Plan, x execution, symptom *Symptom) {
	isClean := symptom == nil && x.state == session.Alive && !p.NoOpening
	if isClean && !slices.Contains(x.sent, "initialize") {
		return
	}
	if e.connections[p.Rev] == c {
		delete(e.connections, p.Rev)
	}
	c.end(x.state != session.Alive)
}

func (e *engine) updateStats() {
	stats := &e.result.Stats
	stats.Elapsed = time.Since(e.started)
	stats.Starts = e.searcher.startCount() + e.confirmer.startCount()
	stats.Findings = len(e.result.Findings)
}

func (e *engine) reportProgress() {
	e.lastProgress = time.Now()
	e.updateStats()
	if e.options.OnProgress != nil {
		e.options.OnProgress(e.result.Stats)
	}
}

// hashOf returns the 64-bit FNV-1a hash of a text.
func hashOf(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}
