package fuzz

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reports"
)

// Options say how to search.
type Options struct {
	Revisions []spec.Revision
	Runs      int           // plans to play; 0 for no limit
	Time      time.Duration // how long to search; 0 for no limit
	Seed      uint64
	Session   session.Options
	// Again starts a server over HTTP again in which sessions cannot be opened any
	// more, as one that is started for each session would be; nil where that
	// cannot be done.
	Again func(ctx context.Context) error
	// Suspect is how long an answer is waited for before a plan is looked at
	// more closely, with the full timeout; 0 means a second.
	FirstTimeout time.Duration
	ShrinkTime  time.Duration          // for one finding; 0 means 30 s
	Allow   func(tool string) bool // tools that anything may be sent to; nil for none
	Out     string                 // directory of case files; "" writes none
	Version string                 // of this program, for case files
	Target  []string               // words that name the target, for case files; nil leaves them out
	Headers []string               // names of header fields that replays need
	// Command replays a case file on the target, for reports.
	Command func(file string) string
	// Progress is called now and then, and at each finding.
	Progress func(Stats)
	// Found is called with each finding once it is written.
	Found func(*Found)
	// Sent sees every frame that is sent to the target while searching.
	Sent func(rev spec.Revision, raw []byte)
}

// reuse is how many plans are played in one session before it is renewed.
const plansPerSession = 100

// Stats count what was done.
type Stats struct {
	Prepared  time.Duration // what finding out about the target took
	Elapsed      time.Duration // the search
	Plans     int           // distinct plans played
	Duplicates  int           // plans drawn that had been played before
	Held      int           // plans that manners held back
	SetAside  int           // plans that would meet a known finding which ends the session
	Again     int           // plans that met a known finding
	Slow      int           // plans whose answers came later than suspected
	Misattributed      int           // plans that met the answers of others
	Starts    int           // of the target
	Findings  int
	Methods   map[spec.Revision]map[string]Count
	HeldTools []string
}

// A Count tells how often a method was sent in a readable message, and how
// often a result came back.
type Count struct{ Sent, Served int }

// Rate returns plans per second.
func (s Stats) Rate() float64 { return float64(s.Plans) / max(s.Elapsed.Seconds(), 1e-9) }

// A Result is what a run came to.
type Result struct {
	Stats     Stats
	Findings  []*Found
	Revisions []reports.RevisionRun
	Name      string // of the target
	Version   string
	Notes     []string
	Ended     string // reports.Complete or Interrupted
	Broken    bool   // an oracle of ours failed itself; Notes tell which
}

// Found is a finding with what replays it.
type Found struct {
	reports.Finding
	Plan    Plan // the smallest plan, unless it took the history of a session
	Case    Case
	Causes  []string
	symptom *Symptom
	sharedCauses  []string // causes that all instances have in common
	hits    int
	script  script
	seed    uint64
}

// engine is one run.
type engine struct {
	options       Options
	kind    transport.Kind
	searcher       *executor // searches
	confirmer    *executor // confirms
	generator     *generator
	corpora   map[spec.Revision]*corpus
	offerings  map[spec.Revision]offering
	oracles map[spec.Revision]*oracles
	connections   map[spec.Revision]*connection
	result     *Result
	known   []*Found // found and, but for those of pending, confirmed
	confirmations chan confirmation
	pending int
	started   time.Time
	lastProgress    time.Time
}

// Run searches until the runs or the time are used up or ctx ends. The error
// tells that the target could not be spoken to; the result is there even so.
func Run(ctx context.Context, target transport.Target, o Options) (*Result, error) {
	if o.FirstTimeout == 0 {
		o.FirstTimeout = min(time.Second, o.Session.Timeout)
	}
	if o.ShrinkTime == 0 {
		o.ShrinkTime = 30 * time.Second
	}
	if o.Allow == nil {
		o.Allow = func(string) bool { return false }
	}
	quick := o.Session
	quick.Timeout = o.FirstTimeout
	e := &engine{
		options: o, kind: transport.KindOf(target), searcher: newExecutor(target, quick, o.FirstTimeout), confirmer: newExecutor(target, o.Session, o.Session.Timeout),
		corpora: map[spec.Revision]*corpus{}, offerings: map[spec.Revision]offering{}, oracles: map[spec.Revision]*oracles{}, connections: map[spec.Revision]*connection{},
		result: &Result{Ended: reports.Complete}, started: time.Now(), confirmations: make(chan confirmation),
	}
	e.result.Stats.Methods = map[spec.Revision]map[string]Count{}
	e.confirmer.server = newSharedServer(target, o.Session, o.Again)
	e.searcher.server = e.confirmer.server
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

func (e *engine) close() {
	for _, l := range e.connections {
		l.end(false)
	}
	e.searcher.close()
	e.confirmer.close()
}

// leastPatience is the shortest that an answer is waited for while searching.
const minTimeout = 150 * time.Millisecond

// ErrNotSpoken tells that the target speaks none of the revisions.
var ErrNotSpoken = errors.New("the target speaks none of the revisions asked for")

// prepare finds out what the target speaks and offers.
func (e *engine) prepare(ctx context.Context) error {
	var failed error
	var spoken []spec.Revision
	held := map[string]bool{}
	for _, rev := range e.options.Revisions {
		if rev.Facts().Stateless && e.kind == transport.SSE {
			e.result.Revisions = append(e.result.Revisions, reports.RevisionRun{Revision: rev, Why: "the stateless era has no HTTP+SSE"})
			continue
		}
		offer, err := discover(ctx, e.confirmer, rev, e.options.Allow)
		run := reports.RevisionRun{Revision: rev, Spoken: offer.spoken, Why: offer.why}
		if err != nil {
			failed, run.Why = err, err.Error()
		}
		e.result.Revisions = append(e.result.Revisions, run)
		if !offer.spoken {
			continue
		}
		e.result.Name, e.result.Version = offer.name, offer.version
		for _, t := range offer.withheld {
			held[t] = true
		}
		spoken = append(spoken, rev)
		e.corpora[rev], e.offerings[rev], e.oracles[rev] = newCorpus(rev, offer), offer, newOracles(rev, e.kind)
		e.corpora[rev].overHTTP = e.searcher.server.isShared
		e.result.Stats.Methods[rev] = map[string]Count{}
	}
	for t := range held {
		e.result.Stats.HeldTools = append(e.result.Stats.HeldTools, t)
	}
	slices.Sort(e.result.Stats.HeldTools)
	if len(spoken) == 0 {
		if failed != nil {
			return failed
		}
		return ErrNotSpoken
	}
	for _, rev := range spoken {
		if err := e.calibrate(ctx, rev); err != nil {
			return err
		}
	}
	e.generator = newGenerator(spoken, e.corpora)
	e.searcher.minTimeout = minTimeout
	return nil
}

// calibrate plays the frames of the deck as they are. It leaves out the oracles
// that object already, since what needs no mutation is the business of
// `mcpcheck server`, and the frames that are answered so late that each would
// be looked at as a suspect.
func (e *engine) calibrate(ctx context.Context, rev spec.Revision) error {
	d := e.corpora[rev]
	late := map[string]bool{}
	for _, c := range d.frames {
		p := Plan{Rev: rev, Steps: []Step{{Frame: c.name}}, Paced: true}
		l, s, err := e.connect(ctx, p)
		if err != nil || l == nil {
			return err
		}
		played := l.execute(ctx, s)
		for _, id := range e.oracles[rev].removeObjecting(played, l.Transcript) {
			e.result.Notes = append(e.result.Notes, fmt.Sprintf("%s: %s objects to a session without mutations (%s); it is no oracle here, see mcpcheck server", rev, id, c.name))
		}
		if late[c.name] = played.state == session.Mute || played.state == session.Desync; late[c.name] {
			e.result.Notes = append(e.result.Notes, fmt.Sprintf("%s: %s is left out: as it is, the peer is %s after it within %s (%s)", rev, c.name, played.state, e.options.FirstTimeout, played.why))
		}
		e.release(l, p, played, nil)
	}
	d.frames = slices.DeleteFunc(d.frames, func(c baseFrame) bool { return late[c.name] })
	if l := e.connections[rev]; l != nil { // the search starts where its seed says, whatever was said so far
		delete(e.connections, rev)
		l.end(false)
	}
	if len(d.frames) == 0 {
		return fmt.Errorf("no frame at %s is answered by %s", rev, e.searcher.target)
	}
	return nil
}

// line returns a connection for the plan and the plan as a script on it; nil
// if manners hold the plan back.
func (e *engine) connect(ctx context.Context, p Plan) (*connection, script, error) {
	d := e.corpora[p.Rev]
	l := e.connections[p.Rev]
	if l != nil && !p.NoOpening {
		s := d.script(p, firstID(l))
		if !e.isAllowed(s) {
			return nil, s, nil
		}
		if l.plans < plansPerSession && l.isUsable() && !l.reusesID(s.messages()) {
			return l, s, nil
		}
		delete(e.connections, p.Rev)
		l.end(l.Over() != nil)
	}
	s := d.script(p, firstID(nil))
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

// base is where the ids of the next plan on a connection begin.
func firstID(l *connection) int {
	if l == nil {
		return idsPerPlan
	}
	return (l.plans + 1) * idsPerPlan
}

// open starts the target; a start that fails is tried again, since a target
// that crashed may need a moment.
func (e *engine) openRetrying(ctx context.Context, s script) (l *connection, err error) {
	for range 3 {
		if l, err = e.searcher.open(ctx, s); err == nil || ctx.Err() != nil {
			return l, err
		}
	}
	return nil, err
}

func (e *engine) isAllowed(s script) bool {
	manners := e.offerings[s.rev].policy
	for _, m := range s.messages() {
		if !manners.allows(m.Raw) {
			return false
		}
	}
	return true
}

// search draws and plays plans.
func (e *engine) search(ctx context.Context) error {
	seen := map[uint64]bool{}
	st := &e.result.Stats
	st.Prepared = time.Since(e.started)
	e.started = time.Now()
	for i := 0; ctx.Err() == nil; i++ {
		if e.options.Runs > 0 && st.Plans >= e.options.Runs || e.options.Time > 0 && time.Since(e.started) >= e.options.Time {
			return nil
		}
		seed := planSeed(e.options.Seed, i)
		p := e.generator.draw(seed)
		if key := hashOf(p.Key()); seen[key] {
			st.Duplicates++
			continue
		} else {
			seen[key] = true
		}
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

// try plays one plan.
func (e *engine) runPlan(ctx context.Context, p Plan, seed uint64) error {
	st := &e.result.Stats
	if e.meetsFatalFinding(p) {
		st.SetAside++
		return nil
	}
	l, s, err := e.connect(ctx, p)
	switch {
	case err != nil && ctx.Err() == nil:
		return err
	case l == nil:
		st.Held++
		return nil
	}
	if e.options.Sent != nil {
		for _, m := range s.messages() {
			e.options.Sent(p.Rev, m.Raw)
		}
	}
	played := l.execute(ctx, s)
	if ctx.Err() != nil {
		l.end(true)
		delete(e.connections, p.Rev)
		return nil
	}
	st.Plans++
	e.countMethods(p.Rev, played)
	symptom := e.oracles[p.Rev].judge(played)
	e.release(l, p, played, symptom)
	if symptom != nil {
		e.investigate(ctx, p, seed, symptom, l)
	}
	return nil
}

// tally counts the methods of a plan.
func (e *engine) countMethods(rev spec.Revision, played execution) {
	counts := e.result.Stats.Methods[rev]
	for _, m := range played.sent {
		c := counts[m]
		c.Sent++
		counts[m] = c
	}
	for _, m := range played.served {
		c := counts[m]
		c.Served++
		counts[m] = c
	}
}

// after leaves the connection as the next plan may find it: none at all where
// this one may have left something behind.
func (e *engine) release(l *connection, p Plan, played execution, symptom *Symptom) {
	keep := symptom == nil && played.state == session.Alive && !p.NoOpening
	if !keep || slices.Contains(played.sent, "initialize") {
		if e.connections[p.Rev] == l {
			delete(e.connections, p.Rev)
		}
		l.end(played.state != session.Alive)
	}
}

func (e *engine) updateStats() {
	st := &e.result.Stats
	st.Elapsed = time.Since(e.started)
	st.Starts = e.searcher.startCount() + e.confirmer.startCount()
	st.Findings = len(e.result.Findings)
}

func (e *engine) reportProgress() {
	e.lastProgress = time.Now()
	e.updateStats()
	if e.options.Progress != nil {
		e.options.Progress(e.result.Stats)
	}
}

// hash is FNV-1a over 64 bits: enough to tell plans apart, and small.
func hashOf(s string) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(s) {
		h = (h ^ uint64(s[i])) * 1099511628211
	}
	return h
}

// signature identifies a cause in reports.
func signature(s *Symptom, causes []string) string {
	return fmt.Sprintf("%s: %s [%s]", s.Oracle, s.Outcome, strings.Join(causes, ", "))
}
