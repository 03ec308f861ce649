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

// httpFrames are the frames of a session over HTTP.
type httpFrames []wire.Frame

func (w *httpFrames) add(from wire.Role, raw string, h wire.HTTP) {
	f := wire.Frame{From: from, HTTP: &h}
	if raw != "" {
		f.Raw = []byte(raw)
	}
	*w = append(*w, f)
}

// request begins an exchange of a session, with a POST of a message or another method.
func (w *httpFrames) request(n int, method, raw string, fields ...string) {
	h := http.Header{"Mcp-Session-Id": {"s"}, "Accept": {"text/event-stream"}}
	for i := 0; i < len(fields); i += 2 {
		h[fields[i]] = []string{fields[i+1]}
	}
	w.add(wire.Client, raw, wire.HTTP{Exchange: n, Method: method, Header: h})
}

func (w *httpFrames) post(n int, raw string) { w.request(n, "POST", raw) }

func (w *httpFrames) openStream(n int) {
	w.add(wire.Server, "", wire.HTTP{
		Exchange: n, Status: 200, Header: http.Header{"Content-Type": {"text/event-stream"}},
	})
}

func (w *httpFrames) status(n, status int) {
	h := wire.HTTP{Exchange: n, Status: status}
	if status == http.StatusMethodNotAllowed {
		h.Header = http.Header{"Allow": {"POST"}}
	}
	w.add(wire.Server, "", h)
}

func (w *httpFrames) json(n int, raw string) {
	w.add(wire.Server, raw, wire.HTTP{
		Exchange: n, Status: 200, Header: http.Header{"Content-Type": {"application/json"}},
	})
}

// event adds an event, with an id unless that is "".
func (w *httpFrames) event(n int, id, raw string) {
	e := &wire.Event{NoData: raw == "" && id == ""}
	if id != "" {
		e.ID = &id
	}
	w.add(wire.Server, raw, wire.HTTP{Exchange: n, Event: e})
}

func (w *httpFrames) endStream(n int) {
	w.add(wire.Server, "", wire.HTTP{Exchange: n, EndReason: wire.EndedByPeer})
}

func (w *httpFrames) breakStream(n int) {
	w.add(wire.Server, "", wire.HTTP{Exchange: n, EndReason: "unexpected EOF"})
}

func (w *httpFrames) closeByClient(n int) {
	w.add(wire.Client, "", wire.HTTP{Exchange: n, EndReason: "closed by the client"})
}

func (w *httpFrames) comment(n int) {
	w.add(wire.Server, "", wire.HTTP{Exchange: n, Event: &wire.Event{NoData: true, Comments: []string{""}}})
}

func (w *httpFrames) retry(n int, ms int) {
	w.add(wire.Server, "", wire.HTTP{Exchange: n, Event: &wire.Event{Retry: fmt.Sprint(ms)}})
}

const (
	firstCall = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` +
		`{"name":"walk","_meta":{"progressToken":"a"}}}`
	secondCall = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":` +
		`{"name":"walk","_meta":{"progressToken":"b"}}}`
	firstProgress   = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"a","progress":1}}`
	firstResult     = `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`
	secondResult    = `{"jsonrpc":"2.0","id":2,"result":{"content":[]}}`
	initialized     = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
	cancelFirstCall = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`
	rootsRequest    = `{"jsonrpc":"2.0","id":"r","method":"roots/list"}`
)

// eventStreamCases are sessions that conform, sessions that do not show whether they
// conform, and sessions that violate a rule.
var eventStreamCases = map[string]struct {
	rev   spec.Revision
	make  func(w *httpFrames)
	wrong string // the checks that fail, "" for none
}{
	"closed early": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "", firstProgress)
		w.endStream(1)
	}, "streamable-http.stream.early-close"},
	"closed early, then resumed": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "1", firstProgress)
		w.endStream(1)
		w.request(2, "GET", "", "Last-Event-Id", "1")
		w.openStream(2)
		w.event(2, "2", firstResult)
		w.endStream(2)
	}, "streamable-http.stream.early-close"},
	"closed early as the last event": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.endStream(1)
	}, ""},
	"response with an id of another type": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "", strings.Replace(firstResult, `"id":1`, `"id":"1"`, 1))
		w.endStream(1)
	}, ""},
	"response with the id of an earlier request": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(2, secondCall)
		w.json(2, secondResult)
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "", secondResult)
		w.endStream(1)
	}, "streamable-http.stream.early-close"},
	"connection broken": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.breakStream(1)
	}, ""},
	"closed by the client": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.closeByClient(1)
		w.endStream(1)
	}, ""},
	"cancelled by the client": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.post(2, cancelFirstCall)
		w.status(2, 202)
		w.endStream(1)
	}, ""},
	"closed after DELETE": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.request(2, "DELETE", "")
		w.endStream(1)
	}, ""},
	"closed by an expired session": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.endStream(1)
		w.post(2, secondCall)
		w.status(2, 404)
	}, ""},
	"error without an id": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "", `{"jsonrpc":"2.0","error":{"code":-32603,"message":"no"}}`)
		w.endStream(1)
	}, ""},

	"closed for polling": {spec.V2025_11_25, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "0", "")
		w.retry(1, 10)
		w.endStream(1)
	}, ""},
	"closed for polling, GET refused": {spec.V2025_11_25, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "0", "")
		w.retry(1, 10)
		w.endStream(1)
		w.request(2, "GET", "", "Last-Event-Id", "0")
		w.status(2, 405)
	}, "streamable-http.stream.response"},
	"closed for polling without retry": {spec.V2025_11_25, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "0", "")
		w.endStream(1)
	}, "streamable-http.stream.retry"},
	"closed for polling, GET gets 503": {spec.V2025_11_25, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "0", "")
		w.retry(1, 10)
		w.endStream(1)
		w.request(2, "GET", "", "Last-Event-Id", "0")
		w.status(2, 503)
	}, ""},
	"priming event after a comment": {spec.V2025_11_25, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.comment(1)
		w.event(1, "0", "")
		w.event(1, "1", firstResult)
		w.endStream(1)
	}, ""},
	"no priming event": {spec.V2025_11_25, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "1", firstResult)
		w.endStream(1)
	}, "streamable-http.event.priming"},
	"stateless, closed early": {spec.V2026_07_28, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "0", firstProgress)
		w.endStream(1)
	}, "streamable-http.stream.response"},
	"stateless subscription": {spec.V2026_07_28, func(w *httpFrames) {
		w.post(1, string(listenFrame("1", "{}").Raw))
		w.openStream(1)
		w.event(1, "", string(ackFrame("1", "{}").Raw))
		w.endStream(1)
	}, ""},
	"stateless, progress after the closed stream": {spec.V2026_07_28, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.post(2, secondCall)
		w.openStream(2)
		w.closeByClient(1)
		w.event(2, "", firstProgress)
		w.event(2, "", secondResult)
		w.endStream(2)
	}, "streamable-http.cancellation.closed"},
	"stateless, progress before the closed stream": {spec.V2026_07_28, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "", firstProgress)
		w.closeByClient(1)
		w.post(2, secondCall)
		w.json(2, secondResult)
	}, ""},
	"stateless, progress on another stream": {spec.V2026_07_28, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.post(2, secondCall)
		w.openStream(2)
		w.event(2, "", firstProgress)
		w.event(1, "", firstResult)
		w.endStream(1)
		w.event(2, "", secondResult)
		w.endStream(2)
	}, "streamable-http.stream.related"},

	"GET refused with 400": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, initialized)
		w.status(1, 202)
		w.request(2, "GET", "")
		w.status(2, 400)
	}, "streamable-http.get.answer"},
	"GET refused with 405": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, initialized)
		w.status(1, 202)
		w.request(2, "GET", "")
		w.status(2, 405)
	}, ""},
	"GET refused with 403": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, initialized)
		w.status(1, 202)
		w.request(2, "GET", "")
		w.status(2, 403)
	}, ""},
	"second GET refused with 409": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, initialized)
		w.status(1, 202)
		w.request(2, "GET", "")
		w.openStream(2)
		w.request(3, "GET", "")
		w.status(3, 409)
	}, ""},
	"GET with a foreign Origin": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, initialized)
		w.status(1, 202)
		w.request(2, "GET", "", "Origin", "http://evil.example")
		w.status(2, 400)
	}, ""},
	"GET without a session": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, initialized)
		w.status(1, 202)
		w.request(2, "GET", "", "Mcp-Session-Id", "")
		w.status(2, 400)
	}, ""},
	"response on a GET stream": {spec.V2025_06_18, func(w *httpFrames) {
		w.request(1, "GET", "")
		w.openStream(1)
		w.post(2, firstCall)
		w.openStream(2)
		w.event(1, "", firstResult)
	}, "streamable-http.get.no-responses"},
	"response on a resumed stream": {spec.V2025_11_25, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "0", "")
		w.retry(1, 10)
		w.endStream(1)
		w.request(2, "GET", "", "Last-Event-Id", "0")
		w.openStream(2)
		w.event(2, "1", firstResult)
		w.endStream(2)
	}, ""},
	"progress on a GET stream": {spec.V2025_06_18, func(w *httpFrames) {
		w.request(1, "GET", "")
		w.openStream(1)
		w.post(2, firstCall)
		w.event(1, "", firstProgress)
		w.json(2, firstResult)
	}, "streamable-http.get.unrelated"},
	"progress on a GET stream after the response": {spec.V2025_06_18, func(w *httpFrames) {
		w.request(1, "GET", "")
		w.openStream(1)
		w.post(2, firstCall)
		w.json(2, firstResult)
		w.event(1, "", firstProgress)
	}, ""},
	"progress of a task on a GET stream": {spec.V2025_11_25, func(w *httpFrames) {
		w.request(1, "GET", "")
		w.openStream(1)
		w.post(2, strings.Replace(firstCall, `"_meta"`, `"task":{},"_meta"`, 1))
		w.event(1, "", firstProgress)
		w.json(2, firstResult)
	}, ""},
	"progress on two streams": {spec.V2025_06_18, func(w *httpFrames) {
		w.request(1, "GET", "")
		w.openStream(1)
		w.post(2, firstCall)
		w.openStream(2)
		w.event(2, "", firstProgress)
		w.event(1, "", firstProgress)
		w.event(2, "", firstResult)
		w.endStream(2)
	}, "streamable-http.message.once"},
	"request with the id of an answered one": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "", rootsRequest)
		w.event(1, "", firstResult)
		w.endStream(1)
		w.post(2, secondCall)
		w.openStream(2)
		w.event(2, "", rootsRequest)
		w.event(2, "", secondResult)
		w.endStream(2)
	}, ""},

	"event id on two streams": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "1", firstResult)
		w.endStream(1)
		w.post(2, secondCall)
		w.openStream(2)
		w.event(2, "1", secondResult)
		w.endStream(2)
	}, "streamable-http.event.id.unique"},
	"event id in two sessions": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "1", firstResult)
		w.endStream(1)
		w.request(2, "GET", "", "Mcp-Session-Id", "t")
		w.openStream(2)
		w.event(2, "1", `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
	}, ""},
	"event id after the end of the session": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "1", firstResult)
		w.endStream(1)
		w.request(2, "DELETE", "")
		w.status(2, 204)
		w.post(3, secondCall)
		w.openStream(3)
		w.event(3, "1", secondResult)
		w.endStream(3)
	}, ""},
	"event id after a refused DELETE": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "1", firstResult)
		w.endStream(1)
		w.request(2, "DELETE", "")
		w.status(2, 405)
		w.post(3, secondCall)
		w.openStream(3)
		w.event(3, "1", secondResult)
		w.endStream(3)
	}, "streamable-http.event.id.unique"},
	"event id of two messages": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "1", firstProgress)
		w.event(1, "1", firstResult)
		w.endStream(1)
	}, "streamable-http.event.id.unique"},
	"replayed event": {spec.V2025_11_25, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "0", "")
		w.event(1, "1", firstProgress)
		w.retry(1, 10)
		w.endStream(1)
		w.request(2, "GET", "", "Last-Event-Id", "0")
		w.openStream(2)
		w.event(2, "1", firstProgress)
		w.event(2, "2", firstResult)
		w.endStream(2)
	}, ""},

	"tasks/get answered by a stream": {spec.V2025_11_25, func(w *httpFrames) {
		w.post(1, firstCall)
		w.json(1, firstResult)
		w.post(2, `{"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"t"}}`)
		w.openStream(2)
	}, "streamable-http.tasks.get.plain"},
	"tasks/get as the last request": {spec.V2025_11_25, func(w *httpFrames) {
		w.post(1, `{"jsonrpc":"2.0","id":3,"method":"tasks/get","params":{"taskId":"t"}}`)
		w.openStream(1)
	}, ""},
	"event without JSON": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.event(1, "", "hello")
		w.event(1, "", firstResult)
		w.endStream(1)
	}, "streamable-http.event.data"},
	"event without message":                 {spec.V2025_06_18, writeEmptyEvent, "streamable-http.event.data.empty"},
	"event without message that is allowed": {spec.V2025_11_25, writeEmptyEvent, ""},
	"event without message of another era":  {spec.V2026_07_28, writeEmptyEvent, ""},
	"event without message before the revision": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}`)
		w.openStream(1)
		w.event(1, "7", "")
		w.event(1, "", firstResult)
		w.endStream(1)
	}, ""},
	"event without a data field": {spec.V2025_06_18, func(w *httpFrames) {
		w.post(1, firstCall)
		w.openStream(1)
		w.comment(1)
		w.event(1, "", firstResult)
		w.endStream(1)
	}, ""},
}

// writeEmptyEvent writes a stream with an event that has an id and empty data.
func writeEmptyEvent(w *httpFrames) {
	w.post(1, firstCall)
	w.openStream(1)
	w.comment(1)
	w.event(1, "7", "")
	w.event(1, "", firstResult)
	w.endStream(1)
}

// The judges fail violations, and neither allowed nor unclear sessions.
func TestJudgesOfEventStreams(t *testing.T) {
	for name, c := range eventStreamCases {
		var w httpFrames
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
			t.Errorf("%s: the checks %q fail, want %q", name, got, c.wrong)
		}
	}
}
