package fuzz

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// requiredAnswers returns the requests among the messages that the peer must
// answer: the key of the id, and the anomaly of the message. In doubt it decides
// for the peer. It leaves out what a peer may find unreadable, requests whose id
// occurs twice or that may be cancelled, and requests that stay open.
func requiredAnswers(messages []wire.Message, facts spec.Facts) map[string]string {
	out := map[string]string{}
	seen := map[string]int{}
	mayCancel := false
	for _, m := range messages {
		mayCancel = mayCancel || bytes.Contains(m.Raw, []byte("cancel"))
		for _, element := range m.Elements() {
			seen[element.ID().Key()]++
		}
		switch {
		case m.ExceedsCommonLimits() || len(m.DuplicateKeys) > 0:
		case m.Kind == wire.Batch && facts.Batches:
			addBatch(out, m)
		case m.Kind == wire.Request && requiresAnswer(m):
			out[m.ID().Key()] = anomaly(m)
		}
	}
	for key := range out {
		if mayCancel || seen[key] > 1 {
			delete(out, key)
		}
	}
	return out
}

// requiresAnswer reports whether a peer must answer a request that has no
// duplicate members and is within common limits.
func requiresAnswer(m wire.Message) bool {
	if m.EnvelopeError != nil && m.EnvelopeError.Member != "params" {
		return false
	}
	endsInCR := bytes.HasSuffix(m.Raw, []byte("\r"))
	return !endsInCR && isPlainID(m.ID()) && m.Method() != "subscriptions/listen"
}

// inBatch is the anomaly of the requests of a batch. One error without an id may
// refuse all of them.
const inBatch = "in a batch"

// addBatch adds the requests of a batch whose messages are all well-formed.
func addBatch(out map[string]string, batch wire.Message) {
	for _, m := range batch.Elements() {
		isRequest := m.Kind == wire.Request && isPlainID(m.ID())
		if m.FormatError() != nil || !isRequest && m.Kind != wire.Notification {
			return
		}
	}
	for _, m := range batch.Elements() {
		if m.Kind == wire.Request {
			out[m.ID().Key()] = inBatch
		}
	}
}

// isPlainID reports whether every JSON parser can represent an id.
func isPlainID(id wire.ID) bool {
	v := gjson.Parse(id.Raw)
	switch v.Type {
	case gjson.String:
		return len(id.Raw) <= 256 && !strings.Contains(id.Raw, `\u0000`)
	case gjson.Number:
		n, err := strconv.ParseInt(id.Raw, 10, 64)
		return err == nil && n < 1<<53 && n > -1<<53
	}
	return false
}
