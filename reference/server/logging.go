package server

import (
	"context"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// logLevels are the severities in ascending order (server/utilities/logging#log-levels).
var logLevels = []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

// defaultLogLevel applies until logging/setLevel: the server may choose it
// (server/utilities/logging#setting-log-level).
const defaultLogLevel = "warning"

// requestLevel returns the level that a stateless request names, "" for none
// (server/utilities/logging#per-request-log-level).
func requestLevel(meta Object) (string, *Error) {
	v, ok := meta[spec.MetaLogLevel]
	if !ok {
		return "", nil
	}
	level, ok := v.(string)
	if !ok || !slices.Contains(logLevels, level) {
		return "", invalidParams("_meta names an unknown log level in %s", spec.MetaLogLevel)
	}
	return level, nil
}

// setLevel answers logging/setLevel (server/utilities/logging#setting-log-level).
func setLevel(_ context.Context, r *Request) (any, *Error) {
	level, ok := r.Params["level"].(string)
	if !ok || !slices.Contains(logLevels, level) {
		return nil, invalidParams("The level must be one of %s", strings.Join(logLevels, ", "))
	}
	r.Session.setLevel(level)
	return Object{}, nil
}

func (s *Session) setLevel(level string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.level = level
}

func (s *Session) logLevel() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.level
}

// Log sends a log message of a request if the level of the session, or that of the
// stateless request, includes its severity. A stateless request without a level
// gets none.
func (r *Request) Log(level, logger string, data any) {
	threshold := r.Client.LogLevel
	if !r.Stateless {
		threshold = r.Session.logLevel()
	}
	if threshold == "" || !r.conn.features.declares("logging") {
		return
	}
	if slices.Index(logLevels, level) < slices.Index(logLevels, threshold) {
		return
	}
	r.Notify("notifications/message", Object{"level": level, "logger": logger, "data": data})
}
