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

// maxFiles bounds how many files of all skills are read, each SKILL.md before any
// other.
const maxFiles = 64

// fileProbes returns the probes of the contents of the files of skills.
func fileProbes() []check.Check {
	return []check.Check{
		{
			ID:   "official.skills.read",
			Says: "each file of a skill can be read",
			Spec: skillsEnumeration,
			Idle: "no file of a skill was read",
			Hint: listSkill,
			// A file may be removed together with the entry that lists it: only a file that
			// cannot be read when both are requested again breaks the rule. A server that
			// requests a capability or input of the client does not fail either.
			Probe: func(t *check.T) {
				eachRead(t, func(f fileRead) bool {
					if f.reply.Err != nil {
						t.Fail("its contents", "none", "reading %s: %v", wire.Clip(f.uri, 120), f.reply.Err)
					}
					m := f.reply.Message
					code, _ := m.ErrorCode()
					if code == spec.MissingClientCapability || m.Kind == wire.Result && !check.IsComplete(t, m) {
						return false
					}
					if _, ok := f.content(); ok {
						return true
					}
					fresh, ok := refetched(t, f.skill)
					if _, listed := fresh.recordOf(f.uri); !ok || !listed && !f.isMain() {
						return false
					}
					if f = f.reread(t); f.reply.Err != nil {
						return false
					}
					if _, ok := f.content(); !ok {
						t.Mark(f.reply.Entry)
						got := f.reply.Message.Summary()
						t.Fail("its contents, a text or a blob", got,
							"%s is a file of %s, and reading it was answered with %s", wire.Clip(f.uri, 120), f.skill,
							got)
					}
					return true
				})
			},
		},
		{
			ID:   "official.skills.read.bytes",
			Says: "the contents of a file have the size and the digest in the entry of its skill",
			Spec: skillsEnumeration,
			Idle: "no file with a digest or a size was read",
			Hint: listManifest,
			// A host that finds a file changed requests the entry and then the file again
			// (SEP-2640, integrity and verification): only contents that differ then too break
			// the rule.
			Probe: func(t *check.T) {
				eachRead(t, func(f fileRead) bool {
					bytes, ok := f.content()
					hasDigest := digestPattern.MatchString(f.record.Get("digest").String())
					if !ok || !hasDigest && !isSize(f.record.Get("size")) {
						return false
					}
					if contentDifference(f.record, bytes) == "" {
						return true
					}
					fresh, ok := refetched(t, f.skill)
					record, listed := fresh.recordOf(f.uri)
					if !ok || !listed {
						return false
					}
					if f = f.reread(t); f.reply.Err != nil {
						return false
					}
					if bytes, ok = f.content(); !ok {
						return false
					}
					if difference := contentDifference(record, bytes); difference != "" {
						t.Mark(f.reply.Entry)
						t.Fail(contract.ShortJSON(record),
							fmt.Sprintf("%d bytes, sha256:%x", len(bytes), sha256.Sum256(bytes)),
							"%s, a file of %s, differs from its record: %s", wire.Clip(f.uri, 120), f.skill, difference)
					}
					return true
				})
			},
		},
		{
			ID:   "official.skills.read.frontmatter",
			Says: "each SKILL.md begins with a frontmatter with name and description",
			Spec: skillsEnumeration,
			Idle: "no SKILL.md was read",
			Hint: listSkill,
			Probe: func(t *check.T) {
				eachRead(t, func(f fileRead) bool {
					content, ok := f.content()
					if !ok || !f.isMain() {
						return false
					}
					front, err := frontmatterOf(content)
					if err != nil {
						t.Fail("a frontmatter", contract.Quote(wire.Clip(string(content), 120)), "%s: %v", f.skill, err)
					}
					for _, member := range []string{"name", "description"} {
						if v, ok := front[member].(string); !ok || strings.TrimSpace(v) == "" {
							t.Fail("a frontmatter with "+member, contract.Quote(wire.Clip(string(content), 120)),
								"the frontmatter of %s has no text %s", f.skill, member)
						}
					}
					return true
				})
			},
		},
		{
			ID:   "official.skills.read.frontmatter.same",
			Says: "the frontmatter in the entry of each skill equals that in its SKILL.md",
			Spec: skillsEnumeration,
			Idle: "no SKILL.md with a frontmatter was read",
			Hint: listSkill,
			// The check above judges frontmatters that cannot be parsed. A skill may change
			// between entry and file: only frontmatters that differ when both are requested
			// again break the rule.
			Probe: func(t *check.T) {
				eachRead(t, func(f fileRead) bool {
					if !f.isMain() {
						return false
					}
					key, ok := f.frontmatterDifference(f.skill)
					if !ok || key == "" {
						return ok
					}
					fresh, ok := refetched(t, f.skill)
					f = f.reread(t)
					if !ok || f.reply.Err != nil {
						return false
					}
					if key, ok = f.frontmatterDifference(fresh); key != "" {
						t.Mark(f.reply.Entry)
						t.Fail("the same "+key, contract.ShortJSON(wire.Member(fresh.Get("frontmatter"), key)),
							"%s differs between the frontmatter of %s and that of its SKILL.md", wire.Clip(key, 80),
							f.skill)
					}
					return ok
				})
			},
		},
		{
			ID:    "official.skills.read.mime-type",
			Says:  "each SKILL.md has the media type text/markdown",
			Level: spec.Should,
			Spec:  skillsManifest,
			Idle:  "no SKILL.md has a media type",
			Hint:  "give the SKILL.md of a skill a mimeType",
			Probe: func(t *check.T) {
				eachRead(t, func(f fileRead) bool {
					if !f.isMain() {
						return false
					}
					descriptions := listedResources(t, f.skill)
					if item, ok := f.item(); ok && item.Get("mimeType").Exists() &&
						strings.HasPrefix(f.uri, "skill://") {
						descriptions = append(descriptions, item)
					}
					for _, d := range descriptions {
						if v := d.Get("mimeType"); format.MediaTypeOf(v.String()) != "text/markdown" {
							got := contract.ShortJSON(v)
							t.Fail("text/markdown", got, "the media type of %s is %s", f.skill, got)
						}
					}
					return len(descriptions) > 0
				})
			},
		},
		{
			ID:    "official.skills.listed",
			Says:  "a SKILL.md that is listed as a resource has the name and the description of the skill",
			Level: spec.Should,
			Spec:  skillsManifest,
			Idle:  "no SKILL.md is listed as a resource",
			Hint:  "list the SKILL.md of a skill in resources/list",
			Probe: func(t *check.T) {
				for _, s := range chosenSkills(t) {
					for _, r := range listedResources(t, s) {
						for _, member := range []string{"name", "description"} {
							want := s.Get("frontmatter").Get(member)
							if want.Type != gjson.String {
								continue
							}
							if v := r.Get(member); !equalWords(v.String(), want.Str) {
								got := contract.ShortJSON(v)
								t.Fail(contract.Quote(want.Str), got,
									"the %s of the resource %s is %s, and that of the skill is %s",
									member, s, got, contract.Quote(wire.Clip(want.Str, 80)))
							}
							t.Saw()
						}
					}
				}
			},
		},
		{
			ID:    "official.skills.meta",
			Says:  "the keys in the _meta of a SKILL.md have a prefix",
			Level: spec.Should,
			Spec:  skillsManifest,
			Idle:  "no SKILL.md has _meta",
			Hint:  "give the SKILL.md of a skill a _meta",
			// Any prefix is accepted: intermediaries have their own (SEP-2640, security
			// considerations). The keys of trace contexts have none (basic#meta).
			Probe: func(t *check.T) {
				eachRead(t, func(f fileRead) bool {
					if !f.isMain() {
						return false
					}
					descriptions := listedResources(t, f.skill)
					if item, ok := f.item(); ok && strings.HasPrefix(f.uri, "skill://") {
						descriptions = append(descriptions, item)
					}
					judged := false
					for _, d := range descriptions {
						for key := range d.Get("_meta").Map() {
							if !strings.Contains(key, "/") && !slices.Contains(traceKeys, key) {
								got := contract.Quote(wire.Clip(key, 80))
								t.Fail("a key with the prefix io.modelcontextprotocol.skills/", got,
									"the _meta of %s has the key %s", f.skill, got)
							}
							judged = true
						}
					}
					return judged
				})
			},
		},
	}
}

// traceKeys are the keys of _meta that need no prefix.
var traceKeys = []string{"traceparent", "tracestate", "baggage"}

// A fileRead is a file of a skill and the reply to reading it.
type fileRead struct {
	skill  skill
	record gjson.Result // of the file in the entry; none of a dynamic skill
	uri    string
	reply  check.Reply
}

// isMain reports whether the file is the SKILL.md of the skill.
func (f fileRead) isMain() bool { return f.uri == f.skill.uri() }

// reread reads the file again.
func (f fileRead) reread(t *check.T) fileRead {
	e, err := usage.ReadResource(t, f.uri).Get()
	f.reply = check.Reply{Entry: e, Err: err}
	return f
}

// item returns the contents with the URI of the file.
func (f fileRead) item() (item gjson.Result, ok bool) {
	if !f.reply.Succeeded() {
		return item, false
	}
	for _, item := range f.reply.Message.Result().Get("contents").Array() {
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

// frontmatterDifference returns a key under which the frontmatter of the file and that
// of an entry differ, "" for none; ok is false if one of them cannot be read.
func (f fileRead) frontmatterDifference(s skill) (key string, ok bool) {
	content, ok := f.content()
	front, err := frontmatterOf(content)
	entry := s.Get("frontmatter")
	if !ok || err != nil || !entry.IsObject() {
		return "", false
	}
	return firstDifference(front, entry), true
}

// files are the files of skills that were read; left is how many were not.
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
			record, _ := s.recordOf(s.uri())
			mains = append(mains, fileRead{skill: s, record: record, uri: s.uri()})
			seen[s.uri()] = true
		}
		for _, s := range chosen {
			for _, record := range s.files() {
				if uri := record.Get("uri"); uri.Type == gjson.String && s.contains(uri.Str) && !seen[uri.Str] {
					others = append(others, fileRead{skill: s, record: record, uri: uri.Str})
					seen[uri.Str] = true
				}
			}
		}
		out := slices.Concat(mains, others)
		left := max(0, len(out)-maxFiles)
		out = out[:len(out)-left]
		for i := range out {
			out[i] = out[i].reread(t)
		}
		return files{out, left}
	})
	if all.left > 0 {
		t.Note("%d files of skills were read, and %d were not", len(all.read), all.left)
	}
	return all.read
}

// eachRead judges the files that were read one by one. judge reports whether a file was
// a subject of the rule.
func eachRead(t *check.T, judge func(f fileRead) bool) {
	for _, f := range skillFiles(t) {
		t.Mark(f.reply.Entry)
		if judge(f) {
			t.Saw()
		}
	}
}

// contentDifference returns how bytes differ from the size and digest of a record; ""
// if they do not.
func contentDifference(record gjson.Result, bytes []byte) string {
	digest, size := record.Get("digest"), record.Get("size")
	if isSize(size) && size.Num != float64(len(bytes)) {
		return fmt.Sprintf("it has %d bytes, and its size in the record is %s", len(bytes), size.Raw)
	}
	got := fmt.Sprintf("sha256:%x", sha256.Sum256(bytes))
	if digestPattern.MatchString(digest.String()) && digest.Str != got {
		return fmt.Sprintf("its digest is %s, and that in the record is %s", got, digest.Str)
	}
	return ""
}

// listedResources returns the entry of a SKILL.md in resources/list, if there is one.
// The recommendations on such resources are about those with the scheme skill
// (SEP-2640, resource metadata).
func listedResources(t *check.T, s skill) []gjson.Result {
	r, ok := usage.ListedResource(offer.WalkOnce(t, offer.ResourcesList), s.uri())
	if ok && strings.HasPrefix(s.uri(), "skill://") {
		return []gjson.Result{r}
	}
	return nil
}
