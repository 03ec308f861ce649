package fuzz

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// due returns the requests among the lines whose answer is due, by the key of
// their id, each with what is odd about it. It errs on the side of the peer:
// no answer is due to what a reader may take for unreadable, to a request
// whose id occurs twice or that may be cancelled, nor to one that stays open.
func requiredAnswers(lines []wire.Message, facts spec.Facts) map[string]string {
	out := map[string]string{}
	seen := map[string]int{}
	cancels := false
	for _, m := range lines {
		cancels = cancels || bytes.Contains(m.Raw, []byte("cancel"))
		for _, part := range m.Elements() {
			seen[part.ID().Key()]++
		}
		if m.Kind == wire.Batch && facts.Batches && !m.Extreme() && len(m.Duplicates) == 0 {
			addBatch(out, m)
		}
		key := m.ID().Key()
		if m.Kind != wire.Request || m.Extreme() || len(m.Duplicates) > 0 || bytes.HasSuffix(m.Raw, []byte("\r")) || !isPlainID(m.ID()) || m.Method() == "subscriptions/listen" {
			continue
		}
		if m.Misfit != nil && m.Misfit.Member != "params" {
			continue
		}
		out[key] = anomaly(m)
	}
	for key := range out {
		if cancels || seen[key] > 1 {
			delete(out, key)
		}
	}
	return out
}

// inBatch marks requests of a batch, which one error without id may refuse
// together.
const inBatch = "in a batch"

// dueOfBatch adds the requests of a batch, if nothing in it is odd.
func addBatch(out map[string]string, batch wire.Message) {
	for _, m := range batch.Elements() {
		if m.Flaw() != nil || m.Kind != wire.Request && m.Kind != wire.Notification || m.Kind == wire.Request && !isPlainID(m.ID()) {
			return
		}
	}
	for _, m := range batch.Elements() {
		if m.Kind == wire.Request {
			out[m.ID().Key()] = inBatch
		}
	}
}

// plainID tells whether any reader can hold the id.
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
