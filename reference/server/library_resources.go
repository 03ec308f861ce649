package server

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/mcpcheck/mcpcheck/internal/wire"
)

const openingHours = "Monday to Friday from 9 to 18, Saturday from 10 to 13.\nThe reading room opens on request.\n"

func loansURI(reader string) string { return "library://loans/" + url.PathEscape(reader) }

// textResource returns contents that do not depend on the request.
func textResource(text string) func(*ResourceRead) []Object {
	return func(r *ResourceRead) []Object { return []Object{textContents(r.URI, "text/plain", text)} }
}

// libraryResources returns the resources of the library, in the order of
// resources/list.
func libraryResources() []*Resource {
	all := []*Resource{
		{
			URI: "library://desk/hours", Name: "hours", Title: "Opening hours", Description: "When the library is open",
			MIME: "text/plain", Size: len(openingHours),
			Annotations: Object{"audience": []any{"user"}, "priority": 0.9, "lastModified": "2026-01-02T08:00:00Z"},
			Read:        textResource(openingHours),
		},
		{
			URI: "library://shelves", Name: "shelves", Title: "The shelves",
			Description: "All shelves with what stands on them, one content for each", MIME: markdown,
			Read: func(*ResourceRead) []Object {
				var out []Object
				for _, mark := range shelfMarks {
					out = append(out, shelfContents(mark)...)
				}
				return out
			},
		},
	}
	for _, b := range books() {
		all = append(all, &Resource{
			URI: b.uri(), Name: b.id, Title: b.title,
			Description: "The record of " + b.title + ", with its loan", MIME: markdown,
			Read: func(r *ResourceRead) []Object { return recordContents(r, b) },
		})
	}
	for i, b := range books()[:3] {
		all = append(all, &Resource{
			URI: "library://covers/" + b.id, Name: "cover-" + b.id, Title: "Cover of " + b.title,
			Description: "A picture of the cover", MIME: "image/png", Size: len(coverPNG(i + 1)),
			Read: func(r *ResourceRead) []Object { return []Object{blobContents(r.URI, "image/png", coverPNG(i+1))} },
		})
	}
	return append(all,
		&Resource{
			URI: "library://reading-room/rules", Name: "reading-room-rules", Title: "Rules of the reading room",
			Description: "What the reading room asks of its guests", MIME: "text/plain",
			Offered: (*Features).readingRoomIsOpen,
			Read:    textResource("Ink stays at the desk.\n"),
		},
		visitorsBook(),
		&Resource{
			URI: "library://desk/stamp", Name: "stamp", Unlisted: true,
			Read: func(*ResourceRead) []Object { panic(errDeliberatePanic) },
		})
}

// visitorsBook returns the resource that needs input of the client to be read.
func visitorsBook() *Resource {
	return &Resource{
		URI: "library://desk/visitors-book", Name: "visitors-book", MIME: "text/plain",
		Unlisted: true, In: elicitationRevisions,
		InputRequests: func() []InputRequest {
			name := Object{"type": "string", "title": "Name", "minLength": 1}
			const message = "Sign the visitors' book before you read it."
			return []InputRequest{formElicitation("entry", message, Object{"name": name}, "name")}
		},
		Read: func(r *ResourceRead) []Object {
			name := "somebody"
			if content, ok := r.Answers["entry"]["content"].(Object); ok {
				name = stringOf(content["name"])
			}
			return []Object{textContents(r.URI, "text/plain", "Ines was here.\n"+name+" was here.\n")}
		},
	}
}

// recordContents returns the record of a book and whether it is lent.
func recordContents(r *ResourceRead, b book) []Object {
	status := "It is on its shelf.\n"
	if reader := r.Features.holder(b.id); reader != "" {
		status = fmt.Sprintf("It is out; %s has it.\n", reader)
	}
	return []Object{textContents(r.URI, markdown, b.markdown()+"\n"+status)}
}

// shelfContents returns the titles on a shelf; nil if there are none.
func shelfContents(mark string) []Object {
	var lines []string
	for _, b := range books() {
		if b.shelf == mark {
			lines = append(lines, "- "+b.title)
		}
	}
	if lines == nil {
		return nil
	}
	return []Object{textContents("library://shelves/"+mark, markdown, strings.Join(lines, "\n")+"\n")}
}

const jsonType = "application/json"

// libraryTemplates returns the URI templates, in the order of
// resources/templates/list.
func libraryTemplates() []*Template {
	return []*Template{
		{"library://books/{book}", "book", "Book", "The record of a book by its id", markdown, readBook},
		{"library://covers/{book}", "cover", "Cover", "The cover of a book by its id", "image/png", readCover},
		{
			"library://shelves/{shelf}", "shelf", "Shelf", "What stands on a shelf", markdown,
			func(r *ResourceRead) []Object { return shelfContents(r.Vars["shelf"]) },
		},
		{
			"library://authors/{author}", "author", "Author", "The books of an author", jsonType,
			func(r *ResourceRead) []Object {
				return existingBooks(r, func(b book) bool { return b.author == r.Vars["author"] })
			},
		},
		{
			"library://authors/{author}/{title}", "title", "Title", "A book by its author and title", markdown,
			func(r *ResourceRead) []Object {
				for _, b := range books() {
					if b.author == r.Vars["author"] && b.title == r.Vars["title"] {
						return recordContents(r, b)
					}
				}
				return nil
			},
		},
		{
			"library://years/{year}", "year", "Year", "The books of a year", jsonType,
			func(r *ResourceRead) []Object {
				return existingBooks(r, func(b book) bool { return strconv.Itoa(b.year) == r.Vars["year"] })
			},
		},
		{
			"library://loans/{reader}", "loans", "Loans", "The books that a reader has", jsonType,
			func(r *ResourceRead) []Object {
				return bookList(r, func(b book) bool { return r.Features.holder(b.id) == r.Vars["reader"] })
			},
		},
		{
			"library://catalogue/search{?words}", "search", "Search", "The books that a search finds", jsonType,
			func(r *ResourceRead) []Object {
				if r.Vars["words"] == "" {
					return nil
				}
				return existingBooks(r, containing(r.Vars["words"]))
			},
		},
		{
			"library://maps/{+room}", "map", "Map", "The way to a room of the house, such as east/attic", "text/plain",
			func(r *ResourceRead) []Object {
				if room := r.Vars["room"]; room == "east/attic" || room == "west/cellar" {
					return []Object{textContents(r.URI, "text/plain", "Take the stairs, then ask again.\n")}
				}
				return nil
			},
		},
	}
}

func readBook(r *ResourceRead) []Object {
	if b, ok := findBook(r.Vars["book"]); ok {
		return recordContents(r, b)
	}
	return nil
}

func readCover(r *ResourceRead) []Object {
	b, ok := findBook(r.Vars["book"])
	n, err := strconv.Atoi(strings.TrimPrefix(b.id, "b"))
	if !ok || err != nil {
		return nil
	}
	return []Object{blobContents(r.URI, "image/png", coverPNG(n))}
}

// existingBooks returns the list of the selected books; no contents if there are
// none.
func existingBooks(r *ResourceRead, selected func(book) bool) []Object {
	if !slices.ContainsFunc(books(), selected) {
		return nil
	}
	return bookList(r, selected)
}

// bookList returns the list of the selected books, which may be empty, as JSON.
func bookList(r *ResourceRead, selected func(book) bool) []Object {
	return []Object{textContents(r.URI, jsonType, string(wire.Encode(bookObjects(selected))))}
}
