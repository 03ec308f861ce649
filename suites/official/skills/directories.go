package skills

import (
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// declaresDirectories reports whether the server declares resources/directory/read: a
// client may call it only then.
func declaresDirectories(t *check.T) bool {
	return skillSettings(t).Get("directoryRead").Type == gjson.True
}

// requireDirectories makes the check not applicable to a server that does not declare
// the method.
func requireDirectories(t *check.T) {
	if !declaresDirectories(t) {
		t.NotApplicable("the server does not declare directoryRead")
	}
}

// A directory is a directory of a skill and the pages that were read of it.
type directory struct {
	skill skill
	uri   string
	*offer.Walk
}

// children returns the entries of the pages that were read.
func (d directory) children() []gjson.Result { return d.Items() }

// holds reports whether the directory lists a URI.
func (d directory) holds(uri string) bool {
	return slices.ContainsFunc(d.children(), func(r gjson.Result) bool { return trimmedURI(r) == uri })
}

// holdsDirectory reports whether the directory lists a URI with the media type of a
// directory.
func (d directory) holdsDirectory(uri string) bool {
	return slices.ContainsFunc(d.children(), func(r gjson.Result) bool {
		return skill{Result: r}.uri() == uri && r.Get("mimeType").String() == directoryType
	})
}

// trimmedURI returns the URI of a child without a slash at its end.
func trimmedURI(r gjson.Result) string { return strings.TrimSuffix(skill{Result: r}.uri(), "/") }

// reread reads the directory again.
func (d directory) reread(t *check.T) directory {
	return directory{d.skill, d.uri, offer.WalkTo(t, directoryList, check.Params{"uri": d.uri})}
}

// childrenOf returns the files of the skill that are directly in a directory, and the
// sorted subdirectories of the directory.
func (s skill) childrenOf(dir string) (files, directories []string) {
	for _, file := range s.files() {
		uri := file.Get("uri").String()
		below, ok := strings.CutPrefix(uri, dir+"/")
		if !ok || !s.contains(uri) {
			continue
		}
		if name, _, deeper := strings.Cut(below, "/"); deeper {
			directories = append(directories, dir+"/"+name)
		} else {
			files = append(files, uri)
		}
	}
	slices.Sort(directories)
	return files, slices.Compact(directories)
}

// directories are the directories of skills that were read; left is how many were not.
type directories struct {
	read    []directory
	left    int
	visited map[string]bool // by URI
}

var directoriesOfSkillsKey = check.NewKey[directories]("directories of skills")

// readDirectories reads the directories of the chosen skills once. There are none if
// the server does not declare the method.
func readDirectories(t *check.T) []directory {
	if !declaresDirectories(t) {
		return nil
	}
	chosen := chosenSkills(t)
	all := check.Once(t, directoriesOfSkillsKey, func() directories {
		out := directories{visited: map[string]bool{"": true}}
		for _, s := range chosen {
			out.walk(t, s)
		}
		return out
	})
	if all.left > 0 {
		t.Note("%d directories of skills were read, and %d were not", len(all.read), all.left)
	}
	return all.read
}

// walk reads the directories of a skill from its root on: those that its files are in,
// and of a dynamic skill those that the root lists.
func (all *directories) walk(t *check.T, s skill) {
	next := []string{s.root()}
	for len(next) > 0 {
		uri := next[0]
		d, fresh := all.visit(t, s, uri)
		_, below := s.childrenOf(uri)
		next = append(next[1:], below...)
		if !fresh || uri != s.root() || s.Get("resources").IsArray() {
			continue
		}
		for _, r := range d.children() {
			if r.Get("mimeType").String() == directoryType && s.contains(trimmedURI(r)) {
				next = append(next, trimmedURI(r))
			}
		}
	}
}

// visit reads a directory; fresh is false if it was visited before or there are too
// many.
func (all *directories) visit(t *check.T, s skill, uri string) (d directory, fresh bool) {
	if all.visited[uri] {
		return d, false
	}
	all.visited[uri] = true
	if len(all.read) == maxDirectories {
		all.left++
		return d, false
	}
	d = directory{skill: s, uri: uri}.reread(t)
	all.read = append(all.read, d)
	return d, true
}

// eachDirectory judges the directories of which a page was read one by one. judge
// reports whether a directory was a subject of the rule.
func eachDirectory(t *check.T, judge func(d directory) bool) {
	requireDirectories(t)
	for _, d := range readDirectories(t) {
		if len(d.Pages) == 0 {
			continue
		}
		t.Mark(d.Pages[0].Answer)
		if judge(d) {
			t.Saw()
		}
	}
}

// hasSameFiles reports whether the entry of a skill, requested again, has the same
// files: they may change between the requests for entry and directory (SEP-2640,
// directory reads and the held entry).
func hasSameFiles(t *check.T, s skill) bool {
	fresh, ok := refetched(t, s)
	return ok && slices.Equal(sortedFiles(fresh), sortedFiles(s))
}

// mustListAll asserts that a directory holds all URIs. It reads a directory without one
// of them again before it fails the check with the sentence. It reports whether the
// directory could be judged: one that was not read to its end cannot.
func mustListAll(
	t *check.T, d directory, uris []string, holds func(d directory, uri string) bool, sentence string,
) (judged bool) {
	if !d.IsComplete() {
		return false
	}
	isMissing := func(uri string) bool { return !holds(d, uri) }
	if !slices.ContainsFunc(uris, isMissing) {
		return true
	}
	if d = d.reread(t); !d.IsComplete() || !hasSameFiles(t, d.skill) {
		return false
	}
	if i := slices.IndexFunc(uris, isMissing); i >= 0 {
		t.Mark(d.Pages[0].Answer)
		t.Fail(contract.Quote(uris[i]), wire.Clip("["+contract.Join(d.Names(d.children()))+"]", 200),
			sentence, wire.Clip(uris[i], 120), d.skill)
	}
	return true
}
