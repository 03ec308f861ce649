package server

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

func TestPrompts(t *testing.T) {
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		p := openSession(t, rev, "{}", Options{})
		get := func(members string) gjson.Result {
			return wantResult(t, p.request("prompts/get", members)).Result().Get("messages")
		}
		text := get(`"name":"recommend_book","arguments":{"genre":"essay {x} <&>"}`).Get("0.content.text").String()
		if !strings.Contains(text, "essay {x} <&>") {
			t.Errorf("the text lacks the argument: %s", text)
		}
		embedded := get(`"name":"summarise_book","arguments":{"book":"b4"}`).Get("1.content.resource")
		if embedded.Get("uri").String() != "library://books/b4" || embedded.Get("mimeType").String() == "" ||
			embedded.Get("text").String() == "" {
			t.Errorf("the embedded resource is %s", embedded.Raw)
		}
		for _, invalid := range []string{
			``, `"name":5`, `"name":"no_such"`, `"name":"recommend_book"`, `"name":"recommend_book","arguments":{}`,
			`"name":"recommend_book","arguments":{"genre":5}`,
			`"name":"recommend_book","arguments":{"genre":"x","nonsense":"y"}`,
			`"name":"recommend_book","arguments":[]`, `"name":"summarise_book","arguments":{"book":"../b4"}`,
			`"name":"room_etiquette"`,
		} {
			wantCode(t, p.request("prompts/get", invalid), -32602)
		}
		got := p.request("prompts/get", `"name":"follow_link"`).Result().Exists()
		if got != spec.Since(spec.V2025_06_18).Has(rev) {
			t.Errorf("a prompt of resource links is offered: %v", got)
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
		const (
			genre = `"ref":{"type":"ref/prompt","name":"recommend_book"}`
			title = `"ref":{"type":"ref/resource","uri":"library://authors/{author}/{title}"}`
			shelf = `"ref":{"type":"ref/resource","uri":"library://shelves/{shelf}"}`
		)
		const genresWithE = `["essay","fable","guide","novel","poetry"]`
		if got := values(genre, `"argument":{"name":"genre","value":"e"}`); got != genresWithE {
			t.Errorf("the genres with e are %s, want %s", got, genresWithE)
		}
		if got := values(title, `"argument":{"name":"author","value":"To"}`); got != `["Tomas Reed","Sato Rin"]` {
			t.Errorf("the authors with To are %s", got)
		}
		narrowed := values(
			title, `"argument":{"name":"title","value":""}`, `"context":{"arguments":{"author":"Tomas Reed"}}`,
		)
		isNarrowed := narrowed == `["On Borrowing","The Clockmaker's Orchard"]`
		if isNarrowed != completionContextRevisions.Has(rev) {
			t.Errorf("the titles of Tomas Reed are %s", narrowed)
		}
		m := p.request("completion/complete", shelf, `"argument":{"name":"shelf","value":""}`)
		r := wantResult(t, m).Result().Get("completion")
		if n := len(r.Get("values").Array()); n != 100 || r.Get("total").Int() != 120 || !r.Get("hasMore").Bool() {
			t.Errorf("%d values, total %s, hasMore %s, want 100, 120, true", n, r.Get("total"), r.Get("hasMore"))
		}
		for _, invalid := range []string{
			genre, `"argument":{"name":"genre","value":"e"}`, genre + `,"argument":{"name":"genre"}`,
			genre + `,"argument":{"name":"genre","value":5}`,
			genre + `,"argument":{"name":"nonsense","value":""}`,
			`"ref":{"type":"ref/prompt","name":"no_such"},"argument":{"name":"genre","value":""}`,
			`"ref":{"type":"ref/resource","uri":"library://no/{such}"},"argument":{"name":"such","value":""}`,
			`"ref":{"type":"ref/other"},"argument":{"name":"x","value":""}`,
			`"ref":"x","argument":{"name":"x","value":""}`,
		} {
			wantCode(t, p.request("completion/complete", invalid), -32602)
		}
	})
}
