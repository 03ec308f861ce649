package catalog

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
)

// A wireTap makes the frames of a session over HTTP.
type wireTap []wire.Frame

func (w *wireTap) add(from wire.Role, raw string, h wire.HTTP) {
	f := wire.Frame{From: from, HTTP: &h}
	if raw != "" {
		f.Raw = []byte(raw)
	}
	*w = append(*w, f)
}

// ask begins an exchange of a session, by a POST of a message or another method.
func (w *wireTap) ask(n int, method, raw string, fields ...string) {
	h := http.Header{"Mcp-Session-Id": {"s"}, "Accept": {"text/event-stream"}}
	for i := 0; i < len(fields); i += 2 {
		h[fields[i]] = []string{fields[i+1]}
	}
	w.add(wire.Client, raw, wire.HTTP{Exchange: n, Method: method, Header: h})
}

func (w *wireTap) post(n int, raw string) { w.ask(n, "POST", raw) }

func (w *wireTap) streams(n int) {
	w.add(wire.Server, "", wire.HTTP{
		Exchange: n, Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
	})
}

func (w *wireTap) status(n, status int) {
	w.add(wire.Server, "", wire.HTTP{Exchange: n, Status: status})
}

func (w *wireTap) json(n int, raw string) {
	w.add(wire.Server, raw, wire.HTTP{
		Exchange: n, Status: 200, Header: http.Header{"Content-Type": {"application/json"}},
	})
}

// event is one with an id, or none if that is "".
func (w *wireTap) event(n int, id, raw string) {
	e := &wire.Event{NoData: raw == "" && id == ""}
	if id != "" {
		e.ID = &id
	}
	w.add(wire.Server, raw, wire.HTTP{Exchange: n, Event: e})
}

func (w *wireTap) end(n int) {
	w.add(wire.Server, "", wire.HTTP{Exchange: n, EndReason: wire.EndedByPeer})
}

func (w *wireTap) broke(n int) {
	w.add(wire.Server, "", wire.HTTP{Exchange: n, EndReason: "unexpected EOF"})
}

func (w *wireTap) left(n int) {
	w.add(wire.Client, "", wire.HTTP{Exchange: n, EndReason: "closed by the client"})
}

func (w *wireTap) comment(n int) {
	w.add(wire.Server, "", wire.HTTP{Exchange: n, Event: &wire.Event{NoData: true, Comments: []string{""}}})
}

func (w *wireTap) retry(n int, ms int) {
	w.add(wire.Server, "", wire.HTTP{Exchange: n, Event: &wire.Event{Retry: fmt.Sprint(ms)}})
}

const (
	walk     = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"walk","_meta":{"progressToken":"a"}}}`
	stroll   = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"walk","_meta":{"progressToken":"b"}}}`
	step     = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a","progress":1}}`
	walked   = `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`
	strolled = `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`
	ready    = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	given    = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	asksRoot = `{"jsonrpc":"2.0","id":"r","method":"roots/list"}`
)

// eventStreamCases are sessions that are right or show too little, and sessions that are
// wrong.
var eventStreamCases = map[string]struct {
	rev   spec.Revision
	make  func(w *wireTap)
	wrong string // the checks that object, "" for none
}{
	"closed early": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.event(1, "", step)
		w.end(1)
	}, "streamable-http.stream.early-close"},
	"closed early, taken up": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.event(1, "1", step)
		w.end(1)
		w.ask(2, "GET", "", "Last-Event-Id", "1")
		w.streams(2)
		w.event(2, "2", walked)
		w.end(2)
	}, "streamable-http.stream.early-close"},
	"closed early at last": {spec.V2025_06_18, func(w *wireTap) { w.post(1, walk); w.streams(1); w.end(1) }, ""},
	"another id": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.event(1, "", strings.Replace(walked, `"id":1`, `"id":"1"`, 1))
		w.end(1)
	}, ""},
	"the id of another": {spec.V2025_06_18, func(w *wireTap) {
		w.post(2, stroll)
		w.json(2, strolled)
		w.post(1, walk)
		w.streams(1)
		w.event(1, "", strolled)
		w.end(1)
	}, "streamable-http.stream.early-close"},
	"broken off": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.broke(1)
	}, ""},
	"left by the client": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.left(1)
		w.end(1)
	}, ""},
	"cancelled by the client": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.post(2, given)
		w.status(2, 202)
		w.end(1)
	}, ""},
	"ended with the session": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.ask(2, "DELETE", "")
		w.end(1)
	}, ""},
	"the session expired": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.end(1)
		w.post(2, stroll)
		w.status(2, 404)
	}, ""},
	"answered without an id": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.event(1, "", `{"jsonrpc":"2.0","error":{"code":-32603,"message":"no"}}`)
		w.end(1)
	}, ""},

	"to be polled": {spec.V2025_11_25, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.event(1, "0", "")
		w.retry(1, 10)
		w.end(1)
	}, ""},
	"to be polled, and lost": {spec.V2025_11_25, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.event(1, "0", "")
		w.retry(1, 10)
		w.end(1)
		w.ask(2, "GET", "", "Last-Event-Id", "0")
		w.status(2, 405)
	}, "streamable-http.stream.response"},
	"to be polled some time": {spec.V2025_11_25, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.event(1, "0", "")
		w.end(1)
	}, "streamable-http.stream.retry"},
	"refused for a moment": {spec.V2025_11_25, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.event(1, "0", "")
		w.retry(1, 10)
		w.end(1)
		w.ask(2, "GET", "", "Last-Event-Id", "0")
		w.status(2, 503)
	}, ""},
	"primed behind a comment": {spec.V2025_11_25, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.comment(1)
		w.event(1, "0", "")
		w.event(1, "1", walked)
		w.end(1)
	}, ""},
	"not primed": {spec.V2025_11_25, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.event(1, "1", walked)
		w.end(1)
	}, "streamable-http.event.priming"},
	"stateless, closed early": {spec.V2026_07_28, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.event(1, "0", step)
		w.end(1)
	}, "streamable-http.stream.response"},
	"stateless subscription": {spec.V2026_07_28, func(w *wireTap) {
		w.post(1, string(listenFrame("1", "{}").Raw))
		w.streams(1)
		w.event(1, "", string(ackFrame("1", "{}").Raw))
		w.end(1)
	}, ""},
	"stateless, told elsewhere": {spec.V2026_07_28, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.post(2, stroll)
		w.streams(2)
		w.left(1)
		w.event(2, "", step)
		w.event(2, "", strolled)
		w.end(2)
	}, "streamable-http.cancellation.closed"},
	"stateless, told before": {spec.V2026_07_28, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.event(1, "", step)
		w.left(1)
		w.post(2, stroll)
		w.json(2, strolled)
	}, ""},
	"stateless, astray": {spec.V2026_07_28, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.post(2, stroll)
		w.streams(2)
		w.event(2, "", step)
		w.event(1, "", walked)
		w.end(1)
		w.event(2, "", strolled)
		w.end(2)
	}, "streamable-http.stream.related"},

	"a GET refused": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, ready)
		w.status(1, 202)
		w.ask(2, "GET", "")
		w.status(2, 400)
	}, "streamable-http.get.answer"},
	"a GET without a stream": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, ready)
		w.status(1, 202)
		w.ask(2, "GET", "")
		w.status(2, 405)
	}, ""},
	"a GET forbidden": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, ready)
		w.status(1, 202)
		w.ask(2, "GET", "")
		w.status(2, 403)
	}, ""},
	"a GET too many": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, ready)
		w.status(1, 202)
		w.ask(2, "GET", "")
		w.streams(2)
		w.ask(3, "GET", "")
		w.status(3, 409)
	}, ""},
	"a GET of another site": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, ready)
		w.status(1, 202)
		w.ask(2, "GET", "", "Origin", "http://evil.example")
		w.status(2, 400)
	}, ""},
	"a GET of no session": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, ready)
		w.status(1, 202)
		w.ask(2, "GET", "", "Mcp-Session-Id", "")
		w.status(2, 400)
	}, ""},
	"a response on a GET": {spec.V2025_06_18, func(w *wireTap) {
		w.ask(1, "GET", "")
		w.streams(1)
		w.post(2, walk)
		w.streams(2)
		w.event(1, "", walked)
	}, "streamable-http.get.no-responses"},
	"a response taken up": {spec.V2025_11_25, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.event(1, "0", "")
		w.retry(1, 10)
		w.end(1)
		w.ask(2, "GET", "", "Last-Event-Id", "0")
		w.streams(2)
		w.event(2, "1", walked)
		w.end(2)
	}, ""},
	"progress on a GET": {spec.V2025_06_18, func(w *wireTap) {
		w.ask(1, "GET", "")
		w.streams(1)
		w.post(2, walk)
		w.event(1, "", step)
		w.json(2, walked)
	}, "streamable-http.get.unrelated"},
	"progress behind the end": {spec.V2025_06_18, func(w *wireTap) {
		w.ask(1, "GET", "")
		w.streams(1)
		w.post(2, walk)
		w.json(2, walked)
		w.event(1, "", step)
	}, ""},
	"progress of a task": {spec.V2025_11_25, func(w *wireTap) {
		w.ask(1, "GET", "")
		w.streams(1)
		w.post(2, strings.Replace(walk, `"_meta"`, `"task":{},"_meta"`, 1))
		w.event(1, "", step)
		w.json(2, walked)
	}, ""},
	"progress copied": {spec.V2025_06_18, func(w *wireTap) {
		w.ask(1, "GET", "")
		w.streams(1)
		w.post(2, walk)
		w.streams(2)
		w.event(2, "", step)
		w.event(1, "", step)
		w.event(2, "", walked)
		w.end(2)
	}, "streamable-http.message.once"},
	"a request again": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.event(1, "", asksRoot)
		w.event(1, "", walked)
		w.end(1)
		w.post(2, stroll)
		w.streams(2)
		w.event(2, "", asksRoot)
		w.event(2, "", strolled)
		w.end(2)
	}, ""},

	"one id on two streams": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.event(1, "1", walked)
		w.end(1)
		w.post(2, stroll)
		w.streams(2)
		w.event(2, "1", strolled)
		w.end(2)
	}, "streamable-http.event.id.unique"},
	"one id in two sessions": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.event(1, "1", walked)
		w.end(1)
		w.ask(2, "GET", "", "Mcp-Session-Id", "t")
		w.streams(2)
		w.event(2, "1", "")
	}, ""},
	"one id of two messages": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.event(1, "1", step)
		w.event(1, "1", walked)
		w.end(1)
	}, "streamable-http.event.id.unique"},
	"an event again": {spec.V2025_11_25, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.event(1, "0", "")
		w.event(1, "1", step)
		w.retry(1, 10)
		w.end(1)
		w.ask(2, "GET", "", "Last-Event-Id", "0")
		w.streams(2)
		w.event(2, "1", step)
		w.event(2, "2", walked)
		w.end(2)
	}, ""},

	"a task on a stream": {spec.V2025_11_25, func(w *wireTap) {
		w.post(1, walk)
		w.json(1, walked)
		w.post(2, `{"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"t"}}`)
		w.streams(2)
	}, "streamable-http.tasks.get.plain"},
	"all on streams, at last": {spec.V2025_11_25, func(w *wireTap) {
		w.post(1, `{"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"t"}}`)
		w.streams(1)
	}, ""},
	"no JSON in an event": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.event(1, "", "hello")
		w.event(1, "", walked)
		w.end(1)
	}, "streamable-http.event.data"},
	"an event without message": {spec.V2025_06_18, func(w *wireTap) {
		w.post(1, walk)
		w.streams(1)
		w.comment(1)
		w.event(1, "7", "")
		w.event(1, "", walked)
		w.end(1)
	}, ""},
}

// What a server may do, and what says too little, is told from what is wrong.
func TestJudgesOfEventStreams(t *testing.T) {
	for name, c := range eventStreamCases {
		var w wireTap
		if c.make(&w); !strings.Contains(name, "last") {
			w.post(99, `{"jsonrpc":"2.0","id":99,"method":"tools/list"}`)
			w.json(99, `{"jsonrpc":"2.0","id":99,"result":{"tools":[]}}`)
		}
		var wrong []string
		for _, k := range Judges() {
			ofStreams := strings.HasPrefix(k.ID, "streamable-http.") && k.ID != "streamable-http.stream.unbuffered"
			if !ofStreams && k.ID != "streamable-http.tasks.get.plain" &&
				k.ID != "streamable-http.cancellation.closed" {
				continue
			}
			if k.In.Has(c.rev) {
				k.Of = wire.Server
				switch o := check.Judge(k, c.rev, wire.TranscriptOf(w)); o.State {
				case check.Violated:
					wrong = append(wrong, k.ID)
				case check.Broken:
					t.Errorf("%s: %s is broken: %s", name, k.ID, o.Detail)
				}
			}
		}
		if got := strings.Join(wrong, " "); got != c.wrong {
			t.Errorf("%s: %q objected, not %q", name, got, c.wrong)
		}
	}
}
