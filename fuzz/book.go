package fuzz

import (
	"fmt"
	"maps"
	"time"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// A book keeps what a script is owed while it is played.
type book struct {
	facts   spec.Facts
	open    map[string]string // requests whose answer is due, by key, each with what is odd about it
	unread  int               // errors that name no request: each answers one that could not be read
	methods map[string]string // of the readable messages, by the key of their id
	sent    []string
	served  []string

	l     *line
	posts map[int]posted // over HTTP, by exchange
	// speaking are the exchanges in which something may still be said.
	speaking map[int]bool
	lost     map[string]string // requests that will not be answered any more, by key, and why
}

// posted is a POST of a script: its frame, and the requests in it whose answer is
// due.
type posted struct {
	frame wire.Frame
	keys  map[string]string
}

// book begins a book of a script, and notes the ids in it as used.
func (l *line) book(s Script) *book {
	b := &book{facts: s.Rev.Facts(), methods: map[string]string{}, l: l, posts: map[int]posted{}, lost: map[string]string{}, speaking: map[int]bool{}}
	if len(s.Opening) == 0 {
		b.facts.Batches = false // they come with the revision, which is not agreed on
	}
	b.open = due(s.Lines(), b.facts)
	for _, whole := range s.Lines() {
		for _, m := range whole.Elements() {
			if method := m.Method(); method != "" && m.Flaw() == nil {
				b.sent = append(b.sent, method)
				b.methods[m.ID().Key()] = method
			}
			if id := m.ID(); id.Usable() {
				l.used[id.Key()] = true
			}
		}
	}
	return b
}

// anonymous tells whether a message is an error that names no request.
func anonymous(m wire.Message) bool { return m.Kind == wire.Error && !m.ID().Usable() }

// take notes what a frame of the peer answers.
func (b *book) take(e wire.Entry) {
	if e.HTTP != nil {
		b.takeHTTP(e)
	}
	m := e.Message
	if e.Wordless() || !m.IsResponse() {
		return
	}
	key := m.ID().Key()
	if anonymous(m) && !b.placed(e) {
		before := len(b.open)
		maps.DeleteFunc(b.open, func(_, odd string) bool { return odd == inBatch })
		if before == len(b.open) {
			b.unread++
		}
	}
	if m.Kind == wire.Result && b.methods[key] != "" {
		b.served = append(b.served, b.methods[key])
	}
	delete(b.open, key)
	delete(b.lost, key)
}

// stillOpen takes out of some requests those that were answered.
func (b *book) stillOpen(wanted map[string]string) {
	for key := range wanted {
		if _, ok := b.open[key]; !ok {
			delete(wanted, key)
		}
	}
}

// pending tells whether an answer may still come that is due.
func (b *book) pending() bool { return len(b.open)-len(b.lost) > b.unread }

// unanswered tells which request was not answered, and what is odd about it. Of
// several it is the same one each time.
func (b *book) unanswered(patience time.Duration) (why, odd string) {
	first := ""
	for key := range b.open {
		if first == "" || key < first {
			first = key
		}
	}
	why = fmt.Sprintf("no answer to the request with id %s within %s", first[2:], patience)
	if told := b.lost[first]; told != "" {
		why = fmt.Sprintf("no answer to the request with id %s, but %s", first[2:], told)
	}
	return why, b.open[first]
}
