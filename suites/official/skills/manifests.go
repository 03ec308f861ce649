package skills

import (
	"fmt"
	"regexp"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/spec"
	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
)

// What a host must be able to load (SEP-2640, limits).
const (
	mostSkillFiles = 512
	mostSkillBytes = 16 << 20
)

// officialSkillManifests are what a skill says of its files. That of a dynamic
// one says nothing.
func officialSkillManifests() []check.Check {
	return []check.Check{
		{
			ID:   "official.skills.manifest.complete",
			Says: "the resources of a skill list its SKILL.md and whatever is in its directories, each file once",
			Spec: skillsEnumeration,
			// manifestsComplete compares with the directories of the skill, where the server
			// tells them: what stands there and is in no record, not in a fresh one either,
			// is a file that is missing (SEP-2640, resources).
			Probe: func(t *check.T) {
				eachManifest(t, func(s skill, files []gjson.Result) {
					if _, ok := s.lists(s.uri()); s.uri() != "" && !ok {
						t.Fail("a record of "+s.String(), fmt.Sprintf("%d records", len(files)), "the resources of %s do not list the SKILL.md itself", s)
					}
					seen := map[string]bool{}
					for _, file := range files {
						uri := skill{Result: file}.uri()
						if uri != "" && seen[uri] {
							t.Fail("each file once", contract.AsJSON(wire.Clip(uri, 120)), "the resources of %s list %s twice", s, wire.Clip(uri, 120))
						}
						seen[uri] = true
					}
				})
				for _, d := range readDirectories(t) {
					for _, child := range d.children() {
						uri, kind := child.Get("uri").String(), child.Get("mimeType").String()
						if !d.skill.Get("resources").IsArray() || kind == directoryType || !d.skill.within(uri) {
							continue
						}
						files, below := d.skill.among(uri)
						if _, ok := d.skill.lists(uri); ok || len(files)+len(below) > 0 { // a directory, whatever it is called
							continue
						}
						fresh, ok := refreshed(t, d.skill)
						if _, known := fresh.lists(uri); ok && !known && fresh.Get("resources").IsArray() && d.again(t).holds(uri) {
							t.Fail("a record of "+wire.Clip(uri, 120), fmt.Sprintf("%d records of other files", len(fresh.files())), "%s is in a directory of %s, and its resources do not list it", wire.Clip(uri, 120), d.skill)
						}
					}
				}
			},
		},
		{
			ID:   "official.skills.manifest.within",
			Says: "the resources of a skill are files in its directory",
			Spec: skillsEnumeration,
			Probe: func(t *check.T) {
				seen := false
				eachManifest(t, func(s skill, files []gjson.Result) {
					if s.root() == "" {
						return
					}
					for _, file := range files {
						if uri := file.Get("uri"); uri.Type != gjson.String || !s.within(uri.Str) {
							t.Fail("a file in "+wire.Clip(s.root(), 120), contract.ShortJSON(uri), "the resources of %s list %s, which is not in its directory", s, contract.ShortJSON(uri))
						}
						seen = true
					}
				})
				if !seen {
					t.NotObserved("no skill with the URI of a SKILL.md lists a file", "")
				}
			},
		},
		{
			ID:   "official.skills.manifest.digest",
			Says: "each file of a skill has a digest, sha256: and 64 lower-case hexadecimal digits",
			Spec: skillsEnumeration,
			Probe: func(t *check.T) {
				eachFile(t, func(s skill, file gjson.Result) {
					if v := file.Get("digest"); v.Type != gjson.String || !digestForm.MatchString(v.Str) {
						t.Fail("sha256: and 64 lower-case hexadecimal digits", contract.ShortJSON(v), "the digest of %s in the resources of %s is %s", contract.ShortJSON(file.Get("uri")), s, contract.ShortJSON(v))
					}
				})
			},
		},
		{
			ID:   "official.skills.manifest.size",
			Says: "each file of a skill has a size, a whole number of bytes",
			Spec: skillsEnumeration,
			Probe: func(t *check.T) {
				eachFile(t, func(s skill, file gjson.Result) {
					if v := file.Get("size"); !wholeSize(v) {
						t.Fail("a whole number from 0", contract.ShortJSON(v), "the size of %s in the resources of %s is %s", contract.ShortJSON(file.Get("uri")), s, contract.ShortJSON(v))
					}
				})
			},
		},
		{
			ID:    "official.skills.manifest.limits",
			Says:  "no skill has more than 512 files, or more than 16 MiB of them",
			Level: spec.Should,
			Spec:  skillsEnumeration,
			Probe: func(t *check.T) {
				eachManifest(t, func(s skill, files []gjson.Result) {
					var bytes float64
					for _, file := range files {
						if v := file.Get("size"); wholeSize(v) {
							bytes += v.Num
						}
					}
					if len(files) > mostSkillFiles {
						t.Fail(fmt.Sprint("at most ", mostSkillFiles), fmt.Sprint(len(files)), "%s has %d files, which no host needs to load", s, len(files))
					}
					if bytes > mostSkillBytes {
						t.Fail(fmt.Sprint("at most ", mostSkillBytes, " bytes"), fmt.Sprintf("%.0f bytes", bytes), "the files of %s have %.0f bytes, which no host needs to load", s, bytes)
					}
				})
			},
		},
	}
}

// eachManifest looks at the skills that list their files.
func eachManifest(t *check.T, look func(s skill, files []gjson.Result)) {
	eachSkill(t, "no skill lists its files", func(s skill) bool {
		if !s.Get("resources").IsArray() {
			return false
		}
		look(s, s.files())
		return true
	})
}

// eachFile looks at the records of the files of all skills.
func eachFile(t *check.T, look func(s skill, file gjson.Result)) {
	seen := false
	eachManifest(t, func(s skill, files []gjson.Result) {
		for _, file := range files {
			look(s, file)
			seen = true
		}
	})
	if !seen {
		t.NotObserved("no skill lists a file", "")
	}
}

// lists tells whether an entry has a record for a URI.
func (s skill) lists(uri string) (record gjson.Result, ok bool) {
	for _, file := range s.files() {
		if v := file.Get("uri"); v.Type == gjson.String && v.Str == uri {
			return file, true
		}
	}
	return gjson.Result{}, false
}

var digestForm = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// wholeSize tells whether a value is a size in bytes.
func wholeSize(v gjson.Result) bool { return wire.IsInteger(v) && v.Num >= 0 }
