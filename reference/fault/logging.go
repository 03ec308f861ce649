package fault

import (
	"context"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// logging are the faults of server/utilities/logging.
func logging() []Fault {
	return []Fault{
		{
			Name: "logging-undeclared", Does: "sends log messages without declaring the capability", In: spec.Handshake,
			CaughtBy: []string{"logging.declared"},
			Apply:    undeclared("logging"),
		},
		{
			Name: "log-without-data", Does: "sends log messages without data",
			CaughtBy: []string{"logging.message.params"},
			Apply:    onLog(func(m server.Object) { delete(m, "data") }),
		},
		{
			Name: "log-without-level", Does: "sends log messages without a level",
			CaughtBy: []string{"logging.message.level"},
			Apply:    onLog(func(m server.Object) { delete(m, "level") }),
		},
		{
			Name: "log-logger-object", Does: "names the logger of a message by an object",
			CaughtBy: []string{"logging.message.params"},
			Apply:    onLog(func(m server.Object) { m["logger"] = server.Object{"name": m["logger"]} }),
		},
		{
			Name: "log-level-uppercase", Does: "writes the levels of messages in capitals",
			Breaks:   []string{"logging-level-enum"},
			CaughtBy: []string{"logging.message.level"},
			Apply:    onLog(func(m server.Object) { m["level"] = strings.ToUpper(m["level"].(string)) }),
		},
		{
			Name: "log-level-short", Does: "calls warnings warn and critical messages fatal",
			Breaks:   []string{"logging-level-enum"},
			CaughtBy: []string{"logging.message.level"},
			Apply: onLog(func(m server.Object) {
				if other := map[any]string{"warning": "warn", "critical": "fatal"}[m["level"]]; other != "" {
					m["level"] = other
				}
			}),
		},
		{
			Name: "log-level-number", Does: "gives messages their severity as a number",
			Breaks:   []string{"logging-level-enum"},
			CaughtBy: []string{"logging.message.level"},
			Apply:    onLog(func(m server.Object) { m["level"] = slices.Index(spec.LogLevels(), m["level"].(string)) }),
		},
		{
			Name: "log-private-key", Does: "logs the private key of its certificate",
			CaughtBy: []string{"logging.message.secrets"},
			Apply: onLog(func(m server.Object) {
				m["data"] = server.Object{"tls": "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIHJlYWRpbmcgcm9vbSBvbiByZXF1ZXN0\n-----END PRIVATE KEY-----"}
			}),
		},
		{
			Name: "log-authorization", Does: "logs the headers that it sends to the catalogue",
			CaughtBy: []string{"logging.message.secrets"},
			Apply: onLog(func(m server.Object) {
				m["data"] = server.Object{"headers": server.Object{"Accept": "*/*", "Authorization": "Bearer c2hlbGYtbWFyay1vZi10aGUtZGVzaw"}}
			}),
		},
		{
			Name: "log-database-url", Does: "logs the address of its database with the password in it",
			CaughtBy: []string{"logging.message.secrets"},
			Apply:    onLog(func(m server.Object) { m["data"] = "connected to postgres://desk:ink7well@db.library.example/books" }),
		},
		{
			Name: "log-flood", Does: "sends six hundred log messages at once",
			CaughtBy: []string{"logging.rate"},
			Apply: onFrames(func(next server.FrameSink) server.FrameSink {
				flooded := false
				return func(f server.Frame) {
					if f.Method == "notifications/message" && !flooded {
						flooded = true
						for range 600 {
							next(f)
						}
					}
					next(f)
				}
			}),
		},
		{
			Name: "log-level-kept", Does: "acknowledges logging/setLevel and does not set the level",
			CaughtBy: []string{"logging.threshold"},
			Apply: onRequest("logging/setLevel", func(r *server.Request) {
				if isLevel(r.Params["level"]) {
					r.Params["level"] = "debug"
				}
			}),
		},
		{
			Name: "log-level-one-off", Does: "lets messages through that are one level milder than was set",
			CaughtBy: []string{"logging.threshold"},
			Apply: onRequest("logging/setLevel", func(r *server.Request) {
				if at := slices.Index(spec.LogLevels(), asText(r.Params["level"])); at > 0 {
					r.Params["level"] = spec.LogLevels()[at-1]
				}
			}),
		},
		{
			Name: "log-level-notice-refused", Does: "knows no level between info and warning",
			CaughtBy: []string{"logging.set-level.accepted"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					if r.Method == "logging/setLevel" && r.Params["level"] == "notice" {
						return nil, &server.Error{Code: spec.InvalidParams, Message: "There is no level notice"}
					}
					return next(ctx, r)
				}
			}),
		},
		{
			Name: "log-level-unanswered", Does: "does not answer logging/setLevel with the level alert",
			CaughtBy: []string{"logging.set-level.accepted"},
			Apply: onFrames(func(next server.FrameSink) server.FrameSink {
				return func(f server.Frame) {
					if f.Method != "logging/setLevel" || f.Request == nil || f.Request.Params["level"] != "alert" {
						next(f)
					}
				}
			}),
		},
		{
			Name: "log-level-echoed", Does: "answers logging/setLevel with the level",
			CaughtBy: []string{"logging.set-level.empty"},
			Apply: onHandler(func(next server.Handler) server.Handler {
				return func(ctx context.Context, r *server.Request) (any, *server.Error) {
					v, problem := next(ctx, r)
					if o, ok := v.(server.Object); ok && r.Method == "logging/setLevel" {
						o["level"] = r.Params["level"]
					}
					return v, problem
				}
			}),
		},
		{
			Name: "log-level-unknown-taken", Does: "takes unknown levels for info",
			CaughtBy: []string{"logging.set-level.invalid"},
			Apply: onRequest("logging/setLevel", func(r *server.Request) {
				if level := asText(r.Params["level"]); level != "" && !isLevel(level) {
					r.Params["level"] = "info"
				}
			}),
		},
		{
			Name: "log-level-any-case", Does: "takes levels in capitals",
			CaughtBy: []string{"logging.set-level.invalid"},
			Apply: onRequest("logging/setLevel", func(r *server.Request) {
				if level := asText(r.Params["level"]); level != "" {
					r.Params["level"] = strings.ToLower(level)
				}
			}),
		},
		{
			Name: "log-level-internal-error", Does: "answers invalid levels with error -32603",
			CaughtBy: []string{"logging.set-level.invalid"},
			Apply: onError("logging/setLevel", func(_ *server.Request, e *server.Error) (any, *server.Error) {
				return nil, &server.Error{Code: spec.InternalError, Message: e.Message}
			}),
		},
		{
			Name: "log-level-default", Does: "takes logging/setLevel without a level for info",
			CaughtBy: []string{"logging.set-level.invalid"},
			Apply: onRequest("logging/setLevel", func(r *server.Request) {
				if r.Params["level"] == nil {
					r.Params["level"] = "info"
				}
			}),
		},
		{
			Name: "log-unasked", Does: "logs warnings of calls that ask for no log messages",
			CaughtBy: []string{"logging.request.opted-in"},
			Apply: onRequest("tools/call", func(r *server.Request) {
				if meta := metaOf(r); r.Modern && meta != nil && meta[spec.MetaLogLevel] == nil {
					meta[spec.MetaLogLevel] = "warning"
				}
			}),
		},
		{
			Name: "log-request-level-ignored", Does: "logs everything of a call that asks for any log messages",
			CaughtBy: []string{"logging.request.threshold"},
			Apply:    onRequestLevel(func(int) int { return 0 }),
		},
		{
			Name: "log-request-level-one-off", Does: "logs what is one level milder than a call asks for",
			CaughtBy: []string{"logging.request.threshold"},
			Apply:    onRequestLevel(func(at int) int { return max(0, at-1) }),
		},
		{
			Name: "log-behind-answer", Does: "sends the last log message of a call behind its answer",
			CaughtBy: []string{"logging.request.before-answer"},
			Apply:    behindAnswer("notifications/message"),
		},
		{
			Name: "log-on-subscription", Does: "marks log messages as those of a subscription",
			CaughtBy: []string{"logging.request.stream"},
			Apply:    onLog(func(m server.Object) { m["_meta"] = server.Object{spec.MetaSubscriptionID: "desk-log"} }),
		},
		{
			Name: "log-request-level-unknown-taken", Does: "serves requests that ask for an unknown log level",
			CaughtBy: []string{"logging.request.invalid"},
			Apply: onRequest("", func(r *server.Request) {
				if meta := metaOf(r); r.Modern && meta[spec.MetaLogLevel] != nil && !isLevel(meta[spec.MetaLogLevel]) {
					delete(meta, spec.MetaLogLevel)
				}
			}),
		},
		{
			Name: "log-request-level-internal-error", Does: "answers requests that ask for an unknown log level with error -32603",
			CaughtBy: []string{"logging.request.invalid"},
			Apply: onError("", func(r *server.Request, e *server.Error) (any, *server.Error) {
				if level := metaOf(r)[spec.MetaLogLevel]; level != nil && !isLevel(level) {
					return nil, &server.Error{Code: spec.InternalError, Message: e.Message}
				}
				return nil, e
			}),
		},
	}
}

// onLog changes the params of log messages.
func onLog(edit func(message server.Object)) apply {
	return onNotification("notifications/message", func(_ server.Frame, params server.Object) { edit(params) })
}

// onRequestLevel changes the rank of the log level that a call asks for.
func onRequestLevel(other func(at int) int) apply {
	return onRequest("tools/call", func(r *server.Request) {
		meta := metaOf(r)
		if at := slices.Index(spec.LogLevels(), asText(meta[spec.MetaLogLevel])); r.Modern && at >= 0 {
			meta[spec.MetaLogLevel] = spec.LogLevels()[other(at)]
		}
	})
}

func asText(v any) string {
	s, _ := v.(string)
	return s
}

func isLevel(v any) bool { return slices.Contains(spec.LogLevels(), asText(v)) }
