package fault

import (
	"strings"

	"github.com/mcpcheck/mcpcheck/reference/server"
)

const directoryMethod = "resources/directory/read"

// onDirectory changes the entries of a directory.
func onDirectory(uri string, edit func(entries []any) []any) apply {
	return onResultAt(directoryMethod, uri, func(o server.Object) { o["resources"] = edit(o["resources"].([]any)) })
}

// onSubdirectories changes the subdirectories in directories.
func onSubdirectories(edit func(entry server.Object)) apply {
	return onEntry(directoryMethod, "resources", "mimeType", "inode/directory", edit)
}

// skillDirectories are faults of resources/directory/read.
func skillDirectories() []Fault {
	return []Fault{
		{
			Name:     "contract-directory-unknown-method",
			Does:     "declares resources/directory/read and answers it with error -32601",
			CaughtBy: []string{"official.skills.directory"},
			Also: map[string]string{
				"official.skills.directory.refused": "other errors refuse what is no directory",
			},
			Apply: answerInstead(directoryMethod, unknownMethod),
		},
		{
			Name: "contract-directory-root-only", Does: "refuses to read the directories below that of a skill",
			CaughtBy: []string{"official.skills.directory"},
			Apply:    refuseAt(directoryMethod, lendingSkill+"/assets/forms"),
		},
		{
			Name: "contract-directory-nameless", Does: "lists the files of a directory without their names",
			CaughtBy: []string{"official.skills.directory"},
			Apply: onDirectory(shelvingSkill+"/rows", func(entries []any) []any {
				for _, entry := range entries {
					delete(entry.(server.Object), "name")
				}
				return entries
			}),
		},
		{
			Name: "contract-directory-recursive", Does: "lists a file of a subdirectory in a directory",
			CaughtBy: []string{"official.skills.directory.children"},
			Apply: onDirectory(lendingSkill, func(entries []any) []any {
				return append(entries, server.Object{"uri": loansFile, "name": "loans.md", "mimeType": "text/markdown"})
			}),
		},
		{
			Name: "contract-directory-file-hidden", Does: "does not list a file of a directory",
			CaughtBy: []string{"official.skills.directory.children"},
			Apply:    onDirectory(lendingSkill+"/references", withoutURI(loansFile)),
		},
		{
			Name: "contract-directory-typeless", Does: "lists subdirectories without their mimeType",
			CaughtBy: []string{"official.skills.directory.subdirectories"},
			Apply:    onSubdirectories(remove("mimeType")),
		},
		{
			Name: "contract-directory-slash", Does: "ends the URIs of subdirectories in a slash",
			CaughtBy: []string{"official.skills.directory.subdirectories"},
			Apply:    onSubdirectories(func(entry server.Object) { entry["uri"] = entry["uri"].(string) + "/" }),
		},
	}
}

// notDirectories are faults in how reads are answered of what is not a directory.
func notDirectories() []Fault {
	emptyDirectory := succeedWith(server.Object{"resources": []any{}})
	isManifest := func(r *server.Request) bool {
		return r.Method == directoryMethod && strings.HasSuffix(asText(r.Params["uri"]), "/SKILL.md")
	}
	return []Fault{
		{
			Name: "contract-directory-of-file", Does: "reads a file as an empty directory",
			CaughtBy: []string{"official.skills.directory.refused"},
			Apply:    answerWhen(isManifest, emptyDirectory),
		},
		{
			Name: "contract-directory-unknown-empty", Does: "reads an unknown directory as an empty one",
			CaughtBy: []string{"official.skills.directory.refused"},
			Apply: errorToResult(directoryMethod, func(r *server.Request, _ *server.Error) bool {
				return !isManifest(r)
			},
				emptyDirectory),
		},
	}
}

// skillDirectoryPages are faults of the pages of a directory.
func skillDirectoryPages() []Fault {
	return []Fault{
		{
			Name: "contract-directory-cursor-refused", Does: "refuses the cursors of a directory",
			CaughtBy: []string{"official.skills.directory.pages"},
			Apply:    refuseCursors(directoryMethod),
		},
		{
			Name:     "contract-directory-endless",
			Does:     "answers with the same page of a directory and the same cursor every time",
			CaughtBy: []string{"official.skills.directory.pages"},
			Apply: onRequestWhen(hasParam(directoryMethod, "uri", shelvingSkill+"/rows"),
				func(r *server.Request) { delete(r.Params, "cursor") }),
		},
	}
}
