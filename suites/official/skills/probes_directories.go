package skills

import (
	"fmt"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
	"github.com/mcpcheck/mcpcheck/suites/check"
	"github.com/mcpcheck/mcpcheck/suites/official/contract"
	"github.com/mcpcheck/mcpcheck/suites/survey/offer"
)

// maxDirectories bounds how many directories of all skills are read.
const maxDirectories = 32

// directoryType is the media type of a directory (SEP-2640, directory resources).
const directoryType = "inode/directory"

var directoryList = offer.List{
	Method: "resources/directory/read", Member: "resources", Capability: "resources", Key: "uri",
}

// directoryProbes returns the probes of resources/directory/read, which a server may
// declare.
func directoryProbes() []check.Check {
	return []check.Check{
		{
			ID:   "official.skills.directory",
			Says: "each directory of a skill can be read, with a complete result that has an array resources",
			Spec: skillsDirectory,
			Idle: "no directory of a skill was read",
			Hint: listSkill,
			Probe: func(t *check.T) {
				requireDirectories(t)
				for _, d := range readDirectories(t) {
					if len(d.Pages) == 0 {
						if !hasSameFiles(t, d.skill) {
							continue
						}
						if d = d.reread(t); len(d.Pages) == 0 {
							t.Mark(d.Last)
							t.Fail("a result with an array resources", d.Failure,
								"%s is a directory of %s, and reading it was answered with %s", wire.Clip(d.uri, 120),
								d.skill, d.Failure)
						}
					}
					for _, p := range d.Pages {
						mustBeComplete(t, d.Method, p.Answer)
						for _, child := range p.Items {
							for _, member := range []string{"uri", "name"} {
								what := fmt.Sprintf("the %s of a child of %s", member, wire.Clip(d.uri, 120))
								contract.MustBeNonEmpty(t, what, child.Get(member))
							}
						}
					}
					t.Saw()
				}
			},
		},
		{
			ID:   "official.skills.directory.children",
			Says: "a directory of a skill lists each of its files and nothing from deeper directories",
			Spec: skillsDirectory,
			Idle: noDirectory,
			Hint: listSkill,
			Probe: func(t *check.T) {
				eachDirectory(t, func(d directory) bool {
					for _, child := range d.children() {
						uri := trimmedURI(child)
						name, ok := strings.CutPrefix(uri, d.uri+"/")
						if uri != "" && (!ok || name == "" || strings.Contains(name, "/")) {
							got := contract.ShortJSON(child.Get("uri"))
							t.Fail("a child of "+wire.Clip(d.uri, 120), got,
								"the directory %s lists %s, which is not a child of it", wire.Clip(d.uri, 120), got)
						}
					}
					files, _ := d.skill.childrenOf(d.uri)
					return mustListAll(t, d, files, directory.holds,
						"%s is a file of %s, and its directory does not list it")
				})
			},
		},
		{
			ID:   "official.skills.directory.subdirectories",
			Says: "a directory of a skill lists each of its subdirectories with the media type inode/directory",
			Spec: skillsDirectory,
			Idle: "no directory of a skill has a subdirectory",
			Hint: "list a skill with a subdirectory",
			Probe: func(t *check.T) {
				eachDirectory(t, func(d directory) bool {
					_, below := d.skill.childrenOf(d.uri)
					if len(below) == 0 {
						return false
					}
					return mustListAll(t, d, below, directory.holdsDirectory,
						"%s is a directory of %s, and its parent directory does not list it as inode/directory")
				})
			},
		},
		{
			ID:   "official.skills.directory.pages",
			Says: "the pages of a directory have an end",
			Spec: skillsDirectory,
			Idle: "no directory of a skill has a second page",
			Hint: "list a directory that spans pages",
			Probe: func(t *check.T) {
				eachDirectory(t, func(d directory) bool { return mustReachEnd(t, d.Walk) })
			},
		},
		{
			ID:   "official.skills.directory.refused",
			Says: "resources/directory/read of a URI that is not a directory returns error -32602",
			Spec: skillsDirectory,
			Idle: "resources/directory/read was not called",
			// A server without skills can be asked for a URI that does not exist too.
			Probe: func(t *check.T) {
				requireDirectories(t)
				method := directoryList.Method
				mustRefuse(t, method, strings.TrimSuffix(unknownSkill, "/SKILL.md"), "a URI that does not exist")
				all := skillsOf(offer.WalkOnce(t, skillsList))
				if i := slices.IndexFunc(all, func(s skill) bool { return s.root() != "" }); i >= 0 {
					mustRefuse(t, method, all[i].root()+"/mcpcheck-no-such-directory", "a URI that does not exist")
					mustRefuse(t, method, all[i].uri(), "a file")
				}
				t.Saw()
			},
		},
	}
}
