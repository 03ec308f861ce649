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

// The files that a host must be able to load (SEP-2640, limits).
const (
	maxFilesPerSkill = 512
	maxBytesPerSkill = 16 << 20
)

// manifestProbes returns the probes of the files that the entry of a skill lists. The
// entry of a dynamic skill lists none.
func manifestProbes() []check.Check {
	return []check.Check{
		{
			ID:   "official.skills.manifest.complete",
			Says: "the resources of a skill list its SKILL.md and all files in its directories, each once",
			Spec: skillsEnumeration,
			Idle: noManifest,
			Hint: listManifest,
			// A directory may show that a file is missing: one that is in no record of the
			// entry, even when both are requested again (SEP-2640, resources).
			Probe: func(t *check.T) {
				eachManifest(t, func(s skill, files []gjson.Result) bool {
					if _, ok := s.recordOf(s.uri()); s.uri() != "" && !ok {
						t.Fail("a record of "+s.String(), fmt.Sprintf("%d records", len(files)),
							"the resources of %s do not list the SKILL.md itself", s)
					}
					seen := map[string]bool{}
					for _, file := range files {
						uri := skill{Result: file}.uri()
						if uri != "" && seen[uri] {
							uri = wire.Clip(uri, 120)
							t.Fail("each file once", contract.Quote(uri), "the resources of %s list %s twice", s, uri)
						}
						seen[uri] = true
					}
					return true
				})
				for _, d := range readDirectories(t) {
					mustListFilesOf(t, d)
				}
			},
		},
		{
			ID:   "official.skills.manifest.within",
			Says: "the resources of a skill are files in its directory",
			Spec: skillsEnumeration,
			Idle: "no skill with the URI of a SKILL.md lists a file",
			Hint: listManifest,
			Probe: func(t *check.T) {
				eachFile(t, func(s skill, file gjson.Result) bool {
					if s.root() == "" {
						return false
					}
					if uri := file.Get("uri"); uri.Type != gjson.String || !s.contains(uri.Str) {
						got := contract.ShortJSON(uri)
						t.Fail("a file in "+wire.Clip(s.root(), 120), got,
							"the resources of %s list %s, which is not in its directory", s, got)
					}
					return true
				})
			},
		},
		{
			ID:   "official.skills.manifest.digest",
			Says: "each file of a skill has a digest, which is sha256: and 64 lower-case hexadecimal digits",
			Spec: skillsEnumeration,
			Idle: noFile,
			Hint: listManifest,
			Probe: func(t *check.T) {
				eachFile(t, func(s skill, file gjson.Result) bool {
					if v := file.Get("digest"); v.Type != gjson.String || !digestPattern.MatchString(v.Str) {
						got := contract.ShortJSON(v)
						t.Fail("sha256: and 64 lower-case hexadecimal digits", got,
							"the digest of %s in the resources of %s is %s", contract.ShortJSON(file.Get("uri")), s,
							got)
					}
					return true
				})
			},
		},
		{
			ID:   "official.skills.manifest.size",
			Says: "each file of a skill has a size, a whole number of bytes",
			Spec: skillsEnumeration,
			Idle: noFile,
			Hint: listManifest,
			Probe: func(t *check.T) {
				eachFile(t, func(s skill, file gjson.Result) bool {
					if v := file.Get("size"); !isSize(v) {
						got := contract.ShortJSON(v)
						t.Fail("a whole number, 0 or more", got,
							"the size of %s in the resources of %s is %s", contract.ShortJSON(file.Get("uri")), s, got)
					}
					return true
				})
			},
		},
		{
			ID:    "official.skills.manifest.limits",
			Says:  "no skill has more than 512 files or more than 16 MiB of files",
			Level: spec.Should,
			Spec:  skillsEnumeration,
			Idle:  noManifest,
			Hint:  listManifest,
			Probe: func(t *check.T) {
				eachManifest(t, func(s skill, files []gjson.Result) bool {
					var bytes float64
					for _, file := range files {
						if v := file.Get("size"); isSize(v) {
							bytes += v.Num
						}
					}
					if len(files) > maxFilesPerSkill {
						t.Fail(fmt.Sprint("at most ", maxFilesPerSkill), fmt.Sprint(len(files)),
							"%s has %d files: hosts need not load so many", s, len(files))
					}
					if bytes > maxBytesPerSkill {
						t.Fail(fmt.Sprint("at most ", maxBytesPerSkill, " bytes"), fmt.Sprintf("%.0f bytes", bytes),
							"the files of %s have %.0f bytes: hosts need not load so many", s, bytes)
					}
					return true
				})
			},
		},
	}
}

// mustListFilesOf asserts that the entry of a skill lists the files in a directory of
// it. Both are requested again before a file counts as missing.
func mustListFilesOf(t *check.T, d directory) {
	for _, child := range d.children() {
		uri, mimeType := child.Get("uri").String(), child.Get("mimeType").String()
		if !d.skill.Get("resources").IsArray() || mimeType == directoryType || !d.skill.contains(uri) {
			continue
		}
		files, below := d.skill.childrenOf(uri)
		if _, ok := d.skill.recordOf(uri); ok || len(files)+len(below) > 0 { // a directory, whatever its media type is
			continue
		}
		fresh, ok := refetched(t, d.skill)
		if _, listed := fresh.recordOf(uri); !ok || listed || !fresh.Get("resources").IsArray() {
			continue
		}
		if d.reread(t).holds(uri) {
			uri = wire.Clip(uri, 120)
			t.Fail("a record of "+uri, fmt.Sprintf("%d records of other files", len(fresh.files())),
				"%s is in a directory of %s, and its resources do not list it", uri, d.skill)
		}
	}
}

// eachManifest judges the skills that list their files one by one. judge reports
// whether a skill was a subject of the rule.
func eachManifest(t *check.T, judge func(s skill, files []gjson.Result) bool) {
	eachSkill(t, func(s skill) bool { return s.Get("resources").IsArray() && judge(s, s.files()) })
}

// eachFile judges the records of the files of all skills one by one. judge reports
// whether a record was a subject of the rule.
func eachFile(t *check.T, judge func(s skill, file gjson.Result) bool) {
	eachManifest(t, func(s skill, files []gjson.Result) bool {
		judged := false
		for _, file := range files {
			judged = judge(s, file) || judged
		}
		return judged
	})
}

// recordOf returns the record of a URI in the entry of a skill; ok is false if there
// is none.
func (s skill) recordOf(uri string) (record gjson.Result, ok bool) {
	for _, file := range s.files() {
		if v := file.Get("uri"); v.Type == gjson.String && v.Str == uri {
			return file, true
		}
	}
	return gjson.Result{}, false
}

// digestPattern matches the digest of a file.
var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// isSize reports whether a value is a size in bytes.
func isSize(v gjson.Result) bool { return wire.IsInteger(v) && v.Num >= 0 }
