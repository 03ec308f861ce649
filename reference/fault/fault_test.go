package fault

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

func TestFaultsAreCompletelyDescribed(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range All() {
		switch {
		case !regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*$`).MatchString(f.Name):
			t.Errorf("the name %q is not in kebab case", f.Name)
		case seen[f.Name]:
			t.Errorf("two faults are named %s", f.Name)
		case f.Does == "" || f.Apply == nil:
			t.Errorf("%s is incomplete", f.Name)
		case f.Fuzz != (len(f.CaughtBy) == 0): // no check catches what the fuzzer must find
			t.Errorf("%s is caught by no check", f.Name)
		case len(f.Also) > 3:
			t.Errorf("%s is also caught by %d checks: it is two faults, or the checks overlap", f.Name, len(f.Also))
		}
		seen[f.Name] = true
		for check, reason := range f.Also {
			if check == "" || reason == "" {
				t.Errorf("%s is also caught by %q for the reason %q", f.Name, check, reason)
			}
		}
		if got, err := Lookup(f.Name); err != nil || got.Name != f.Name {
			t.Errorf("Lookup(%s) = %s, %v", f.Name, got.Name, err)
		}
	}
	if _, err := Lookup("no-such-fault"); err == nil || !strings.Contains(err.Error(), "no-such-fault") {
		t.Errorf("the error %v does not name the fault", err)
	}
}

// areaOf returns the area of a check, which is the first segment of its id.
func areaOf(check string) string {
	area, _, _ := strings.Cut(check, ".")
	return area
}

func TestFaultHasAreaOfItsCheck(t *testing.T) {
	for _, a := range areas() {
		for _, f := range a.server {
			if got := areaOf(f.CaughtBy[0]); got != a.name {
				t.Errorf("%s is among the faults of %s, and caught by a check of %s", f.Name, a.name, got)
			}
		}
		for _, f := range a.client {
			if got := areaOf(f.CaughtBy[0]); got != a.name {
				t.Errorf("%s is among the faults of %s, and caught by a check of %s", f.Name, a.name, got)
			}
		}
	}
}

// A helperTest shows what a helper changes by a text that the server writes after a
// request of the method.
type helperTest struct {
	apply  apply
	method string
	want   string
}

// The helpers change what they are named after, and leave the rest byte for byte.
func TestHelpersOfFaults(t *testing.T) {
	for name, c := range helperTests() {
		t.Run(name, func(t *testing.T) {
			f := Fault{Apply: c.apply}
			got := outputOf(t, f.Options(server.Options{}), []string{
				`{"jsonrpc":"2.0","id":"open","method":"initialize","params":` +
					`{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`,
				`{"jsonrpc":"2.0","id":9007199254740993,"method":"` + c.method + `","params":{"name":"opening_hours"}}`,
			})
			if !strings.Contains(got, c.want) {
				t.Errorf("the server wrote\n%swithout %s", got, c.want)
			}
		})
	}
}

func helperTests() map[string]helperTest {
	extra, early := set("extra", true), `{"early":1}`
	isPing := isMessage(wire.Request, "ping")
	return map[string]helperTest{
		"onRequest": {
			onRequest("tools/call", func(r *server.Request) { r.Params["name"] = "no_such" }),
			"tools/call", "Unknown tool: no_such",
		},
		"onResult":  {onResult("tools/call", extra), "tools/call", `"extra":true`},
		"onCall":    {onCall("opening_hours", extra), "tools/call", `"extra":true`},
		"onEntries": {onEntries("tools/call", "content", extra), "tools/call", `"extra":true`},
		"recode":    {recode("", anyError, 7), "no/such", `"code":7`},
		"errorToResult": {
			errorToResult("", anyError, succeedWithOnly(server.Object{"none": true})),
			"no/such", `"result":{"none":true}`,
		},
		"answerInstead": {answerInstead("ping", failWith(7, "No")), "ping", `"error":{"code":7,"message":"No"}`},
		"beforeAnswer":  {notifyBefore("ping"), "ping", `"method":"notifications/early"`},
		"sendBefore": {
			sendBefore(isResultOf("ping"), func(server.Frame) server.Frame { return frameOf("%s", early) }),
			"ping", early + "\n{",
		},
		"onLine": {
			onLine(isPing, func(m wire.Message, out server.FrameSink) { out(frameOf(`{"id":%s}`, m.ID())) }),
			"ping", `{"id":9007199254740993}`,
		},
		"rewriteLines": {
			rewriteLines(func(m wire.Message) []byte { return replaceBytes(m, "nip", "pin") }),
			"nipg", `"id":9007199254740993,"result":{}`,
		},
		"onFrame": {
			onFrame(func(_ server.Frame, m map[string]json.RawMessage) { m["x"] = m["id"] }, wire.Result),
			"ping", `"x":9007199254740993`,
		},
		"onNotification": {
			combine(notifyBefore("ping"), onNotification("notifications/early", extra)),
			"ping", `"params":{"extra":true}`,
		},
		"combine": {
			combine(onResult("ping", set("first", 1)), onResult("ping", rename("first", "second"))),
			"ping", `"second":1`,
		},
		"exitOn": {exitOn(isPing, "a ping came"), "ping", "exit status 1: a ping came"},
	}
}

// notifyBefore sends a notification before answers to the method.
func notifyBefore(method string) apply {
	return beforeAnswer(method, func(r *server.Request) { r.Notify("notifications/early", nil) })
}

func TestHelpersThatSendNothing(t *testing.T) {
	ping := `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	for name, apply := range map[string]apply{
		"withhold":      withhold(isResponseWhen(isMethod("ping"))),
		"ignoreLines":   ignoreLines(isMessage(wire.Request, "ping")),
		"stopReadingAt": stopReadingAt(isMessage(wire.Request, "initialize")),
	} {
		t.Run(name, func(t *testing.T) {
			f := Fault{Apply: apply}
			got := outputOf(t, f.Options(server.Options{}), []string{opening, ping})
			if strings.Contains(got, `"id":1,"result"`) {
				t.Errorf("the server wrote\n%s", got)
			}
		})
	}
}
