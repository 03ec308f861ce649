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

// sendLog is what helps where the server sent no log message.
const sendLog = "offer a read-only tool that sends log messages" + check.OrAllow

// noMessage is why several judges are not observed.
const noMessage = "the server sent no log message"

// judges returns the judges of server/utilities/logging.
func judges() []check.Check { return slices.Concat(messageJudges(), levelJudges(), requestJudges()) }

// messageJudges returns the judges of log messages by themselves.
func messageJudges() []check.Check {
	return []check.Check{
		{
			ID:    "logging.declared",
			Says:  "a server that sends log messages declares the capability logging",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"logging-capability-declared"},
			Idle:  noMessage,
			Hint:  sendLog,
			// A transcript without the opening does not show what the server declares.
			Judge: func(j *check.J) {
				if !j.Capabilities(wire.Server).Exists() {
					return
				}
				check.Each(j, logMessages(j), func(m logMessage) bool {
					if !j.Declares(wire.Server, "logging") {
						j.Fail(m.Entry, "the server sent a log message, and does not declare logging")
					}
					return true
				})
			},
		},
		{
			ID:    "logging.message.params",
			Says:  "a log message has data, and its logger is a string",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"logging-message-params"},
			Idle:  noMessage,
			Hint:  sendLog,
			Judge: func(j *check.J) {
				transcript.Scope{Definitions: []string{"LoggingMessageNotification"}, Elsewhere: []string{
					"/params/level", // logging.message.level
				}}.Judge(j)
			},
		},
		{
			ID:    "logging.message.level",
			Says:  "the level of a log message is one of the eight levels, as it is written in the specification",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"logging-level-enum", "logging-message-params"},
			Idle:  noMessage,
			Hint:  sendLog,
			Judge: func(j *check.J) {
				check.Each(j, logMessages(j), func(m logMessage) bool {
					switch level := m.params.Get("level"); {
					case !level.Exists():
						j.Fail(m.Entry, "the log message has no level")
					case severity(level) < 0:
						j.Fail(m.Entry, "the level of the log message is %s", wire.Clip(level.Raw, 80))
					}
					return true
				})
			},
		},
		{
			ID:    "logging.message.secrets",
			Says:  "no log message holds a credential",
			Level: spec.Must,
			In:    spec.Every,
			Rules: []string{"logging-no-credentials"},
			Idle:  noMessage,
			Hint:  sendLog,
			Judge: func(j *check.J) {
				check.Each(j, logMessages(j), func(m logMessage) bool {
					for _, text := range texts(m.params.Get("data")) {
						for _, c := range credentials {
							if found := c.form.FindString(text); found != "" && !masked.MatchString(found) {
								j.Fail(m.Entry, "the log message holds %s", c.what)
							}
						}
					}
					return true
				})
			},
		},
		{
			ID:    "logging.rate",
			Says:  "the server sends fewer than 500 log messages within a second",
			Level: spec.Should,
			In:    spec.Every,
			Rules: []string{"logging-rate-limit-server", "logging-rate-limit"},
			Idle:  noMessage,
			Hint:  sendLog,
			Judge: func(j *check.J) { transcript.JudgeRate(j, "notifications/message") },
		},
		{
			ID:    "logging.request.stream",
			Says:  "the server sends no log message on the stream of a subscription",
			Level: spec.Must,
			In:    spec.Stateless,
			Rules: []string{"logging-on-request-stream-only"},
			Idle:  noMessage,
			Hint:  sendLog,
			// On stdio the subscription id in _meta shows the stream of a notification
			// (basic/patterns/subscriptions#receiving-notifications).
			Judge: func(j *check.J) {
				check.Each(j, logMessages(j), func(m logMessage) bool {
					if id := wire.Member(m.params.Get("_meta"), spec.MetaSubscriptionID); id.Exists() {
						j.Fail(m.Entry, "a log message was sent on the stream of the subscription %s",
							wire.Clip(id.Raw, 80))
					}
					return true
				})
			},
		},
	}
}

// severity returns the rank of a level, 0 for the least severe; -1 if it is no level
// (server/utilities/logging#log-levels).
func severity(level gjson.Result) int {
	if level.Type != gjson.String {
		return -1
	}
	return slices.Index(spec.LogLevels(), level.Str)
}

// A logMessage is a log message with its params.
type logMessage struct {
	transcript.Message
	params gjson.Result
}

// logMessages returns the log messages that the server sent under the revision.
func logMessages(j *check.J) []logMessage {
	var out []logMessage
	for _, s := range transcript.Messages(j) {
		if s.Message.Kind == wire.Notification && s.Message.Method() == "notifications/message" {
			out = append(out, logMessage{s, s.Message.Params()})
		}
	}
	return out
}

// credentials are the forms of texts that give access, as standards define them:
// private keys (RFC 7468), Authorization fields (RFC 7617, RFC 6750) and URLs with a
// password (RFC 3986, section 3.2.1).
var credentials = []struct {
	what string
	form *regexp.Regexp
}{
	{
		what: "a private key",
		form: regexp.MustCompile(`-----BEGIN ([A-Z]+ )*PRIVATE KEY-----\s*[A-Za-z0-9+/=]{20}`),
	},
	{
		what: "an Authorization field",
		form: regexp.MustCompile(`(?i)authorization["']?\s*[:=]\s*["']?(bearer|basic)\s+[A-Za-z0-9._~+/-]{16,}`),
	},
	{
		what: "a URL with a password",
		form: regexp.MustCompile(`[a-z][a-z0-9+.-]*://[^\s/:@"'<>{}$*]+:[^\s/:@"'<>{}$*]{4,}@[A-Za-z0-9.-]+`),
	},
}

// masked matches a password that stands for one that is not shown.
var masked = regexp.MustCompile(`(?i):(x+|redacted|hidden|masked|password|pass|secret|\.+|-+)@`)

// texts returns the strings within a value. That of a member has its key before it,
// so that a header is complete.
func texts(v gjson.Result) []string {
	if v.Type == gjson.String {
		return []string{v.Str}
	}
	var out []string
	if v.IsObject() || v.IsArray() {
		v.ForEach(func(key, child gjson.Result) bool {
			if v.IsObject() && child.Type == gjson.String {
				out = append(out, key.Str+": "+child.Str)
			} else {
				out = append(out, texts(child)...)
			}
			return true
		})
	}
	return out
}
