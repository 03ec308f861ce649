package fuzz

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// due returns the requests among the lines whose answer is due, by the key of
// their id, each with what is odd about it. It errs on the side of the peer:
// no answer is due to what a reader may take for unreadable, to a request
// whose id occurs twice or that may be cancelled, nor to one that stays open.
func due(lines []wire.Message) map[string]string {
	out := map[string]string{}
	seen := map[string]int{}
	cancels := false
	for _, m := range lines {
		cancels = cancels || bytes.Contains(m.Raw, []byte("cancel"))
		for _, part := range m.Elements() {
			seen[part.ID().Key()]++
		}
		key := m.ID().Key()
		if m.Kind != wire.Request || m.Extreme() || len(m.Duplicates) > 0 || bytes.HasSuffix(m.Raw, []byte("\r")) || !plainID(m.ID()) || m.Method() == "subscriptions/listen" {
			continue
		}
		if m.Misfit != nil && m.Misfit.Member != "params" {
			continue
		}
		out[key] = oddity(m)
	}
	for key := range out {
		if cancels || seen[key] > 1 {
			delete(out, key)
		}
	}
	return out
}

// plainID tells whether any reader can hold the id.
func plainID(id wire.ID) bool {
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
