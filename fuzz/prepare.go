package fuzz

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/reports"
)

// minAnswerTimeout is the shortest time that an answer is awaited during the
// search.
const minAnswerTimeout = 150 * time.Millisecond

var errNoRevision = errors.New("the target speaks none of the requested revisions")

// prepare discovers which revisions the target speaks and what it offers at each.
func (e *engine) prepare(ctx context.Context) error {
	var failure error
	var spoken []spec.Revision
	withheld := map[string]bool{}
	for _, rev := range e.options.Revisions {
		if rev.Facts().Stateless && e.transport == transport.SSE {
			why := "the stateless era has no HTTP+SSE"
			e.result.Revisions = append(e.result.Revisions, reports.RevisionRun{Revision: rev, Why: why})
			continue
		}
		offer, err := discover(ctx, e.confirmer, rev, e.options.AllowTool)
		run := reports.RevisionRun{Revision: rev, Spoken: offer.spoken, Why: offer.why}
		if err != nil {
			failure, run.Why = err, err.Error()
		}
		e.result.Revisions = append(e.result.Revisions, run)
		if !offer.spoken {
			continue
		}
		spoken = append(spoken, rev)
		for _, tool := range offer.withheld {
			withheld[tool] = true
		}
		e.addRevision(rev, offer)
	}
	e.result.Stats.WithheldTools = slices.Sorted(maps.Keys(withheld))
	if len(spoken) == 0 && failure != nil {
		return failure
	}
	if len(spoken) == 0 {
		return errNoRevision
	}
	for _, rev := range spoken {
		if err := e.calibrate(ctx, rev); err != nil {
			return err
		}
	}
	e.generator = newGenerator(spoken, e.corpora)
	e.searcher.minTimeout = minAnswerTimeout
	return nil
}

func (e *engine) addRevision(rev spec.Revision, offer offering) {
	e.result.Name, e.result.Version = offer.name, offer.version
	e.result.Stats.Methods[rev] = map[string]MethodCount{}
	e.offerings[rev] = offer
	e.oracles[rev] = newOracles(rev, e.transport)
	e.corpora[rev] = newCorpus(rev, offer)
	e.corpora[rev].overHTTP = e.searcher.server.isShared
}

// calibrate executes each base frame without a mutation. It removes the judges
// that report a violation even so, and the frames whose answers do not arrive in
// the time of the search.
func (e *engine) calibrate(ctx context.Context, rev spec.Revision) error {
	corpus := e.corpora[rev]
	late := map[string]bool{}
	for _, f := range corpus.frames {
		p := Plan{Rev: rev, Steps: []Step{{Frame: f.name}}, Paced: true}
		c, s, err := e.connect(ctx, p)
		if err != nil || c == nil {
			return err
		}
		x := c.execute(ctx, s)
		for _, id := range e.oracles[rev].removeViolated(x, c.Transcript) {
			e.addNote("%s: the judge %s reports a violation without a mutation, after the frame %s. "+
				"The fuzzer does not use it here; see mcpcheck server.", rev, id, f.name)
		}
		if x.state == session.Mute || x.state == session.OutOfSync {
			late[f.name] = true
			e.addNote("%s: the frame %s is left out. Without a mutation the peer is %s after it, "+
				"with a timeout of %s (%s).", rev, f.name, x.state, e.options.FirstTimeout, x.why)
		}
		e.release(c, p, x, nil)
	}
	corpus.frames = slices.DeleteFunc(corpus.frames, func(f baseFrame) bool { return late[f.name] })
	if c := e.connections[rev]; c != nil { // the ids of the first plan depend on the seed only
		delete(e.connections, rev)
		c.end(false)
	}
	if len(corpus.frames) == 0 {
		return fmt.Errorf("no frame at %s is answered by %s", rev, e.searcher.target)
	}
	return nil
}

func (e *engine) addNote(format string, args ...any) {
	e.result.Notes = append(e.result.Notes, fmt.Sprintf(format, args...))
}
