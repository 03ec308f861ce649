package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/transport"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// ErrNotStarted says that the target could not be started or ended before it sent
// anything.
var ErrNotStarted = errors.New("the target could not be started")

// ErrNoAnswer says that a server that mcpcheck started answered no request.
var ErrNoAnswer = errors.New("no answer on stdio. If this is an HTTP server, use --url http://… before its command")

// silenceNotice is how long a started server may send nothing before the user is told.
const silenceNotice = 10 * time.Second

// The openings are the first sessions with a server, one for each revision.
type openings struct {
	of       map[spec.Revision]session.Opening
	within   time.Duration // for the next first answer
	tried    int
	dead     int  // ended before the server sent anything
	answered bool // an opening was answered
	replied  bool // another request was
	silent   bool // an opening got no answer, and the server did not end
	failure  error
	output   string // what the server wrote in the last of them
}

// open opens one session for each revision asked for.
func (e *serverSubject) open(ctx context.Context) error {
	all := &openings{of: map[spec.Revision]session.Opening{}, within: e.o.Session.StartTimeout}
	// Newest handshake revision first: a server that answers nothing shows it there,
	// and the wait for a first answer is not repeated in full.
	for _, rev := range e.openingOrder() {
		if e.kind == transport.SSE && rev.Facts().Stateless {
			// basic/transports of 2026-07-28 has stdio and streamable HTTP alone.
			all.of[rev] = session.Opening{ValidAnswer: true, Reason: "the revision has no HTTP+SSE"}
			continue
		}
		if all.isMute() && e.kind == transport.Stdio && !rev.Facts().Stateless {
			continue // the other era is the only one left to try
		}
		if err := e.openAt(ctx, rev, all); err != nil || ctx.Err() != nil {
			return err
		}
		if all.tried == 1 && all.dead == 1 && e.endsUnasked(ctx, rev) {
			return all.failure
		}
	}
	switch {
	case !all.answered && all.dead == all.tried:
		return all.failure
	case all.isMute() && e.kind == transport.Stdio:
		return fmt.Errorf("%w%s", ErrNoAnswer, all.output)
	}
	e.planAll(all.of)
	e.expect()
	return nil
}

// openAt opens the first session of a revision. An error says that the server cannot be
// judged.
func (e *serverSubject) openAt(ctx context.Context, rev spec.Revision, all *openings) error {
	pool := session.NewPool(e.launcher, rev)
	all.tried++
	stop := e.noticeSilence()
	o, s, err := pool.OpenFirst(ctx, all.within)
	stop()
	if ctx.Err() != nil {
		return nil
	}
	if err != nil && all.answered { // the target was started, and refuses a further connection
		all.of[rev] = session.Opening{Err: err, Reason: fmt.Sprintf("no further connection was opened: %v", err)}
		return nil
	}
	if err != nil {
		return fmt.Errorf("%w: %v", ErrNotStarted, err)
	}
	if o.StatusError != nil && o.StatusError.Status == http.StatusTooManyRequests {
		return fmt.Errorf("which revisions the server speaks is not known, since it limits the rate of requests: "+
			"its opening at %s was answered with %w; lift the limit for the run", rev, o.StatusError)
	}
	all.of[rev] = o
	all.note(ctx, s, o, e.o.Session)
	if o.Spoken {
		e.pools[rev] = pool
		e.identify(o)
	} else {
		e.refusals[rev] = check.Excerpt(s.Transcript, 0, lastMessage(s))
		s.Close()
	}
	return nil
}

// isMute reports whether the server runs and answered nothing so far.
func (all *openings) isMute() bool { return all.silent && !all.answered && !all.replied }

// note takes in what an opening shows of the server.
func (all *openings) note(ctx context.Context, s *session.Session, o session.Opening, limits session.Options) {
	var unsent *session.NotSentError
	switch {
	case o.Answered || o.StatusError != nil:
		all.answered = true
		all.within = limits.FirstAnswerTimeout(o.Duration)
	case errors.As(o.Err, &unsent) && !sentAnything(s):
		all.dead++
		all.failure = fmt.Errorf("%w: %w%s", ErrNotStarted, o.Err, outputOf(s))
	case s.ConnectionError() != nil && !sentAnything(s):
		all.dead++
		all.failure = fmt.Errorf("%w: it ended before it answered anything: %v%s", ErrNotStarted,
			s.ConnectionError(), outputOf(s))
	default:
		all.silent = true
		all.within = min(all.within, limits.Timeout)
		all.replied = all.replied || s.AnswersAnyRequest(ctx)
		all.output = outputOf(s)
	}
}

// noticeSilence tells the user if the server sends nothing for a while. The function
// returned stops that.
func (e *serverSubject) noticeSilence() (stop func()) {
	if e.o.Notice == nil || e.kind != transport.Stdio || e.launcher.StartCount() > 1 {
		return func() {}
	}
	timer := time.AfterFunc(silenceNotice, func() {
		e.o.Notice(fmt.Sprintf("the server has answered nothing for %v; waiting for its first answer for up to %v",
			silenceNotice, e.o.Session.StartTimeout))
	})
	return func() { timer.Stop() }
}

// endsUnasked reports whether an instance that gets no message ends by itself.
func (e *serverSubject) endsUnasked(ctx context.Context, rev spec.Revision) bool {
	if e.kind != transport.Stdio {
		return false
	}
	s, err := session.NewPool(e.launcher, rev).Unopened(ctx)
	if err != nil {
		return true
	}
	defer s.Kill()
	ctx, cancel := context.WithTimeout(ctx, e.o.Session.Grace)
	defer cancel()
	return s.AwaitEnd(ctx) != nil
}

// lastMessage returns the index of the last message of a session; -1 if there is none.
func lastMessage(s *session.Session) int {
	at := -1
	for e := range s.Walk(0) {
		at = e.Index
	}
	return at
}

// sentAnything reports whether the server sent a message.
func sentAnything(s *session.Session) bool {
	return slices.ContainsFunc(s.Entries(), func(e wire.Entry) bool { return e.From == wire.Server })
}

// The limits on what an error quotes of a server's output.
const (
	quotedLines = 10
	quotedBytes = 200 // of a line
)

// outputOf describes what the server wrote to its standard output, unless it is a
// message, and to its standard error.
func outputOf(s *session.Session) string {
	var out []string
	for e := range s.Walk(0) {
		if e.From == wire.Server && e.Message.Kind == wire.Invalid {
			out = append(out, string(e.Message.Raw))
		}
	}
	return quoteOutput("standard output", out) +
		quoteOutput("standard error", strings.Split(strings.TrimSpace(s.Stderr()), "\n"))
}

func quoteOutput(name string, lines []string) string {
	text := ""
	for _, line := range lines[max(0, len(lines)-quotedLines):] {
		if line = strings.TrimRight(line, "\r"); line != "" {
			text += "\n  " + wire.Clip(line, quotedBytes)
		}
	}
	if text == "" {
		return ""
	}
	return "\nits " + name + " ended with:" + text
}

func (e *serverSubject) openingOrder() []spec.Revision {
	order := slices.Clone(e.o.Revisions)
	slices.SortStableFunc(order, func(a, b spec.Revision) int {
		if x, y := a.Facts().Stateless, b.Facts().Stateless; x != y {
			if y {
				return -1
			}
			return 1
		}
		return strings.Compare(string(b), string(a))
	})
	return order
}
