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

func uriParam(uri string) string { return fmt.Sprintf(`"uri":%q`, uri) }

func TestSkillEntriesMatchFiles(t *testing.T) {
	p := openOfficial(t, spec.V2026_07_28)
	pages := p.pages("skills/list", "skills")
	if len(pages) != 2 {
		t.Errorf("skills/list has %d pages, want 2", len(pages))
	}
	blobs, dynamic := 0, 0
	for _, entry := range slices.Concat(pages...) {
		uri := entry.Get("uri").String()
		got := wantResult(t, p.request("skills/get", uriParam(uri))).Result()
		if got.Get("skill").Raw != entry.Raw || got.Get("ttlMs").Type != gjson.Number ||
			got.Get("cacheScope").String() != "public" || got.Get("nextCursor").Exists() {
			t.Errorf("skills/get is %s, the entry of skills/list is %s", got.Raw, entry.Raw)
		}
		p.checkFrontmatter(entry)
		files := entry.Get("resources")
		if files.String() == "dynamic" {
			dynamic++
			continue
		}
		seen := map[string]bool{}
		for _, f := range files.Array() {
			at := f.Get("uri").String()
			if seen[at] || !strings.HasPrefix(at, strings.TrimSuffix(uri, "SKILL.md")) {
				t.Errorf("%s lists %s", uri, at)
			}
			seen[at] = true
			if p.checkSkillFile(f) {
				blobs++
			}
		}
		if !seen[uri] {
			t.Errorf("%s does not list itself", uri)
		}
	}
	if blobs == 0 || dynamic == 0 {
		t.Errorf("%d files are blobs, %d skills dynamic, want some of both", blobs, dynamic)
	}
	checkReceived(t, p)
}

// checkFrontmatter compares the frontmatter of an entry with that of SKILL.md.
func (p *testClient) checkFrontmatter(entry gjson.Result) {
	p.t.Helper()
	uri, front := entry.Get("uri").String(), entry.Get("frontmatter")
	if !strings.HasSuffix(uri, "/"+front.Get("name").String()+"/SKILL.md") || front.Get("description").String() == "" {
		p.t.Errorf("the frontmatter of %s is %s", uri, front.Raw)
	}
	r := wantResult(p.t, p.request("resources/read", uriParam(uri))).Result()
	head, _, _ := strings.Cut(strings.TrimPrefix(r.Get("contents.0.text").String(), "---\n"), "\n---\n")
	for k, v := range front.Map() {
		if !slices.Contains(strings.Split(head, "\n"), k+": "+v.Raw) {
			p.t.Errorf("the frontmatter of %s lacks %s: %s", uri, k, v.Raw)
		}
	}
}

// checkSkillFile compares the entry of a file with its content, and reports whether
// the content is a blob.
func (p *testClient) checkSkillFile(f gjson.Result) (isBlob bool) {
	p.t.Helper()
	uri := f.Get("uri").String()
	item := wantResult(p.t, p.request("resources/read", uriParam(uri))).Result().Get("contents.0")
	content := []byte(item.Get("text").String())
	blob := item.Get("blob")
	if blob.Exists() {
		content, _ = base64.StdEncoding.DecodeString(blob.String())
	}
	digest := fmt.Sprintf("sha256:%x", sha256.Sum256(content))
	if f.Get("digest").String() != digest || f.Get("size").Int() != int64(len(content)) {
		p.t.Errorf("%s has %d bytes and the digest %s, its entry is %s", uri, len(content), digest, f.Raw)
	}
	if strings.HasSuffix(uri, ".md") && item.Get("mimeType").String() != markdown {
		p.t.Errorf("the type of %s is %s", uri, item.Get("mimeType"))
	}
	return blob.Exists()
}

// The files of a nested skill are content of the outer one; it has an entry of its own.
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
				t.Errorf("the entry of %s in resources/list is %s", uri, r.Raw)
			}
		}
	}
	if len(listed) != len(officialSkills()) || listed[renewalsSkill+"/SKILL.md"] != 1 {
		t.Errorf("resources/list has the skills %v", listed)
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
			t.Errorf("the directory %s holds %q, want %q", uri, got, want)
		}
	}
	if pages := p.pages("resources/directory/read", "resources", uriParam(shelvingSkill+"/rows")); len(pages) != 2 {
		t.Errorf("the directory of the rows has %d pages, want 2", len(pages))
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

// The server has the extension if it declares it, at the revision that has it.
func TestSkillsExtensionPerRevision(t *testing.T) {
	methods := []string{"skills/list", "skills/get", "resources/directory/read"}
	eachRevision(t, spec.Every, func(t *testing.T, rev spec.Revision) {
		for _, p := range []*testClient{openOfficial(t, rev), openSession(t, rev, fullCapabilities, Options{})} {
			declared := false
			if rev.Facts().Stateless {
				const declaration = `"io.modelcontextprotocol/skills":{"directoryRead":true}`
				discovered := wantResult(t, p.request("server/discover"))
				declared = strings.Contains(string(discovered.Raw), declaration)
			}
			for _, method := range methods {
				m := p.request(method, uriParam(lendingSkill+"/references"))
				if known := m.Kind.String() == "result" ||
					m.Error().Get("code").Int() == spec.InvalidParams; known != declared {
					t.Errorf("the answer to %s is %s; the extension is declared: %v", method, m.Summary(), declared)
				}
				if !declared {
					wantCode(t, m, spec.MethodNotFound)
				}
			}
		}
	})
	plain := openSession(t, spec.V2026_07_28, fullCapabilities,
		Options{Official: true, ChangeFeatures: func(l *Features) {
			l.Capabilities["extensions"] = Object{skillsExtension: Object{}}
		}})
	wantResult(t, plain.request("skills/list"))
	wantCode(t, plain.request("resources/directory/read", uriParam(lendingSkill)), spec.MethodNotFound)
	wantCode(t, plain.request("tasks/get", `"taskId":"x"`), spec.MethodNotFound)
}
