package server

import (
	"fmt"
	"strings"
)

// A book is one book of the library.
type book struct {
	id, title, author, shelf string
	year                     int
	description              string
}

// books returns all books, in the order of their ids. The slice is shared and must
// not be changed.
func books() []book { return libraryBooks }

var libraryBooks = []book{
	{
		"b1", "The Tin Lighthouse", "Mara Quist", "A1", 1931,
		"A keeper counts ships that nobody else can see.",
	},
	{
		"b2", "Salt and Ledger", "Oren Vale", "A1", 1948,
		"The accounts of a herring port, told by its last clerk.",
	},
	{
		"b3", "A Field Guide to Fog", "Mara Quist", "A2", 1936,
		"Forty kinds of fog, and how to walk through each of them.",
	},
	{
		"b4", "The Clockmaker's Orchard", "Tomas Reed", "B1", 1902,
		"Apples that ripen on the hour trouble a village.",
	},
	{
		"b5", "Letters to a Drowned Town", "Ines Aldana", "B1", 1977,
		"A postwoman keeps her round above the reservoir.",
	},
	{
		"b6", "Small Engines of Night", "Oren Vale", "B2", 1953,
		"What the night trains carried, and for whom.",
	},
	{
		"b7", "The Paper Harbour", "Ines Aldana", "B2", 1981,
		"An atlas of ports folded from old newspapers.",
	},
	{
		"b8", "Winter Grammar", "Kaisa Holm", "C1", 1965,
		"A teacher names each snow and forgets the word for home.",
	},
	{
		"b9", "On Borrowing", "Tomas Reed", "C1", 1911,
		"Essays on umbrellas, ladders, sugar and trust.",
	},
	{
		"b10", "Die Brücke im Regen", "Kaisa Holm", "C2", 1970,
		"Ein Roman über eine Brücke, die niemand gebaut hat.",
	},
	{
		"b11", "海辺の図書館", "Sato Rin", "C2", 1994,
		"A library by the sea lends its books to the tide.",
	},
	{
		"b12", "The Index of Weather", "Mara Quist", "A2", 1940,
		"Every storm of one coast, by name, with remarks.",
	},
}

// shelfMarks are the shelves that hold the books.
var shelfMarks = []string{"A1", "A2", "B1", "B2", "C1", "C2"}

func findBook(id string) (book, bool) {
	for _, b := range books() {
		if b.id == id {
			return b, true
		}
	}
	return book{}, false
}

func bookTitles() string {
	var out []string
	for _, b := range books() {
		out = append(out, b.title)
	}
	return strings.Join(out, "; ")
}

func (b book) uri() string { return "library://books/" + b.id }

const markdown = "text/markdown"

// markdown returns the record of the book as text.
func (b book) markdown() string {
	return fmt.Sprintf("# %s\n\n%s, %d, shelf %s\n\n%s\n", b.title, b.author, b.year, b.shelf, b.description)
}

// object returns the record of the book as structured data.
func (b book) object() Object {
	return Object{"id": b.id, "title": b.title, "author": b.author, "year": b.year}
}

// containing returns a selection of the books whose record contains a text, in any
// case.
func containing(text string) func(book) bool {
	text = strings.ToLower(text)
	return func(b book) bool { return strings.Contains(strings.ToLower(b.markdown()), text) }
}

// bookObjects returns the selected books as structured data.
func bookObjects(selected func(book) bool) []any {
	out := []any{}
	for _, b := range books() {
		if selected(b) {
			out = append(out, b.object())
		}
	}
	return out
}
