package catalog

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A bound is a rule about a value, with the sessions that have the values next to the
// bound.
type bound struct {
	check   string
	rev     spec.Revision
	session func(value string) []string
	keep    []string
	violate []string
}

// failedPing returns a session in which a ping of a revision is answered with a code.
func failedPing(rev spec.Revision) func(code string) []string {
	return func(code string) []string {
		answer := `"error":{"code":` + code + `,"message":"no"}`
		if rev.Facts().Stateless {
			return asked("tools/list", stateless+"}", answer)
		}
		return opened(rev, "{}", "{}", asked("ping", "{}", answer)...)
	}
}

// completed returns a session with a completion of so many values.
func completed(n string) []string {
	var count int
	if _, err := fmt.Sscan(n, &count); err != nil {
		panic(err)
	}
	values := strings.TrimSuffix(strings.Repeat(`"a",`, count), ",")
	return opened(v4, "{}", `{"completions":{}}`, asked("completion/complete",
		`{"ref":{"type":"ref/prompt","name":"p"},"argument":{"name":"a","value":""}}`,
		`"result":{"completion":{"values":[`+values+`]}}`)...)
}

// cachedFor returns a session with a list that may be cached.
func cachedFor(ttl string) []string {
	return asked("tools/list", stateless+"}",
		`"result":{"resultType":"complete","tools":[],"cacheScope":"public","ttlMs":`+ttl+`}`)
}

// ofPriority returns a session with a resource of a priority.
func ofPriority(priority string) []string {
	return opened(v4, "{}", `{"resources":{}}`, asked("resources/list", "{}",
		`"result":{"resources":[{"uri":"a:b","name":"b","annotations":{"priority":`+priority+`}}]}`)...)
}

// sameTask returns a session in which a task is created at one time, and at another by its
// next status.
func sameTask(later string) []string {
	params := fmt.Sprintf(`{"taskId":%q}`, taskID)
	again := strings.Replace(task(""), "2025-11-25T10:30:00Z", later, 1)
	return opened(v4, "{}", withTasks, append(asked("tasks/get", params, `"result":`+task("")),
		next(asked("tasks/get", params, `"result":`+again))...)...)
}

// withTaskID returns a session in which two tasks are created, the second one with an id.
func withTaskID(id string) []string {
	created := func() []string {
		return asked("tools/call", `{"name":"a","task":{}}`, `"result":{"task":`+task("")+`}`)
	}
	second := next(created())
	second[1] = strings.Replace(second[1], taskID, id, 1)
	return opened(v4, "{}", withTasks, append(created(), second...)...)
}

// defaultOf returns a session in which an argument with a header has a default.
func defaultOf(value string) []string {
	return annotated(`{"type":"integer","x-mcp-header":"N","default":` + value + `}`)
}

// named returns a session in which a tool has a name.
func named(name string) []string {
	return opened(v4, "{}", `{"tools":{}}`, asked("tools/list", "{}",
		`"result":{"tools":[{"name":"`+name+`","inputSchema":{"type":"object"}}]}`)...)
}

// logged returns a session in which a level is set, and a message of a level comes.
func logged(level string) []string {
	set := asked("logging/setLevel", `{"level":"info"}`, `"result":{}`)
	lines := append(set, next(asked("ping", "{}", `"result":{}`))...)
	return opened(v4, "{}", `{"logging":{}}`, append(lines,
		`<{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"`+level+`","data":"x"}}`)...)
}

var bounds = []bound{
	{"jsonrpc.code.reserved", v4, failedPing(v4),
		[]string{"-32769", "-32700", "-32603", "-32602", "-32600", "-32099", "-32000", "1"},
		[]string{"-32768", "-32701", "-32699", "-32604", "-32599", "-32100"}},
	{"jsonrpc.code.legacy", v5, failedPing(v5),
		[]string{"-32020", "-31999", "-32002"}, []string{"-32019", "-32001", "-32003", "-32000"}},
	{"jsonrpc.code.mcp.defined", v5, failedPing(v5),
		[]string{"-32100", "-32022", "-32021", "-32020", "-32042", "-32019"},
		[]string{"-32099", "-32023", "-32041", "-32043"}},
	{"completion.values.most", v4, completed, []string{"0", "1", "100"}, []string{"101"}},
	{"caching.ttl.not-negative", v5, cachedFor, []string{"0", "1"}, []string{"-1"}},
	{"schema.annotations.priority", v4, ofPriority, []string{"0", "0.5", "1"}, []string{"-0.1", "1.1"}},
	{"tasks.created-at", v4, sameTask,
		[]string{"2025-11-25T10:30:00Z", "2025-11-25T10:30:01Z", "2025-11-25T10:29:59Z", "2025-11-25T11:30:00+01:00"},
		[]string{"2025-11-25T10:30:01.1Z", "2025-11-25T10:29:58.9Z"}},
	{"tasks.id.secure", v4, withTaskID, []string{"a1B2c3D"}, []string{"a1B2c3"}},
	{"headers.annotation.range", v5, defaultOf, []string{"0", "9007199254740991", "-9007199254740991"},
		[]string{"9007199254740992", "-9007199254740992"}},
	{"tools.name.length", v4, func(n string) []string {
		return named(strings.Repeat("a", len(n)))
	}, []string{strings.Repeat("a", 1), strings.Repeat("a", 128)}, []string{"", strings.Repeat("a", 129)}},
	{"tools.name.characters", v4, named, []string{"azAZ09_-."},
		[]string{"a b", "a,b", "a/b", "é", "a`", "a{", "a@", "a["}},
	{"logging.threshold", v4, logged, []string{"info", "notice", "emergency"}, []string{"debug"}},
	{"logging.message.level", v4, logged, []string{"debug", "emergency"}, []string{"trace", "Debug", ""}},
}

// A value at the bound of a rule keeps it, and the next one violates it.
func TestJudgesKnowBounds(t *testing.T) {
	for _, b := range bounds {
		for want, values := range map[check.State][]string{check.Kept: b.keep, check.Violated: b.violate} {
			for _, v := range values {
				if o := outcomeAt(t, b, v); o.State != want {
					t.Errorf("%s: %.40q: state %d, want %d: %s", b.check, v, o.State, want, o.Detail)
				}
			}
		}
	}
}

// outcomeAt returns the outcome for a value.
func outcomeAt(t *testing.T, b bound, value string) check.Outcome {
	t.Helper()
	return check.Judge(find(t, b.check), b.rev, transcriptOf(b.session(value)...))
}
