package skills

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/format"
	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
	"github.com/mcpcheck/mcpcheck/suites/survey/usage"
)

// mostFiles bounds how many files of all skills are read, each SKILL.md before
// any other.
const mostFiles = 64

// officialSkillFiles are what is read of the files of a skill.
func officialSkillFiles() []check.Check {
	return []check.Check{
		{
			ID:   "official.skills.read",
			Says: "each file of a skill can be read",
			Spec: skillsEnumeration,
			// skillFilesReadable asks for skill and file again before it judges: a file may
			// go with the entry that listed it. Who asks the client for more is not failing.
			Probe: func(t *check.T) {
				eachRead(t, "no file of a skill was read", func(f fileRead) bool {
					m := f.answer.Message
					code, _ := m.Code()
					if f.err != nil {
						t.Fail("its contents", "none", "reading %s: %v", wire.Clip(f.uri, 120), f.err)
					}
					if code == spec.MissingClientCapability || m.Kind == wire.Result && !check.IsComplete(t, m) {
						return false
					}
					if _, ok := f.content(); ok {
						return true
					}
					fresh, ok := refreshed(t, f.skill)
					if _, listed := fresh.lists(f.uri); !ok || !listed && !f.main() {
						return false
					}
					if f.answer, f.err = usage.ReadResource(t, f.uri); f.err != nil {
						return false
					}
					if _, ok := f.content(); !ok {
						t.Mark(f.answer)
						t.Fail("its contents, a text or a blob", f.answer.Message.Summary(), "%s is a file of %s, and reading it was answered with %s", wire.Clip(f.uri, 120), f.skill, f.answer.Message.Summary())
					}
					return true
				})
			},
		},
		{
			ID:   "official.skills.read.bytes",
			Says: "what is read of a file has the size and the digest that the skill tells",
			Spec: skillsEnumeration,
			// skillFilesVerified does as a host that finds a file changed: it asks for the
			// entry and then for the file again. What differs then too is not published as
			// it is (SEP-2640, integrity and verification).
			Probe: func(t *check.T) {
				eachRead(t, "no file with a digest or a size could be read", func(f fileRead) bool {
					bytes, ok := f.content()
					if !ok || !digestForm.MatchString(f.record.Get("digest").String()) && !wholeSize(f.record.Get("size")) {
						return false
					}
					if differs(f.record, bytes) == "" {
						return true
					}
					fresh, ok := refreshed(t, f.skill)
					record, listed := fresh.lists(f.uri)
					if !ok || !listed {
						return false
					}
					if f.answer, f.err = usage.ReadResource(t, f.uri); f.err != nil {
						return false
					}
					if bytes, ok = f.content(); !ok {
						return false
					}
					if how := differs(record, bytes); how != "" {
						t.Mark(f.answer)
						t.Fail(contract.ShortJSON(record), fmt.Sprintf("%d bytes, sha256:%x", len(bytes), sha256.Sum256(bytes)), "%s, a file of %s, is not as told: %s", wire.Clip(f.uri, 120), f.skill, how)
					}
					return true
				})
			},
		},
		{
			ID:   "official.skills.read.frontmatter",
			Says: "each SKILL.md begins with a frontmatter that has name and description",
			Spec: skillsEnumeration,
			Probe: func(t *check.T) {
				eachRead(t, "no SKILL.md could be read", func(f fileRead) bool {
					content, ok := f.content()
					if !ok || !f.main() {
						return false
					}
					front, err := frontmatterOf(content)
					if err != nil {
						t.Fail("a frontmatter", contract.AsJSON(wire.Clip(string(content), 120)), "%s: %v", f.skill, err)
					}
					for _, member := range []string{"name", "description"} {
						if v, ok := front[member].(string); !ok || strings.TrimSpace(v) == "" {
							t.Fail("a frontmatter with "+member, contract.AsJSON(wire.Clip(string(content), 120)), "the frontmatter of %s has no %s that is a text", f.skill, member)
						}
					}
					return true
				})
			},
		},
		{
			ID:   "official.skills.read.frontmatter.same",
			Says: "the frontmatter of each skill is that of its SKILL.md",
			Spec: skillsEnumeration,
			// skillTextsSame leaves what cannot be parsed to the check above. A skill may
			// change between entry and file, so that both are asked for again.
			Probe: func(t *check.T) {
				eachRead(t, "no SKILL.md with a frontmatter could be read", func(f fileRead) bool {
					differ := func(s skill) (string, bool) {
						content, ok := f.content()
						front, err := frontmatterOf(content)
						if entry := s.Get("frontmatter"); ok && err == nil && entry.IsObject() {
							return unlike(front, entry), true
						}
						return "", false
					}
					if !f.main() {
						return false
					}
					key, ok := differ(f.skill)
					if !ok || key == "" {
						return ok
					}
					fresh, ok := refreshed(t, f.skill)
					if f.answer, f.err = usage.ReadResource(t, f.uri); !ok || f.err != nil || !fresh.Get("frontmatter").IsObject() {
						return false
					}
					if key, ok = differ(fresh); key != "" {
						t.Mark(f.answer)
						t.Fail("the same "+key, contract.ShortJSON(wire.Member(fresh.Get("frontmatter"), key)), "%s in the frontmatter of %s is not as in its SKILL.md", wire.Clip(key, 80), f.skill)
					}
					return ok
				})
			},
		},
		{
			ID:    "official.skills.read.mime-type",
			Says:  "each SKILL.md is of the media type text/markdown",
			Level: spec.Should,
			Spec:  skillsManifest,
			Probe: func(t *check.T) {
				eachRead(t, "no SKILL.md has a media type that is told", func(f fileRead) bool {
					if !f.main() {
						return false
					}
					told := skillResourceOf(t, f.skill)
					if item, ok := f.item(); ok && item.Get("mimeType").Exists() && strings.HasPrefix(f.uri, "skill://") {
						told = append(told, item)
					}
					for _, r := range told {
						if v := r.Get("mimeType"); format.MediaTypeOf(v.String()) != "text/markdown" {
							t.Fail("text/markdown", contract.ShortJSON(v), "the media type of %s is %s", f.skill, contract.ShortJSON(v))
						}
					}
					return len(told) > 0
				})
			},
		},
		{
			ID:    "official.skills.listed",
			Says:  "a SKILL.md that is listed as a resource has the name and the description of the skill",
			Level: spec.Should,
			Spec:  skillsManifest,
			Probe: func(t *check.T) {
				seen := false
				for _, s := range chosenSkills(t) {
					for _, r := range skillResourceOf(t, s) {
						for _, member := range []string{"name", "description"} {
							want := s.Get("frontmatter").Get(member)
							if want.Type != gjson.String {
								continue
							}
							seen = true
							if got := r.Get(member); !sameWords(got.String(), want.Str) {
								t.Fail(contract.AsJSON(want.Str), contract.ShortJSON(got), "the %s of the resource %s is %s, and that of the skill is %s", member, s, contract.ShortJSON(got), contract.AsJSON(wire.Clip(want.Str, 80)))
							}
						}
					}
				}
				if !seen {
					t.NotObserved("no SKILL.md is listed as a resource", "")
				}
			},
		},
		{
			ID:    "official.skills.meta",
			Says:  "the keys in the _meta of a SKILL.md have a prefix",
			Level: spec.Should,
			Spec:  skillsManifest,
			// skillMetaPrefixed takes any prefix: intermediaries have their own (SEP-2640,
			// security considerations). The keys of trace contexts have none (basic#meta).
			Probe: func(t *check.T) {
				eachRead(t, "no SKILL.md has _meta", func(f fileRead) bool {
					if !f.main() {
						return false
					}
					told := skillResourceOf(t, f.skill)
					if item, ok := f.item(); ok && strings.HasPrefix(f.uri, "skill://") {
						told = append(told, item)
					}
					seen := false
					for _, r := range told {
						for key := range r.Get("_meta").Map() {
							seen = true
							if !strings.Contains(key, "/") && !slices.Contains([]string{"traceparent", "tracestate", "baggage"}, key) {
								t.Fail("a key with the prefix io.modelcontextprotocol.skills/", contract.AsJSON(wire.Clip(key, 80)), "the _meta of %s has the key %s", f.skill, contract.AsJSON(wire.Clip(key, 80)))
							}
						}
					}
					return seen
				})
			},
		},
	}
}

// A fileRead is a file of a skill, and what resources/read came to.
type fileRead struct {
	skill  skill
	record gjson.Result // of the file in the entry; none of a dynamic skill
	uri    string
	answer wire.Entry
	err    error
}

// main tells whether the file is the SKILL.md of the skill.
func (f fileRead) main() bool { return f.uri == f.skill.uri() }

// item returns the contents under the URI of the file.
func (f fileRead) item() (item gjson.Result, ok bool) {
	if f.err != nil || f.answer.Message.Kind != wire.Result {
		return item, false
	}
	for _, item := range f.answer.Message.Result().Get("contents").Array() {
		if uri := item.Get("uri"); uri.Type == gjson.String && uri.Str == f.uri {
			return item, true
		}
	}
	return item, false
}

// content returns the bytes of the file: a text as UTF-8, or a blob decoded.
func (f fileRead) content() (bytes []byte, ok bool) {
	item, ok := f.item()
	if text := item.Get("text"); text.Type == gjson.String {
		return []byte(text.Str), ok
	}
	blob := item.Get("blob")
	bytes, err := base64.StdEncoding.DecodeString(blob.String())
	return bytes, ok && blob.Type == gjson.String && err == nil
}

type files struct {
	read []fileRead
	left int
}

var filesOfSkillsKey = check.NewKey[files]("files of skills")

// skillFiles reads the files of the chosen skills once.
func skillFiles(t *check.T) []fileRead {
	chosen := chosenSkills(t)
	all := check.Once(t, filesOfSkillsKey, func() files {
		var mains, others []fileRead
		seen := map[string]bool{}
		for _, s := range chosen {
			record, _ := s.lists(s.uri())
			mains = append(mains, fileRead{skill: s, record: record, uri: s.uri()})
			seen[s.uri()] = true
		}
		for _, s := range chosen {
			for _, record := range s.files() {
				if uri := record.Get("uri"); uri.Type == gjson.String && s.within(uri.Str) && !seen[uri.Str] {
					others = append(others, fileRead{skill: s, record: record, uri: uri.Str})
					seen[uri.Str] = true
				}
			}
		}
		out := slices.Concat(mains, others)
		left := max(0, len(out)-mostFiles)
		out = out[:len(out)-left]
		for i := range out {
			out[i].answer, out[i].err = usage.ReadResource(t, out[i].uri)
		}
		return files{out, left}
	})
	if all.left > 0 {
		t.Note("%d files of skills were read, and %d were not", len(all.read), all.left)
	}
	return all.read
}

// eachRead looks at the files that could be read; look tells whether one is a
// subject of the check.
func eachRead(t *check.T, lacks string, look func(f fileRead) (subject bool)) {
	seen := false
	for _, f := range skillFiles(t) {
		t.Mark(f.answer)
		seen = look(f) || seen
	}
	if !seen {
		t.NotObserved(lacks, "")
	}
}

// differs tells in which way bytes are not those of a record.
func differs(record gjson.Result, bytes []byte) string {
	digest, size := record.Get("digest"), record.Get("size")
	if wholeSize(size) && size.Num != float64(len(bytes)) {
		return fmt.Sprintf("it has %d bytes, and its size is told as %s", len(bytes), size.Raw)
	}
	if got := fmt.Sprintf("sha256:%x", sha256.Sum256(bytes)); digestForm.MatchString(digest.String()) && digest.Str != got {
		return fmt.Sprintf("its digest is %s, and is told as %s", got, digest.Str)
	}
	return ""
}

// skillResourceOf returns the entry of a SKILL.md in resources/list, if there is
// one. What such a resource should be holds of those under the scheme skill
// (SEP-2640, resource metadata).
func skillResourceOf(t *check.T, s skill) []gjson.Result {
	if r, ok := usage.ListedResource(offer.Walked(t, offer.ResourcesList), s.uri()); ok && strings.HasPrefix(s.uri(), "skill://") {
		return []gjson.Result{r}
	}
	return nil
}
