package server

import (
	"fmt"
	"path"
	"strings"
)

// The URIs of the skills.
const (
	hoursSkill    = "skill://opening-hours"
	lendingSkill  = "skill://desk/lending"
	renewalsSkill = lendingSkill + "/renewals"
	shelvingSkill = "skill://shelving"
	todaySkill    = "skill://desk/today"
)

// officialSkills returns the skills that the server offers with the public
// conformance contract. Its suite examines the first one only, and requires
// directories of it.
func officialSkills() []*Skill {
	renewals := newSkill(renewalsSkill, "Renew a loan at the lending desk.", nil,
		"Ask for the id of the book. A loan is renewed once, unless another reader waits for the book.\n",
		markdownFile("references/waiting.md",
			"# Who waits\n\nReaders who wait for a book are served in the order in which they asked.\n"),
	)
	lending := newSkill(lendingSkill, "Lend a book to a reader at the lending desk.",
		Object{"license": "CC0-1.0", "metadata": Object{"version": "1.2", "audience": "staff"}},
		"Look the book up first, then note the loan as references/loans.md says. A slip is in assets/forms.\n",
		markdownFile("references/loans.md",
			"# Loans\n\nA book that is out cannot be lent. Readers are noted by their first name.\n"),
		SkillFile{Path: "assets/stamp.png", MIME: "image/png", Content: coverPNG(2), Binary: true},
		SkillFile{
			Path: "assets/forms/slip.txt", MIME: "text/plain", Content: []byte("Book:\nReader:\nBack on:\n"),
		},
	)
	// The files of a nested skill are supporting content of the outer one
	// (SEP-2640, nested skills).
	for _, f := range renewals.Files {
		f.Path = path.Join(strings.TrimPrefix(renewalsSkill, lendingSkill+"/"), f.Path)
		lending.Files = append(lending.Files, f)
	}
	shelving := newSkill(shelvingSkill, "Find the shelf that a book belongs on.", nil,
		"Each row of shelves has a file in rows.\n")
	for _, row := range shelfMarks {
		shelving.Files = append(shelving.Files, markdownFile("rows/"+row+".md", rowListing(row)))
	}
	today := newSkill(todaySkill, "Tell which books are at hand today.", nil,
		"Read library://loans before you promise a book.\n")
	today.Dynamic = true
	hours := newSkill(hoursSkill, "Tell readers when the library is open.",
		Object{"compatibility": "Any agent that can tell the time"},
		"The desk is open from nine to five, and closed on Sundays.\n")
	return []*Skill{lending, renewals, hours, shelving, today}
}

// rowListing lists the books of a row of shelves.
func rowListing(row string) string {
	s := "# Row " + row + "\n\n"
	for _, b := range books() {
		if b.shelf == row {
			s += fmt.Sprintf("- %s (%s)\n", b.title, b.id)
		}
	}
	return s
}
