package check

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A State is how a body ended, before the level of its check turns it into a verdict.
type State uint8

// The states. A body that returns has Kept its rule; only a body without a subject is
// NotObserved.
const (
	Kept State = iota
	Violated
	NotObserved
	NotApplicable
	NotRun
	Broken
)

// An Outcome is the outcome of one body.
type Outcome struct {
	State        State
	Detail       string // what happened, in one sentence
	Expected     string
	Got          string
	Notes        []string
	Cause        string // why it was not run
	Hint         string // what would make it observed
	Took         time.Duration
	EndedSession bool             // the session no longer answered after it
	SentBy       string           // the check that sent what a judge objects to; "" if that is not known
	Charges      []Charge         // violations of other checks that it came upon
	Frames       []wire.Frame     // of the session, for a state other than Kept
	EndedOn      []string         // the methods of the messages that the server may have ended on
	gaveUp       string           // a method whose message was not sent again; "" for none
	unsent       bool             // a stimulus could not be sent
	unanswered   bool             // a request got no answer
	hung         *session.Session // in which the server answered no further request; or nil
	crafted      bool             // it sent what is no valid use on purpose
	saw          int              // evidence that the rule was kept
	forbidden    []awaitedMessage // messages that must not come until the sessions end
	awaited      []awaitedMessage // missing messages, which may come until the sessions end
}

// An awaitedMessage is a message that is awaited until the session ends.
type awaitedMessage struct {
	watch      *session.Watch
	transcript *wire.Transcript
	from       int
	found      State // of the outcome if the message comes
}

// WithoutSessions returns the outcome without what refers to records of sessions.
func (o Outcome) WithoutSessions() Outcome {
	o.awaited, o.forbidden = nil, nil
	return o
}

// AtSessionEnd returns the outcome after the end of the sessions: an answer may have
// come after the body returned, a forbidden one or one that was missing.
func (o Outcome) AtSessionEnd() Outcome {
	if o.State == Violated {
		for _, w := range o.awaited {
			if hit := w.watch.Found(); hit != nil {
				const why = "the answer came only after later requests were answered"
				late := Outcome{State: w.found, Took: o.Took, Notes: append(o.Notes, why+": "+hit.Message.Summary())}
				if late.State == NotObserved {
					late.Detail = why
				}
				return late
			}
		}
	}
	if o.State != Kept {
		return o
	}
	for _, w := range o.forbidden {
		if hit := w.watch.Found(); hit != nil {
			o.State = Violated
			o.Expected = w.watch.Description
			o.Got = hit.Message.Summary()
			o.Detail = "a forbidden answer was received: " + o.Got
			o.Frames = Excerpt(w.transcript, w.from, hit.Index)
			return o
		}
	}
	return o
}

// Bounds of the further violations that an outcome names, in all and of those
// that differ in numbers only.
const maxFurther, maxAlike = 4, 2

// noteFurther notes a further violation if it differs from those before.
func (o *Outcome) noteFurther(detail string) {
	if detail == o.Detail || slices.Contains(o.Notes, also+detail) {
		return
	}
	alike, all := 0, -1
	for _, note := range append([]string{also + o.Detail}, o.Notes...) {
		if strings.HasPrefix(note, also) {
			all++
			if shape(note) == shape(also+detail) {
				alike++
			}
		}
	}
	if all < maxFurther && alike < maxAlike {
		o.Notes = append(o.Notes, also+detail)
	}
}

// also is the prefix of the notes of further violations.
const also = "also: "

var number = regexp.MustCompile(`[0-9]+`)

// shape returns a text without its numbers.
func shape(text string) string { return number.ReplaceAllString(text, "#") }

// Bounds of the frames that an outcome carries.
const (
	maxFrames     = 40
	framesBefore  = 12
	maxFrameBytes = 16 << 10
)

// Excerpt returns the frames of a transcript from index on, marked at mark
// (-1 for none) and bounded in number and size.
func Excerpt(t *wire.Transcript, from, mark int) []wire.Frame {
	if from < 0 {
		from = max(0, t.Len()-framesBefore)
	}
	if mark >= 0 {
		from = min(from, mark, t.RequestOf(mark))
	}
	frames := t.Frames(from)
	if len(frames) > maxFrames {
		keep := frames[:maxFrames]
		if at := mark - from; at >= maxFrames {
			keep = append(frames[:maxFrames/2:maxFrames/2], frames[at-maxFrames/4:min(len(frames), at+maxFrames/4)]...)
			from += at - maxFrames/4 - maxFrames/2
			for i := range keep[:maxFrames/2] {
				keep[i].Marked = false
			}
			keep[maxFrames/2+maxFrames/4].Marked = true
			mark = -1
		}
		frames = slices.Clone(keep) // the rest is not held
	}
	for i := range frames {
		if from+i == mark {
			frames[i].Marked = true
		}
		if n := len(frames[i].Raw); n > maxFrameBytes {
			frames[i].Raw = append(append([]byte(nil), frames[i].Raw[:maxFrameBytes]...), "…"...)
			frames[i].Note = "shortened here"
			frames[i].Truncated = true
		}
	}
	return frames
}
