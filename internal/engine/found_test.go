package engine

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
)

// shelfTools are tools of which one lists a file, one reads it and two change it.
const shelfTools = `{"tools":[` +
	`{"name":"list","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true}},` +
	`{"name":"read","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},` +
	`"annotations":{"readOnlyHint":true}},` +
	`{"name":"remove","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}},` +
	`{"name":"empty","inputSchema":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]},` +
	`"annotations":{"readOnlyHint":false}}]}`

// callsOnShelf returns the calls that a server with these tools gets.
func callsOnShelf(t *testing.T, allow func(tool string) bool) (calls []string) {
	t.Helper()
	var mu sync.Mutex
	target := functionTarget("shelf", func(m wire.Message) string {
		text := answerMinimally(m)
		switch m.Method() {
		case "initialize":
			return strings.Replace(text, `"capabilities":{}`, `"capabilities":{"tools":{}}`, 1)
		case "tools/list":
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, m.ID().Raw, shelfTools)
		case "tools/call":
			mu.Lock()
			calls = append(calls, m.Params().Get("name").String()+" "+m.Params().Get("arguments.path").String())
			mu.Unlock()
			return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"/srv/a.bin"}]}}`,
				m.ID().Raw)
		}
		return text
	})
	runAllChecks(t, target, func(o *Options) {
		o.Revisions, o.Session, o.Allow = []spec.Revision{spec.V2025_06_18}, longDeadlines(), allow
	})
	mu.Lock()
	defer mu.Unlock()
	return calls
}

// A tool that reads is called with a path that another tool names.
func TestCallsToolsWithFoundValues(t *testing.T) {
	t.Parallel()
	calls := callsOnShelf(t, nil)
	if !slices.Contains(calls, "read /srv/a.bin") {
		t.Errorf("the tools were called with %q", calls)
	}
	for _, call := range calls {
		if strings.HasPrefix(call, "remove ") || strings.HasPrefix(call, "empty ") {
			t.Errorf("without permission %q was called", call)
		}
	}
}

// A tool that may change something gets no found value, even where the user allows it.
func TestChangesNothingThatIsFound(t *testing.T) {
	t.Parallel()
	calls := callsOnShelf(t, func(string) bool { return true })
	for _, call := range []string{"remove /srv/a.bin", "empty /srv/a.bin"} {
		if slices.Contains(calls, call) {
			t.Errorf("%q was called", call)
		}
	}
}
