package logging

import (
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// requestJudges returns the judges of log messages by the levels that requests ask
// for, since 2026-07-28. On stdio a message does not say which request it is for: it
// is judged by all open requests.
func requestJudges() []check.Check {
	return []check.Check{
		{
			ID:    "logging.request.opted-in",
			Says:  "the server sends no log message if no open request has a log level",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"logging-opt-in-required"},
			Idle:  "the server did not both log a call with a log level and answer one without",
			Hint:  sendLog,
			// Silence is evidence only of a server that does log on request.
			Judge: func(j *check.J) {
				all, logs := requestLogOf(j), false
				for _, m := range all.messages {
					logs = logs || m.is == requested
					if m.is == unrequested {
						j.Fail(m.Entry, "a log message came while no open request had a log level")
					}
				}
				if logs && all.answeredPlainCall {
					j.Saw()
				}
			},
		},
		{
			ID:    "logging.request.threshold",
			Says:  "no log message is less severe than the log level of the request",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"logging-request-level-threshold"},
			Idle:  noRequestedMessage,
			Hint:  sendLog,
			Judge: func(j *check.J) {
				check.Each(j, requestLogOf(j).messages, func(m requestMessage) bool {
					if m.is == belowLevel {
						j.Fail(m.Entry,
							"a message of level %s was sent, which is less severe than any open request asks for",
							m.Message.Params().Get("level").String())
					}
					return m.is == requested
				})
			},
		},
		{
			ID:    "logging.request.before-answer",
			Says:  "the server sends the log messages of a request before its answer",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"logging-before-response"},
			Idle:  noRequestedMessage,
			Hint:  sendLog,
			Judge: func(j *check.J) {
				check.Each(j, requestLogOf(j).messages, func(m requestMessage) bool {
					if m.is == afterAnswer {
						j.Fail(m.Entry, "a log message came after the answer to the request that asked for it")
					}
					return m.is == requested
				})
			},
		},
	}
}

const noRequestedMessage = "the server sent no log message for a request with a log level"

// A relation is how a log message relates to the open requests.
type relation uint8

const (
	requested   relation = iota // an open request asks for it
	unrequested                 // the open requests ask for no message
	belowLevel                  // it is less severe than each open request asks for
	afterAnswer                 // no open request asks for it, and one that was just answered did
	unknown                     // a request that is not of this revision may have asked for it
)

// A requestMessage is a log message with its relation to the open requests.
type requestMessage struct {
	wire.Entry
	is relation
}

// A levelRequest is what a request of the client says of log messages.
type levelRequest struct {
	level  int  // -1: it asks for none
	isCall bool // of a tool
	// isUnknown: it is not of this revision, or its level is none of the eight.
	isUnknown bool
}

// A requestLog holds the log messages of a session by its requests.
type requestLog struct {
	messages          []requestMessage
	answeredPlainCall bool // a tools/call without a log level was answered

	open   map[string]levelRequest // by id; a request that was cancelled stays open
	recent []levelRequest          // the last that were answered: a message may come after the answer
}

// requestLogOf reads a session up to where it is no longer known what the requests ask
// for.
func requestLogOf(j *check.J) *requestLog {
	return check.Derived(j, "log messages by request", func() *requestLog {
		l := &requestLog{open: map[string]levelRequest{}}
		for _, e := range j.Entries() {
			if e.From != j.Of && !e.Message.IsIdentifiable() && transcript.MentionsWord(e, "loglevel") {
				break
			}
			if !l.add(j, e) {
				break
			}
		}
		return l
	})
}

// add adds the messages of a frame; it reports whether it is still known what the
// requests ask for.
func (l *requestLog) add(j *check.J, e wire.Entry) bool {
	for _, m := range e.Message.Elements() {
		id := m.ID().Key()
		switch {
		case e.From != j.Of && m.Kind == wire.Request:
			if _, twice := l.open[id]; twice || m.Method() == "initialize" {
				return false
			}
			l.open[id] = levelRequestOf(j, m)
		case e.From != j.Of:
		case m.IsResponse():
			l.close(id)
		case m.Method() == "notifications/message":
			one := e
			one.Message = m
			l.messages = append(l.messages, requestMessage{one, l.relate(m)})
		}
	}
	return true
}

// levelRequestOf returns what a request says of log messages.
func levelRequestOf(j *check.J, m wire.Message) levelRequest {
	level := wire.Member(m.Params().Get("_meta"), spec.MetaLogLevel)
	r := levelRequest{level: severity(level), isCall: m.Method() == "tools/call"}
	r.isUnknown = !transcript.IsUnderRevision(j, m, false) || level.Exists() && r.level < 0
	return r
}

// close closes the request with an id, if one is open.
func (l *requestLog) close(id string) {
	r, ok := l.open[id]
	if !ok {
		return
	}
	delete(l.open, id)
	l.recent = append(l.recent[max(0, len(l.recent)-1):], r)
	if r.isCall && r.level < 0 && !r.isUnknown {
		l.answeredPlainCall = true
	}
}

// relate returns how a log message relates to the requests that are open now.
func (l *requestLog) relate(m wire.Message) relation {
	got := severity(m.Params().Get("level"))
	isRequested, anyLevel, isUnknown, wasRequested := false, false, false, false
	for _, r := range l.open {
		isUnknown = isUnknown || r.isUnknown
		anyLevel = anyLevel || r.level >= 0
		isRequested = isRequested || r.level >= 0 && got >= r.level
	}
	for _, r := range l.recent {
		isUnknown = isUnknown || r.isUnknown
		wasRequested = wasRequested || r.level >= 0 && got >= r.level
	}
	switch {
	case isRequested:
		return requested
	case isUnknown || anyLevel && got < 0:
		return unknown
	case wasRequested:
		return afterAnswer
	case anyLevel:
		return belowLevel
	}
	return unrequested
}
