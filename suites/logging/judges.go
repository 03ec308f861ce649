package logging

import (
	"regexp"
	"slices"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/survey/transcript"
)

// judges are the judges of server/utilities/logging.
func judges() []check.Check {
	return []check.Check{
		{
			ID:    "logging.declared",
			Says:  "a server that sends log messages declares the capability",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"logging-capability-declared"},
			// loggingDeclared needs to have seen what the server declared.
			Judge: func(j *check.J) {
				if !j.Capabilities(wire.Server).Exists() {
					return
				}
				declared := j.Declares(wire.Server, "logging")
				eachLog(j, func(s transcript.Message, _ gjson.Result) {
					if !declared {
						j.Fail(s.Entry, "a log message came from a server that does not declare logging")
					}
					j.Saw()
				})
			},
		},
		{
			ID:    "logging.message.params",
			Says:  "a log message has data, and its logger is a string",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"logging-message-params"},
			Judge: func(j *check.J) {
				transcript.Scope{Definitions: []string{"LoggingMessageNotification"}, Elsewhere: []string{
					"/params/level", // logging.message.level
				}}.Judge(j)
			},
		},
		{
			ID:    "logging.message.level",
			Says:  "the level of a log message is one of the eight, as they are written",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"logging-level-enum", "logging-message-params"},
			Judge: func(j *check.J) {
				eachLog(j, func(s transcript.Message, params gjson.Result) {
					switch level := params.Get("level"); {
					case !level.Exists():
						j.Fail(s.Entry, "the log message has no level")
					case severity(level) < 0:
						j.Fail(s.Entry, "the level of the log message is %s", wire.Clip(level.Raw, 80))
					default:
						j.Saw()
					}
				})
			},
		},
		{
			ID:    "logging.message.secrets",
			Says:  "no log message holds a credential",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"logging-no-credentials"},
			Judge: func(j *check.J) {
				eachLog(j, func(s transcript.Message, params gjson.Result) {
					eachText(params.Get("data"), func(text string) {
						for _, c := range credentials {
							if found := c.form.FindString(text); found != "" && !masked.MatchString(found) {
								j.Fail(s.Entry, "the log message holds %s", c.what)
							}
						}
					})
					j.Saw()
				})
			},
		},
		{
			ID:    "logging.rate",
			Says:  "log messages do not come five hundred within a second",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"logging-rate-limit-server", "logging-rate-limit"},
			Judge: func(j *check.J) { transcript.JudgeRate(j, "notifications/message") },
		},
		{
			ID:    "logging.threshold",
			Says:  "after logging/setLevel no milder log messages come",
			Level: spec.Should,
			In:    spec.Handshake,
			Rules: []string{"logging-threshold"},
			Judge: func(j *check.J) {
				t := &threshold{level: -1, setting: map[string]gjson.Result{}, after: map[string]bool{}, ids: map[string]bool{}}
				for _, e := range j.Entries() {
					for _, m := range e.Message.Elements() {
						got := severity(m.Params().Get("level"))
						switch {
						case e.From != j.Of:
							t.asked(e, m)
						case m.IsResponse():
							t.answered(e, m)
						case m.Method() != "notifications/message" || got < 0 || !t.certain() || !j.Follows(e, t.since):
						case got < t.level:
							one := e
							one.Message = m
							j.Fail(one, "a message of level %s came after the level was set to %s", spec.LogLevels()[got], spec.LogLevels()[t.level])
						default:
							j.Saw()
						}
					}
				}
			},
		},
		{
			ID:    "logging.request.opted-in",
			Says:  "no log message comes for a request that asks for no level",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"logging-opt-in-required"},
			Judge: func(j *check.J) { requestMessages(j, unasked) },
		},
		{
			ID:    "logging.request.threshold",
			Says:  "no log message is milder than the request asks for",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"logging-request-level-threshold"},
			Judge: func(j *check.J) { requestMessages(j, tooMild) },
		},
		{
			ID:    "logging.request.before-answer",
			Says:  "the log messages of a request come before its answer",
			Level: spec.Should,
			In:    spec.Stateless,
			Rules: []string{"logging-before-response"},
			Judge: func(j *check.J) { requestMessages(j, tooLate) },
		},
		{
			ID:    "logging.request.stream",
			Says:  "no log message is delivered on a subscription",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"logging-on-request-stream-only"},
			// messageStream knows a stream on stdio by the id that what is sent on it
			// carries (basic/patterns/subscriptions#receiving-notifications).
			Judge: func(j *check.J) {
				eachLog(j, func(s transcript.Message, params gjson.Result) {
					if id := wire.Member(params.Get("_meta"), spec.MetaSubscriptionID); id.Exists() {
						j.Fail(s.Entry, "a log message was delivered on the subscription %s", wire.Clip(id.Raw, 80))
					}
					j.Saw()
				})
			},
		},
	}
}

// severity returns the rank of a level, 0 for the mildest; -1 for what is none
// (server/utilities/logging#log-levels).
func severity(level gjson.Result) int {
	if level.Type != gjson.String {
		return -1
	}
	return slices.Index(spec.LogLevels(), level.Str)
}

// eachLog gives the log messages that the server sent under the revision.
func eachLog(j *check.J, look func(s transcript.Message, params gjson.Result)) {
	transcript.EachMessage(j, func(s transcript.Message) {
		if s.Message.Kind == wire.Notification && s.Message.Method() == "notifications/message" {
			look(s, s.Message.Params())
		}
	})
}

// credentials are texts that let in whoever reads them, by the form that a
// standard gives them: private keys (RFC 7468), Authorization fields (RFC 7617,
// RFC 6750) and URLs with a password (RFC 3986, section 3.2.1).
var credentials = []struct {
	what string
	form *regexp.Regexp
}{
	{"a private key", regexp.MustCompile(`-----BEGIN ([A-Z]+ )*PRIVATE KEY-----\s*[A-Za-z0-9+/=]{20}`)},
	{"an Authorization field", regexp.MustCompile(`(?i)authorization["']?\s*[:=]\s*["']?(bearer|basic)\s+[A-Za-z0-9._~+/-]{16,}`)},
	{"a URL with a password", regexp.MustCompile(`[a-z][a-z0-9+.-]*://[^\s/:@"'<>{}$*]+:[^\s/:@"'<>{}$*]{4,}@[A-Za-z0-9.-]+`)},
}

// masked are passwords that stand for one that is not shown.
var masked = regexp.MustCompile(`(?i):(x+|redacted|hidden|masked|password|pass|secret|\.+|-+)@`)

// eachText gives the strings within a value; a member with its key, so that a
// header is seen whole.
func eachText(v gjson.Result, look func(text string)) {
	switch {
	case v.Type == gjson.String:
		look(v.Str)
	case v.IsObject() || v.IsArray():
		v.ForEach(func(key, child gjson.Result) bool {
			if key.Exists() && v.IsObject() && child.Type == gjson.String {
				look(key.Str + ": " + child.Str)
				return true
			}
			eachText(child, look)
			return true
		})
	}
}

// A threshold is the level of a session as far as it is certain: logging/setLevel
// was answered with a result, and another request that was sent thereafter too,
// so that what had been on its way has come.
type threshold struct {
	level   int // -1: not known
	settled bool
	since   wire.Entry              // the answer by which it was settled
	setting map[string]gjson.Result // levels asked for, by id
	after   map[string]bool         // ids of requests sent since the level was set
	ids     map[string]bool         // all that were sent
}

// asked takes in what the server was sent. Of a message that cannot be read, or
// has the id of another, it is not known what the server makes of it.
func (t *threshold) asked(e wire.Entry, m wire.Message) {
	id := m.ID().Key()
	switch set := transcript.MentionsWord(e, "logging/setlevel"); {
	case m.Kind == wire.Request && t.ids[id], e.Message.Kind != wire.Batch && !e.Message.Readable():
		delete(t.after, id)
		if _, both := t.setting[id]; both || set {
			t.level = -1
			delete(t.setting, id)
		}
	case m.Kind == wire.Request && m.Method() == "logging/setLevel":
		t.setting[id], t.settled = m.Params().Get("level"), false
		clear(t.after)
	case m.Kind == wire.Request && len(t.setting) == 0:
		t.after[id] = true
	}
	t.ids[id] = true
}

func (t *threshold) answered(e wire.Entry, m wire.Message) {
	id := m.ID().Key()
	if level, ok := t.setting[id]; ok {
		delete(t.setting, id)
		if m.Kind == wire.Result {
			t.level = severity(level)
		}
	}
	if !t.settled && t.after[id] {
		t.settled, t.since = true, e
	}
}

func (t *threshold) certain() bool { return t.level >= 0 && t.settled && len(t.setting) == 0 }

// A logged is how a log message of the stateless era relates to the requests in
// flight: on stdio nothing in it says which one it is of.
type logged uint8

const (
	rightly logged = iota
	unasked        // the requests in flight ask for none
	tooMild        // it is milder than each of those in flight asks for
	tooLate        // none in flight asks for it, and one that did was just answered
	unclear        // a request that is not of this revision may have asked for it
)

// requestMessages judges the log messages of the stateless era by the requests
// in flight. Those that were cancelled count as in flight to the end.
func requestMessages(j *check.J, broken logged) {

	heard := false
	all := logsOf(j)
	for _, l := range all.messages {
		switch {
		case l.how != broken:
			heard = heard || l.how == rightly
		case l.how == unasked:
			j.Fail(l.Entry, "a log message came while no request asked for any")
		case l.how == tooMild:
			j.Fail(l.Entry, "a message of level %s came, and no request in flight asks for what is so mild", l.Message.Params().Get("level").String())
		case l.how == tooLate:
			j.Fail(l.Entry, "a log message came after the request that asked for it was answered")
		}
		if l.how == rightly && broken != unasked {
			j.Saw()
		}
	}
	if broken == unasked && heard && all.quiet {
		j.Saw() // a server that logs when asked has answered calls without
	}

}

// A logMessage is one of a session, with how it relates to its requests.
type logMessage struct {
	wire.Entry
	how logged
}

// logs are the log messages of a session; quiet tells that a tools/call was
// answered that asked for none.
type logs struct {
	messages []logMessage
	quiet    bool
}

// logsOf reads a session once for all judges, up to where it is not known any
// more what a request asks for.
func logsOf(j *check.J) *logs {
	return check.Derived(j, "log messages by request", func() *logs {
		out := &logs{}
		out.read(j)
		return out
	})
}

func (l *logs) read(j *check.J) {
	type request struct {
		level  int
		call   bool
		strays bool // not of this revision, or of a level that is none
	}
	open := map[string]request{}
	var recent []request // that were answered last, of which a message may come late
	for _, e := range j.Entries() {
		if e.From != j.Of && !e.Message.Readable() && transcript.MentionsWord(e, "loglevel") {
			return // what it asks for is not known
		}
		for _, m := range e.Message.Elements() {
			id := m.ID().Key()
			switch {
			case e.From != j.Of && m.Kind == wire.Request:
				if _, twice := open[id]; twice || m.Method() == "initialize" {
					return
				}
				meta := m.Params().Get("_meta")
				level := wire.Member(meta, spec.MetaLogLevel)
				r := request{level: severity(level), call: m.Method() == "tools/call"}
				r.strays = !transcript.IsUnderRevision(j, m, false) || level.Exists() && r.level < 0
				open[id] = r
			case e.From != j.Of:
			case m.IsResponse():
				r, ok := open[id]
				if !ok {
					continue
				}
				delete(open, id)
				if recent = append(recent[max(0, len(recent)-1):], r); r.call && r.level < 0 && !r.strays {
					l.quiet = true
				}
			case m.Method() == "notifications/message":
				level := m.Params().Get("level")
				got := severity(level)
				asked, fits, strays, late := false, false, false, false
				for _, r := range open {
					strays = strays || r.strays
					asked = asked || r.level >= 0
					fits = fits || r.level >= 0 && got >= r.level
				}
				for _, r := range recent {
					strays = strays || r.strays
					late = late || r.level >= 0 && got >= r.level
				}
				how := unasked
				switch {
				case fits:
					how = rightly
				case strays || asked && got < 0:
					how = unclear
				case late:
					how = tooLate
				case asked:
					how = tooMild
				}
				one := e
				one.Message = m
				l.messages = append(l.messages, logMessage{one, how})
			}
		}
	}
}
