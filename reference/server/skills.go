package server

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/spec"
)

// A Skill is a directory of files with instructions for an agent (SEP-2640,
// skill format).
type Skill struct {
	Root    string      // URI of the directory, without a slash at its end
	Files   []SkillFile // SKILL.md first
	Dynamic bool        // what it says changes, so that no digests are published
	// Frontmatter is what SKILL.md begins with.
	Frontmatter Object
}

// A SkillFile is one file of a skill.
type SkillFile struct {
	Path, MIME string // its path in the directory of the skill
	Content    []byte
	Binary     bool // it is read as a blob
}

// skillFile is the name of the file that every skill has.
const skillFileName = "SKILL.md"

// The places of the skills of the library.
const (
	hoursSkill    = "skill://opening-hours"
	lendingSkill  = "skill://desk/lending"
	renewalsSkill = lendingSkill + "/renewals"
	shelvingSkill = "skill://shelving"
	todaySkill    = "skill://desk/today"
)

// skills are the skills that the library serves beside the public contract.
func librarySkills() []*Skill {
	renewals := newSkill(renewalsSkill, "Renew a loan at the lending desk.", nil,
		"Ask for the id of the book. A loan is renewed once, unless another reader waits for the book.\n",
		markdownFile("references/waiting.md", "# Who waits\n\nReaders who wait for a book are served in the order in which they asked.\n"),
	)
	lending := newSkill(lendingSkill, "Lend a book to a reader at the lending desk.", Object{
		"license": "CC0-1.0", "metadata": Object{"version": "1.2", "audience": "staff"},
	},
		"Look the book up first, then note the loan as references/loans.md says. A slip is in assets/forms.\n",
		markdownFile("references/loans.md", "# Loans\n\nA book that is out cannot be lent. Readers are noted by their first name.\n"),
		SkillFile{Path: "assets/stamp.png", MIME: "image/png", Content: coverPNG(2), Binary: true},
		SkillFile{Path: "assets/forms/slip.txt", MIME: "text/plain", Content: []byte("Book:\nReader:\nBack on:\n")},
	)
	// What a nested skill holds is supporting content of the one around it
	// (SEP-2640, nested skills).
	for _, f := range renewals.Files {
		f.Path = path.Join(strings.TrimPrefix(renewalsSkill, lendingSkill+"/"), f.Path)
		lending.Files = append(lending.Files, f)
	}
	shelving := newSkill(shelvingSkill, "Find the shelf that a book belongs on.", nil, "Each row of shelves has a file in rows.\n")
	for _, row := range []string{"A1", "A2", "B1", "B2", "C1", "C2"} {
		shelving.Files = append(shelving.Files, markdownFile("rows/"+row+".md", rowListing(row)))
	}
	today := newSkill(todaySkill, "Tell which books are at hand today.", nil, "Read library://loans before you promise a book.\n")
	today.Dynamic = true
	hours := newSkill(hoursSkill, "Tell readers when the library is open.", Object{"compatibility": "Any agent that can tell the time"},
		"The desk is open from nine to five, and closed on Sundays.\n")
	// The suite of the contract looks at the first alone, and for directories.
	return []*Skill{lending, renewals, hours, shelving, today}
}

// shelved says what stands in a row of shelves.
func rowListing(row string) string {
	s := "# Row " + row + "\n\n"
	for _, b := range books() {
		if b.shelf == row {
			s += fmt.Sprintf("- %s (%s)\n", b.title, b.id)
		}
	}
	return s
}

func markdownFile(path, text string) SkillFile {
	return SkillFile{Path: path, MIME: markdown, Content: []byte(text)}
}

// newSkill makes a skill whose name is the last segment of its path (SEP-2640,
// resource mapping).
func newSkill(root, description string, more Object, body string, files ...SkillFile) *Skill {
	front := Object{"name": path.Base(root), "description": description}
	maps.Copy(front, more)
	return &Skill{Root: root, Frontmatter: front, Files: append([]SkillFile{skillMarkdown(front, body)}, files...)}
}

// skillText is a SKILL.md. The values of its frontmatter are written as JSON,
// which is YAML, so that the file and the entry of the skill say the same.
func skillMarkdown(front Object, body string) SkillFile {
	s := "---\n"
	for _, k := range slices.Sorted(maps.Keys(front)) {
		s += k + ": " + string(encode(front[k])) + "\n"
	}
	return markdownFile(skillFileName, s+"---\n\n"+body)
}

// uri is that of a file of the skill.
func (s *Skill) uri(f SkillFile) string { return s.Root + "/" + f.Path }

// resource is a file as a resource. The SKILL.md is listed, under the name and
// description of the skill (SEP-2640, resource metadata); who wants the others
// finds them in the entry of the skill, or in its directories.
func (s *Skill) resource(f SkillFile) *Resource {
	uri := s.uri(f)
	res := &Resource{
		URI: uri, Name: path.Base(f.Path), Title: f.Path, Description: "A file of the skill " + stringOf(s.Frontmatter["name"]),
		MIME: f.MIME, Size: len(f.Content), Unlisted: true, In: spec.Stateless,
		Read: func(r *Reading) []Object {
			if f.Binary {
				return []Object{blobContents(uri, f.MIME, f.Content)}
			}
			return []Object{textContents(uri, f.MIME, string(f.Content))}
		},
	}
	if f.Path == skillFileName {
		res.Name, res.Title, res.Unlisted = stringOf(s.Frontmatter["name"]), "Skill: "+stringOf(s.Frontmatter["name"]), false
		res.Description = stringOf(s.Frontmatter["description"])
		if license := s.Frontmatter["license"]; license != nil {
			res.Meta = Object{"io.modelcontextprotocol.skills/license": license}
		}
	}
	return res
}
