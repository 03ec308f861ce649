package fuzz

import (
	"fmt"
	"maps"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// An answerTracker records which requests of a script were answered.
type answerTracker struct {
	facts spec.Facts
	// unanswered are the requests that still require an answer: the key of the
	// id, and the anomaly of the message.
	unanswered map[string]string
	// unanswerable are those of them that will get none, and why.
	unanswerable map[string]string
	// anonymousErrors counts errors without an id. Each answers one message,
	// and it is not known which.
	anonymousErrors int
	methods         map[string]string // of the well-formed messages, by the key of the id
	sent            []string          // the same in order
	served          []string          // methods of the requests that were answered with a result

	// Over HTTP:
	conn          *connection
	posts         map[int]postedFrame // by exchange
	openExchanges map[int]bool        // in which messages may still follow
}

// A postedFrame is a POST of a script and the answers that it requires.
type postedFrame struct {
	frame    wire.Frame
	required map[string]string
}

// newAnswerTracker returns a tracker of a script. It also records the ids of the
// script as used in the session.
func newAnswerTracker(c *connection, s script) *answerTracker {
	t := &answerTracker{
		facts: s.rev.Facts(), unanswerable: map[string]string{}, methods: map[string]string{},
		conn: c, posts: map[int]postedFrame{}, openExchanges: map[int]bool{},
	}
	if len(s.opening) == 0 {
		t.facts.Batches = false // the revision, which has them, is not agreed on
	}
	t.unanswered = requiredAnswers(s.messages(), t.facts)
	for _, whole := range s.messages() {
		for _, m := range whole.Elements() {
			if method := m.Method(); method != "" && m.FormatError() == nil {
				t.sent = append(t.sent, method)
				t.methods[m.ID().Key()] = method
			}
			if id := m.ID(); id.IsValid() {
				c.usedIDs[id.Key()] = true
			}
		}
	}
	return t
}

// isAnonymousError reports whether a message is an error whose id names no
// request.
func isAnonymousError(m wire.Message) bool { return m.Kind == wire.Error && !m.ID().IsValid() }

// observe records what a frame of the peer answers.
func (t *answerTracker) observe(e wire.Entry) {
	if e.HTTP != nil {
		t.observeHTTP(e)
	}
	m := e.Message
	if e.IsTransportOnly() || !m.IsResponse() {
		return
	}
	key := m.ID().Key()
	if isAnonymousError(m) && !t.answersPost(e) {
		before := len(t.unanswered)
		maps.DeleteFunc(t.unanswered, func(_, anomaly string) bool { return anomaly == inBatch })
		if before == len(t.unanswered) {
			t.anonymousErrors++
		}
	}
	if m.Kind == wire.Result && t.methods[key] != "" {
		t.served = append(t.served, t.methods[key])
	}
	delete(t.unanswered, key)
	delete(t.unanswerable, key)
}

// removeAnswered removes the requests that were answered.
func (t *answerTracker) removeAnswered(wanted map[string]string) {
	for key := range wanted {
		if _, ok := t.unanswered[key]; !ok {
			delete(wanted, key)
		}
	}
}

// isPending reports whether a required answer may still follow.
func (t *answerTracker) isPending() bool {
	return len(t.unanswered)-len(t.unanswerable) > t.anonymousErrors
}

// describeUnanswered returns which request was not answered, and the anomaly of
// its message. Of several requests it names the one with the least key, so that
// every execution names the same.
func (t *answerTracker) describeUnanswered(timeout time.Duration) (why, anomaly string) {
	first := ""
	for key := range t.unanswered {
		if first == "" || key < first {
			first = key
		}
	}
	id := wire.Untyped(first)
	why = fmt.Sprintf("no answer to the request with id %s within %s", id, timeout)
	if reason := t.unanswerable[first]; reason != "" {
		why = fmt.Sprintf("no answer to the request with id %s, but %s", id, reason)
	}
	return why, t.unanswered[first]
}
