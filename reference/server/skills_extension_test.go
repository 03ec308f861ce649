package server

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// pagesOf returns the entries of a list, page by page.
func (p *testClient) pages(method, member string, params ...string) [][]gjson.Result {
	p.t.Helper()
	var pages [][]gjson.Result
	for cursor := ""; len(pages) < 10; {
		o := wantResult(p.t, p.request(method, append(slices.Clone(params), cursor)...)).Result()
		if o.Get("resultType").String() != "complete" || !o.Get(member).IsArray() {
			p.t.Fatalf("%s was answered with %s", method, o.Raw)
		}
		pages = append(pages, o.Get(member).Array())
		next := o.Get("nextCursor")
		if !next.Exists() {
			return pages
		}
		cursor = `"cursor":` + next.Raw
	}
	p.t.Fatalf("%s has no end", method)
	return nil
}

func uriParam(uri string) string { return fmt.Sprintf(`"uri":%q`, uri) }

// What an entry tells of a file holds of the bytes that are read.
func TestSkillEntriesMatchFiles(t *testing.T) {
	p := openOfficial(t, spec.V2026_07_28)
	pages := p.pages("skills/list", "skills")
	if len(pages) != 2 {
		t.Errorf("skills/list has %d pages", len(pages))
	}
	blobs, dynamic := 0, 0
	for _, entry := range slices.Concat(pages...) {
		uri := entry.Get("uri").String()
		got := wantResult(t, p.request("skills/get", uriParam(uri))).Result()
		if got.Get("skill").Raw != entry.Raw || got.Get("ttlMs").Type != gjson.Number ||
			got.Get("cacheScope").String() != "public" || got.Get("nextCursor").Exists() {
			t.Errorf("skills/get is %s, and the entry %s", got.Raw, entry.Raw)
		}
		root := strings.TrimSuffix(uri, "/SKILL.md")
		if name := entry.Get("frontmatter.name").String(); !strings.HasSuffix(root, "/"+name) ||
			entry.Get("frontmatter.description").String() == "" {
			t.Errorf("%s is named %s", uri, name)
		}
		text := wantResult(t, p.request("resources/read", uriParam(uri))).Result().Get("contents.0.text").String()
		for k, v := range entry.Get("frontmatter").Map() {
			head, _, _ := strings.Cut(strings.TrimPrefix(text, "---\n"), "\n---\n")
			if !slices.Contains(strings.Split(head, "\n"), k+": "+v.Raw) {
				t.Errorf("%s does not begin with %s: %s", uri, k, v.Raw)
			}
		}
		files := entry.Get("resources")
		if files.String() == "dynamic" {
			dynamic++
			continue
		}
		seen := map[string]bool{}
		for _, f := range files.Array() {
			at := f.Get("uri").String()
			if seen[at] || !strings.HasPrefix(at, root+"/") {
				t.Errorf("%s lists %s", uri, at)
			}
			seen[at] = true
			item := wantResult(t, p.request("resources/read", uriParam(at))).Result().Get("contents.0")
			content := []byte(item.Get("text").String())
			if blob := item.Get("blob"); blob.Exists() {
				blobs++
				content, _ = base64.StdEncoding.DecodeString(blob.String())
			}
			if want := fmt.Sprintf("sha256:%x", sha256.Sum256(content)); f.Get("digest").String() != want ||
				f.Get("size").Int() != int64(len(content)) {
				t.Errorf("%s has %d bytes and the digest %s, and its entry says %s", at, len(content), want, f.Raw)
			}
			if want := map[bool]string{
				true: "text/markdown",
			}[strings.HasSuffix(at, ".md")]; want != "" && item.Get("mimeType").String() != want {
				t.Errorf("%s is of type %s", at, item.Get("mimeType"))
			}
		}
		if !seen[uri] {
			t.Errorf("%s does not list itself", uri)
		}
	}
	if blobs == 0 || dynamic == 0 {
		t.Errorf("%d files are blobs, %d skills dynamic", blobs, dynamic)
	}
	checkReceived(t, p)
}

// A nested skill is content of the one around it, and has an entry of its own.
func TestNestedSkillsAreInBothSkills(t *testing.T) {
	p := openOfficial(t, spec.V2026_07_28)
	outer := wantResult(t, p.request("skills/get", uriParam(lendingSkill+"/SKILL.md"))).Result().Raw
	inner := wantResult(t, p.request("skills/get", uriParam(renewalsSkill+"/SKILL.md"))).Result()
	for _, f := range inner.Get("skill.resources").Array() {
		if !strings.Contains(outer, f.Raw) {
			t.Errorf("the outer skill does not list %s", f.Raw)
		}
	}
	listed := map[string]int{}
	for _, r := range slices.Concat(p.pages("resources/list", "resources")...) {
		if uri := r.Get("uri").String(); strings.HasPrefix(uri, "skill:") {
			listed[uri]++
			entry := wantResult(t, p.request("skills/get", uriParam(uri))).Result().Get("skill.frontmatter")
			if r.Get("name").String() != entry.Get("name").String() ||
				r.Get("description").String() != entry.Get("description").String() {
				t.Errorf("%s is listed as %s", uri, r.Raw)
			}
		}
	}
	if len(listed) != len(officialSkills()) || listed[renewalsSkill+"/SKILL.md"] != 1 {
		t.Errorf("resources/list has %v", listed)
	}
}

func TestReadsSkillDirectories(t *testing.T) {
	p := openOfficial(t, spec.V2026_07_28)
	for uri, want := range map[string]string{
		lendingSkill:                      "SKILL.md assets/ references/ renewals/",
		lendingSkill + "/assets":          "forms/ stamp.png",
		lendingSkill + "/assets/forms":    "slip.txt",
		renewalsSkill:                     "SKILL.md references/",
		shelvingSkill + "/rows":           "A1.md A2.md B1.md B2.md C1.md C2.md",
		todaySkill:                        "SKILL.md",
		renewalsSkill + "/references":     "waiting.md",
		lendingSkill + "/" + "references": "loans.md",
	} {
		pages := p.pages("resources/directory/read", "resources", uriParam(uri))
		var got []string
		for _, r := range slices.Concat(pages...) {
			name := strings.TrimPrefix(r.Get("uri").String(), uri+"/")
			if r.Get("mimeType").String() == directoryType {
				name += "/"
			}
			got = append(got, name)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s holds %q, want %q", uri, got, want)
		}
	}
	if pages := p.pages("resources/directory/read", "resources", uriParam(shelvingSkill+"/rows")); len(pages) != 2 {
		t.Errorf("the rows have %d pages", len(pages))
	}
	checkReceived(t, p)
}

func TestSkillsExtensionRefusals(t *testing.T) {
	p := openOfficial(t, spec.V2026_07_28)
	next := wantResult(t, p.request("resources/list")).Result().Get("nextCursor").Raw
	for _, c := range [][2]string{
		{"skills/get", uriParam("skill://no-such-skill/SKILL.md")}, {"skills/get", uriParam(lendingSkill)},
		{"skills/get", uriParam(lendingSkill + "/references/loans.md")}, {"skills/get", `"uri":1`},
		{"skills/get", ""},
		{"skills/list", `"cursor":"x"`}, {"skills/list", `"cursor":` + next},
		{"resources/directory/read", uriParam(lendingSkill + "/SKILL.md")},
		{"resources/directory/read", uriParam(lendingSkill + "/nothing")},
		{"resources/directory/read", uriParam("skill://desk")},
		{"resources/directory/read", uriParam("library://loans")},
		{"resources/directory/read", uriParam(shelvingSkill+"/rows") + `,"cursor":` + next},
		{"resources/directory/read", ""},
		{"resources/read", uriParam(lendingSkill + "/nothing.md")},
	} {
		wantCode(t, p.request(c[0], c[1]), spec.InvalidParams)
	}
}

// The extension is there where it is declared, at the revision that has it.
func TestSkillsExtensionPerRevision(t *testing.T) {
	methods := []string{"skills/list", "skills/get", "resources/directory/read"}
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		for _, p := range []*testClient{openOfficial(t, rev), openSession(t, rev, fullCapabilities, Options{})} {
			declared := false
			if rev.Facts().Stateless {
				declared = strings.Contains(
					string(wantResult(t, p.request("server/discover")).Raw),
					`"io.modelcontextprotocol/skills":{"directoryRead":true}`,
				)
			}
			for _, method := range methods {
				m := p.request(method, uriParam(lendingSkill+"/references"))
				if known := m.Kind.String() == "result" ||
					m.Error().Get("code").Int() == spec.InvalidParams; known != declared {
					t.Errorf(
						"%s is answered with %s, and the extension declared is %v", method, m.Summary(), declared,
					)
				}
				if !declared {
					wantCode(t, m, spec.MethodNotFound)
				}
			}
		}
	})
	plain := openSession(t, spec.V2026_07_28, fullCapabilities, Options{Official: true, Library: func(l *Library) {
		l.Capabilities["extensions"] = Object{skillsExtension: Object{}}
	}})
	wantResult(t, plain.request("skills/list"))
	wantCode(t, plain.request("resources/directory/read", uriParam(lendingSkill)), spec.MethodNotFound)
	wantCode(t, plain.request("tasks/get", `"taskId":"x"`), spec.MethodNotFound)
}
