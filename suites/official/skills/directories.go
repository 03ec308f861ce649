package skills

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// mostDirectories bounds how many directories of all skills are read.
const mostDirectories = 32

// directoryType is the media type of a directory (SEP-2640, directory resources).
const directoryType = "inode/directory"

var directoryList = offer.List{Method: "resources/directory/read", Member: "resources", Capability: "resources", Key: "uri"}

// officialSkillDirectories are what resources/directory/read tells, which a
// server may declare.
func officialSkillDirectories() []check.Check {
	return []check.Check{
		{
			ID:   "official.skills.directory",
			Says: "each directory of a skill is read with a complete result that has an array of resources",
			Spec: skillsDirectory,
			Probe: func(t *check.T) {
				needDirectories(t)
				seen := false
				for _, d := range readDirectories(t) {
					if len(d.Pages) == 0 {
						if !current(t, d.skill) {
							continue
						}
						if d = d.again(t); len(d.Pages) == 0 {
							t.Mark(d.Last)
							t.Fail("a result with an array resources", d.Broke, "%s is a directory of %s, and reading it was answered with %s", wire.Clip(d.uri, 120), d.skill, d.Broke)
						}
					}
					for _, p := range d.Pages {
						mustBeComplete(t, d.Method, p.Answer)
						for _, child := range p.Items {
							for _, member := range []string{"uri", "name"} {
								contract.MustHaveText(t, fmt.Sprintf("the %s of a child of %s", member, wire.Clip(d.uri, 120)), child.Get(member))
							}
						}
					}
					seen = true
				}
				if !seen {
					t.NotObserved("no directory of a skill was read", "")
				}
			},
		},
		{
			ID:   "official.skills.directory.children",
			Says: "a directory of a skill has each of its files, and nothing that is deeper",
			Spec: skillsDirectory,
			Probe: func(t *check.T) {
				eachDirectory(t, "no directory of a skill could be read to its end", func(d directory) bool {
					for _, child := range d.children() {
						below, ok := strings.CutPrefix(trimmed(child), d.uri+"/")
						if trimmed(child) != "" && (!ok || below == "" || strings.Contains(below, "/")) {
							t.Fail("a child of "+wire.Clip(d.uri, 120), contract.ShortJSON(child.Get("uri")), "reading the directory %s tells of %s, which is no child of it", wire.Clip(d.uri, 120), contract.ShortJSON(child.Get("uri")))
						}
					}
					files, _ := d.skill.among(d.uri)
					return mustHoldAll(t, d, files, func(d directory, uri string) bool { return d.holds(uri) }, "%s is a file of %s, and reading its directory does not tell of it")
				})
			},
		},
		{
			ID:   "official.skills.directory.subdirectories",
			Says: "a directory of a skill has each of its subdirectories, of the media type inode/directory",
			Spec: skillsDirectory,
			Probe: func(t *check.T) {
				asDirectory := func(d directory, uri string) bool {
					return slices.ContainsFunc(d.children(), func(r gjson.Result) bool {
						return skill{Result: r}.uri() == uri && r.Get("mimeType").String() == directoryType
					})
				}
				eachDirectory(t, "no directory of a skill has a subdirectory", func(d directory) bool {
					_, below := d.skill.among(d.uri)
					if len(below) == 0 {
						return false
					}
					return mustHoldAll(t, d, below, asDirectory, "%s is a directory of %s, and reading the directory around it does not tell of it as inode/directory")
				})
			},
		},
		{
			ID:   "official.skills.directory.pages",
			Says: "the pages of a directory follow their cursors to an end",
			Spec: skillsDirectory,
			Probe: func(t *check.T) {
				eachDirectory(t, "no directory of a skill has a second page", func(d directory) bool {
					if len(d.Pages) == 1 && d.Broke == "" && d.Loops == "" {
						return false
					}
					mustFollow(t, d.Walk)
					return true
				})
			},
		},
		{
			ID:   "official.skills.directory.refused",
			Says: "resources/directory/read of what does not exist, or is no directory, is answered with error -32602",
			Spec: skillsDirectory,
			// directoriesRefused needs no skill to ask for what does not exist.
			Probe: func(t *check.T) {
				needDirectories(t)
				mustRefuse(t, directoryList.Method, strings.TrimSuffix(noSuchSkill, "/SKILL.md"), "nowhere")
				for _, s := range skillsOf(offer.Walked(t, skillsList)) {
					if root := s.root(); root != "" {
						mustRefuse(t, directoryList.Method, root+"/mcpcheck-no-such-directory", "nowhere")
						mustRefuse(t, directoryList.Method, s.uri(), "no directory")
						return
					}
				}
			},
		},
	}
}

// declaresDirectories tells whether the server declares resources/directory/read,
// without which no client may call it.
func declaresDirectories(t *check.T) bool {
	return skillSettings(t).Get("directoryRead").Type == gjson.True
}

func needDirectories(t *check.T) {
	if !declaresDirectories(t) {
		t.NotApplicable("the server does not declare directoryRead")
	}
}

// A directory is one of a skill, with what was read of it.
type directory struct {
	skill skill
	uri   string
	*offer.Walk
}

// children returns what stands in the directory, as far as it was read.
func (d directory) children() []gjson.Result { return d.Items() }

// holds tells whether there is a child of the URI.
func (d directory) holds(uri string) bool {
	return slices.ContainsFunc(d.children(), func(r gjson.Result) bool { return trimmed(r) == uri })
}

// trimmed is the URI of a child; that one ends in a slash is forgiven here.
func trimmed(r gjson.Result) string { return strings.TrimSuffix(skill{Result: r}.uri(), "/") }

// again reads the directory anew.
func (d directory) again(t *check.T) directory {
	return directory{d.skill, d.uri, offer.WalkTo(t, directoryList, check.Params{"uri": d.uri})}
}

// among returns, of a directory, the files of the skill that are in it, and its
// subdirectories, in order.
func (s skill) among(dir string) (files, directories []string) {
	for _, file := range s.files() {
		uri := file.Get("uri").String()
		below, ok := strings.CutPrefix(uri, dir+"/")
		if !ok || !s.within(uri) {
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

type directories struct {
	read []directory
	left int
}

var directoriesOfSkillsKey = check.NewKey[directories]("directories of skills")

// readDirectories reads the directories of the chosen skills once, from each
// root on: those that its files are in, and of a dynamic skill those that the
// root tells. There are none where the server does not declare the method.
func readDirectories(t *check.T) []directory {
	if !declaresDirectories(t) {
		return nil
	}
	chosen := chosenSkills(t)
	all := check.Once(t, directoriesOfSkillsKey, func() directories {
		out := directories{}
		seen := map[string]bool{"": true}
		visit := func(s skill, uri string) (d directory, fresh bool) {
			if seen[uri] {
				return d, false
			}
			if seen[uri] = true; len(out.read) == mostDirectories {
				out.left++
				return d, false
			}
			d = directory{skill: s, uri: uri}.again(t)
			out.read = append(out.read, d)
			return d, true
		}
		for _, s := range chosen {
			next := []string{s.root()}
			for len(next) > 0 {
				uri := next[0]
				next = next[1:]
				d, fresh := visit(s, uri)
				_, below := s.among(uri)
				next = append(next, below...)
				if fresh && uri == s.root() && !s.Get("resources").IsArray() {
					for _, r := range d.children() {
						if r.Get("mimeType").String() == directoryType && s.within(trimmed(r)) {
							next = append(next, trimmed(r))
						}
					}
				}
			}
		}
		return out
	})
	if all.left > 0 {
		t.Note("%d directories of skills were read, and %d were not", len(all.read), all.left)
	}
	return all.read
}

// eachDirectory looks at the directories of which a page could be read; look
// tells whether one is a subject of the check.
func eachDirectory(t *check.T, lacks string, look func(d directory) (subject bool)) {
	needDirectories(t)
	seen := false
	for _, d := range readDirectories(t) {
		if len(d.Pages) > 0 {
			t.Mark(d.Pages[0].Answer)
			seen = look(d) || seen
		}
	}
	if !seen {
		t.NotObserved(lacks, "")
	}
}

// current tells whether the entry of a skill, asked for anew, has the same files:
// a directory is of one moment, and an entry of another (SEP-2640, directory
// reads and the held entry).
func current(t *check.T, s skill) bool {
	fresh, ok := refreshed(t, s)
	return ok && slices.Equal(sortedFiles(fresh), sortedFiles(s))
}

// mustHoldAll asserts that a directory holds some URIs, after it has asked again
// for what it misses. Of a directory that could not be read to its end nothing is
// known.
func mustHoldAll(t *check.T, d directory, uris []string, held func(d directory, uri string) bool, sentence string) (known bool) {
	if !d.Whole() {
		return false
	}
	misses := func(uri string) bool { return !held(d, uri) }
	if !slices.ContainsFunc(uris, misses) {
		return true
	}
	if d = d.again(t); !d.Whole() || !current(t, d.skill) {
		return false
	}
	if i := slices.IndexFunc(uris, misses); i >= 0 {
		t.Mark(d.Pages[0].Answer)
		t.Fail(contract.AsJSON(uris[i]), wire.Clip("["+contract.Commas(d.Names(d.children()))+"]", 200), sentence, wire.Clip(uris[i], 120), d.skill)
	}
	return true
}
