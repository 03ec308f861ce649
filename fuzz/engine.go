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
	Suspect time.Duration
	Shrink  time.Duration          // for one finding; 0 means 30 s
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
const reuse = 100

// Stats count what was done.
type Stats struct {
	Prepared  time.Duration // what finding out about the target took
	Took      time.Duration // the search
	Plans     int           // distinct plans played
	Repeated  int           // plans drawn that had been played before
	Held      int           // plans that manners held back
	SetAside  int           // plans that would meet a known finding which ends the session
	Again     int           // plans that met a known finding
	Slow      int           // plans whose answers came later than suspected
	Late      int           // plans that met the answers of others
	Starts    int           // of the target
	Findings  int
	Methods   map[spec.Revision]map[string]Count
	HeldTools []string
}

// A Count tells how often a method was sent in a readable message, and how
// often a result came back.
type Count struct{ Sent, Served int }

// Rate returns plans per second.
func (s Stats) Rate() float64 { return float64(s.Plans) / max(s.Took.Seconds(), 1e-9) }

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
	shared  []string // causes that all instances have in common
	hits    int
	script  Script
	seed    uint64
}

// engine is one run.
type engine struct {
	o       Options
	kind    transport.Kind
	p       *player // searches
	slow    *player // confirms
	gen     *generator
	decks   map[spec.Revision]*Deck
	offers  map[spec.Revision]Offer
	benches map[spec.Revision]*bench
	lines   map[spec.Revision]*line
	res     *Result
	known   []*Found // found and, but for those of pending, confirmed
	results chan confirmation
	pending int
	began   time.Time
	told    time.Time
}

// Run searches until the runs or the time are used up or ctx ends. The error
// tells that the target could not be spoken to; the result is there even so.
func Run(ctx context.Context, target transport.Target, o Options) (*Result, error) {
	if o.Suspect == 0 {
		o.Suspect = min(time.Second, o.Session.Timeout)
	}
	if o.Shrink == 0 {
		o.Shrink = 30 * time.Second
	}
	if o.Allow == nil {
		o.Allow = func(string) bool { return false }
	}
	quick := o.Session
	quick.Timeout = o.Suspect
	e := &engine{
		o: o, kind: transport.KindOf(target), p: newPlayer(target, quick, o.Suspect), slow: newPlayer(target, o.Session, o.Session.Timeout),
		decks: map[spec.Revision]*Deck{}, offers: map[spec.Revision]Offer{}, benches: map[spec.Revision]*bench{}, lines: map[spec.Revision]*line{},
		res: &Result{Ended: reports.Complete}, began: time.Now(), results: make(chan confirmation),
	}
	e.res.Stats.Methods = map[spec.Revision]map[string]Count{}
	e.slow.grounds = newGrounds(target, o.Session, o.Again)
	e.p.grounds = e.slow.grounds
	defer e.close()
	if err := e.prepare(ctx); err != nil {
		return e.res, err
	}
	err := e.search(ctx)
	for e.pending > 0 {
		e.conclude(<-e.results)
	}
	e.count()
	if ctx.Err() != nil {
		e.res.Ended = reports.Interrupted
		return e.res, nil
	}
	return e.res, err
}

func (e *engine) close() {
	for _, l := range e.lines {
		l.drop(false)
	}
	e.p.close()
	e.slow.close()
}

// leastPatience is the shortest that an answer is waited for while searching.
const leastPatience = 150 * time.Millisecond

// ErrNotSpoken tells that the target speaks none of the revisions.
var ErrNotSpoken = errors.New("the target speaks none of the revisions asked for")

// prepare finds out what the target speaks and offers.
func (e *engine) prepare(ctx context.Context) error {
	var failed error
	var spoken []spec.Revision
	held := map[string]bool{}
	for _, rev := range e.o.Revisions {
		if rev.Facts().Stateless && e.kind == transport.SSE {
			e.res.Revisions = append(e.res.Revisions, reports.RevisionRun{Revision: rev, Why: "the stateless era has no HTTP+SSE"})
			continue
		}
		offer, err := discover(ctx, e.slow, rev, e.o.Allow)
		run := reports.RevisionRun{Revision: rev, Spoken: offer.Spoken, Why: offer.Why}
		if err != nil {
			failed, run.Why = err, err.Error()
		}
		e.res.Revisions = append(e.res.Revisions, run)
		if !offer.Spoken {
			continue
		}
		e.res.Name, e.res.Version = offer.Name, offer.Version
		for _, t := range offer.Held {
			held[t] = true
		}
		spoken = append(spoken, rev)
		e.decks[rev], e.offers[rev], e.benches[rev] = NewDeck(rev, offer), offer, newBench(rev, e.kind)
		e.decks[rev].Posted = e.p.grounds.shared
		e.res.Stats.Methods[rev] = map[string]Count{}
	}
	for t := range held {
		e.res.Stats.HeldTools = append(e.res.Stats.HeldTools, t)
	}
	slices.Sort(e.res.Stats.HeldTools)
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
	e.gen = newGenerator(spoken, e.decks)
	e.p.least = leastPatience
	return nil
}

// calibrate plays the frames of the deck as they are. It leaves out the oracles
// that object already, since what needs no mutation is the business of
// `mcpcheck server`, and the frames that are answered so late that each would
// be looked at as a suspect.
func (e *engine) calibrate(ctx context.Context, rev spec.Revision) error {
	d := e.decks[rev]
	late := map[string]bool{}
	for _, c := range d.Cards {
		p := Plan{Rev: rev, Steps: []Step{{Card: c.Name}}, Paced: true}
		l, s, err := e.line(ctx, p)
		if err != nil || l == nil {
			return err
		}
		played := l.play(ctx, s)
		for _, id := range e.benches[rev].setAside(played, l.Transcript) {
			e.res.Notes = append(e.res.Notes, fmt.Sprintf("%s: %s objects to a session without mutations (%s); it is no oracle here, see mcpcheck server", rev, id, c.Name))
		}
		if late[c.Name] = played.State == session.Mute || played.State == session.Desync; late[c.Name] {
			e.res.Notes = append(e.res.Notes, fmt.Sprintf("%s: %s is left out: as it is, the peer is %s after it within %s (%s)", rev, c.Name, played.State, e.o.Suspect, played.Why))
		}
		e.after(l, p, played, nil)
	}
	d.Cards = slices.DeleteFunc(d.Cards, func(c Card) bool { return late[c.Name] })
	if l := e.lines[rev]; l != nil { // the search starts where its seed says, whatever was said so far
		delete(e.lines, rev)
		l.drop(false)
	}
	if len(d.Cards) == 0 {
		return fmt.Errorf("no frame at %s is answered by %s", rev, e.p.target)
	}
	return nil
}

// line returns a connection for the plan and the plan as a script on it; nil
// if manners hold the plan back.
func (e *engine) line(ctx context.Context, p Plan) (*line, Script, error) {
	d := e.decks[p.Rev]
	l := e.lines[p.Rev]
	if l != nil && !p.Bare {
		s := d.Script(p, base(l))
		if !e.allowed(s) {
			return nil, s, nil
		}
		if l.plans < reuse && l.stands() && !l.clashes(s.Lines()) {
			return l, s, nil
		}
		delete(e.lines, p.Rev)
		l.drop(l.Over() != nil)
	}
	s := d.Script(p, base(nil))
	if !e.allowed(s) {
		return nil, s, nil
	}
	fresh, err := e.open(ctx, s)
	if err != nil {
		return nil, s, err
	}
	if !p.Bare {
		e.lines[p.Rev] = fresh
	}
	return fresh, s, nil
}

// base is where the ids of the next plan on a connection begin.
func base(l *line) int {
	if l == nil {
		return stride
	}
	return (l.plans + 1) * stride
}

// open starts the target; a start that fails is tried again, since a target
// that crashed may need a moment.
func (e *engine) open(ctx context.Context, s Script) (l *line, err error) {
	for range 3 {
		if l, err = e.p.open(ctx, s); err == nil || ctx.Err() != nil {
			return l, err
		}
	}
	return nil, err
}

func (e *engine) allowed(s Script) bool {
	manners := e.offers[s.Rev].Manners
	for _, m := range s.Lines() {
		if !manners.allow(m.Raw) {
			return false
		}
	}
	return true
}

// search draws and plays plans.
func (e *engine) search(ctx context.Context) error {
	seen := map[uint64]bool{}
	st := &e.res.Stats
	st.Prepared = time.Since(e.began)
	e.began = time.Now()
	for i := 0; ctx.Err() == nil; i++ {
		if e.o.Runs > 0 && st.Plans >= e.o.Runs || e.o.Time > 0 && time.Since(e.began) >= e.o.Time {
			return nil
		}
		seed := seedOf(e.o.Seed, i)
		p := e.gen.draw(seed)
		if key := hash(p.Key()); seen[key] {
			st.Repeated++
			continue
		} else {
			seen[key] = true
		}
		if err := e.try(ctx, p, seed); err != nil {
			return err
		}
		select {
		case c := <-e.results:
			e.conclude(c)
		default:
		}
		if time.Since(e.told) > time.Second {
			e.tell()
		}
	}
	return nil
}

// try plays one plan.
func (e *engine) try(ctx context.Context, p Plan, seed uint64) error {
	st := &e.res.Stats
	if e.fatal(p) {
		st.SetAside++
		return nil
	}
	l, s, err := e.line(ctx, p)
	switch {
	case err != nil && ctx.Err() == nil:
		return err
	case l == nil:
		st.Held++
		return nil
	}
	if e.o.Sent != nil {
		for _, m := range s.Lines() {
			e.o.Sent(p.Rev, m.Raw)
		}
	}
	played := l.play(ctx, s)
	if ctx.Err() != nil {
		l.drop(true)
		delete(e.lines, p.Rev)
		return nil
	}
	st.Plans++
	e.tally(p.Rev, played)
	symptom := e.benches[p.Rev].look(played)
	e.after(l, p, played, symptom)
	if symptom != nil {
		e.investigate(ctx, p, seed, symptom, l)
	}
	return nil
}

// tally counts the methods of a plan.
func (e *engine) tally(rev spec.Revision, played Played) {
	counts := e.res.Stats.Methods[rev]
	for _, m := range played.Sent {
		c := counts[m]
		c.Sent++
		counts[m] = c
	}
	for _, m := range played.Served {
		c := counts[m]
		c.Served++
		counts[m] = c
	}
}

// after leaves the connection as the next plan may find it: none at all where
// this one may have left something behind.
func (e *engine) after(l *line, p Plan, played Played, symptom *Symptom) {
	keep := symptom == nil && played.State == session.Alive && !p.Bare
	if !keep || slices.Contains(played.Sent, "initialize") {
		if e.lines[p.Rev] == l {
			delete(e.lines, p.Rev)
		}
		l.drop(played.State != session.Alive)
	}
}

func (e *engine) count() {
	st := &e.res.Stats
	st.Took = time.Since(e.began)
	st.Starts = e.p.started() + e.slow.started()
	st.Findings = len(e.res.Findings)
}

func (e *engine) tell() {
	e.told = time.Now()
	e.count()
	if e.o.Progress != nil {
		e.o.Progress(e.res.Stats)
	}
}

// hash is FNV-1a over 64 bits: enough to tell plans apart, and small.
func hash(s string) uint64 {
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
