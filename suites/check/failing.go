package check

import (
	"bytes"
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// stop unwinds a body whose outcome is decided.
type stop struct{}

// Helper implements the interface that gomega asks for.
func (t *T) Helper() {}

// Fatalf fails the check and ends the body.
func (t *T) Fatalf(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	t.out.State = Violated
	t.out.Detail, t.out.Expected, t.out.Got = split(text)
	if n := len(t.out.awaited); n > 0 && t.out.Got == "no answer" {
		t.mark = t.out.awaited[n-1].from // what was not answered, and not what was since
	}
	if t.mark < 0 {
		t.mark = t.lastStimulus()
	}
	for e := range t.s.Walk(0) {
		if t.mark < 0 && e.From == wire.Server {
			t.mark = e.Index // the answer to the opening, with what the server declares
		}
	}
	t.noteRefusal()
	t.out.Frames = Excerpt(t.s.Transcript, t.from, t.mark)
	if t.foreign != nil {
		t.out.Frames = Excerpt(t.foreign, t.foreignMark, t.foreignMark)
	}
	panic(stop{})
}

// noteRefusal notes which message of the body HTTP alone refused: that may be why
// an answer is missing.
func (t *T) noteRefusal() {
	for e := range t.s.Walk(t.from) {
		if e.From != wire.Client {
			continue
		}
		if r := t.s.FailureStatus(e.Index); r != nil {
			if reason := r.Error(); !strings.Contains(t.out.Detail, reason) {
				t.Note("the %s was refused with %s", e.Message.Summary(), reason)
			}
			return
		}
	}
}

// split returns the parts of a failure message: matchers of internal/match write
// what was expected and what was got on lines of their own.
func split(text string) (detail, expected, got string) {
	text = strings.TrimSpace(text)
	if head, rest, ok := strings.Cut(text, "\nexpected: "); ok {
		if want, have, ok := strings.Cut(rest, "\ngot: "); ok {
			return strings.Join(strings.Split(strings.TrimSpace(head), "\n"), ": "), want, have
		}
	}
	return splitGomega(text)
}

// splitGomega returns the parts of a message of gomega's own matchers:
//
//	DESCRIPTION
//	Expected
//	    <int>: 200
//	to equal
//	    <int>: 405
func splitGomega(text string) (detail, expected, got string) {
	oneLine := func(s string) string { return strings.Join(strings.Fields(gomegaType.ReplaceAllString(s, "")), " ") }
	head, rest, ok := strings.Cut("\n"+text, "\nExpected\n")
	if !ok {
		return oneLine(text), "", ""
	}
	var have []string
	lines := strings.Split(rest, "\n")
	for len(lines) > 0 && strings.HasPrefix(lines[0], " ") {
		have, lines = append(have, lines[0]), lines[1:]
	}
	got, expected = oneLine(strings.Join(have, "\n")), oneLine(strings.Join(lines, "\n"))
	if detail = oneLine(head); detail == "" {
		detail = "expected " + got + " " + expected
	}
	return detail, expected, got
}

// gomegaType matches the type that gomega writes before a value.
var gomegaType = regexp.MustCompile(`<[^<>]*>: `)

// Fail fails the check and ends the body. It takes what was expected, what was got
// instead, and a sentence on what happened. Where a value decides, a matcher of
// package match says both.
func (t *T) Fail(expected, got, format string, args ...any) {
	t.Fatalf("%s\nexpected: %s\ngot: %s", fmt.Sprintf(format, args...), expected, got)
}

// NotObserved ends the body without a verdict. It takes why the situation of the
// rule did not come up, and what would bring it up: "" for the Hint of the check.
func (t *T) NotObserved(why, hint string) {
	t.out.State, t.out.Detail, t.out.Hint = NotObserved, why, cmp.Or(hint, t.hint)
	panic(stop{})
}

// NotApplicable ends the body: the rule does not bind this server.
func (t *T) NotApplicable(why string) {
	t.out.State, t.out.Detail = NotApplicable, why
	panic(stop{})
}

// Saw records evidence that the server kept the rule. A body that returns without
// evidence is not observed, with the reason in Idle.
func (t *T) Saw() { t.out.saw++ }

// Note adds what no clause judges but a reader of the report wants to know.
func (t *T) Note(format string, args ...any) {
	t.out.Notes = append(t.out.Notes, fmt.Sprintf(format, args...))
}

// Mark names the frame at fault. It may be of another session, which a shared result
// may hold.
func (t *T) Mark(e wire.Entry) {
	t.foreign = nil
	if holds(t.s, e) {
		t.mark = e.Index
		return
	}
	for _, s := range t.pool.Sessions() {
		if holds(s, e) {
			t.foreign, t.foreignMark = s.Transcript, e.Index
			return
		}
	}
}

func holds(s *session.Session, e wire.Entry) bool {
	here, ok := s.Entry(e.Index)
	return ok && here.At == e.At && bytes.Equal(here.Raw, e.Raw)
}

// Marked returns the index of the frame that was marked last, by Mark or as the
// answer to a request; -1 if there is none.
func (t *T) Marked() int { return t.mark }
