package server

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func TestListedResourcesAreReadable(t *testing.T) {
	p := openSession(t, spec.V2025_11_25, "{}", Options{})
	for _, item := range p.listAll("resources/list", "resources") {
		contents := wantResult(t, p.request("resources/read", `"uri":`+item.Get("uri").Raw)).Result().Get("contents").Array()
		if len(contents) == 0 {
			t.Fatalf("%s is empty", item.Get("uri"))
		}
		c := contents[0]
		if size := item.Get("size"); size.Exists() {
			blob, err := base64.StdEncoding.DecodeString(c.Get("blob").String())
			if err != nil || int(size.Int()) != len(blob)+len(c.Get("text").String()) {
				t.Errorf("%s: size %s, %v", item.Get("uri"), size, err)
			}
		}
		if got, want := c.Get("mimeType").String(), item.Get("mimeType").String(); got != want {
			t.Errorf("%s: %s, listed as %s", item.Get("uri"), got, want)
		}
	}
}

func TestMissingResources(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		for _, uri := range []string{
			"nowhere://at/all", "library://books/b99", "library://books/../books/b1", "library://books/b1/x",
			"library://shelves/Z9", "file:///etc/passwd", "library://reading-room/rules",
		} {
			m := p.request("resources/read", fmt.Sprintf(`"uri":%q`, uri))
			wantCode(t, m, rev.Facts().ResourceNotFound)
			if got := m.Error().Get("data.uri").String(); got != uri {
				t.Errorf("data.uri is %q, want %q", got, uri)
			}
		}
		for _, bad := range []string{``, `"uri":5`, `"uri":""`, `"uri":"not a uri"`, `"uri":"library://\u0000"`} {
			wantCode(t, p.request("resources/read", bad), -32602)
		}
		wantCode(t, p.request("resources/read", `"uri":"library://desk/stamp"`), -32603)
	})
}

func TestReadsByTemplate(t *testing.T) {
	p := openSession(t, spec.V2025_11_25, "{}", Options{})
	for _, uri := range []string{"library://books/b7", "library://covers/b12", "library://shelves/A2",
		"library://authors/Mara%20Quist", "library://authors/Tomas%20Reed/On%20Borrowing",
		"library://years/1936", "library://loans/ines", "library://loans/nobody",
		"library://catalogue/search?words=fog", "library://maps/east/attic"} {
		wantResult(t, p.request("resources/read", fmt.Sprintf(`"uri":%q`, uri)))
	}
	b, err := base64.StdEncoding.DecodeString(
		wantResult(t, p.request("resources/read", `"uri":"library://covers/b2"`)).Result().Get("contents.0.blob").String(),
	)
	if err != nil || !bytes.Equal(b, coverPNG(2)) {
		t.Errorf("the cover does not come back: %v", err)
	}
}

func TestNotifiesResourceSubscribers(t *testing.T) {
	eachRevision(t, spec.Handshake, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		wantCode(t, p.request("resources/subscribe", `"uri":"library://books/b99"`), -32002)
		wantCode(t, p.request("resources/subscribe"), -32602)
		borrow := func(id int, tool, args string) []string {
			p.send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s}}`, id, callParams(tool, args))
			var told []string
			for m := p.nextMessage(); ; m = p.nextMessage() {
				if m.IsResponse() {
					wantResult(t, m)
					return told
				}
				told = append(told, m.Method()+" "+m.Params().Get("uri").String())
			}
		}
		if told := borrow(1, "borrow_book", `{"book":"b1","reader":"ada"}`); told != nil {
			t.Errorf("without a subscription: %v", told)
		}
		wantResult(t, p.request("resources/subscribe", `"uri":"library://books/b1"`))
		if told := borrow(2, "return_book", `{"book":"b1"}`); len(told) != 1 ||
			told[0] != "notifications/resources/updated library://books/b1" {
			t.Errorf("with a subscription: %v", told)
		}
		if told := borrow(3, "borrow_book", `{"book":"b2","reader":"ada"}`); told != nil {
			t.Errorf("of another book: %v", told)
		}
		wantResult(t, p.request("resources/unsubscribe", `"uri":"library://books/b1"`))
		if told := borrow(4, "borrow_book", `{"book":"b1","reader":"ada"}`); told != nil {
			t.Errorf("after unsubscribing: %v", told)
		}
	})
}

func TestNotifiesListChanges(t *testing.T) {
	eachRevision(t, spec.Handshake, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		count := map[string]int{}
		for method, member := range map[string]string{
			"tools/list": "tools", "resources/list": "resources", "prompts/list": "prompts",
		} {
			count[method] = len(p.listAll(method, member))
		}
		p.send(
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{%s}}`,
			callParams("set_reading_room", `{"open":true}`),
		)
		for _, list := range []string{"tools", "prompts", "resources"} {
			if m := p.nextMessage(); m.Method() != "notifications/"+list+"/list_changed" {
				t.Errorf("got %s, want the change of %s", m.Raw, list)
			}
		}
		wantResult(t, p.nextMessage())
		for method, member := range map[string]string{
			"tools/list": "tools", "resources/list": "resources", "prompts/list": "prompts",
		} {
			if got := len(p.listAll(method, member)); got != count[method]+1 {
				t.Errorf("%s has %d entries, %d before", method, got, count[method])
			}
		}
		wantResult(t, p.request("tools/call", callParams("reserve_seat", `{}`)))
		p.send(
			`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{%s}}`,
			callParams("set_reading_room", `{"open":true}`),
		)
		wantResult(t, p.nextMessage()) // nothing changed, nobody is told
	})
}
