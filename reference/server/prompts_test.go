package server

import (
	"strings"
	"testing"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func TestPrompts(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		r := wantResult(t, p.request("prompts/get", `"name":"recommend_book","arguments":{"genre":"essay {x} <&>"}`)).Result()
		if got := r.Get("messages.0.content.text").String(); !strings.Contains(got, "essay {x} <&>") {
			t.Errorf("the argument is not in the text: %s", got)
		}
		embedded := wantResult(t, p.request("prompts/get", `"name":"summarise_book","arguments":{"book":"b4"}`)).Result().Get("messages.1.content.resource")
		if embedded.Get("uri").String() != "library://books/b4" || embedded.Get("mimeType").String() == "" ||
			embedded.Get("text").String() == "" {
			t.Errorf("the embedded resource is %s", embedded.Raw)
		}
		for _, bad := range []string{
			``, `"name":5`, `"name":"no_such"`, `"name":"recommend_book"`, `"name":"recommend_book","arguments":{}`,
			`"name":"recommend_book","arguments":{"genre":5}`,
			`"name":"recommend_book","arguments":{"genre":"x","nonsense":"y"}`,
			`"name":"recommend_book","arguments":[]`, `"name":"summarise_book","arguments":{"book":"../b4"}`,
			`"name":"room_etiquette"`,
		} {
			wantCode(t, p.request("prompts/get", bad), -32602)
		}
		if got := p.request("prompts/get", `"name":"follow_link"`).Result().Exists(); got != spec.Since(spec.V2025_06_18).Has(rev) {
			t.Errorf("a prompt of resource links is there: %v", got)
		}
	})
}

func TestCompletion(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		values := func(members ...string) string {
			t.Helper()
			return wantResult(t, p.request("completion/complete", members...)).Result().Get("completion.values").Raw
		}
		const genre, title = `"ref":{"type":"ref/prompt","name":"recommend_book"}`, `"ref":{"type":"ref/resource","uri":"library://authors/{author}/{title}"}`
		if got := values(genre, `"argument":{"name":"genre","value":"e"}`); got != `["essay","fable","guide","novel","poetry"]` {
			t.Errorf("beginning or containing e: %s", got)
		}
		if got := values(title, `"argument":{"name":"author","value":"To"}`); got != `["Tomas Reed","Sato Rin"]` {
			t.Errorf("authors: %s", got)
		}
		narrowed := values(
			title, `"argument":{"name":"title","value":""}`, `"context":{"arguments":{"author":"Tomas Reed"}}`,
		)
		if got := narrowed == `["On Borrowing","The Clockmaker's Orchard"]`; got != completionContextRevisions.Has(rev) {
			t.Errorf("titles of Tomas Reed: %s", narrowed)
		}
		r := wantResult(t, p.request("completion/complete", `"ref":{"type":"ref/resource","uri":"library://shelves/{shelf}"}`, `"argument":{"name":"shelf","value":""}`)).Result().Get("completion")
		if n := len(r.Get("values").Array()); n != 100 || r.Get("total").Int() != 120 || !r.Get("hasMore").Bool() {
			t.Errorf("%d values of %s, more: %s", n, r.Get("total"), r.Get("hasMore"))
		}
		for _, bad := range []string{
			genre, `"argument":{"name":"genre","value":"e"}`, genre + `,"argument":{"name":"genre"}`,
			genre + `,"argument":{"name":"genre","value":5}`,
			genre + `,"argument":{"name":"nonsense","value":""}`,
			`"ref":{"type":"ref/prompt","name":"no_such"},"argument":{"name":"genre","value":""}`,
			`"ref":{"type":"ref/resource","uri":"library://no/{such}"},"argument":{"name":"such","value":""}`,
			`"ref":{"type":"ref/other"},"argument":{"name":"x","value":""}`,
			`"ref":"x","argument":{"name":"x","value":""}`,
		} {
			wantCode(t, p.request("completion/complete", bad), -32602)
		}
	})
}
