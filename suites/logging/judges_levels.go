package logging

import (
	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// levelJudges returns the judges of log messages by the level of the session, which a
// client sets until 2025-11-25.
func levelJudges() []check.Check {
	return []check.Check{
		{
			ID:    "logging.threshold",
			Says:  "after logging/setLevel the server sends no log message of a less severe level",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"logging-threshold"},
			Idle:  "the server sent no log message after a level was set",
			Hint:  "accept logging/setLevel, and offer a read-only tool that sends log messages" + check.OrAllow,
			Judge: func(j *check.J) {
				l := &sessionLevel{
					level: -1, requested: map[string]gjson.Result{}, after: map[string]bool{}, ids: map[string]bool{},
				}
				for _, e := range j.Entries() {
					for _, m := range e.Message.Elements() {
						got := severity(m.Params().Get("level"))
						switch {
						case e.From != j.Of:
							l.addReceived(e, m)
						case m.IsResponse():
							l.addResponse(e, m)
						case m.Method() != "notifications/message" || got < 0 || !l.isKnown() || !j.Follows(e, l.since):
						case got < l.level:
							one := e
							one.Message = m
							j.Fail(one, "a message of level %s came after the level was set to %s",
								spec.LogLevels()[got], spec.LogLevels()[l.level])
						default:
							j.Saw()
						}
					}
				}
			},
		},
	}
}

// A sessionLevel is the level of a session as far as it is known: logging/setLevel
// was answered with a result, and so was another request that was sent after that
// answer, so that no earlier message is under way.
type sessionLevel struct {
	level     int // -1: not known
	settled   bool
	since     wire.Entry              // the answer by which it was settled
	requested map[string]gjson.Result // levels that are not set yet, by id of the request
	after     map[string]bool         // ids of requests sent since the level was set
	ids       map[string]bool         // ids of all requests
}

// addReceived adds a message that the server was sent. What the server makes of a
// message that cannot be read, or has the id of another, is not known.
func (l *sessionLevel) addReceived(e wire.Entry, m wire.Message) {
	id := m.ID().Key()
	unreadable := e.Message.Kind != wire.Batch && !e.Message.IsIdentifiable()
	switch {
	case m.Kind == wire.Request && l.ids[id], unreadable:
		delete(l.after, id)
		if _, both := l.requested[id]; both || transcript.MentionsWord(e, "logging/setlevel") {
			l.level = -1
			delete(l.requested, id)
		}
	case m.Kind == wire.Request && m.Method() == "logging/setLevel":
		l.requested[id], l.settled = m.Params().Get("level"), false
		clear(l.after)
	case m.Kind == wire.Request && len(l.requested) == 0:
		l.after[id] = true
	}
	l.ids[id] = true
}

// addResponse adds a response of the server.
func (l *sessionLevel) addResponse(e wire.Entry, m wire.Message) {
	id := m.ID().Key()
	if level, ok := l.requested[id]; ok {
		delete(l.requested, id)
		if m.Kind == wire.Result {
			l.level = severity(level)
		}
	}
	if !l.settled && l.after[id] {
		l.settled, l.since = true, e
	}
}

// isKnown reports whether the level is known.
func (l *sessionLevel) isKnown() bool { return l.level >= 0 && l.settled && len(l.requested) == 0 }
