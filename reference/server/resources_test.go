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
		m := p.request("resources/read", `"uri":`+item.Get("uri").Raw)
		contents := wantResult(t, m).Result().Get("contents").Array()
		if len(contents) == 0 {
			t.Fatalf("%s has no contents", item.Get("uri"))
		}
		c := contents[0]
		if size := item.Get("size"); size.Exists() {
			blob, err := base64.StdEncoding.DecodeString(c.Get("blob").String())
			if err != nil || int(size.Int()) != len(blob)+len(c.Get("text").String()) {
				t.Errorf("%s does not have the listed size %s: %v", item.Get("uri"), size, err)
			}
		}
		if got, want := c.Get("mimeType").String(), item.Get("mimeType").String(); got != want {
			t.Errorf("%s has the type %s, listed as %s", item.Get("uri"), got, want)
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
		for _, invalid := range []string{``, `"uri":5`, `"uri":""`, `"uri":"not a uri"`, `"uri":"library://\u0000"`} {
			wantCode(t, p.request("resources/read", invalid), -32602)
		}
		wantCode(t, p.request("resources/read", `"uri":"library://desk/stamp"`), -32603)
	})
}

func TestReadsByTemplate(t *testing.T) {
	p := openSession(t, spec.V2025_11_25, "{}", Options{})
	for _, uri := range []string{
		"library://books/b7", "library://covers/b12", "library://shelves/A2",
		"library://authors/Mara%20Quist", "library://authors/Tomas%20Reed/On%20Borrowing",
		"library://years/1936", "library://loans/ines", "library://loans/nobody",
		"library://catalogue/search?words=fog", "library://maps/east/attic",
	} {
		wantResult(t, p.request("resources/read", fmt.Sprintf(`"uri":%q`, uri)))
	}
	cover := wantResult(t, p.request("resources/read", `"uri":"library://covers/b2"`)).Result()
	b, err := base64.StdEncoding.DecodeString(cover.Get("contents.0.blob").String())
	if err != nil || !bytes.Equal(b, coverPNG(2)) {
		t.Errorf("the blob is not the cover: %v", err)
	}
}

func TestNotifiesResourceSubscribers(t *testing.T) {
	eachRevision(t, spec.Handshake, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		wantCode(t, p.request("resources/subscribe", `"uri":"library://books/b99"`), -32002)
		wantCode(t, p.request("resources/subscribe"), -32602)
		p.wantNotifications("borrow_book", `{"book":"b1","reader":"ada"}`)
		wantResult(t, p.request("resources/subscribe", `"uri":"library://books/b1"`))
		p.wantNotifications("return_book", `{"book":"b1"}`, "resources/updated library://books/b1")
		p.wantNotifications("borrow_book", `{"book":"b2","reader":"ada"}`)
		wantResult(t, p.request("resources/unsubscribe", `"uri":"library://books/b1"`))
		p.wantNotifications("borrow_book", `{"book":"b1","reader":"ada"}`)
	})
}

func TestNotifiesListChanges(t *testing.T) {
	eachRevision(t, spec.Handshake, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		count := map[string]int{}
		for method, member := range listMembers {
			count[method] = len(p.listAll(method, member))
		}
		p.wantNotifications("set_reading_room", `{"open":true}`,
			"tools/list_changed", "prompts/list_changed", "resources/list_changed")
		for method, member := range listMembers {
			want := count[method] + 1
			if method == "resources/templates/list" {
				want = count[method]
			}
			if got := len(p.listAll(method, member)); got != want {
				t.Errorf("%s has %d entries, want %d", method, got, want)
			}
		}
		wantResult(t, p.request("tools/call", callParams("reserve_seat", `{}`)))
		p.wantNotifications("set_reading_room", `{"open":true}`) // none: nothing changed
	})
}
