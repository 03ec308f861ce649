package wire

import (
	"net/http"
	"slices"
	"testing"
)

var (
	eventStream = http.Header{"Content-Type": {"Text/Event-Stream; charset=utf-8"}}
	jsonBody    = http.Header{"Content-Type": {"application/json"}}
)

// httpFrame returns a frame of an exchange, with a message unless raw is "".
func httpFrame(from Role, raw string, h HTTP) Frame {
	f := Frame{From: from, HTTP: &h}
	if raw != "" {
		f.Raw = []byte(raw)
	}
	return f
}

// recordedExchanges is a transcript with a POST that is answered with a body (1), a GET
// whose stream the client closes (2), a POST without an answer (3) and the answer of an
// exchange whose request is not recorded (9).
func recordedExchanges() *Transcript {
	const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	field := http.Header{"Mcp-Session-Id": {"s"}}
	id := "7"
	return TranscriptOf([]Frame{
		httpFrame(Server, "", HTTP{Exchange: 9, Status: 200, Header: jsonBody}),
		httpFrame(Client, "["+ping+","+ping+"]", HTTP{Exchange: 1, Method: "POST"}),
		httpFrame(Client, "", HTTP{Exchange: 2, Method: "GET", Header: field}),
		httpFrame(Server, "", HTTP{Exchange: 2, Status: 200, Header: eventStream}),
		httpFrame(Server, `{"jsonrpc":"2.0","id":1,"result":{}}`, HTTP{
			Exchange: 1, Status: 200, Header: http.Header{"Mcp-Session-Id": {"s"}},
		}),
		httpFrame(Server, "", HTTP{Exchange: 2, Event: &Event{NoData: true, Comments: []string{""}}}),
		httpFrame(Server, ping, HTTP{Exchange: 2, Event: &Event{ID: &id}}),
		httpFrame(Server, "", HTTP{Exchange: 2, Body: "x", Event: &Event{ID: &id, Type: "other"}}),
		httpFrame(Client, "", HTTP{Exchange: 2, EndReason: "closed by the client"}),
		httpFrame(Client, ping, HTTP{Exchange: 3, Method: "POST"}),
		httpFrame(Server, "", HTTP{Exchange: 2, EndReason: "context canceled", Final: true}),
	})
}

func TestTranscriptExchanges(t *testing.T) {
	all := recordedExchanges().Exchanges()
	var numbers []int
	for _, x := range all {
		numbers = append(numbers, x.Number)
	}
	if !slices.Equal(numbers, []int{1, 2, 3}) {
		t.Fatalf("the exchanges are %v", numbers)
	}
	post, get, open := all[0], all[1], all[2]
	if len(post.PostedMessages()) != 2 || post.SessionID() != "s" || post.End.Index != 4 || len(post.Messages()) != 1 {
		t.Errorf("%+v", post)
	}
	if string(post.PlainBody()) != string(post.Head.Raw) || post.OpensStream() || post.Events() != nil {
		t.Errorf("%+v", post)
	}
	if get.PostedMessages() != nil || !get.OpensStream() || get.PlainBody() != nil ||
		get.MediaType() != "text/event-stream" {
		t.Errorf("%+v", get)
	}
	if len(get.Events()) != 3 || len(get.Messages()) != 1 || get.Events()[2].EventID() != "7" {
		t.Errorf("the events are %+v", get.Events())
	}
	if get.ClosedByClient.Index != 8 || get.End.Index != 10 || !get.HasEnded() {
		t.Errorf("%+v", get)
	}
	if open.Status() != 0 || open.Header() != nil || open.HasEnded() || open.PlainBody() != nil {
		t.Errorf("%+v", open)
	}
}

func TestExchangeIsOpenFromHeadUntilClosed(t *testing.T) {
	get := recordedExchanges().ExchangeFrom(2)
	for frame, want := range map[int]bool{2: false, 3: false, 4: true, 7: true, 8: false, 10: false} {
		if get.IsOpenAt(frame) != want {
			t.Errorf("open at frame %d: %t, want %t", frame, !want, want)
		}
	}
	if get.IsClosedBefore(8) || !get.IsClosedBefore(9) {
		t.Error("the exchange is not closed at frame 8")
	}
}

func TestExchangeFromItsRequestOnly(t *testing.T) {
	transcript := recordedExchanges()
	if x := transcript.ExchangeFrom(9); x == nil || x.Number != 3 {
		t.Errorf("%+v", x)
	}
	for _, index := range []int{-1, 0, 4, 100} {
		if x := transcript.ExchangeFrom(index); x != nil {
			t.Errorf("frame %d: %+v", index, x)
		}
	}
}

func TestFrameIsMessageEvent(t *testing.T) {
	for name, c := range map[string]struct {
		frame                 Frame
		dispatched, isMessage bool
	}{
		"no event":      {httpFrame(Server, `{}`, HTTP{Status: 200}), false, false},
		"message":       {httpFrame(Server, `{}`, HTTP{Event: &Event{}}), true, true},
		"named message": {httpFrame(Server, `{}`, HTTP{Event: &Event{Type: "message"}}), true, true},
		"other type":    {httpFrame(Server, `{}`, HTTP{Event: &Event{Type: "ping"}}), true, false},
		"empty data":    {httpFrame(Server, "", HTTP{Event: &Event{}}), true, false},
		"no data":       {httpFrame(Server, "", HTTP{Event: &Event{NoData: true}}), false, false},
		"unterminated":  {httpFrame(Server, `{}`, HTTP{Event: &Event{Unterminated: true}}), false, false},
	} {
		if c.frame.IsDispatched() != c.dispatched || c.frame.IsMessageEvent() != c.isMessage {
			t.Errorf("%s: dispatched %t, a message %t", name, c.frame.IsDispatched(), c.frame.IsMessageEvent())
		}
	}
}
