package session_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/session"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/reference/server"
)

// One host answers the requests of the server and the input requests of results.
func TestHostAnswersInBothEras(t *testing.T) {
	for _, rev := range spec.Since(spec.V2025_06_18).Revisions() {
		s := openSession(t, rev, session.FullHost())
		call := func(tool string, args session.Params) string {
			e, err := s.RequestWithInput(t.Context(), "tools/call", session.Params{"name": tool, "arguments": args})
			if err != nil {
				t.Fatal(err)
			}
			return e.Message.Result().Get("content.0.text").String()
		}
		if got := call("suggest_reading", session.Params{"mood": "calm"}); !strings.Contains(got, "model of mcpcheck") {
			t.Errorf("%s: the tool with sampling returned %q", rev, got)
		}
		if got := call("register_reader", session.Params{}); !strings.HasPrefix(got, "Welcome") {
			t.Errorf("%s: the tool with elicitation returned %q", rev, got)
		}
		got := call("check_file", session.Params{"uri": "file:///mcpcheck/workspace/list.txt"})
		if !strings.Contains(got, "a folder of yours") {
			t.Errorf("%s: the tool with roots returned %q", rev, got)
		}
		s.OverrideHost(func(session.HostRequest) session.HostReply {
			return session.HostReply{Result: session.Params{"action": "decline"}}
		})
		if got := call("register_reader", session.Params{}); got != "No card was written." {
			t.Errorf("%s: the tool with a declined form returned %q", rev, got)
		}
		s.OverrideHost(nil)
		if got := call("register_reader", session.Params{}); !strings.HasPrefix(got, "Welcome") {
			t.Errorf("%s: after the override the tool returned %q", rev, got)
		}
	}
}

func TestNilHostDeclaresNothing(t *testing.T) {
	s := openSession(t, spec.V2025_11_25, nil)
	params := session.Params{"name": "suggest_reading", "arguments": session.Params{"mood": "calm"}}
	e, err := s.RequestWithInput(t.Context(), "tools/call", params)
	if err != nil {
		t.Fatal(err)
	}
	if !e.Message.Result().Get("isError").Bool() {
		t.Errorf("the tool with sampling returned %s", e.Message.Summary())
	}
	if len(s.ClientCapabilities()) != 0 {
		t.Errorf("the nil host declares %v", s.ClientCapabilities())
	}
}

// A request is not sent again without input, which would not change the result.
func TestRequestIsNotRepeatedWithoutInput(t *testing.T) {
	s := openSession(t, spec.V2026_07_28, session.FullHost())
	s.OverrideHost(func(session.HostRequest) session.HostReply { return session.HostReply{} })
	e, err := s.RequestWithInput(t.Context(), "tools/call",
		session.Params{"name": "register_reader", "arguments": session.Params{}})
	if err != nil || !session.IsInputRequired(e.Message) {
		t.Errorf("the request returned %s, %v", e.Message.Summary(), err)
	}
}

func TestEncodeResponse(t *testing.T) {
	for want, r := range map[string]session.HostReply{
		`{"jsonrpc":"2.0","id":"a","result":{"x":1}}`:                        {Result: session.Params{"x": 1}},
		`{"jsonrpc":"2.0","id":"a","error":{"code":-1,"message":"User \""}}`: {Code: -1, Message: `User "`},
		"": {},
	} {
		if got := string(session.EncodeResponse(wire.StringID("a"), r)); got != want {
			t.Errorf("%+v is %s", r, got)
		}
	}
}

func openSession(t *testing.T, rev spec.Revision, host *session.Host) *session.Session {
	t.Helper()
	o := session.DefaultOptions()
	o.Host = host
	l := session.NewLauncher(server.Target("reference", server.Options{}), o)
	t.Cleanup(l.Close)
	s, err := session.NewPool(l, rev).NewSession(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A host without sub-capabilities declares the same capabilities as the full host.
func TestHostWithoutSubcapabilities(t *testing.T) {
	for _, rev := range spec.Revisions() {
		all, few := session.FullHost().Capabilities(rev), session.HostWithoutSubcapabilities().Capabilities(rev)
		if len(all) != len(few) {
			t.Errorf("%s: %v against %v", rev, all, few)
		}
		for name, v := range few {
			if _, known := all[name]; !known || len(v.(session.Params)) > 0 {
				t.Errorf("%s: %s is %v", rev, name, v)
			}
		}
	}
	s := openSession(t, spec.V2025_11_25, session.HostWithoutSubcapabilities())
	for tool, want := range map[string]bool{"suggest_reading": false, "answer_question": true, "read_archive": true} {
		args := session.Params{"mood": "calm"}
		switch tool {
		case "answer_question":
			args = session.Params{"question": "Who?"}
		case "read_archive":
			args = nil
		}
		e, err := s.RequestWithInput(t.Context(), "tools/call", session.Params{"name": tool, "arguments": args})
		if err != nil {
			t.Fatal(err)
		}
		if got := e.Message.Result().Get("isError").Bool() || e.Message.Kind == wire.Error; got != want {
			t.Errorf("%s: %s", tool, e.Message.Summary())
		}
	}
}

// The result uses the first tool of the request, with the given id.
func TestToolUseResult(t *testing.T) {
	params := gjson.Parse(`{"messages":[],"tools":[{"name":"look","inputSchema":{
		"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}}]}`)
	use := session.ToolUseResult(params, "u-7")["content"].([]any)[0].(session.Params)
	input := string(use["input"].(json.RawMessage))
	if use["id"] != "u-7" || use["name"] != "look" || !gjson.Get(input, "word").Exists() {
		t.Errorf("the result uses %v", use)
	}
}
