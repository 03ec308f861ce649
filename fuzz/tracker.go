package fuzz

import (
	"fmt"
	"maps"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A book keeps what a script is owed while it is played.
type answerTracker struct {
	facts   spec.Facts
	unanswered    map[string]string // requests whose answer is due, by key, each with what is odd about it
	anonymousErrors  int               // errors that name no request: each answers one that could not be read
	methods map[string]string // of the readable messages, by the key of their id
	sent    []string
	served  []string

	conn     *connection
	posts map[int]postedFrame // over HTTP, by exchange
	// speaking are the exchanges in which something may still be said.
	openExchanges map[int]bool
	unanswerable     map[string]string // requests that will not be answered any more, by key, and why
}

// posted is a POST of a script: its frame, and the requests in it whose answer is
// due.
type postedFrame struct {
	frame wire.Frame
	keys  map[string]string
}

// book begins a book of a script, and notes the ids in it as used.
func (l *connection) newTracker(s script) *answerTracker {
	b := &answerTracker{facts: s.rev.Facts(), methods: map[string]string{}, conn: l, posts: map[int]postedFrame{}, unanswerable: map[string]string{}, openExchanges: map[int]bool{}}
	if len(s.opening) == 0 {
		b.facts.Batches = false // they come with the revision, which is not agreed on
	}
	b.unanswered = requiredAnswers(s.messages(), b.facts)
	for _, whole := range s.messages() {
		for _, m := range whole.Elements() {
			if method := m.Method(); method != "" && m.Flaw() == nil {
				b.sent = append(b.sent, method)
				b.methods[m.ID().Key()] = method
			}
			if id := m.ID(); id.Usable() {
				l.usedIDs[id.Key()] = true
			}
		}
	}
	return b
}

// anonymous tells whether a message is an error that names no request.
func isAnonymousError(m wire.Message) bool { return m.Kind == wire.Error && !m.ID().Usable() }

// take notes what a frame of the peer answers.
func (b *answerTracker) observe(e wire.Entry) {
	if e.HTTP != nil {
		b.observeHTTP(e)
	}
	m := e.Message
	if e.Wordless() || !m.IsResponse() {
		return
	}
	key := m.ID().Key()
	if isAnonymousError(m) && !b.answersPost(e) {
		before := len(b.unanswered)
		maps.DeleteFunc(b.unanswered, func(_, odd string) bool { return odd == inBatch })
		if before == len(b.unanswered) {
			b.anonymousErrors++
		}
	}
	if m.Kind == wire.Result && b.methods[key] != "" {
		b.served = append(b.served, b.methods[key])
	}
	delete(b.unanswered, key)
	delete(b.unanswerable, key)
}

// stillOpen takes out of some requests those that were answered.
func (b *answerTracker) removeAnswered(wanted map[string]string) {
	for key := range wanted {
		if _, ok := b.unanswered[key]; !ok {
			delete(wanted, key)
		}
	}
}

// pending tells whether an answer may still come that is due.
func (b *answerTracker) isPending() bool { return len(b.unanswered)-len(b.unanswerable) > b.anonymousErrors }

// unanswered tells which request was not answered, and what is odd about it. Of
// several it is the same one each time.
func (b *answerTracker) describeUnanswered(patience time.Duration) (why, odd string) {
	first := ""
	for key := range b.unanswered {
		if first == "" || key < first {
			first = key
		}
	}
	why = fmt.Sprintf("no answer to the request with id %s within %s", first[2:], patience)
	if told := b.unanswerable[first]; told != "" {
		why = fmt.Sprintf("no answer to the request with id %s, but %s", first[2:], told)
	}
	return why, b.unanswered[first]
}
