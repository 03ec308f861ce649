package fault

import (
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

const setLevelMethod = "logging/setLevel"

// loggingFaults are the faults of server/utilities/logging.
func loggingFaults() []Fault {
	return slices.Concat(logMessages(), logSecrets(), logThresholds(), invalidLevels(), logRequests(),
		[]Fault{
			exitsOn("logging/setLevel", "logging.level.survived"),
			hangsOn("logging/setLevel", "logging.level.survived"),
		})
}

// onLog changes the params of log messages.
func onLog(edit func(message server.Object)) apply { return onNotification(logMethod, edit) }

// logMessages are faults in the content of log messages.
func logMessages() []Fault {
	return []Fault{
		{
			Name: "logging-undeclared", Does: "sends log messages without declaring the capability", In: spec.Handshake,
			CaughtBy: []string{"logging.declared"},
			Apply:    undeclared("logging"),
		},
		{
			Name: "log-without-data", Does: "sends log messages without data",
			CaughtBy: []string{"logging.message.params"},
			Apply:    onLog(remove("data")),
		},
		{
			Name: "log-without-level", Does: "sends log messages without a level",
			CaughtBy: []string{"logging.message.level"},
			Apply:    onLog(remove("level")),
		},
		{
			Name: "log-logger-object", Does: "writes the logger of log messages as an object",
			CaughtBy: []string{"logging.message.params"},
			Apply:    onLog(func(m server.Object) { m["logger"] = server.Object{"name": m["logger"]} }),
		},
		{
			Name: "log-level-uppercase", Does: "writes the level of log messages in upper case",
			Breaks:   []string{"logging-level-enum"},
			CaughtBy: []string{"logging.message.level"},
			Apply:    onLog(func(m server.Object) { m["level"] = strings.ToUpper(m["level"].(string)) }),
		},
		{
			Name: "log-level-short", Does: "writes the levels warning and critical as warn and fatal",
			Breaks:   []string{"logging-level-enum"},
			CaughtBy: []string{"logging.message.level"},
			Apply: onLog(func(m server.Object) {
				replace("level", "warning", "warn")(m)
				replace("level", "critical", "fatal")(m)
			}),
		},
		{
			Name: "log-level-number", Does: "writes the level of log messages as a number",
			Breaks:   []string{"logging-level-enum"},
			CaughtBy: []string{"logging.message.level"},
			Apply:    onLog(func(m server.Object) { m["level"] = slices.Index(spec.LogLevels(), m["level"].(string)) }),
		},
		{
			Name: "log-flood", Does: "sends six hundred log messages at once",
			CaughtBy: []string{"logging.rate"},
			Apply:    sendFlood(isNotification(logMethod), func(f server.Frame, _ int) server.Frame { return f }),
		},
	}
}

// logSecrets are faults in what log messages disclose.
func logSecrets() []Fault {
	const privateKey = "-----BEGIN PRIVATE KEY-----\n" +
		"MC4CAQAwBQYDK2VwBCIEIHJlYWRpbmcgcm9vbSBvbiByZXF1ZXN0\n-----END PRIVATE KEY-----"
	return []Fault{
		{
			Name: "log-private-key", Does: "logs the private key of its certificate",
			CaughtBy: []string{"logging.message.secrets"},
			Apply:    onLog(set("data", server.Object{"tls": privateKey})),
		},
		{
			Name: "log-authorization", Does: "logs the header Authorization of a request that it sends",
			CaughtBy: []string{"logging.message.secrets"},
			Apply: onLog(set("data", server.Object{"headers": server.Object{
				"Accept": "*/*", "Authorization": "Bearer c2hlbGYtbWFyay1vZi10aGUtZGVzaw",
			}})),
		},
		{
			Name: "log-database-url", Does: "logs the URL of its database with the password",
			CaughtBy: []string{"logging.message.secrets"},
			Apply:    onLog(set("data", "connected to postgres://desk:ink7well@db.library.example/books")),
		},
	}
}

// onSetLevel changes the level that logging/setLevel requests.
func onSetLevel(edit func(level any) any) apply {
	return onRequest(setLevelMethod, func(r *server.Request) {
		if level := edit(r.Params["level"]); level != nil {
			r.Params["level"] = level
		}
	})
}

func isLevel(v any) bool { return slices.Contains(spec.LogLevels(), asText(v)) }

// logThresholds are the faults of logging/setLevel.
func logThresholds() []Fault {
	return []Fault{
		{
			Name: "log-level-kept", Does: "acknowledges logging/setLevel and does not set the level",
			CaughtBy: []string{"logging.threshold"},
			Apply: onSetLevel(func(level any) any {
				if isLevel(level) {
					return "debug"
				}
				return level
			}),
		},
		{
			Name: "log-level-one-off", Does: "sends log messages one level below the requested one",
			CaughtBy: []string{"logging.threshold"},
			Apply: onSetLevel(func(level any) any {
				if at := slices.Index(spec.LogLevels(), asText(level)); at > 0 {
					return spec.LogLevels()[at-1]
				}
				return level
			}),
		},
		{
			Name: "log-level-notice-refused", Does: "refuses logging/setLevel with the level notice",
			CaughtBy: []string{"logging.set-level.accepted"},
			Apply: answerWhen(hasParam(setLevelMethod, "level", "notice"),
				failWith(spec.InvalidParams, "There is no level notice")),
		},
		{
			Name: "log-level-unanswered", Does: "does not answer logging/setLevel with the level alert",
			CaughtBy: []string{"logging.set-level.accepted"},
			Apply:    withhold(isResponseWhen(hasParam(setLevelMethod, "level", "alert"))),
		},
		{
			Name: "log-level-echoed", Does: "answers logging/setLevel with the level",
			CaughtBy: []string{"logging.set-level.empty"},
			Apply: onResultWhen(isMethod(setLevelMethod), func(r *server.Request, result server.Object) {
				result["level"] = r.Params["level"]
			}),
		},
	}
}

// invalidLevels are faults in how invalid levels are received.
func invalidLevels() []Fault {
	invalid := []string{"logging.set-level.invalid"}
	return []Fault{
		{
			Name: "log-level-unknown-taken", Does: "takes unknown levels for info",
			CaughtBy: invalid,
			Apply: onSetLevel(func(level any) any {
				if asText(level) != "" && !isLevel(level) {
					return "info"
				}
				return level
			}),
		},
		{
			Name: "log-level-any-case", Does: "accepts levels in upper case",
			CaughtBy: invalid,
			Apply: onSetLevel(func(level any) any {
				if text := asText(level); text != "" {
					return strings.ToLower(text)
				}
				return level
			}),
		},
		{
			Name: "log-level-internal-error", Does: "answers invalid levels with error -32603",
			CaughtBy: invalid,
			Apply:    recode(setLevelMethod, anyError, spec.InternalError),
		},
		{
			Name: "log-level-default", Does: "takes a missing level for info",
			CaughtBy: invalid,
			Apply: onSetLevel(func(level any) any {
				if level == nil {
					return "info"
				}
				return level
			}),
		},
	}
}

// onRequestLevel changes the rank of the log level that a call requests.
func onRequestLevel(other func(rank int) int) apply {
	return onRequest("tools/call", func(r *server.Request) {
		meta := metaOf(r)
		if rank := slices.Index(spec.LogLevels(), asText(meta[spec.MetaLogLevel])); r.Stateless && rank >= 0 {
			meta[spec.MetaLogLevel] = spec.LogLevels()[other(rank)]
		}
	})
}

// logRequests are the faults of the log level in the _meta of requests.
func logRequests() []Fault {
	isUnknownLevel := func(r *server.Request) bool {
		level := metaOf(r)[spec.MetaLogLevel]
		return level != nil && !isLevel(level)
	}
	return []Fault{
		{
			Name: "log-unrequested", Does: "logs warnings of calls that request no log messages",
			CaughtBy: []string{"logging.request.opted-in"},
			Apply: onRequest("tools/call", func(r *server.Request) {
				if meta := metaOf(r); r.Stateless && meta != nil && meta[spec.MetaLogLevel] == nil {
					meta[spec.MetaLogLevel] = "warning"
				}
			}),
		},
		{
			Name: "log-request-level-ignored", Does: "logs messages of all levels of a call that requests any",
			CaughtBy: []string{"logging.request.threshold"},
			Apply:    onRequestLevel(func(int) int { return 0 }),
		},
		{
			Name: "log-request-level-one-off", Does: "logs messages one level below the one that a call requests",
			CaughtBy: []string{"logging.request.threshold"},
			Apply:    onRequestLevel(func(rank int) int { return max(0, rank-1) }),
		},
		{
			Name: "log-after-answer", Does: "sends the last log message of a call after its answer",
			CaughtBy: []string{"logging.request.before-answer"},
			Apply:    sendLastAfterAnswer(logMethod),
		},
		{
			Name: "log-on-subscription", Does: "marks log messages as those of a subscription",
			CaughtBy: []string{"logging.request.stream"},
			Apply:    onLog(set("_meta", server.Object{spec.MetaSubscriptionID: "log"})),
		},
		{
			Name: "log-request-level-unknown-taken", Does: "serves requests that name an unknown log level",
			CaughtBy: []string{"logging.request.invalid"},
			Apply: onRequestWhen(func(r *server.Request) bool { return r.Stateless && isUnknownLevel(r) },
				func(r *server.Request) { delete(metaOf(r), spec.MetaLogLevel) }),
		},
		{
			Name:     "log-request-level-internal-error",
			Does:     "answers requests that name an unknown log level with error -32603",
			CaughtBy: []string{"logging.request.invalid"},
			Apply: recode("", func(r *server.Request, _ *server.Error) bool {
				return isUnknownLevel(r)
			}, spec.InternalError),
		},
	}
}
